// Random numbers: in place, and drawn from given probabilities. None of it has a gradient; a tensor
// overwritten here forgets its history.

#include "halftone/ops/random.h"

#include <cmath>

#include "halftone/kernels/check.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

const RandomKernels& kernels(const Tensor& out) { return kernels_for<RandomKernels>(out.device()); }

/// Takes the blocks that n elements need from the stream.
PhiloxState reserve(std::optional<Generator> generator, const Tensor& out, std::int64_t n,
                    std::int64_t per_block) {
  Generator& stream = generator ? *generator : default_generator(out.device());
  return stream.reserve(static_cast<std::uint64_t>((n + per_block - 1) / per_block));
}

std::int64_t reals_per_block(const Tensor& out) { return out.scalar_type() == kDouble ? 2 : 4; }

/// Overwrites `self` by `generate`, which writes contiguous memory. Recorded as a copy of numbers without
/// history.
template <class F>
Tensor& overwrite(const char* op, Tensor& self, F generate) {
  const bool recording = GradMode::is_enabled() && autograd::wants_grad(self);
  autograd::check_inplace(op, self, recording);
  if (recording || !self.is_contiguous()) {
    const Tensor value = allocate(like(self));
    generate(value);
    return copy_(self, value);
  }
  generate(self);
  self.storage().bump_version(op);
  return self;
}

void check_real(const char* op, const Tensor& self) {
  if (!self.is_floating_point()) fail(op, "expected a floating tensor, got ", self);
}

/// `probabilities` as contiguous float64. Throws Error when one is outside [0, 1]; on a device, later.
Tensor checked_probabilities(const char* op, const Tensor& probabilities) {
  kernels_for<CheckKernels>(probabilities.device()).values(op, ValueRule::kProbability, probabilities);
  return probabilities.detach().to(kDouble).contiguous();
}

}  // namespace

void fill_uniform(const Tensor& out, double low, double high, const std::optional<Generator>& generator) {
  kernels(out).uniform(out, low, high, reserve(generator, out, out.numel(), reals_per_block(out)));
}

void fill_normal(const Tensor& out, double mean, double std, const std::optional<Generator>& generator) {
  kernels(out).normal(out, mean, std, reserve(generator, out, out.numel(), reals_per_block(out)));
}

void fill_integers(const Tensor& out, std::int64_t low, std::int64_t high,
                   const std::optional<Generator>& generator) {
  kernels(out).integers(out, low, high, reserve(generator, out, out.numel(), 2));
}

void fill_permutation(const Tensor& out, const std::optional<Generator>& generator) {
  kernels(out).permutation(out, reserve(generator, out, out.numel(), 2));
}

}  // namespace ops

Tensor& uniform_(Tensor& self, double from, double to, std::optional<Generator> generator) {
  ops::check_real("uniform_", self);
  if (!(from <= to) || !std::isfinite(to - from)) {
    fail("uniform_", "expected finite from <= to, got ", from, " and ", to);
  }
  return ops::overwrite("uniform_", self,
                        [&](const Tensor& out) { ops::fill_uniform(out, from, to, generator); });
}

Tensor& normal_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  ops::check_real("normal_", self);
  if (!(std >= 0)) fail("normal_", "std must not be negative, got ", std);
  return ops::overwrite("normal_", self,
                        [&](const Tensor& out) { ops::fill_normal(out, mean, std, generator); });
}

Tensor& bernoulli_(Tensor& self, double p, std::optional<Generator> generator) {
  if (!(p >= 0 && p <= 1)) fail("bernoulli_", "probabilities must lie in [0, 1], got ", p);
  return ops::overwrite("bernoulli_", self, [&](const Tensor& out) {
    const Tensor probability = scalar_tensor(p, TensorOptions(kDouble).device(out.device()));
    ops::kernels(out).bernoulli(out, probability, ops::reserve(generator, out, out.numel(), 4));
  });
}

Tensor bernoulli(const Tensor& self, std::optional<Generator> generator) {
  ops::check_real("bernoulli", self);
  const Tensor probability = ops::checked_probabilities("bernoulli", self);
  Tensor out = ops::allocate(ops::like(self));
  ops::kernels(out).bernoulli(out, probability, ops::reserve(generator, out, out.numel(), 4));
  return out;
}

Tensor& random_(Tensor& self, std::int64_t from, std::int64_t to, std::optional<Generator> generator) {
  if (from >= to) fail("random_", "expected from < to, got ", from, " and ", to);
  const auto fits = [&](std::int64_t value) {
    if (self.scalar_type() == kLong) return true;
    if (self.is_floating_point())
      return std::abs(static_cast<double>(value)) <= max_value(self.scalar_type());
    const double least = self.scalar_type() == kInt ? -max_value(kInt) - 1 : 0;
    return static_cast<double>(value) >= least && static_cast<double>(value) <= max_value(self.scalar_type());
  };
  if (!fits(from) || !fits(to - 1))
    fail("random_", "the range ", from, " to ", to, " does not fit into ", self);
  return ops::overwrite("random_", self,
                        [&](const Tensor& out) { ops::fill_integers(out, from, to, generator); });
}

Tensor multinomial(const Tensor& self, std::int64_t num_samples, bool replacement,
                   std::optional<Generator> generator) {
  ops::check_real("multinomial", self);
  if (self.dim() < 1 || self.dim() > 2) fail("multinomial", "expected weights (n) or (rows, n), got ", self);
  if (num_samples <= 0) fail("multinomial", "num_samples must be positive, got ", num_samples);
  NoGradGuard no_grad;
  const std::int64_t n = self.size(-1), rows = self.dim() == 2 ? self.size(0) : 1;
  const Tensor weights = self.detach().to(kDouble).contiguous().view({rows, n});
  const Tensor on_host = weights.cpu();
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* weight = on_host.data_ptr<double>() + row * n;
    double sum = 0;
    std::int64_t positive = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (!(weight[i] >= 0) || std::isinf(weight[i])) {
        fail("multinomial", "weights must be finite and not negative, got ", weight[i]);
      }
      sum += weight[i];
      positive += weight[i] > 0 ? 1 : 0;
    }
    if (positive == 0 || !std::isfinite(sum))
      fail("multinomial", "the weights of row ", row, " sum to ", sum);
    if (!replacement && num_samples > positive) {
      fail("multinomial", "cannot draw ", num_samples, " different indices: row ", row, " has ", positive,
           " positive weights; pass replacement = true");
    }
  }
  Dims sizes = self.sizes().dims();
  sizes.back() = num_samples;
  Tensor out = ops::allocate({sizes, kLong, self.device()});
  const std::int64_t per_row = ((replacement ? num_samples : n) + 1) / 2;
  ops::kernels(out).multinomial(out.view({rows, num_samples}), weights, replacement,
                                ops::reserve(generator, out, rows * per_row, 1));
  return out;
}

}  // namespace halftone
