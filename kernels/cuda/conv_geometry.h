#pragma once

#include <cstdint>

#include "halftone/kernels/conv.h"
#include "halftone/kernels/cuda/device.h"

namespace halftone::cuda {

/// ConvShape as kernels want it: what they would compute once more per element is there.
struct ConvGeometry {
  std::int64_t n, c, h, w, oc, kh, kw, oh, ow;
  std::int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w;
  std::int64_t group_c, group_oc;  // channels of one group

  explicit ConvGeometry(const ConvShape& s)
      : n(s.n),
        c(s.c),
        h(s.h),
        w(s.w),
        oc(s.oc),
        kh(s.kh),
        kw(s.kw),
        oh(s.oh()),
        ow(s.ow()),
        stride_h(s.stride_h),
        stride_w(s.stride_w),
        pad_h(s.pad_h),
        pad_w(s.pad_w),
        dil_h(s.dil_h),
        dil_w(s.dil_w),
        group_c(s.c / s.groups),
        group_oc(s.oc / s.groups) {}

  /// Where tap (ky, kx) of output (oy, ox) reads in a plane of the input; -1 in the padding.
  __device__ std::int64_t input_at(std::int64_t oy, std::int64_t ox, std::int64_t ky, std::int64_t kx) const {
    const std::int64_t y = oy * stride_h - pad_h + ky * dil_h, x = ox * stride_w - pad_w + kx * dil_w;
    return y < 0 || y >= h || x < 0 || x >= w ? -1 : y * w + x;
  }
  /// Which output in its plane reads input (y, x) with tap (ky, kx); -1 if none does.
  __device__ std::int64_t output_at(std::int64_t y, std::int64_t x, std::int64_t ky, std::int64_t kx) const {
    const std::int64_t oy = y + pad_h - ky * dil_h, ox = x + pad_w - kx * dil_w;
    if (oy < 0 || ox < 0 || oy % stride_h != 0 || ox % stride_w != 0) return -1;
    return oy / stride_h < oh && ox / stride_w < ow ? oy / stride_h * ow + ox / stride_w : -1;
  }
};

}  // namespace halftone::cuda
