#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"

namespace halftone {

/// A two-dimensional convolution (cross-correlation, as in every deep learning library). One dimension is
/// height 1. Output row i reads input rows i * stride_h - pad_h + y * dil_h for y = 0 .. kh - 1; outside are
/// zeros (which need not be multiplied: what zero times an infinite weight would give is not promised there).
struct ConvShape {
  std::int64_t n = 0, c = 0, h = 1, w = 0;  ///< input (n, c, h, w)
  std::int64_t oc = 0, kh = 1, kw = 0;      ///< weight (oc, c / groups, kh, kw)
  std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dil_h = 1, dil_w = 1;
  std::int64_t groups = 1;

  /// Output (n, oc, oh, ow); may be zero or less for a kernel larger than its padded input: check before use.
  std::int64_t oh() const { return extent(h + 2 * pad_h - dil_h * (kh - 1) - 1, stride_h); }
  std::int64_t ow() const { return extent(w + 2 * pad_w - dil_w * (kw - 1) - 1, stride_w); }

 private:
  static std::int64_t extent(std::int64_t room, std::int64_t stride) {
    return room < 0 ? 0 : room / stride + 1;
  }
};

/// Convolutions on one device. Tensors are contiguous, of any floating dtypes (mixed freely), of the sizes
/// ConvShape says; strides, dilations and groups are at least 1, paddings at least 0, and groups divide c and
/// oc. Sums are formed in fp32 (fp64 if any operand is float64) and rounded once. Nothing the size of the
/// patch matrix is ever in memory.
///
/// On the CPU an element does not depend on the number of threads, nor (forward, grad_input) on the rest of
/// the batch; products and subnormals are as in gemm.h. Padding takes part as zeros: an infinite or NaN
/// weight that meets it gives NaN.
struct ConvKernels {
  /// out (n, oc, oh, ow) = x * w + bias (oc); an undefined bias is none.
  void (*forward)(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias,
                  const ConvShape& shape);
  /// gx (n, c, h, w): the gradient of the input from gy (n, oc, oh, ow).
  void (*grad_input)(const Tensor& gx, const Tensor& gy, const Tensor& w, const ConvShape& shape);
  /// gw (oc, c / groups, kh, kw): the gradient of the weight, summed over the batch in order.
  void (*grad_weight)(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& shape);
};

}  // namespace halftone
