#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone::autograd {

/// What is differentiated: tensors in, tensors out.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// An entry may differ by atol + rtol times its magnitude.
struct GradcheckOptions {
  double eps = 1e-6;  ///< step of the central differences
  double atol = 1e-5;
  double rtol = 1e-3;
};

/// Compares the gradients of `function` at `inputs` (float64; those that require grad) with central
/// differences, for the full Jacobian. Returns true, or throws Error with the first entry that differs.
bool gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {});

/// The same for the gradients themselves: checks second derivatives.
bool gradgradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {});

}  // namespace halftone::autograd
