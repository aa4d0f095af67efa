#include "halftone/autograd/gradcheck.h"

#include <cmath>

#include "halftone/autograd/autograd.h"
#include "halftone/kernels/copy.h"

namespace halftone::autograd {
namespace {

/// Element `flat` (row-major), as a view of no dimensions.
Tensor element(const Tensor& tensor, std::int64_t flat) {
  std::int64_t offset = tensor.storage_offset();
  for (std::int64_t d = tensor.dim() - 1; d >= 0; --d) {
    offset += flat % tensor.size(d) * tensor.stride(d);
    flat /= tensor.size(d);
  }
  const auto& storage = tensor.unsafe_impl()->storage;
  return Tensor(make_intrusive<TensorImpl>(storage, kDouble, Dims{}, Dims{}, offset));
}

double value_of(const Tensor& tensor, std::int64_t flat) { return element(tensor, flat).item<double>(); }

/// Past the version counter: graphs recorded before are done with the value.
void set_value(const Tensor& tensor, std::int64_t flat, double value) {
  kernels_for<CopyKernels>(tensor.device()).fill(element(tensor, flat), value, 0);
}

bool takes_part(const Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

void check_inputs(const std::vector<Tensor>& inputs) {
  for (const Tensor& input : inputs) {
    if (takes_part(input) && input.scalar_type() != kDouble) {
      fail("gradcheck", "finite differences need float64 inputs, got ", input);
    }
  }
}

std::vector<Tensor> differentiable_outputs(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> kept;
  for (const Tensor& output : outputs) {
    if (output.defined() && output.is_floating_point() && output.requires_grad()) kept.push_back(output);
  }
  return kept;
}

/// Fixed pseudo-random numbers in [0.5, 1.5): the output gradients that second order is checked against.
Tensor probe_like(const Tensor& output, std::uint64_t seed) {
  NoGradGuard no_grad;
  Tensor probe = empty(output.sizes(), TensorOptions(kDouble).device(kCPU));
  double* data = probe.data_ptr<double>();
  for (std::int64_t i = 0; i < probe.numel(); ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    data[i] = 0.5 + static_cast<double>(seed >> 11) * 0x1p-53;
  }
  return probe.to(output.device());
}

}  // namespace

bool gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options) {
  check_inputs(inputs);
  std::vector<Tensor> outputs = differentiable_outputs(function(inputs));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Tensor& output = outputs[o];
    // Analytic: one backward per output element gives one row of the Jacobian for every input.
    std::vector<std::vector<Tensor>> rows;
    std::vector<Tensor> targets;
    for (const Tensor& input : inputs) {
      if (takes_part(input)) targets.push_back(input);
    }
    for (std::int64_t i = 0; i < output.numel(); ++i) {
      Tensor one = zeros(output.sizes(), output.options());
      set_value(one, i, 1);
      rows.emplace_back();
      for (const Tensor& row : grad({output}, targets, {one}, true, false, true))
        rows.back().push_back(row.defined() ? row.detach().cpu() : row);
    }
    for (std::size_t t = 0; t < targets.size(); ++t) {
      for (std::int64_t j = 0; j < targets[t].numel(); ++j) {
        NoGradGuard no_grad;
        const double x0 = value_of(targets[t], j);
        const auto evaluate = [&](double value) {
          set_value(targets[t], j, value);
          const AutoGradMode recording(true);
          return differentiable_outputs(function(inputs))[o].detach().to(kCPU, kDouble, false, true);
        };
        const Tensor above = evaluate(x0 + options.eps), below = evaluate(x0 - options.eps);
        set_value(targets[t], j, x0);
        for (std::int64_t i = 0; i < output.numel(); ++i) {
          const double numeric = (value_of(above, i) - value_of(below, i)) / (2 * options.eps);
          const Tensor& row = rows[static_cast<std::size_t>(i)][t];
          const double analytic = row.defined() ? value_of(row, j) : 0;
          if (!(std::abs(numeric - analytic) <= options.atol + options.rtol * std::abs(numeric))) {
            fail("gradcheck", "d output ", o, "[", i, "] / d input ", t, "[", j, "] is ", analytic,
                 ", finite differences give ", numeric);
          }
        }
      }
    }
  }
  return true;
}

bool gradgradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options) {
  check_inputs(inputs);
  const std::vector<Tensor> outputs = differentiable_outputs(function(inputs));
  if (outputs.empty()) return true;
  // Gradients as a function of the inputs and of the output gradients.
  std::vector<Tensor> all = inputs;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Tensor probe = probe_like(outputs[o], o + 1);
    probe.requires_grad_();
    all.push_back(probe);
  }
  const std::size_t count = inputs.size();
  const TensorFunction gradients = [&, count](const std::vector<Tensor>& args) {
    const std::vector<Tensor> own(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(count));
    const std::vector<Tensor> probes(args.begin() + static_cast<std::ptrdiff_t>(count), args.end());
    std::vector<Tensor> targets;
    for (const Tensor& input : own) {
      if (takes_part(input)) targets.push_back(input);
    }
    return grad(differentiable_outputs(function(own)), targets, probes, true, true, true);
  };
  return gradcheck(gradients, all, options);
}

}  // namespace halftone::autograd
