#pragma once

// What the pooling operators share: their arguments checked and turned into the geometry kernels take. A
// plane has one or two dimensions, `spatial`; one dimension is height 1.

#include "halftone/kernels/kernels.h"
#include "halftone/kernels/pool.h"
#include "halftone/ops/operator.h"

namespace halftone::ops {

/// Sliding windows over an input (N, C, H, W) or (C, H, W), without H in one dimension. An empty stride is
/// the kernel's size. Throws Error naming `op` on arguments that do not fit.
PoolShape pool_shape(const char* op, int spatial, IntArrayRef input, IntArrayRef kernel_size,
                     IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);

/// `output_size` gives the output's height and width, or one number for both.
AdaptivePoolShape adaptive_pool_shape(const char* op, int spatial, IntArrayRef input,
                                      IntArrayRef output_size);

/// The input's sizes with the planes' replaced.
Dims pooled_sizes(IntArrayRef input, int spatial, std::int64_t oh, std::int64_t ow);

/// Throws Error unless the tensor is floating.
void check_pool_input(const char* op, const Tensor& x);

/// A gradient rule's result: shaped like the pooled tensor, in `dtype`. Throws Error unless `grad` has
/// `sizes`.
Meta pool_gradient_meta(const char* op, const Tensor& grad, IntArrayRef sizes, IntArrayRef input_size,
                        ScalarType dtype);

/// With a height of 1 where the operator has none: sizes (`value` 1), and window arguments given per
/// dimension.
Tensor with_height(const Tensor& x, int spatial);
Dims sizes_with_height(Dims sizes, int spatial);
Dims window_with_height(IntArrayRef values, int spatial, std::int64_t height);

}  // namespace halftone::ops
