#include "halftone/tests/support/tolerance.h"

#include <algorithm>
#include <cmath>

#include "halftone/autograd/grad_mode.h"

namespace halftone::test {
namespace {

double smallest_step(ScalarType dtype) {
  switch (dtype) {
    case kHalf:
      return 0x1p-24;
    case kBFloat16:
      return 0x1p-133;
    case kFloat:
      return 0x1p-149;
    default:
      return 0;
  }
}

double ulp_of(const ops::Ulp& ulp, ScalarType dtype) {
  return dtype == kHalf ? ulp.f16 : dtype == kBFloat16 ? ulp.bf16 : ulp.f32;
}

std::vector<Tensor> call(const OpInfo& op, const std::vector<Value>& args) {
  manual_seed(3);
  NoGradGuard no_grad;
  return op.call(args);
}

double& element(const Tensor& tensor, std::int64_t flat) { return tensor.data_ptr<double>()[flat]; }

}  // namespace

std::vector<Reference> reference(const OpInfo& op, const std::vector<Value>& args, ScalarType output) {
  const auto exact_args = copy_args(args, kDouble, false, kCPU);
  const std::vector<Tensor> exact = call(op, exact_args);
  std::vector<Reference> references;
  for (const Tensor& value : exact) {
    references.push_back({value.clone(), {}});
    if (value.is_floating_point())
      references.back().bound.assign(static_cast<std::size_t>(value.numel()), 0.0);
  }

  double longest = 1;
  for (const Tensor& input : floating_tensors(exact_args)) {
    longest = std::max(longest, static_cast<double>(input.numel()));
  }
  const double fp32 = (2 + longest) * 0x1p-24;
  constexpr double kRelativeStep = 0x1p-20;
  for (const Tensor& input : floating_tensors(exact_args)) {
    for (std::int64_t j = 0; j < input.numel(); ++j) {
      double& x = element(input, j);
      const double x0 = x;
      if (x0 == 0) continue;
      x = x0 * (1 + kRelativeStep);
      const std::vector<Tensor> moved = call(op, exact_args);
      x = x0;
      for (std::size_t r = 0; r < references.size(); ++r) {
        if (references[r].bound.empty() || moved[r].sizes() != references[r].value.sizes()) continue;
        for (std::int64_t i = 0; i < moved[r].numel(); ++i) {
          const double change =
              std::abs(value_at(moved[r], i) - value_at(references[r].value, i)) / kRelativeStep;
          if (std::isfinite(change)) references[r].bound[static_cast<std::size_t>(i)] += fp32 * change;
        }
      }
    }
  }
  for (Reference& ref : references) {
    for (std::size_t i = 0; i < ref.bound.size(); ++i) {
      const double y = std::abs(value_at(ref.value, static_cast<std::int64_t>(i)));
      if (!std::isfinite(y)) continue;
      ref.bound[i] += (0.5 + ulp_of(op.ulp, output)) * 2 * unit_roundoff(output) * y + smallest_step(output);
    }
  }
  return references;
}

}  // namespace halftone::test
