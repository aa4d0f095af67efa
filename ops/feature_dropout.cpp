// Dropout of whole channels, and the dropout that goes with SELU. The mask is drawn for the elements that
// live or die together and broadcast.

#include <cmath>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

bool drops(const char* op, const Tensor& input, double p, bool train) {
  check_defined(op, "input", input);
  if (!(p >= 0 && p <= 1)) fail(op, "expected a probability p in [0, 1], got ", p);
  if (!input.is_floating_point()) fail(op, "expected a floating tensor, got ", input);
  return train && p > 0;
}

/// (N, C, 1, ...).
Dims channel_mask(const char* op, const Tensor& input) {
  if (input.dim() < 2) fail(op, "expected an input (N, C, ...), got ", input);
  Dims sizes = input.sizes().dims();
  for (std::size_t d = 2; d < sizes.size(); ++d) sizes[d] = 1;
  return sizes;
}

/// 1 / (1 - p) with probability 1 - p, else 0.
Tensor scaled_mask(const Tensor& input, IntArrayRef sizes, double p) {
  const NoGradGuard no_grad;
  return dropout(ones(sizes, input.options()), p, true);
}

/// x -> scale x + shift where kept, `constant` where dropped.
struct AlphaDropout {
  Tensor factor, addend;
};

AlphaDropout alpha_mask(const Tensor& input, IntArrayRef sizes, double p) {
  const NoGradGuard no_grad;
  constexpr double kLimit = 1.7580993408473766;  // of -selu(x) for x towards minus infinity
  const double scale = p == 1 ? 0 : 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p));
  Tensor kept = empty(sizes, TensorOptions(accumulate_type(input.scalar_type())).device(input.device()));
  bernoulli_(kept, 1 - p);
  return {to_dtype(kept * scale, input.scalar_type()),
          to_dtype((kept - 1) * (kLimit * scale) + kLimit * scale * p, input.scalar_type())};
}

Tensor alpha_dropped(const Tensor& input, IntArrayRef sizes, double p) {
  const AlphaDropout mask = alpha_mask(input, sizes, p);
  return addcmul(mask.addend, input, mask.factor);
}

}  // namespace
}  // namespace ops

Tensor feature_dropout(const Tensor& input, double p, bool train) {
  if (!ops::drops("feature_dropout", input, p, train)) return input;
  return input * ops::scaled_mask(input, ops::channel_mask("feature_dropout", input), p);
}

Tensor& feature_dropout_(Tensor& self, double p, bool train) {
  if (!ops::drops("feature_dropout_", self, p, train)) return self;
  return mul_(self, ops::scaled_mask(self, ops::channel_mask("feature_dropout_", self), p));
}

Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  if (!ops::drops("alpha_dropout", input, p, train)) return input;
  return ops::alpha_dropped(input, input.sizes(), p);
}

Tensor& alpha_dropout_(Tensor& self, double p, bool train) {
  if (!ops::drops("alpha_dropout_", self, p, train)) return self;
  const ops::AlphaDropout mask = ops::alpha_mask(self, self.sizes(), p);
  return add_(mul_(self, mask.factor), mask.addend);
}

Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  if (!ops::drops("feature_alpha_dropout", input, p, train)) return input;
  return ops::alpha_dropped(input, ops::channel_mask("feature_alpha_dropout", input), p);
}

Tensor& feature_alpha_dropout_(Tensor& self, double p, bool train) {
  if (!ops::drops("feature_alpha_dropout_", self, p, train)) return self;
  const ops::AlphaDropout mask = ops::alpha_mask(self, ops::channel_mask("feature_alpha_dropout_", self), p);
  return add_(mul_(self, mask.factor), mask.addend);
}

}  // namespace halftone
