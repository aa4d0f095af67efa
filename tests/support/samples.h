#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/ops/registry.h"
#include "halftone/tests/support/device.h"

namespace halftone::test {

using ops::OpInfo;
using ops::Sample;
using ops::Value;

/// Calls `f(tensor)` for every tensor among the arguments and puts its result in its place. Integers and
/// bools too.
std::vector<Value> map_tensors(const std::vector<Value>& args, const std::function<Tensor(const Tensor&)>& f);

/// The floating tensors among the arguments, in order.
std::vector<Tensor> floating_tensors(const std::vector<Value>& args);

/// Independent copies of the arguments on `device`; floating tensors in `dtype`, wanting gradients if asked.
std::vector<Value> copy_args(const std::vector<Value>& args, ScalarType dtype, bool requires_grad = false,
                             Device device = get_default_device());

/// Element `flat` (row-major) as double, whatever the dtype and strides.
double value_at(const Tensor& tensor, std::int64_t flat);

/// Same shape, dtype and bits (NaN equals NaN).
bool same_bits(const Tensor& a, const Tensor& b);

/// "softmax sample 2": what to print when a check fails.
std::string label(const OpInfo& op, std::size_t sample);

/// True for operators that draw random numbers: two calls differ.
bool is_random(const OpInfo& op);

}  // namespace halftone::test
