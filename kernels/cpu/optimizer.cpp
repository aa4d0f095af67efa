#include "halftone/kernels/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/engine/cached_containers.h"
#include "halftone/engine/philox.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/convert.h"
#include "halftone/kernels/math/random_rounding.h"
#include "halftone/kernels/math/total_norm.h"
#include "halftone/kernels/record.h"
#include "halftone/kernels/update_numbers.h"

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

/// x holds padded(n) elements, zeros at the end. What the p-norm does not need is looked for only where the
/// sum of squares says that an element is not finite.
Partial scan_block(const float* x, std::int64_t n, float factor, double p) {
  const auto squares = pick(&baseline::sum_of_squares, &avx2::sum_of_squares, &avx512::sum_of_squares);
  Partial partial;
  partial.sum = squares(x, padded(n), factor);
  if (std::isfinite(partial.sum) && p == 2) return partial;
  const auto extremes = pick(&baseline::find_extremes, &avx2::find_extremes, &avx512::find_extremes);
  float largest = 0;
  extremes(x, padded(n), factor, &partial.nonfinite, &largest);
  partial.largest = largest;
  if (p != 2 && !std::isinf(p)) partial.sum = sum_of_powers(x, n, factor, p);
  return partial;
}
Partial scan_block(const double* x, std::int64_t n, double factor, double p) {
  Partial partial = scan_doubles(x, n, factor);
  if (p != 2 && !std::isinf(p)) partial.sum = sum_of_powers(x, n, factor, p);
  return partial;
}

double norm_of(const CachedVector<Partial>& partials, double p) {
  double total = 0;
  if (std::isinf(p)) {
    for (const Partial& partial : partials) total = std::max(total, partial.largest);
    return total;
  }
  for (const Partial& partial : partials) total += partial.sum;
  return p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
}

ScanEntry summary_of(const CachedVector<Partial>& partials, double p) {
  ScanEntry stats;
  for (const Partial& partial : partials) stats.nonfinite += partial.nonfinite;
  stats.norm = norm_of(partials, p);
  if (stats.nonfinite > 0 && std::isfinite(stats.norm)) stats.norm = std::numeric_limits<double>::quiet_NaN();
  return stats;
}

/// Brings block after block of the gradient into an array of T; `visit(block, begin, count)` may change it.
template <class T, class Visit>
ScanEntry scan_blocks(const Tensor& gradient, double factor, double p, Visit&& visit) {
  const std::int64_t n = gradient.numel();
  CachedVector<Partial> partials(static_cast<std::size_t>((n + kBlock - 1) / kBlock));
  const auto load = loader<T>(gradient.scalar_type());
  for_blocks(n, [&](std::int64_t begin, std::int64_t count) {
    alignas(64) T block[kBlock];
    load(block, at(gradient, begin), 1, count);
    std::fill(block + count, block + padded(count), T(0));
    visit(block, begin, count);
    partials[static_cast<std::size_t>(begin / kBlock)] = scan_block(block, count, static_cast<T>(factor), p);
  });
  return summary_of(partials, p);
}

/// The same for fp32 gradients that are only looked at, where they lie.
ScanEntry scan_in_place(const Tensor& gradient, float factor, double p) {
  const std::int64_t n = gradient.numel(), whole = n / kPad * kPad;
  const float* const x = gradient.const_data_ptr<float>();
  CachedVector<Partial> partials(static_cast<std::size_t>((n + kBlock - 1) / kBlock) + 1);
  for_blocks(whole, [&](std::int64_t begin, std::int64_t count) {
    partials[static_cast<std::size_t>(begin / kBlock)] = scan_block(x + begin, count, factor, p);
  });
  if (whole < n) {
    float rest[kPad] = {};
    std::copy(x + whole, x + n, rest);
    partials.back() = scan_block(rest, n - whole, factor, p);
  }
  return summary_of(partials, p);
}

/// Squares of fp64 gradients can overflow or vanish although the norm does not: then it is taken of x /
/// largest |x|.
void rescue_norm(ScanEntry& stats, const Tensor& gradient, double factor) {
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

ScanEntry scan_one(const Tensor& gradient, double factor, double p) {
  if (gradient.scalar_type() == kFloat) return scan_in_place(gradient, static_cast<float>(factor), p);
  if (gradient.scalar_type() != kDouble) {
    return scan_blocks<float>(gradient, factor, p, [](float*, std::int64_t, std::int64_t) {});
  }
  ScanEntry stats = scan_blocks<double>(gradient, factor, p, [](double*, std::int64_t, std::int64_t) {});
  if (p == 2) rescue_norm(stats, gradient, factor);
  return stats;
}

ScanEntry scale_one(const Tensor& gradient, double factor, double p) {
  const ScalarType dtype = gradient.scalar_type();
  if (dtype == kDouble) {
    ScanEntry stats =
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

double value_of(const GradientFactor& factor) {
  return factor.divisor.defined() ? factor.number / static_cast<double>(*record_data<float>(factor.divisor))
                                  : factor.number;
}

template <class Look>
void look_at_all(std::span<const GradientEntry> entries, double p, const Tensor& scan, const Tensor& before,
                 Look&& look) {
  auto* header = record_data<ScanHeader>(scan);
  auto* found = reinterpret_cast<ScanEntry*>(header + 1);
  *header = {};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    found[i] = look(entries[i].gradient, value_of(entries[i].factor), p);
    found[i].gradient = entries[i].id;
    header->nonfinite_gradients += found[i].nonfinite > 0;
  }
  header->norm =
      total_norm(static_cast<std::int64_t>(entries.size()), p, [&](std::int64_t i) { return found[i].norm; });
  header->found =
      header->nonfinite_gradients > 0 || (before.defined() && record_data<ScanHeader>(before)->found);
}

void scan(std::span<const GradientEntry> entries, double p, const Tensor& scan, const Tensor& before) {
  look_at_all(entries, p, scan, before, &scan_one);
}

void scale(std::span<const GradientEntry> entries, double p, const Tensor& scan, const Tensor& before) {
  look_at_all(entries, p, scan, before, &scale_one);
}

void clip(std::span<const GradientEntry> entries, const Tensor& scan, double max_norm) {
  const double factor = clip_factor(max_norm, record_data<ScanHeader>(scan)->norm);
  if (factor == 1) return;
  for (const GradientEntry& entry : entries) scale_one(entry.gradient, factor, 2);
}

// --- Between the passes
// ----------------------------------------------------------------------------------------
void decide(const DecideCall& call) {
  auto* record = record_data<StepRecord>(call.record);
  *record = {};
  const auto entries =
      call.scan.defined()
          ? (static_cast<std::size_t>(call.scan.numel()) - sizeof(ScanHeader)) / sizeof(ScanEntry)
          : 0;
  decide_step(*record_data<StepControl>(call.control), *record, record_data<ScanHeader>(call.scan),
              static_cast<std::int64_t>(entries), record_data<ScanHeader>(call.found),
              record_data<LossScaleState>(call.scaling), call.rules, call.request);
}

void note_loss(const Tensor& scaling, const Tensor& loss) {
  auto* state = record_data<LossScaleState>(scaling);
  const bool is_one_float = loss.numel() == 1 && loss.scalar_type() == kFloat;
  const bool finite =
      is_one_float ? std::isfinite(*record_data<float>(loss)) : scan_one(loss, 1, 2).nonfinite == 0;
  state->loss_nonfinite |= !finite;
}

void copy_scale(const Tensor& scaling, const Tensor& scale) {
  *record_data<float>(scale) = record_data<LossScaleState>(scaling)->scale;
}

void move_scale(const Tensor& scaling, const LossScaleRules& rules, const Tensor& record) {
  auto* state = record_data<LossScaleState>(scaling);
  halftone::move_scale(*state, rules);
  if (record.defined()) record_data<StepRecord>(record)->scale_after = static_cast<double>(state->scale);
}

// --- Pass 2: the step
// ------------------------------------------------------------------------------------------
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

/// What one call is made with.
struct Step {
  const StepControl& control;
  UpdateNumbers numbers;
  double inverse_scale;
};

/// One thread's blocks of fp32 arithmetic: whatever is not fp32, or not a whole number of vectors, passes
/// through local arrays.
class FloatBlocks {
 public:
  FloatBlocks(const UpdateCall& call, const Step& step)
      : call_(call),
        step_(step),
        update_(pick(&baseline::update_floats, &avx2::update_floats, &avx512::update_floats)),
        weight_source_(call.master.defined() ? call.master : call.parameter),
        own_master_(!call.master.defined() && call.parameter.scalar_type() != kFloat),
        half_copy_(call.shadow.defined() ? call.shadow : call.parameter),
        has_half_copy_(call.shadow.defined() || call.master.defined()) {}

  UpdateMeter run(std::int64_t begin, std::int64_t count) {
    begin_ = begin;
    count_ = count;
    direct_ = count % kPad == 0;
    w_ = bring(weight_source_, weight_);
    const float* const g = bring(call_.gradient, gradient_);
    float* m[3];
    for (std::size_t k = 0; k < 3; ++k)
      m[k] = call_.moments[k].defined() ? bring(call_.moments[k], moment_[k]) : nullptr;
    if (own_master_) std::copy(w_, w_ + count_, before_);
    const bool fused = has_half_copy_ && direct_ && is_low_precision(half_copy_.scalar_type());
    update_(call_.rule, step_.numbers, w_, g, m, fused ? at(half_copy_, begin_) : nullptr,
            half_copy_.scalar_type(), padded(count_), static_cast<float>(step_.inverse_scale),
            static_cast<float>(step_.control.clip_factor));
    UpdateMeter meter;
    if (own_master_) meter = write_without_master();
    if (call_.master.defined()) {
      if (!direct_) std::copy(w_, w_ + count_, reinterpret_cast<float*>(at(call_.master, begin_)));
      if (!fused || call_.shadow.defined()) write(call_.parameter);
    } else if (!own_master_ && !direct_) {
      write(call_.parameter);
    }
    if (call_.shadow.defined() && !fused) write(call_.shadow);
    for (std::size_t k = 0; k < 3; ++k) {
      if (m[k] && !direct_)
        std::copy(m[k], m[k] + count_, reinterpret_cast<float*>(at(call_.moments[k], begin_)));
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
    if (call_.rounds_at_random) {
      const std::uint64_t offset = step_.control.rounding_start + call_.rounding_offset;
      for (std::int64_t i = 0; i < count_; i += 4) {  // kBlock and so begin_ are multiples of four
        const auto index = offset + static_cast<std::uint64_t>((begin_ + i) / 4);
        const philox::Block random = philox::block(step_.control.rounding_seed, index);
        for (std::int64_t k = 0; k < 4 && i + k < count_; ++k)
          rounded[i + k] = philox::uniform(random.word[k]);
      }
      round_block(call_.parameter, begin_, w_, rounded, count_);
    }
    return meter;
  }

  const UpdateCall& call_;
  const Step& step_;
  decltype(&baseline::update_floats) update_;
  const Tensor& weight_source_;
  bool own_master_;
  const Tensor& half_copy_;  // what the update itself writes beside the weight
  bool has_half_copy_;
  // Of the block in work:
  std::int64_t begin_ = 0, count_ = 0;
  bool direct_ = false;
  float* w_ = nullptr;
  alignas(64) float weight_[kBlock], gradient_[kBlock], moment_[3][kBlock], before_[kBlock];
};

void update_doubles(const UpdateCall& call, const Step& step) {
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
    baseline::update_doubles(call.rule, step.numbers, weight, gradient, moments, count, step.inverse_scale,
                             step.control.clip_factor);
    if (call.shadow.defined())
      storer<double>(call.shadow.scalar_type())(at(call.shadow, begin), 1, weight, count);
  });
}

UpdateMeter update_floats(const UpdateCall& call, const Step& step) {
  UpdateMeter total;
  const std::int64_t n = call.parameter.numel();
  const bool has_meter = !call.master.defined() && call.parameter.scalar_type() != kFloat;
  CachedVector<UpdateMeter> meters(has_meter ? static_cast<std::size_t>((n + kBlock - 1) / kBlock) : 0);
  parallel_for(n, kBlock * kBlocksPerGrain, [&](std::int64_t begin, std::int64_t end) {
    FloatBlocks blocks(call, step);
    for (std::int64_t i = begin; i < end; i += kBlock) {
      const UpdateMeter meter = blocks.run(i, std::min(kBlock, end - i));
      if (has_meter) meters[static_cast<std::size_t>(i / kBlock)] = meter;
    }
  });
  for (const UpdateMeter& meter : meters) {
    total.changed += meter.changed;
    total.lost += meter.lost;
  }
  return total;
}

/// next_numbers, whose powers are not computed again for a parameter that is as far as the one before it.
class NumbersOfStep {
 public:
  const UpdateNumbers& next(const UpdateSettings& settings, UpdateCounters& counters, bool has_moment) {
    const bool same = settings_ == &settings && counters.steps == before_.steps &&
                      counters.primed == before_.primed && counters.mu_product == before_.mu_product &&
                      has_moment == has_moment_;
    if (same) {
      counters = after_;
      return numbers_;
    }
    settings_ = &settings;
    before_ = counters;
    has_moment_ = has_moment;
    numbers_ = next_numbers(settings, counters, has_moment);
    after_ = counters;
    return numbers_;
  }

 private:
  const UpdateSettings* settings_ = nullptr;
  UpdateCounters before_, after_;
  bool has_moment_ = false;
  UpdateNumbers numbers_;
};

void update(std::span<const UpdateCall> calls, const Tensor& settings, const Tensor& control) {
  auto* shared = record_data<StepControl>(control);
  if (shared->skip) return;
  NumbersOfStep numbers;
  for (const UpdateCall& call : calls) {
    const UpdateSettings& own = record_data<UpdateSettings>(settings)[call.group];
    auto* counters = record_data<UpdateCounters>(call.counters);
    const Step step{*shared, numbers.next(own, *counters, call.moments[0].defined()), value_of(call.factor)};
    if (call.parameter.scalar_type() == kDouble) {
      update_doubles(call, step);
      continue;
    }
    const UpdateMeter meter = update_floats(call, step);
    shared->changed += meter.changed;
    shared->lost += meter.lost;
  }
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
  static const OptimizerKernels kernels{&cpu::scan,
                                        &cpu::scale,
                                        &cpu::clip,
                                        &cpu::decide,
                                        &cpu::update,
                                        &cpu::refresh_master,
                                        &cpu::stochastic_round,
                                        &cpu::note_loss,
                                        &cpu::copy_scale,
                                        &cpu::move_scale};
  return kernels;
}

}  // namespace halftone
