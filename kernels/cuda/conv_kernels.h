#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/conv.h"

/// The convolutions' own kernels. All work on the current stream.
namespace halftone::cuda {

/// A part of the columns of a patch matrix: `images` images from the first, `positions` output positions of
/// each from position `position` on.
struct PatchColumns {
  std::int64_t image = 0, images = 0;
  std::int64_t position = 0, positions = 0;
};

/// Writes patches of x: row (channel, tap), column (image, position), at channel row_stride * taps + ...
/// elements: to[image * image_stride + row * row_stride + position], counted from the part's first image and
/// position. Padding is zeros. `dtype` is x's, or float32 or float64.
void copy_patches(void* to, Dtype dtype, std::int64_t image_stride, std::int64_t row_stride, const Tensor& x,
                  const ConvShape& shape, const PatchColumns& part);

/// Gradient of the input from gradients of its patches (fp32 or fp64): `channels` channels from `channel` on
/// of `images` images from `image` on. The patches' gradients stand at image * image_stride + row * positions
/// + position, counted from the first image and channel. Every element sums its taps in order.
void sum_patches(const Tensor& gx, const void* patches, Dtype dtype, std::int64_t image_stride,
                 const ConvShape& shape, std::int64_t image, std::int64_t images, std::int64_t channel,
                 std::int64_t channels);

/// The three operations straight from their definition, one thread or block per element of the result: for
/// groups of few channels, whose products are too thin for a matrix product.
void conv_forward_direct(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias,
                         const ConvShape& shape);
void conv_grad_input_direct(const Tensor& gx, const Tensor& gy, const Tensor& w, const ConvShape& shape);
void conv_grad_weight_direct(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& shape);

/// Bytes of scratch memory that one part of a convolution may use; tests make it small to see several parts.
std::int64_t conv_scratch_limit();
void set_conv_scratch_limit_for_testing(std::int64_t bytes);

}  // namespace halftone::cuda
