// Convolutions on the device as matrix products with patches of the input (im2col). The patch matrix is never
// whole: it is made in parts of some images, or of some positions of one image, each part multiplied before
// the next. Groups of few channels go straight to the direct kernels.

#include "halftone/kernels/conv.h"

#include <algorithm>
#include <atomic>

#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/conv_kernels.h"
#include "halftone/kernels/cuda/gemm_kernels.h"
#include "halftone/kernels/cuda/runtime.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"

namespace halftone::cuda {
namespace {

using i64 = std::int64_t;

std::atomic<i64> scratch_limit{i64{64} << 20};

/// Below this many channels in or out, the products of a group are too thin.
constexpr i64 kThinGroup = 4;

bool is_thin(const ConvShape& s) { return s.groups > 1 && std::min(s.c, s.oc) / s.groups <= kThinGroup; }

bool any_float64(const Tensor& a, const Tensor& b, const Tensor& c) {
  return a.scalar_type() == kDouble || b.scalar_type() == kDouble || c.scalar_type() == kDouble;
}

void* advance(const Tensor& t, i64 elements) {
  return static_cast<char*>(t.data_ptr()) + elements * static_cast<i64>(t.element_size());
}

Tensor scratch(const Tensor& like, Dtype dtype, i64 elements) {
  return empty({elements}, TensorOptions(dtype).device(like.device()));
}

/// What patches and gradients are held in: the operands' dtype if they have one, else what sums are formed
/// in.
Dtype operand_dtype(const Tensor& result, const Tensor& left, const Tensor& right) {
  if (any_float64(result, left, right)) return kDouble;
  return left.scalar_type() == right.scalar_type() ? left.scalar_type() : kFloat;
}

const GemmKernels& gemm() { return kernels_for<GemmKernels>(kCUDA); }

/// Rows of scratch matrices are this far apart: all begin at a multiple of 16 bytes.
i64 aligned_row(i64 elements) { return (elements + 7) / 8 * 8; }

/// Calls f(part) for the parts of the patch matrix's columns, in order; `column_bytes` each. Positions are
/// divided only where one image is too large, in multiples of eight so that every part starts aligned.
template <class F>
void for_each_part(i64 images, i64 positions, i64 column_bytes, F f) {
  const i64 columns = std::max<i64>(conv_scratch_limit() / std::max<i64>(column_bytes, 1), 1);
  if (columns >= positions) {
    const i64 step = columns / std::max<i64>(positions, 1);
    for (i64 i = 0; i < images; i += step) f(PatchColumns{i, std::min(step, images - i), 0, positions});
    return;
  }
  const i64 step = std::max<i64>(columns / 8 * 8, 8);
  for (i64 i = 0; i < images; ++i) {
    for (i64 p = 0; p < positions; p += step) f(PatchColumns{i, 1, p, std::min(step, positions - p)});
  }
}

/// The patches of a convolution with one tap at every pixel are its input.
bool patches_are_input(const ConvShape& s) {
  return s.kh == 1 && s.kw == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_h == 0 && s.pad_w == 0;
}

void forward(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& s) {
  const DeviceScope scope(out.device());
  const i64 positions = s.oh() * s.ow(), oc = s.oc / s.groups, taps = s.kh * s.kw,
            depth = s.c / s.groups * taps;
  if (out.numel() == 0) return;
  if (is_thin(s)) return conv_forward_direct(out, x, w, bias, s);

  // out^T (positions, oc) = patches^T (positions, depth) * w^T (depth, oc), group by group.
  const auto multiply = [&](const PatchColumns& part, const void* patches, Dtype dtype, i64 image_stride,
                            i64 row_stride) {
    for (i64 group = 0; group < s.groups; ++group) {
      const i64 skipped = group * depth * row_stride * static_cast<i64>(element_size(dtype));
      Epilogue epilogue;
      if (bias.defined()) {
        epilogue.bias = advance(bias, group * oc);
        epilogue.bias_dtype = bias.scalar_type();
      }
      gemm().run(part.images, part.positions, oc, depth,
                 {static_cast<const char*>(patches) + skipped, dtype, 1, row_stride, image_stride},
                 {advance(w, group * oc * depth), w.scalar_type(), 1, depth, 0},
                 {advance(out, (part.image * s.oc + group * oc) * positions + part.position),
                  out.scalar_type(), 1, positions, s.oc * positions},
                 epilogue);
    }
  };

  const Dtype dtype = operand_dtype(out, x, w);
  if (patches_are_input(s) && dtype == x.scalar_type())
    return multiply({0, s.n, 0, positions}, x.data_ptr(), dtype, s.c * positions, positions);
  const i64 rows = s.c * taps;
  for_each_part(s.n, positions, rows * static_cast<i64>(element_size(dtype)), [&](const PatchColumns& part) {
    const i64 row_stride = aligned_row(part.positions), image_stride = rows * row_stride;
    const Tensor patches = scratch(out, dtype, part.images * image_stride);
    copy_patches(patches.data_ptr(), dtype, image_stride, row_stride, x, s, part);
    multiply(part, patches.data_ptr(), dtype, image_stride, row_stride);
  });
}

void grad_input(const Tensor& gx, const Tensor& gy, const Tensor& w, const ConvShape& s) {
  const DeviceScope scope(gx.device());
  const i64 positions = s.oh() * s.ow(), c = s.c / s.groups, oc = s.oc / s.groups, taps = s.kh * s.kw;
  if (gx.numel() == 0) return;
  const Dtype sum_dtype = any_float64(gx, gy, w) ? kDouble : kFloat;
  const i64 channel_bytes = taps * positions * static_cast<i64>(element_size(sum_dtype));
  const i64 channels_at_once = conv_scratch_limit() / std::max<i64>(channel_bytes, 1);
  if (is_thin(s) || channels_at_once == 0) return conv_grad_input_direct(gx, gy, w, s);

  // Products are formed in fp64 where an operand is float64: if only gx is, the weight becomes.
  Tensor wide_w = w;
  if (sum_dtype == kDouble && gy.scalar_type() != kDouble && w.scalar_type() != kDouble) {
    wide_w = scratch(w, kDouble, w.numel());
    copy_matrices(1, 1, w.numel(), {w.data_ptr(), w.scalar_type(), w.numel(), 1, 0},
                  {wide_w.data_ptr(), kDouble, w.numel(), 1, 0});
  }

  // Gradients of patches (channels * taps, positions) = w^T (channels * taps, oc) * gy (oc, positions), for
  // some channels of a group at a time; then every pixel sums the patches that it is part of.
  const i64 channel_step = std::min(c, channels_at_once);
  const i64 image_step = channel_step < c ? 1 : std::clamp<i64>(channels_at_once / c, 1, s.n);
  for (i64 image = 0; image < s.n; image += image_step) {
    const i64 images = std::min(image_step, s.n - image);
    for (i64 group = 0; group < s.groups; ++group) {
      for (i64 first = 0; first < c; first += channel_step) {
        const i64 channels = std::min(channel_step, c - first), rows = channels * taps;
        const Tensor patches = scratch(gx, sum_dtype, images * rows * positions);
        gemm().run(images, rows, positions, oc,
                   {advance(wide_w, (group * oc * c + first) * taps), wide_w.scalar_type(), 1, c * taps, 0},
                   {advance(gy, (image * s.oc + group * oc) * positions), gy.scalar_type(), positions, 1,
                    s.oc * positions},
                   {patches.data_ptr(), sum_dtype, positions, 1, rows * positions}, {});
        sum_patches(gx, patches.data_ptr(), sum_dtype, rows * positions, s, image, images, group * c + first,
                    channels);
      }
    }
  }
}

void grad_weight(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& s) {
  const DeviceScope scope(gw.device());
  const i64 positions = s.oh() * s.ow(), oc = s.oc / s.groups, taps = s.kh * s.kw,
            depth = s.c / s.groups * taps;
  if (gw.numel() == 0) return;
  if (is_thin(s)) return conv_grad_weight_direct(gw, gy, x, s);

  const Dtype dtype = operand_dtype(gw, gy, x), sum_dtype = dtype == kDouble ? kDouble : kFloat;
  const i64 rows = s.c * taps;
  Tensor sums;  // of the parts so far
  const auto add = [&](i64 columns, i64 row_stride, const void* left, const void* patches, bool last) {
    // gw (oc, depth) += gy (oc, columns) * patches^T (columns, depth); all groups as one batch.
    const bool first = !sums.defined();
    if (first && !last) sums = scratch(gw, sum_dtype, gw.numel());
    const MatrixRef addend{first ? nullptr : sums.data_ptr(), sum_dtype, depth, 1, oc * depth};
    const Tensor& target = last ? gw : sums;
    Epilogue epilogue;
    epilogue.beta = first ? 0 : 1;
    epilogue.addend = addend;
    gemm().run(s.groups, oc, depth, columns, {left, dtype, row_stride, 1, oc * row_stride},
               {patches, dtype, 1, row_stride, depth * row_stride},
               {target.data_ptr(), target.scalar_type(), depth, 1, oc * depth}, epilogue);
  };

  if (s.n * positions == 0) return add(0, 0, nullptr, nullptr, true);
  const i64 column_bytes = (rows + s.oc) * static_cast<i64>(element_size(dtype));
  for_each_part(s.n, positions, column_bytes, [&](const PatchColumns& part) {
    const i64 columns = part.images * part.positions, row_stride = aligned_row(columns);
    const Tensor patches = scratch(gw, dtype, rows * row_stride),
                 left = scratch(gw, dtype, s.oc * row_stride);
    copy_patches(patches.data_ptr(), dtype, part.positions, row_stride, x, s, part);
    copy_matrices(part.images, s.oc, part.positions,
                  {advance(gy, part.image * s.oc * positions + part.position), gy.scalar_type(), positions, 1,
                   s.oc * positions},
                  {left.data_ptr(), dtype, row_stride, 1, part.positions});
    const bool last = part.image + part.images == s.n && part.position + part.positions == positions;
    add(columns, row_stride, left.data_ptr(), patches.data_ptr(), last);
  });
}

}  // namespace

std::int64_t conv_scratch_limit() { return scratch_limit.load(std::memory_order_relaxed); }

void set_conv_scratch_limit_for_testing(std::int64_t bytes) {
  scratch_limit.store(bytes, std::memory_order_relaxed);
}

}  // namespace halftone::cuda

namespace halftone {
template <>
const ConvKernels& cuda_kernels<ConvKernels>() {
  static const ConvKernels kernels{cuda::forward, cuda::grad_input, cuda::grad_weight};
  return kernels;
}
}  // namespace halftone
