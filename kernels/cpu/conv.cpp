#include "halftone/kernels/conv.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "halftone/engine/error.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/conv_plan.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/kernels.h"

#define HALFTONE_ISA_WANT_BF16
#define HALFTONE_ISA_BODY "halftone/kernels/cpu/conv.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;

bool any_float64(const Tensor& a, const Tensor& b, const Tensor& c) {
  return a.scalar_type() == kDouble || b.scalar_type() == kDouble || c.scalar_type() == kDouble;
}

const void* advance(const Tensor& t, i64 elements) {
  return static_cast<const char*>(t.data_ptr()) + elements * static_cast<i64>(t.element_size());
}
void* advance_mutable(const Tensor& t, i64 elements) { return const_cast<void*>(advance(t, elements)); }

/// Offsets of the taps in a plane, and the plane's extent: fills what PatchPlan derives from its taps.
std::vector<i64> place_taps(PatchPlan& plan, const std::vector<ConvTap>& taps) {
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
  std::vector<i64> offsets;
  for (const ConvTap& tap : taps) {
    const i64 dx = tap.dx - plan.dx_min;
    offsets.push_back((tap.dy - plan.dy_min) * plan.row_size() + dx % plan.step_w * plan.phase_cols +
                      dx / plan.step_w);
  }
  plan.tap_offsets = offsets.data();  // the caller keeps them
  return offsets;
}

std::vector<ConvTap> forward_taps(const ConvShape& s) {
  std::vector<ConvTap> taps;
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

/// Runs `task(group, tile)` for every tile of every group's (m, n) result, on as many threads as pays.
template <class Task>
void for_each_tile(i64 groups, i64 m, i64 n, i64 k, Task task) {
  const double flops =
      2.0 * static_cast<double>(groups * m) * static_cast<double>(n) * static_cast<double>(k);
  const i64 useful = useful_tasks(flops), threads = std::min<i64>(get_num_threads(), useful);
  const GemmGrid grid(m, n, tiles_per_matrix(groups, threads));
  const i64 tasks = groups * grid.count();
  parallel_for(tasks, threads > 1 ? std::max<i64>(1, tasks / useful) : tasks, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) task(i / grid.count(), grid.tile(i % grid.count()));
  });
}

void forward(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& s) {
  const i64 oh = s.oh(), ow = s.ow(), oc = s.oc / s.groups;
  if (s.n * s.oc * oh * ow == 0) return;
  if (any_float64(out, x, w)) return conv_forward_float64(out, x, w, bias, s);

  PatchPlan plan = input_patches(x, s);
  const std::vector<i64> offsets = place_taps(plan, forward_taps(s));
  const i64 k = plan.channels * plan.taps;
  const auto multiply =
      pick(baseline::patch_product, avx2::patch_product, avx512::patch_product, avx512_bf16::patch_product);

  for_each_tile(s.groups, oc, s.n * oh * ow, k, [&](i64 group, const GemmTile& tile) {
    PatchProduct p{
        plain_problem(oc, s.n * oh * ow, k, {advance(w, group * oc * k), w.scalar_type(), k, 1, 0},
                      {advance_mutable(out, group * oc * oh * ow), out.scalar_type(), oh * ow, 1, 0}),
        plan, s.oc * oh * ow, ow};
    p.patches.source = advance(x, group * plan.channels * s.h * s.w);
    if (bias.defined()) {
      p.gemm.bias = advance(bias, group * oc);
      p.gemm.bias_dtype = bias.scalar_type();
      p.gemm.bias_row_stride = 1;
    }
    multiply(p, tile, gemm_buffers());
  });
}

/// w (groups, oc, c, taps) as (groups, c, oc, chosen taps): the rows of the input gradient's left operand.
template <class Bits>
void gather_weights(Bits* dst, const Tensor& w, const ConvShape& s, const std::vector<i64>& chosen) {
  const i64 c = s.c / s.groups, oc = s.oc / s.groups, taps = s.kh * s.kw;
  const Bits* src = static_cast<const Bits*>(w.data_ptr());
  for (i64 g = 0; g < s.groups; ++g)
    for (i64 i = 0; i < c; ++i)
      for (i64 o = 0; o < oc; ++o)
        for (const i64 tap : chosen) *dst++ = src[((g * oc + o) * c + i) * taps + tap];
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
  const auto multiply =
      pick(baseline::patch_product, avx2::patch_product, avx512::patch_product, avx512_bf16::patch_product);
  const std::size_t element = w.element_size();
  const auto weights = std::make_unique_for_overwrite<unsigned char[]>(w.nbytes() + 1);

  // With a stride, each residue of the pixel's coordinate meets taps of its own: as many products without
  // one.
  for (i64 py = 0; py < s.stride_h; ++py) {
    for (i64 px = 0; px < s.stride_w; ++px) {
      const Phase rows(py, s.stride_h, s.pad_h, s.h), cols(px, s.stride_w, s.pad_w, s.w);
      if (rows.count * cols.count == 0) continue;
      std::vector<ConvTap> taps;
      std::vector<i64> chosen;
      for (i64 y = 0; y < s.kh; ++y) {
        for (i64 x = 0; x < s.kw; ++x) {
          const i64 dy = y * s.dil_h - py, dx = x * s.dil_w - px;
          if (oh * ow == 0 || dy % s.stride_h != 0 || dx % s.stride_w != 0) continue;
          taps.push_back({rows.shift - dy / s.stride_h, cols.shift - dx / s.stride_w});
          chosen.push_back(y * s.kw + x);
        }
      }
      if (element == 4)
        gather_weights(reinterpret_cast<std::uint32_t*>(weights.get()), w, s, chosen);
      else
        gather_weights(reinterpret_cast<std::uint16_t*>(weights.get()), w, s, chosen);

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
      const std::vector<i64> offsets = place_taps(plan, taps);
      const i64 k = oc * plan.taps, positions = s.n * plan.positions();

      for_each_tile(s.groups, c, positions, k, [&](i64 group, const GemmTile& tile) {
        const MatrixRef a{weights.get() + static_cast<std::size_t>(group * c * k) * element, w.scalar_type(),
                          k, 1, 0};
        const i64 start = group * c * s.h * s.w + rows.first * s.w + cols.first;
        PatchProduct p{
            plain_problem(c, positions, k, a,
                          {advance_mutable(gx, start), gx.scalar_type(), s.h * s.w, s.stride_w, 0}),
            plan, s.c * s.h * s.w, s.stride_h * s.w};
        p.patches.source = advance(gy, group * oc * oh * ow);
        multiply(p, tile, gemm_buffers());
      });
    }
  }
}

void grad_weight(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& s) {
  const i64 oh = s.oh(), ow = s.ow(), oc = s.oc / s.groups;
  if (gw.numel() == 0) return;
  if (any_float64(gw, gy, x)) return conv_grad_weight_float64(gw, gy, x, s);
  PatchPlan plan = input_patches(x, s);
  const std::vector<i64> offsets = place_taps(plan, forward_taps(s));
  const i64 rows = plan.channels * plan.taps;
  const auto multiply = pick(baseline::patch_gradient, avx2::patch_gradient, avx512::patch_gradient,
                             avx512_bf16::patch_gradient);

  for_each_tile(s.groups, rows, oc, s.n * oh * ow, [&](i64 group, const GemmTile& tile) {
    PatchGradient p{plain_problem(rows, oc, s.n * oh * ow, {},
                                  {advance_mutable(gw, group * oc * rows), gw.scalar_type(), 1, rows, 0}),
                    plan, s.oc * oh * ow};
    p.gemm.b.data = advance(gy, group * oc * oh * ow);
    p.gemm.b.dtype = gy.scalar_type();
    p.patches.source = advance(x, group * plan.channels * s.h * s.w);
    multiply(p, tile, gemm_buffers());
  });
}

}  // namespace

void* conv_planes(std::size_t bytes) {
  struct Free {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  thread_local std::unique_ptr<void, Free> memory;
  thread_local std::size_t size = 0;
  if (bytes > size) {
    size = 0;
    memory.reset();
    memory.reset(::operator new (bytes, std::align_val_t{64}));
    size = bytes;
  }
  return memory.get();
}

}  // namespace halftone::cpu

namespace halftone {
template <>
const ConvKernels& cpu_kernels<ConvKernels>() {
  static const ConvKernels kernels{cpu::forward, cpu::grad_input, cpu::grad_weight};
  return kernels;
}
}  // namespace halftone
