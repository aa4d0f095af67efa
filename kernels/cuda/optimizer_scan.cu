// Pass 1 of an optimizer's step over all gradients: are they finite, how large are they, and with `unscale_`
// also the division by the loss scale.
//
// Four threads walk a piece of 2048 elements, and form the sixteen running sums of the CPU kernel in its
// order, so that a gradient of one chunk has the same norm to the last bit. Chunks of larger ones are
// combined by a warp, in fixed order.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/block.h"
#include "halftone/kernels/cuda/optimizer_scan.h"
#include "halftone/kernels/cuda/optimizer_table.h"
#include "halftone/kernels/math/total_norm.h"
#include "halftone/kernels/record.h"

namespace halftone::cuda {
namespace {

constexpr int kScanThreads = 64;
constexpr std::int64_t kPiece = 2048;
constexpr int kPieces = kScanThreads / 4;
constexpr std::int64_t kScanChunk = kPiece * kPieces;
constexpr std::int64_t kClipChunk = 4 * kThreads * 8;

/// What is known of one chunk. The sum is of (element / 2^exponent)^p; the exponent is not 0 only for fp64
/// elements whose squares would overflow or vanish.
struct Partial {
  double sum;
  double largest;
  std::int64_t nonfinite;
  std::int64_t exponent;
};

/// Where the partials of one gradient are.
struct Range {
  std::int64_t first, count;
  std::uint64_t gradient;
};

struct ScanItem {
  void* data;
  const float* divisor;
  double number;
  std::int64_t numel;
  std::uint64_t gradient;
  ScalarType dtype;
  bool packed;
};
using ScanTable = Table<ScanItem, 64>;
static_assert(sizeof(ScanTable) + 64 <= 4096, "kernel parameters");

/// How elements add to a sum.
enum class Power { kSquare, kLargest, kGeneral };

template <class C>
__device__ inline bool is_finite(C value) {
  return value - value == C(0);
}

/// log2 of what the elements are divided by before they are squared.
__device__ inline int exponent_for(double largest) {
  constexpr double kLow = 1e-130, kHigh = 1e130;
  return largest == 0 || !is_finite(largest) || (largest > kLow && largest < kHigh) ? 0 : std::ilogb(largest);
}

template <class C, bool kWrites>
__global__ void __launch_bounds__(kScanThreads)
    scan_kernel(ScanTable table, Power power, double p, Partial* partials, Range* ranges) {
  HT_SHARED(Partial, piece_result, [kPieces]);
  const Share share = share_of(table, block_id());
  const ScanItem& item = table.item[share.item];
  const bool is_mine =
      (item.dtype == kDouble) == std::is_same_v<C, double>;  // the other kernel does it otherwise
  const std::int64_t numel = is_mine ? item.numel : 0;
  const C factor = static_cast<C>(factor_of(item.number, item.divisor));
  const int piece = thread_id() / 4, lane = thread_id() % 4;
  const std::int64_t first = share.chunk * kScanChunk + piece * kPiece + lane * 4;

  const auto value_at = [&](std::int64_t i) {
    Four<C> four = load_four<C>(item.data, item.dtype, i, numel - i, item.packed);
    HT_UNROLL
    for (int k = 0; k < 4; ++k) four.value[k] *= factor;
    return four;
  };

  C largest = 0;
  std::int64_t nonfinite = 0;
  double sums[4] = {};
  int exponent = 0;
  if constexpr (std::is_same_v<C, double>) {
    for (std::int64_t r = 0; r < kPiece && first + r < numel; r += 16) {
      const Four<C> four = value_at(first + r);
      for (int k = 0; k < 4; ++k) {
        const C size = std::fabs(four.value[k]);
        if (is_finite(size) && size > largest) largest = size;
      }
    }
    exponent = exponent_for(block_reduce(static_cast<double>(largest), Max(), 0.0));
  }
  for (std::int64_t r = 0; r < kPiece && first + r < numel; r += 16) {
    Four<C> four = value_at(first + r);
    if constexpr (kWrites) {
      store_four(item.data, item.dtype, first + r, numel - first - r, item.packed, four);
      HT_UNROLL
      for (int k = 0; k < 4; ++k) {  // what was written may have overflowed
        if (item.dtype == kHalf) four.value[k] = to_compute<C>(from_compute<Half>(four.value[k]));
        if (item.dtype == kBFloat16) four.value[k] = to_compute<C>(from_compute<BFloat16>(four.value[k]));
      }
    }
    HT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const C value = four.value[k];
      nonfinite += is_finite(value) ? 0 : 1;
      const C size = std::fabs(value);
      largest = size > largest ? size : largest;
      double wide = static_cast<double>(value);
      if constexpr (std::is_same_v<C, double>) {
        if (exponent != 0) wide = std::ldexp(wide, -exponent);
      }
      if (power == Power::kSquare) sums[k] += wide * wide;
      if (power == Power::kGeneral) sums[k] += std::pow(std::fabs(wide), p);
    }
  }

  double wide_largest = static_cast<double>(largest);
  for (int step = 2; step > 0; step /= 2) {
    HT_UNROLL
    for (int k = 0; k < 4; ++k) sums[k] += __shfl_down_sync(kFullWarp, sums[k], step, 4);
    nonfinite += __shfl_down_sync(kFullWarp, nonfinite, step, 4);
    const double other = __shfl_down_sync(kFullWarp, wide_largest, step, 4);
    wide_largest = other > wide_largest ? other : wide_largest;
  }
  if (lane == 0) {
    piece_result[piece] = {(sums[0] + sums[2]) + (sums[1] + sums[3]), wide_largest, nonfinite, exponent};
  }
  __syncthreads();
  if (thread_id() != 0 || !is_mine) return;
  Partial total{0, 0, 0, exponent};
  for (int k = 0; k < kPieces; ++k) {
    total.sum += piece_result[k].sum;
    total.largest = piece_result[k].largest > total.largest ? piece_result[k].largest : total.largest;
    total.nonfinite += piece_result[k].nonfinite;
  }
  const std::int64_t begin = table.first_chunk + block_id();
  partials[begin] = total;
  if (share.chunk == 0) {
    const std::int64_t chunks = (item.numel + kScanChunk - 1) / kScanChunk;
    ranges[table.first_item + share.item] = {begin, chunks, item.gradient};
  }
}

/// One gradient's entry, by a warp.
__device__ inline ScanEntry combine(const Partial* partials, Range range, double p) {
  std::int64_t nonfinite = 0, exponent = -100000;
  double largest = 0, sum = 0;
  for (std::int64_t c = lane_id(); c < range.count; c += 32) {
    const Partial& partial = partials[range.first + c];
    nonfinite += partial.nonfinite;
    largest = partial.largest > largest ? partial.largest : largest;
    if (partial.sum > 0 && partial.exponent > exponent) exponent = partial.exponent;
  }
  nonfinite = warp_reduce(nonfinite, Sum());
  largest = warp_reduce(largest, Max());
  exponent = warp_reduce(exponent, Max());
  if (exponent == -100000) exponent = 0;
  for (std::int64_t c = lane_id(); c < range.count; c += 32) {
    const Partial& partial = partials[range.first + c];
    const auto shift = static_cast<int>(partial.exponent - exponent);
    sum += shift == 0 ? partial.sum : partial.sum * std::pow(std::ldexp(1.0, shift), p);
  }
  sum = warp_reduce(sum, Sum());

  ScanEntry entry;
  entry.gradient = range.gradient;
  entry.nonfinite = nonfinite;
  entry.norm = std::isinf(p) ? largest : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
  if (exponent != 0 && !std::isinf(p)) entry.norm = std::ldexp(entry.norm, static_cast<int>(exponent));
  if (nonfinite > 0 && is_finite(entry.norm)) entry.norm = std::nan("");
  return entry;
}

struct LargerNorm {
  __device__ double operator()(double a, double b) const { return larger_norm(a, b); }
};

/// One block: entries, then the header. `terms`: scratch for a number per gradient.
__global__ void __launch_bounds__(kThreads)
    finish_scan_kernel(const Partial* partials, const Range* ranges, std::int64_t count, double p,
                       ScanHeader* header, const ScanHeader* before, double* terms) {
  auto* entries = reinterpret_cast<ScanEntry*>(header + 1);
  for (std::int64_t i = warp_id(); i < count; i += block_size() / 32) {
    const ScanEntry entry = combine(partials, ranges[i], p);
    if (lane_id() == 0) entries[i] = entry;
  }
  __syncthreads();
  double largest = 0;
  std::int64_t nonfinite = 0;
  for (std::int64_t i = thread_id(); i < count; i += block_size()) {
    largest = larger_norm(largest, entries[i].norm);
    nonfinite += entries[i].nonfinite > 0;
  }
  largest = block_reduce(largest, LargerNorm(), 0.0);
  nonfinite = block_sum(nonfinite);
  const bool needs_sum = !is_norm_of_all(largest, count, p);
  for (std::int64_t i = thread_id(); needs_sum && i < count; i += block_size()) {
    terms[i] = norm_term(entries[i].norm, largest, p);
  }
  __syncthreads();
  if (thread_id() != 0) return;
  double sum = 0;
  for (std::int64_t i = 0; needs_sum && i < count; ++i) sum += terms[i];
  header->norm = needs_sum ? norm_of_sum(largest, sum, p) : largest;
  header->nonfinite_gradients = nonfinite;
  header->found = nonfinite > 0 || (before != nullptr && before->found != 0);
}

__global__ void __launch_bounds__(kThreads)
    clip_kernel(ScanTable table, const ScanHeader* header, double max_norm) {
  const double factor = clip_factor(max_norm, header->norm);
  if (factor == 1) return;
  const Share share = share_of(table, block_id());
  const ScanItem& item = table.item[share.item];
  const std::int64_t begin = share.chunk * kClipChunk;
  const std::int64_t end = begin + kClipChunk < item.numel ? begin + kClipChunk : item.numel;
  const auto multiply = [&]<class C>(C by) {
    for (std::int64_t i = begin + 4 * thread_id(); i < end; i += 4 * block_size()) {
      Four<C> four = load_four<C>(item.data, item.dtype, i, end - i, item.packed);
      HT_UNROLL
      for (int k = 0; k < 4; ++k) four.value[k] *= by;
      store_four(item.data, item.dtype, i, end - i, item.packed, four);
    }
  };
  if (item.dtype == kDouble) {
    multiply(factor);
  } else {
    multiply(static_cast<float>(factor));
  }
}

// ---------------------------------------------------------------------------------------------------------------------

ScanItem item_of(const GradientEntry& entry) {
  const Tensor& gradient = entry.gradient;
  return {gradient.data_ptr(),
          record_data<float>(entry.factor.divisor),
          entry.factor.number,
          gradient.numel(),
          entry.id,
          gradient.scalar_type(),
          is_pack_aligned(gradient.data_ptr())};
}

template <class Launch>
void for_tables(std::span<const GradientEntry> entries, std::int64_t chunk, Launch launch_table) {
  TableFiller<ScanTable, Launch> filler(chunk, launch_table);
  for (const GradientEntry& entry : entries) filler.add(item_of(entry), entry.gradient.numel());
  filler.flush();
}

template <bool kWrites>
void look_at_all(std::span<const GradientEntry> entries, double p, const Tensor& scan, const Tensor& before) {
  const Device device = scan.device();
  const DeviceScope scope(device);
  std::int64_t chunks = 0;
  bool has_floats = false, has_doubles = false;
  for (const GradientEntry& entry : entries) {
    chunks += entry.gradient.numel() / kScanChunk + 1;
    (entry.gradient.scalar_type() == kDouble ? has_doubles : has_floats) = true;
  }
  const auto count = entries.size();
  const Tensor partials = empty_record(sizeof(Partial) * static_cast<std::size_t>(chunks), device);
  const Tensor ranges = empty_record((sizeof(Range) + sizeof(double)) * (count + 1), device);
  auto* range = record_data<Range>(ranges);
  const Power power = p == 2 ? Power::kSquare : std::isinf(p) ? Power::kLargest : Power::kGeneral;
  for_tables(entries, kScanChunk, [&](const ScanTable& table, unsigned blocks) {
    auto* partial = record_data<Partial>(partials);
    if (has_floats)
      launch<scan_kernel<float, kWrites>>(blocks, kScanThreads, 0, table, power, p, partial, range);
    if (has_doubles)
      launch<scan_kernel<double, kWrites>>(blocks, kScanThreads, 0, table, power, p, partial, range);
  });
  launch<finish_scan_kernel>(1, kThreads, 0, record_data<Partial>(partials), range,
                             static_cast<std::int64_t>(count), p, record_data<ScanHeader>(scan),
                             record_data<ScanHeader>(before), reinterpret_cast<double*>(range + count));
}

}  // namespace

void scan_gradients(std::span<const GradientEntry> entries, double p, const Tensor& scan,
                    const Tensor& before) {
  look_at_all<false>(entries, p, scan, before);
}

void scale_gradients(std::span<const GradientEntry> entries, double p, const Tensor& scan,
                     const Tensor& before) {
  look_at_all<true>(entries, p, scan, before);
}

void clip_gradients(std::span<const GradientEntry> entries, const Tensor& scan, double max_norm) {
  const DeviceScope scope(scan.device());
  for_tables(entries, kClipChunk, [&](const ScanTable& table, unsigned blocks) {
    launch<clip_kernel>(blocks, kThreads, 0, table, record_data<ScanHeader>(scan), max_norm);
  });
}

}  // namespace halftone::cuda
