// Sliding windows as views, and their columns (im2col, col2im): composed of as_strided and its gradient.

#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

/// The windows of im2col and col2im over a padded image.
struct Columns {
  std::int64_t kh, kw, pad_h, pad_w, oh, ow;
  Dims padded;          // (N, C, H, W), contiguous
  Dims sizes, strides;  // (N, C, kh, kw, oh, ow): the windows as a view of it
};

std::pair<std::int64_t, std::int64_t> two(const char* op, const char* name, IntArrayRef values) {
  if (values.empty() || values.size() > 2) fail(op, name, " must be one number or two, got ", values);
  return {values.front(), values.back()};
}

Columns columns_of(const char* op, IntArrayRef image, IntArrayRef kernel_size, IntArrayRef dilation,
                   IntArrayRef padding, IntArrayRef stride) {
  const auto [kh, kw] = two(op, "kernel_size", kernel_size);
  const auto [dh, dw] = two(op, "dilation", dilation);
  const auto [ph, pw] = two(op, "padding", padding);
  const auto [sh, sw] = two(op, "stride", stride);
  if (kh <= 0 || kw <= 0 || dh <= 0 || dw <= 0 || sh <= 0 || sw <= 0 || ph < 0 || pw < 0) {
    fail(op, "kernel_size ", kernel_size, ", dilation ", dilation, " and stride ", stride,
         " must be positive, padding ", padding, " not negative");
  }
  Columns c{kh, kw, ph, pw, 0, 0, {}, {}, {}};
  const std::int64_t h = image[2] + 2 * ph, w = image[3] + 2 * pw;
  const std::int64_t room_h = h - dh * (kh - 1) - 1, room_w = w - dw * (kw - 1) - 1;
  if (room_h < 0 || room_w < 0) {
    fail(op, "a kernel of ", kernel_size, " with dilation ", dilation, " does not fit into an image of ",
         image, " with padding ", padding);
  }
  c.oh = room_h / sh + 1;
  c.ow = room_w / sw + 1;
  c.padded = {image[0], image[1], h, w};
  c.sizes = {image[0], image[1], kh, kw, c.oh, c.ow};
  c.strides = {image[1] * h * w, h * w, dh * w, dw, sh * w, sw};
  return c;
}

}  // namespace
}  // namespace ops

Tensor unfold(const Tensor& self, std::int64_t dimension, std::int64_t size, std::int64_t step) {
  const auto d = static_cast<std::size_t>(wrap_dim("unfold", dimension, self.dim()));
  const std::int64_t length = self.dim() == 0 ? 1 : self.sizes()[d];
  if (size < 0 || size > length || step <= 0) {
    fail("unfold", "windows of ", size, ", ", step, " apart, do not fit dimension ", dimension, " of ", self);
  }
  Dims sizes = self.sizes().dims(), strides = self.strides().dims();
  const std::int64_t between = self.dim() == 0 ? 1 : strides[d];
  if (self.dim() > 0) {
    sizes[d] = (length - size) / step + 1;
    strides[d] = between * step;
  }
  sizes.push_back(size);
  strides.push_back(between);
  return as_strided(self, sizes, strides, self.storage_offset());
}

Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  if (self.dim() == 3) return squeeze(im2col(unsqueeze(self, 0), kernel_size, dilation, padding, stride), 0);
  if (self.dim() != 4) fail("im2col", "expected (N, C, H, W) or (C, H, W), got ", self);
  const ops::Columns c = ops::columns_of("im2col", self.sizes(), kernel_size, dilation, padding, stride);
  const bool pads = c.pad_h > 0 || c.pad_w > 0;
  const Tensor padded =
      pads ? constant_pad_nd(self, {c.pad_w, c.pad_w, c.pad_h, c.pad_h}, 0) : contiguous(self);
  return reshape(as_strided(padded, c.sizes, c.strides, padded.storage_offset()),
                 {self.size(0), self.size(1) * c.kh * c.kw, c.oh * c.ow});
}

Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
  if (self.dim() == 2)
    return squeeze(col2im(unsqueeze(self, 0), output_size, kernel_size, dilation, padding, stride), 0);
  const auto [h, w] = ops::two("col2im", "output_size", output_size);
  const auto [kh, kw] = ops::two("col2im", "kernel_size", kernel_size);
  if (self.dim() != 3 || h <= 0 || w <= 0 || kh <= 0 || kw <= 0 || self.size(1) % (kh * kw) != 0) {
    fail("col2im", "expected (N, C * kh * kw, windows) and a positive output_size, got ", self,
         ", kernel_size ", kernel_size, " and output_size ", output_size);
  }
  const ops::Columns c = ops::columns_of("col2im", {self.size(0), self.size(1) / (kh * kw), h, w},
                                         kernel_size, dilation, padding, stride);
  if (self.size(2) != c.oh * c.ow)
    fail("col2im", "expected ", c.oh * c.ow, " windows over an output of ", output_size, ", got ", self);
  const Tensor image = as_strided_backward(reshape(self, c.sizes), c.padded, contiguous_strides(c.padded),
                                           c.sizes, c.strides, 0);
  return constant_pad_nd(image, {-c.pad_w, -c.pad_w, -c.pad_h, -c.pad_h}, 0);
}

}  // namespace halftone
