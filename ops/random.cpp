// Random numbers: in place, and drawn from given probabilities. None of it has a gradient; a tensor
// overwritten here forgets its history.

#include "halftone/ops/random.h"

#include <cmath>
#include <limits>

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

// --- Distributions made of these
// -------------------------------------------------------------------------------

namespace {

/// Numbers uniform on (0, 1): in double for float64, in float for all else, neither end among them.
Tensor open_uniform(const Tensor& self, const std::optional<Generator>& generator) {
  const ScalarType dtype = self.scalar_type() == kDouble ? kDouble : kFloat;
  Tensor u = rand(self.sizes(), generator, TensorOptions(dtype).device(self.device()));
  return clamp_min_(u, dtype == kDouble ? 0x1p-54 : 0x1p-25);
}

/// Overwrites `self` with `numbers`, which have no history.
Tensor& overwritten_by(const char* op, Tensor& self, const Tensor& numbers) {
  autograd::check_inplace(op, self, GradMode::is_enabled() && autograd::wants_grad(self));
  return copy_(self, numbers);
}

Tensor standard_normal(const Tensor& like, const std::optional<Generator>& generator) {
  return randn(like.sizes(), generator, like.options());
}

void check_std(const Tensor& std) {
  if (std.is_cpu() && std.numel() > 0 && !all(std >= 0).item<bool>())
    fail("normal", "std must not be negative, got ", std);
}

}  // namespace

Tensor& random_(Tensor& self, std::int64_t to, std::optional<Generator> generator) {
  return random_(self, 0, to, generator);
}

Tensor& random_(Tensor& self, std::optional<Generator> generator) {
  switch (self.scalar_type()) {  // the integers up to which all are exact
    case kBool:
      return random_(self, 0, 2, generator);
    case kByte:
      return random_(self, 0, 256, generator);
    case kInt:
      return random_(self, 0, std::int64_t{1} << 31, generator);
    case kLong:
      return random_(self, 0, std::numeric_limits<std::int64_t>::max(), generator);
    case kHalf:
      return random_(self, 0, (std::int64_t{1} << 11) + 1, generator);
    case kBFloat16:
      return random_(self, 0, (std::int64_t{1} << 8) + 1, generator);
    case kFloat:
      return random_(self, 0, (std::int64_t{1} << 24) + 1, generator);
    case kDouble:
      break;
  }
  return random_(self, 0, (std::int64_t{1} << 53) + 1, generator);
}

Tensor& exponential_(Tensor& self, double lambd, std::optional<Generator> generator) {
  ops::check_real("exponential_", self);
  if (!(lambd > 0)) fail("exponential_", "lambd must be positive, got ", lambd);
  return overwritten_by("exponential_", self, log(open_uniform(self, generator)) * (-1 / lambd));
}

Tensor& geometric_(Tensor& self, double p, std::optional<Generator> generator) {
  if (!(p > 0 && p < 1)) fail("geometric_", "p must lie in (0, 1), got ", p);
  return overwritten_by("geometric_", self,
                        clamp_min(ceil(log(open_uniform(self, generator)) * (1 / std::log1p(-p))), 1));
}

Tensor& log_normal_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  ops::check_real("log_normal_", self);
  if (!(std > 0)) fail("log_normal_", "std must be positive, got ", std);
  Tensor numbers =
      empty(self.sizes(), TensorOptions(accumulate_type(self.scalar_type())).device(self.device()));
  return overwritten_by("log_normal_", self, exp(normal_(numbers, mean, std, generator)));
}

Tensor& cauchy_(Tensor& self, double median, double sigma, std::optional<Generator> generator) {
  ops::check_real("cauchy_", self);
  if (!(sigma > 0)) fail("cauchy_", "sigma must be positive, got ", sigma);
  constexpr double kPi = 3.141592653589793238463;
  return overwritten_by("cauchy_", self, tan((open_uniform(self, generator) - 0.5) * kPi) * sigma + median);
}

Tensor bernoulli(const Tensor& self, double p, std::optional<Generator> generator) {
  Tensor out = empty_like(self);
  return bernoulli_(out, p, generator);
}

Tensor& bernoulli_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  const Tensor probabilities = p.is_floating_point() ? p : p.to(kFloat);
  return overwritten_by("bernoulli_", self,
                        bernoulli(expand(probabilities.detach(), self.sizes()), generator));
}

Tensor normal(const Tensor& mean, double std, std::optional<Generator> generator) {
  ops::check_real("normal", mean);
  if (!(std >= 0)) fail("normal", "std must not be negative, got ", std);
  const NoGradGuard no_grad;
  return standard_normal(mean, generator) * std + mean;
}
Tensor normal(double mean, const Tensor& std, std::optional<Generator> generator) {
  ops::check_real("normal", std);
  check_std(std);
  const NoGradGuard no_grad;
  return standard_normal(std, generator) * std + mean;
}
Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> generator) {
  ops::check_real("normal", mean);
  check_std(std);
  const NoGradGuard no_grad;
  const Dims sizes = broadcast_shapes("normal", mean.sizes(), std.sizes());
  return standard_normal(expand(mean, sizes), generator) * std + mean;
}
Tensor normal(double mean, double std, IntArrayRef size, std::optional<Generator> generator,
              const TensorOptions& options) {
  Tensor out = empty(size, options.requires_grad(false));
  normal_(out, mean, std, generator);
  return options.requires_grad() ? out.requires_grad_() : out;
}

}  // namespace halftone
