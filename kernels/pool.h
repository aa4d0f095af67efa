#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"

namespace halftone {

/// Sliding windows over `planes` = n * c images (h, w). One dimension is height 1.
struct PoolShape {
  std::int64_t planes = 0, h = 1, w = 0, kh = 1, kw = 0;
  std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  std::int64_t dil_h = 1, dil_w = 1;  ///< max pooling only
  bool ceil_mode = false;             ///< keep a last window that is partly outside
  bool count_include_pad = true;      ///< average pooling: padding counts in the divisor
  std::int64_t divisor = 0;           ///< average pooling: divide by this; 0 for the window's size

  /// PyTorch's rule: in ceil mode the last window still starts inside the input or the left padding.
  std::int64_t oh() const { return extent(h, kh, stride_h, pad_h, dil_h); }
  std::int64_t ow() const { return extent(w, kw, stride_w, pad_w, dil_w); }

 private:
  std::int64_t extent(std::int64_t size, std::int64_t k, std::int64_t stride, std::int64_t pad,
                      std::int64_t dil) const {
    const std::int64_t room = size + 2 * pad - dil * (k - 1) - 1;
    if (room < 0) return 0;
    const std::int64_t count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    return ceil_mode && (count - 1) * stride >= size + pad ? count - 1 : count;
  }
};

/// Bits of the number of an element in its window, of which the largest says "none"; 0: more than fit into a
/// byte.
inline int number_bits(const PoolShape& s) { return s.kh * s.kw <= 15 ? 4 : s.kh * s.kw <= 255 ? 8 : 0; }
/// Bytes that the numbers of a line of outputs take.
inline std::int64_t number_bytes(const PoolShape& s) {
  return number_bits(s) == 4 ? (s.ow() + 1) / 2 : s.ow();
}

/// Adaptive pooling: output i covers inputs floor(i * in / out) .. ceil((i + 1) * in / out), as in PyTorch.
struct AdaptivePoolShape {
  std::int64_t planes = 0, h = 1, w = 0, oh = 1, ow = 0;
};

/// Pooling on one device. Tensors are contiguous and of the sizes their shape says, of any floating dtypes;
/// kernel sizes, strides and dilations are at least 1, paddings at most half the kernel. Sums are formed in
/// fp32 (fp64 for float64) and rounded once. Every plane is computed by one thread, so results do not depend
/// on their number.
struct PoolKernels {
  /// `indices`: where each maximum stands. int64: in its plane, y * w + x. uint8: in its window, the number
  /// ky * kw + kx in number_bits(shape) bits; with 4 bits a line takes (ow + 1) / 2 bytes, even columns in
  /// the low halves. A NaN wins, of several the last; of equal maxima the first. A dilated window may miss
  /// the input altogether: -inf, index -1 or all bits of the number set.
  void (*max_forward)(const Tensor& out, const Tensor& indices, const Tensor& x, const PoolShape& shape);
  /// `indices` as max_forward gives them, of either dtype.
  void (*max_backward)(const Tensor& gx, const Tensor& gy, const Tensor& indices, const PoolShape& shape);
  void (*avg_forward)(const Tensor& out, const Tensor& x, const PoolShape& shape);
  void (*avg_backward)(const Tensor& gx, const Tensor& gy, const PoolShape& shape);
  void (*adaptive_avg_forward)(const Tensor& out, const Tensor& x, const AdaptivePoolShape& shape);
  void (*adaptive_avg_backward)(const Tensor& gx, const Tensor& gy, const AdaptivePoolShape& shape);
};

}  // namespace halftone
