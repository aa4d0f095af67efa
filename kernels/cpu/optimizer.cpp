#include "halftone/kernels/optimizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/convert.h"

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/optimizer.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

constexpr std::int64_t kBlock = 2048;  // elements handled at once; sums are formed per block
constexpr std::int64_t kBlocksPerGrain = 8;
constexpr std::int64_t kPad = 16;

constexpr std::int64_t padded(std::int64_t n) { return (n + kPad - 1) / kPad * kPad; }

std::byte* at(const Tensor& tensor, std::int64_t i) {
  return static_cast<std::byte*>(tensor.data_ptr()) + i * static_cast<std::int64_t>(tensor.element_size());
}

/// Calls f(begin, count) for every block of 0 .. n, on several threads.
template <class F>
void for_blocks(std::int64_t n, F&& f) {
  parallel_for(n, kBlock * kBlocksPerGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kBlock) f(i, std::min(kBlock, end - i));
  });
}

// --- Pass 1: looking at gradients
// ------------------------------------------------------------------------------
struct Partial {
  double sum = 0;
  double largest = 0;
  std::int64_t nonfinite = 0;
};

Partial scan_doubles(const double* x, std::int64_t n, double factor) {
  Partial partial;
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = x[i] * factor;
    if (!std::isfinite(value)) ++partial.nonfinite;
    partial.largest = std::max(partial.largest, std::fabs(value));
    partial.sum += value * value;
  }
  return partial;
}

template <class T>
double sum_of_powers(const T* x, std::int64_t n, T factor, double p) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::pow(std::fabs(static_cast<double>(x[i] * factor)), p);
  return sum;
}

/// x holds padded(n) elements, zeros at the end.
Partial scan_block(const float* x, std::int64_t n, double factor) {
  const auto scan = pick(&baseline::scan_floats, &avx2::scan_floats, &avx512::scan_floats);
  Partial partial;
  float largest = 0;
  scan(x, padded(n), static_cast<float>(factor), &partial.sum, &partial.nonfinite, &largest);
  partial.largest = largest;
  return partial;
}
Partial scan_block(const double* x, std::int64_t n, double factor) { return scan_doubles(x, n, factor); }

double norm_of(const std::vector<Partial>& partials, double p) {
  double total = 0;
  if (std::isinf(p)) {
    for (const Partial& partial : partials) total = std::max(total, partial.largest);
    return total;
  }
  for (const Partial& partial : partials) total += partial.sum;
  return p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
}

/// Brings block after block of the gradient into an array of T; `visit(block, begin, count)` may change it.
template <class T, class Visit>
GradientStats scan_blocks(const Tensor& gradient, double factor, double p, Visit&& visit) {
  const std::int64_t n = gradient.numel();
  std::vector<Partial> partials(static_cast<std::size_t>((n + kBlock - 1) / kBlock));
  const auto load = loader<T>(gradient.scalar_type());
  for_blocks(n, [&](std::int64_t begin, std::int64_t count) {
    alignas(64) T block[kBlock];
    load(block, at(gradient, begin), 1, count);
    std::fill(block + count, block + padded(count), T(0));
    visit(block, begin, count);
    Partial& partial = partials[static_cast<std::size_t>(begin / kBlock)];
    partial = scan_block(block, count, factor);
    if (p != 2 && !std::isinf(p)) partial.sum = sum_of_powers(block, count, static_cast<T>(factor), p);
  });
  GradientStats stats;
  for (const Partial& partial : partials) stats.nonfinite += partial.nonfinite;
  stats.norm = norm_of(partials, p);
  if (stats.nonfinite > 0 && std::isfinite(stats.norm)) stats.norm = std::numeric_limits<double>::quiet_NaN();
  return stats;
}

/// Squares of fp64 gradients can overflow or vanish although the norm does not: then it is taken of x /
/// largest |x|.
void rescue_norm(GradientStats& stats, const Tensor& gradient, double factor) {
  constexpr double kLow = 1e-140, kHigh = 1e150;
  if (stats.nonfinite > 0 || (stats.norm > kLow && stats.norm < kHigh)) return;
  const double* x = gradient.const_data_ptr<double>();
  double largest = 0, sum = 0;
  for (std::int64_t i = 0; i < gradient.numel(); ++i) largest = std::max(largest, std::fabs(x[i] * factor));
  if (largest == 0) return;
  for (std::int64_t i = 0; i < gradient.numel(); ++i) {
    const double part = x[i] * factor / largest;
    sum += part * part;
  }
  stats.norm = largest * std::sqrt(sum);
}

GradientStats scan(const Tensor& gradient, double factor, double p) {
  if (gradient.scalar_type() != kDouble) {
    return scan_blocks<float>(gradient, factor, p, [](float*, std::int64_t, std::int64_t) {});
  }
  GradientStats stats = scan_blocks<double>(gradient, factor, p, [](double*, std::int64_t, std::int64_t) {});
  if (p == 2) rescue_norm(stats, gradient, factor);
  return stats;
}

GradientStats scale(const Tensor& gradient, double factor, double p) {
  const ScalarType dtype = gradient.scalar_type();
  if (dtype == kDouble) {
    GradientStats stats =
        scan_blocks<double>(gradient, 1, p, [&](double* block, std::int64_t begin, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) block[i] *= factor;
          std::copy(block, block + count, reinterpret_cast<double*>(at(gradient, begin)));
        });
    if (p == 2) rescue_norm(stats, gradient, 1);
    return stats;
  }
  const auto multiply = pick(&baseline::multiply_floats, &avx2::multiply_floats, &avx512::multiply_floats);
  const auto load = loader<float>(dtype);
  const auto store = storer<float>(dtype);
  return scan_blocks<float>(gradient, 1, p, [&](float* block, std::int64_t begin, std::int64_t count) {
    multiply(block, padded(count), static_cast<float>(factor));
    store(at(gradient, begin), 1, block, count);
    if (dtype != kFloat) load(block, at(gradient, begin), 1, count);  // what was written may have overflowed
  });
}

// --- Pass 2: the step
// ------------------------------------------------------------------------------------------
/// `nearest` is x rounded; the neighbour on the other side of x is taken with the probability of its
/// nearness.
template <class T>
T round_at_random(float x, float uniform) {
  const T nearest(x);
  const float back = static_cast<float>(nearest);
  if (back == x || !std::isfinite(back)) return nearest;
  const auto bits = std::bit_cast<std::uint16_t>(nearest);
  const bool outward = std::fabs(x) > std::fabs(back);
  const T other = std::bit_cast<T>(static_cast<std::uint16_t>(outward ? bits + 1 : bits - 1));
  const float probability = (x - back) / (static_cast<float>(other) - back);
  return uniform < probability ? other : nearest;
}

void round_block(const Tensor& dst, std::int64_t begin, const float* src, const float* uniforms,
                 std::int64_t n) {
  if (dst.scalar_type() == kHalf) {
    Half* out = reinterpret_cast<Half*>(at(dst, begin));
    for (std::int64_t i = 0; i < n; ++i) out[i] = round_at_random<Half>(src[i], uniforms[i]);
  } else {
    BFloat16* out = reinterpret_cast<BFloat16*>(at(dst, begin));
    for (std::int64_t i = 0; i < n; ++i) out[i] = round_at_random<BFloat16>(src[i], uniforms[i]);
  }
}

void stochastic_round(const Tensor& dst, const Tensor& src, const Tensor& uniforms) {
  const float* from = src.const_data_ptr<float>();
  const float* random = uniforms.const_data_ptr<float>();
  for_blocks(dst.numel(), [&](std::int64_t begin, std::int64_t count) {
    round_block(dst, begin, from + begin, random + begin, count);
  });
}

/// One block of fp32 arithmetic: whatever is not fp32, or not a whole number of vectors, passes through local
/// arrays.
class FloatBlock {
 public:
  FloatBlock(const UpdateCall& call, std::int64_t begin, std::int64_t count)
      : call_(call), begin_(begin), count_(count), direct_(count % kPad == 0) {
    const Tensor& weight = call.master.defined() ? call.master : call.parameter;
    w_ = bring(weight, weight_);
    g_ = bring(call.gradient, gradient_);
    for (std::size_t k = 0; k < 3; ++k)
      m_[k] = call.moments[k].defined() ? bring(call.moments[k], moment_[k]) : nullptr;
  }

  UpdateMeter run() {
    const auto update = pick(&baseline::update_floats, &avx2::update_floats, &avx512::update_floats);
    const bool own_master = !call_.master.defined() && call_.parameter.scalar_type() != kFloat;
    if (own_master) std::copy(w_, w_ + count_, before_);
    update(call_.rule, call_.numbers, w_, g_, m_, padded(count_), static_cast<float>(call_.inverse_scale),
           static_cast<float>(call_.clip_factor));
    UpdateMeter meter;
    if (own_master) meter = write_without_master();
    if (call_.master.defined()) {
      if (!direct_) std::copy(w_, w_ + count_, reinterpret_cast<float*>(at(call_.master, begin_)));
      write(call_.parameter);
    } else if (!own_master && !direct_) {
      write(call_.parameter);
    }
    if (call_.shadow.defined()) write(call_.shadow);
    for (std::size_t k = 0; k < 3; ++k) {
      if (m_[k] && !direct_)
        std::copy(m_[k], m_[k] + count_, reinterpret_cast<float*>(at(call_.moments[k], begin_)));
    }
    return meter;
  }

 private:
  float* bring(const Tensor& tensor, float* buffer) {
    if (direct_ && tensor.scalar_type() == kFloat) return reinterpret_cast<float*>(at(tensor, begin_));
    loader<float>(tensor.scalar_type())(buffer, at(tensor, begin_), 1, count_);
    std::fill(buffer + count_, buffer + padded(count_), 0.0f);
    return buffer;
  }

  void write(const Tensor& tensor) { storer<float>(tensor.scalar_type())(at(tensor, begin_), 1, w_, count_); }

  /// The parameter is the only copy of the weight: what rounding loses is lost, and counted.
  UpdateMeter write_without_master() {
    write(call_.parameter);
    alignas(64) float rounded[kBlock];
    loader<float>(call_.parameter.scalar_type())(rounded, at(call_.parameter, begin_), 1, count_);
    UpdateMeter meter;
    for (std::int64_t i = 0; i < count_; ++i) {
      const bool changed = w_[i] != before_[i];
      meter.changed += changed;
      meter.lost += changed && rounded[i] == before_[i];
    }
    if (call_.uniforms.defined()) {
      round_block(call_.parameter, begin_, w_, call_.uniforms.const_data_ptr<float>() + begin_, count_);
    }
    return meter;
  }

  const UpdateCall& call_;
  std::int64_t begin_, count_;
  bool direct_;
  float *w_, *g_, *m_[3];
  alignas(64) float weight_[kBlock], gradient_[kBlock], moment_[3][kBlock], before_[kBlock];
};

void update_doubles(const UpdateCall& call) {
  const auto load = loader<double>(call.gradient.scalar_type());
  for_blocks(call.parameter.numel(), [&](std::int64_t begin, std::int64_t count) {
    double gradient[kBlock];
    load(gradient, at(call.gradient, begin), 1, count);
    double* moments[3];
    for (std::size_t k = 0; k < 3; ++k) {
      moments[k] =
          call.moments[k].defined() ? reinterpret_cast<double*>(at(call.moments[k], begin)) : nullptr;
    }
    auto* weight = reinterpret_cast<double*>(at(call.parameter, begin));
    baseline::update_doubles(call.rule, call.numbers, weight, gradient, moments, count, call.inverse_scale,
                             call.clip_factor);
    if (call.shadow.defined())
      storer<double>(call.shadow.scalar_type())(at(call.shadow, begin), 1, weight, count);
  });
}

UpdateMeter update(const UpdateCall& call) {
  UpdateMeter total;
  if (call.parameter.scalar_type() == kDouble) {
    update_doubles(call);
    return total;
  }
  const std::int64_t n = call.parameter.numel();
  std::vector<UpdateMeter> meters(static_cast<std::size_t>((n + kBlock - 1) / kBlock));
  for_blocks(n, [&](std::int64_t begin, std::int64_t count) {
    meters[static_cast<std::size_t>(begin / kBlock)] = FloatBlock(call, begin, count).run();
  });
  for (const UpdateMeter& meter : meters) {
    total.changed += meter.changed;
    total.lost += meter.lost;
  }
  return total;
}

void refresh_master(const Tensor& master, const Tensor& parameter) {
  const auto load = loader<float>(parameter.scalar_type());
  const auto store = storer<float>(parameter.scalar_type());
  for_blocks(master.numel(), [&](std::int64_t begin, std::int64_t count) {
    float now[kBlock], expected[kBlock];
    std::byte rounded[kBlock * sizeof(float)];
    float* own = reinterpret_cast<float*>(at(master, begin));
    load(now, at(parameter, begin), 1, count);
    store(rounded, 1, own, count);
    load(expected, rounded, 1, count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!(now[i] == expected[i])) own[i] = now[i];
    }
  });
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const OptimizerKernels& cpu_kernels<OptimizerKernels>() {
  static const OptimizerKernels kernels{&cpu::scan, &cpu::scale, &cpu::update, &cpu::refresh_master,
                                        &cpu::stochastic_round};
  return kernels;
}

}  // namespace halftone
