#include "halftone/kernels/conv.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <span>

#include "halftone/engine/error.h"
#include "halftone/engine/inline_vector.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/conv_plan.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/kernels.h"

#define HALFTONE_ISA_WANT_BF16
#define HALFTONE_ISA_WANT_AMX
#define HALFTONE_ISA_BODY "halftone/kernels/cpu/conv.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;
using Taps = InlineVector<ConvTap, 25>;
using TapOffsets = InlineVector<i64, 25>;

bool any_float64(const Tensor& a, const Tensor& b, const Tensor& c) {
  return a.scalar_type() == kDouble || b.scalar_type() == kDouble || c.scalar_type() == kDouble;
}

const void* advance(const void* data, Dtype dtype, i64 elements) {
  return static_cast<const char*>(data) + elements * static_cast<i64>(element_size(dtype));
}
const void* advance(const Tensor& t, i64 elements) {
  return advance(t.data_ptr(), t.scalar_type(), elements);
}
void* advance_mutable(const Tensor& t, i64 elements) { return const_cast<void*>(advance(t, elements)); }

/// Offsets of the taps in a plane, which must outlive the plan, and the plane's extent: what PatchPlan
/// derives from its taps.
void place_taps(PatchPlan& plan, const Taps& taps, TapOffsets& offsets) {
  plan.taps = static_cast<i64>(taps.size());
  i64 dy_max = 0, dx_max = 0;
  plan.dy_min = plan.dx_min = 0;
  for (std::size_t t = 0; t < taps.size(); ++t) {
    plan.dy_min = t == 0 ? taps[t].dy : std::min(plan.dy_min, taps[t].dy);
    plan.dx_min = t == 0 ? taps[t].dx : std::min(plan.dx_min, taps[t].dx);
    dy_max = t == 0 ? taps[t].dy : std::max(dy_max, taps[t].dy);
    dx_max = t == 0 ? taps[t].dx : std::max(dx_max, taps[t].dx);
  }
  plan.span_h = dy_max - plan.dy_min + 1;
  plan.phase_cols = plan.grid_w + (dx_max - plan.dx_min) / plan.step_w;
  for (const ConvTap& tap : taps) {
    const i64 dx = tap.dx - plan.dx_min;
    offsets.push_back((tap.dy - plan.dy_min) * plan.row_size() + dx % plan.step_w * plan.phase_cols +
                      dx / plan.step_w);
  }
  plan.tap_offsets = offsets.begin();
  plan.set_slots();
}

Taps forward_taps(const ConvShape& s) {
  Taps taps;
  for (i64 y = 0; y < s.kh; ++y)
    for (i64 x = 0; x < s.kw; ++x) taps.push_back({y * s.dil_h - s.pad_h, x * s.dil_w - s.pad_w});
  return taps;
}

/// Patches of the input, for the first group.
PatchPlan input_patches(const Tensor& x, const ConvShape& s) {
  PatchPlan plan{};
  plan.source = x.data_ptr();
  plan.dtype = x.scalar_type();
  plan.images = s.n;
  plan.image_stride = s.c * s.h * s.w;
  plan.channels = s.c / s.groups;
  plan.h = s.h;
  plan.w = s.w;
  plan.grid_h = s.oh();
  plan.grid_w = s.ow();
  plan.step_h = s.stride_h;
  plan.step_w = s.stride_w;
  return plan;
}

GemmProblem plain_problem(i64 m, i64 n, i64 k, const MatrixRef& a, const MutableMatrixRef& c) {
  GemmProblem p{};
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a;
  p.c = c;
  p.alpha = 1;
  p.activation = Activation::kNone;
  return p;
}

/// Positions whose sums fill the registers of the current ISA, see conv_channels.inc.
i64 channel_rows() {
  static constexpr i64 rows[] = {baseline::kChannelRows, avx2::kChannelRows, avx512::kChannelRows,
                                 avx512_bf16::kChannelRows, avx512_bf16::kChannelRows};
  static_assert(std::size(rows) == kIsaCount);
  return rows[static_cast<int>(current_isa())];
}

bool multiplies_bfloat16(Dtype weights, Dtype source) { return weights == kBFloat16 && source == kBFloat16; }

/// True where panels are read from the planes themselves. Tiles of bfloat16 want theirs packed.
bool is_direct(const PatchPlan& plan, Dtype weights) {
  return plan.is_direct() && !(current_isa() == Isa::kAmx && multiplies_bfloat16(weights, plan.dtype));
}

/// True where a word of k is a pair of bfloat16, see PairMac: two channels at one tap in a direct product.
bool takes_pairs(const PatchPlan& plan, Dtype weights) {
  return current_isa() == Isa::kAvx512Bf16 && multiplies_bfloat16(weights, plan.dtype) &&
         is_direct(plan, weights);
}

/// Weights in the order of k: element (row, channel, tap) stands at
/// src[row * row_stride + channel * channel_stride + tap].
struct WeightOrder {
  i64 rows, channels, row_stride, channel_stride;
  std::span<const i64> taps;
  bool pairs;  // of channels at every tap; an odd number of them is completed with zeros

  i64 row_size() const {
    return (pairs ? round_up_to_even(channels) : channels) * static_cast<i64>(taps.size());
  }

  template <class Bits>
  void gather(Bits* dst, const Bits* src) const {
    for (i64 row = 0; row < rows; ++row) {
      for (i64 c = 0; c < channels; c += pairs ? 2 : 1) {
        const Bits* first = src + row * row_stride + c * channel_stride;
        for (const i64 tap : taps) {
          *dst++ = first[tap];
          if (pairs) *dst++ = c + 1 < channels ? first[channel_stride + tap] : Bits{0};
        }
      }
    }
  }

 private:
  static i64 round_up_to_even(i64 n) { return n + n % 2; }
};

/// The weights of all groups, `step` elements apart, in another order. Lasts until the thread's next call.
const void* gather_weights(const Tensor& w, i64 groups, i64 step, const WeightOrder& order) {
  const std::size_t element = w.element_size();
  const i64 size = order.rows * order.row_size();
  void* all = conv_weights(static_cast<std::size_t>(groups * size) * element + 1);
  for (i64 g = 0; g < groups; ++g) {
    if (element == 4)
      order.gather(static_cast<std::uint32_t*>(all) + g * size,
                   static_cast<const std::uint32_t*>(w.data_ptr()) + g * step);
    else
      order.gather(static_cast<std::uint16_t*>(all) + g * size,
                   static_cast<const std::uint16_t*>(w.data_ptr()) + g * step);
  }
  return all;
}

/// Of `groups` products.
double flops_of(i64 groups, const GemmProblem& p) {
  return 2.0 * static_cast<double>(groups * p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

/// Runs `task(group, tile)` for every tile of every group's (m, n) result, on as many threads as pays.
template <class Task>
void for_each_tile(i64 groups, i64 m, i64 n, double flops, const TileLimits& limits, Task task) {
  const i64 useful = useful_tasks(flops), threads = std::min<i64>(get_num_threads(), useful);
  const GemmGrid grid(m, n, tiles_per_matrix(groups, threads), limits);
  const i64 tasks = groups * grid.count();
  parallel_for(tasks, threads > 1 ? std::max<i64>(1, tasks / useful) : tasks, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) task(i / grid.count(), grid.tile(i % grid.count()));
  });
}

/// Runs `multiply(problem, image, tile)` for every tile of every image, of which `m` by `n` are to be cut.
template <class Problem, class Multiply>
void run_image_products(i64 groups, i64 m, i64 n, const TileLimits& limits, Problem problem,
                        Multiply multiply) {
  const PatchProduct any = problem(0);
  const i64 images = any.patches.images;
  for_each_tile(groups * images, m, n, flops_of(groups, any.gemm), limits,
                [&](i64 index, const GemmTile& tile) {
                  multiply(problem(index / images), index % images, tile, gemm_buffers());
                });
}

/// Products with patches, read from planes or packed. `problem(group)` gives the group's.
template <class Problem>
void run_patch_products(i64 groups, Problem problem) {
  const PatchProduct any = problem(0);
  const i64 m = any.gemm.m;
  if (!is_direct(any.patches, any.gemm.a.dtype)) {
    const auto multiply = pick(baseline::patch_product, avx2::patch_product, avx512::patch_product,
                               avx512_bf16::patch_product, amx::patch_product);
    return for_each_tile(
        groups, m, any.gemm.n, flops_of(groups, any.gemm), gemm_tile_limits(),
        [&](i64 group, const GemmTile& tile) { multiply(problem(group), tile, gemm_buffers()); });
  }
  if (any.patches.is_along_channels(m)) {
    const i64 rows = channel_rows();
    const PositionGroups positions(any.patches, rows);
    const TileLimits limits{1, gemm_micro_tile().cols, kGemmTileM / rows, kGemmTileN};
    return run_image_products(groups, positions.count, m, limits, problem,
                              pick(baseline::channel_product, avx2::channel_product, avx512::channel_product,
                                   avx512_bf16::channel_product));
  }
  run_image_products(groups, m, any.patches.slots(), gemm_tile_limits(), problem,
                     pick(baseline::direct_product, avx2::direct_product, avx512::direct_product,
                          avx512_bf16::direct_product));
}

void forward(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& s) {
  const i64 oh = s.oh(), ow = s.ow(), oc = s.oc / s.groups;
  if (s.n * s.oc * oh * ow == 0) return;
  if (any_float64(out, x, w)) return conv_forward_float64(out, x, w, bias, s);

  PatchPlan plan = input_patches(x, s);
  TapOffsets offsets;
  place_taps(plan, forward_taps(s), offsets);
  const i64 own = plan.channels * plan.taps;  // weights of one output channel
  const void* weights = w.data_ptr();
  i64 k = own;
  if (takes_pairs(plan, w.scalar_type())) {
    TapOffsets taps;
    for (i64 tap = 0; tap < plan.taps; ++tap) taps.push_back(tap);
    const WeightOrder order{oc, plan.channels, own, plan.taps, {taps.begin(), taps.size()}, true};
    weights = gather_weights(w, s.groups, oc * own, order);
    k = order.row_size();
  }
  run_patch_products(s.groups, [&](i64 group) {
    const MatrixRef a{advance(weights, w.scalar_type(), group * oc * k), w.scalar_type(), k, 1, 0};
    PatchProduct p{
        plain_problem(oc, s.n * oh * ow, k, a,
                      {advance_mutable(out, group * oc * oh * ow), out.scalar_type(), oh * ow, 1, 0}),
        plan, s.oc * oh * ow, ow};
    p.patches.source = advance(x, group * plan.channels * s.h * s.w);
    if (bias.defined()) {
      p.gemm.bias = advance(bias, group * oc);
      p.gemm.bias_dtype = bias.scalar_type();
      p.gemm.bias_row_stride = 1;
    }
    return p;
  });
}

/// Input pixels whose padded coordinate is `phase` modulo `stride`, along one dimension: pixel first + stride
/// * i, i < count, reached by tap y from output i + shift - (y * dilation - phase) / stride.
struct Phase {
  i64 first, count, shift;
  Phase(i64 phase, i64 stride, i64 pad, i64 size) {
    shift = pad > phase ? (pad - phase + stride - 1) / stride : 0;
    first = shift * stride + phase - pad;
    count = first < size ? (size - first + stride - 1) / stride : 0;
  }
};

void grad_input(const Tensor& gx, const Tensor& gy, const Tensor& w, const ConvShape& s) {
  const i64 oh = s.oh(), ow = s.ow(), c = s.c / s.groups, oc = s.oc / s.groups;
  if (s.n * s.c * s.h * s.w == 0) return;
  if (any_float64(gx, gy, w)) return conv_grad_input_float64(gx, gy, w, s);

  // With a stride, each residue of the pixel's coordinate meets taps of its own: as many products without
  // one.
  for (i64 py = 0; py < s.stride_h; ++py) {
    for (i64 px = 0; px < s.stride_w; ++px) {
      const Phase rows(py, s.stride_h, s.pad_h, s.h), cols(px, s.stride_w, s.pad_w, s.w);
      if (rows.count * cols.count == 0) continue;
      Taps taps;
      TapOffsets chosen;
      for (i64 y = 0; y < s.kh; ++y) {
        for (i64 x = 0; x < s.kw; ++x) {
          const i64 dy = y * s.dil_h - py, dx = x * s.dil_w - px;
          if (oh * ow == 0 || dy % s.stride_h != 0 || dx % s.stride_w != 0) continue;
          taps.push_back({rows.shift - dy / s.stride_h, cols.shift - dx / s.stride_w});
          chosen.push_back(y * s.kw + x);
        }
      }
      PatchPlan plan{};
      plan.dtype = gy.scalar_type();
      plan.images = s.n;
      plan.image_stride = s.oc * oh * ow;
      plan.channels = oc;
      plan.h = oh;
      plan.w = ow;
      plan.grid_h = rows.count;
      plan.grid_w = cols.count;
      plan.step_h = plan.step_w = 1;
      TapOffsets offsets;
      place_taps(plan, taps, offsets);
      const WeightOrder order{c,
                              oc,
                              s.kh * s.kw,
                              c * s.kh * s.kw,
                              {chosen.begin(), chosen.size()},
                              takes_pairs(plan, w.scalar_type())};
      const void* weights = gather_weights(w, s.groups, oc * c * s.kh * s.kw, order);
      const i64 k = order.row_size(), positions = s.n * plan.positions();

      run_patch_products(s.groups, [&](i64 group) {
        const MatrixRef a{advance(weights, w.scalar_type(), group * c * k), w.scalar_type(), k, 1, 0};
        const i64 start = group * c * s.h * s.w + rows.first * s.w + cols.first;
        PatchProduct p{
            plain_problem(c, positions, k, a,
                          {advance_mutable(gx, start), gx.scalar_type(), s.h * s.w, s.stride_w, 0}),
            plan, s.c * s.h * s.w, s.stride_h * s.w};
        p.patches.source = advance(gy, group * oc * oh * ow);
        return p;
      });
    }
  }
}

void grad_weight(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& s) {
  const i64 oh = s.oh(), ow = s.ow(), oc = s.oc / s.groups;
  if (gw.numel() == 0) return;
  if (any_float64(gw, gy, x)) return conv_grad_weight_float64(gw, gy, x, s);
  PatchPlan plan = input_patches(x, s);
  TapOffsets offsets;
  place_taps(plan, forward_taps(s), offsets);
  const i64 rows = plan.channels * plan.taps;
  const auto multiply = pick(baseline::patch_gradient, avx2::patch_gradient, avx512::patch_gradient,
                             avx512_bf16::patch_gradient, amx::patch_gradient);

  const auto problem = [&](i64 group) {
    PatchGradient p{plain_problem(rows, oc, s.n * oh * ow, {},
                                  {advance_mutable(gw, group * oc * rows), gw.scalar_type(), 1, rows, 0}),
                    plan, s.oc * oh * ow};
    p.gemm.b.data = advance(gy, group * oc * oh * ow);
    p.gemm.b.dtype = gy.scalar_type();
    p.patches.source = advance(x, group * plan.channels * s.h * s.w);
    return p;
  };
  for_each_tile(s.groups, rows, oc, flops_of(s.groups, problem(0).gemm), gemm_tile_limits(),
                [&](i64 group, const GemmTile& tile) { multiply(problem(group), tile, gemm_buffers()); });
}

}  // namespace

namespace {

/// Memory that grows to the largest size asked for.
class Scratch {
 public:
  void* at_least(std::size_t bytes) {
    if (bytes > size_) {
      size_ = 0;
      memory_.reset();
      memory_.reset(::operator new (bytes, std::align_val_t{64}));
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace

namespace {
constexpr i64 round_up(i64 value, i64 unit) { return (value + unit - 1) / unit * unit; }
}  // namespace

bool PatchPlan::is_along_channels(i64 rows) const {
  const MicroTile micro = gemm_micro_tile();
  const i64 in_vectors = positions() * round_up(rows, micro.lanes);
  return in_vectors <= rows * round_up(slots(), micro.cols);
}

void PatchPlan::set_slots() {
  constexpr i64 kFewTerms = 32;
  const i64 lanes = gemm_micro_tile().lanes, whole = round_up(grid_w, lanes);
  slot_row = channels * taps <= kFewTerms && 2 * whole <= 3 * grid_w ? whole : row_size();
}

bool PatchPlan::is_direct() const {
  const i64 computed = round_up(slots(), gemm_micro_tile().cols);
  return step_h == 1 && step_w == 1 && taps > 0 && 2 * computed <= 3 * positions();
}

void* conv_planes(std::size_t bytes) {
  thread_local Scratch scratch;
  return scratch.at_least(bytes);
}

void* conv_weights(std::size_t bytes) {
  thread_local Scratch scratch;
  return scratch.at_least(bytes);
}

}  // namespace halftone::cpu

namespace halftone {
template <>
const ConvKernels& cpu_kernels<ConvKernels>() {
  static const ConvKernels kernels{cpu::forward, cpu::grad_input, cpu::grad_weight};
  return kernels;
}
}  // namespace halftone
