// Pooling over windows that lie at random (Graham 2014, "Fractional max-pooling", arXiv:1412.6071).

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"

namespace halftone {
namespace {

/// (planes, count): where each window starts along one side of `length` elements. `samples`: (planes).
Tensor starts(const Tensor& samples, std::int64_t length, std::int64_t window, std::int64_t count) {
  const TensorOptions like = samples.options();
  const Tensor last = full({1}, length - window, TensorOptions(kLong).device(samples.device()));
  const Tensor row = expand(unsqueeze(last, 0), {samples.size(0), 1});
  if (count == 1) return row;
  const double step = static_cast<double>(length - window) / static_cast<double>(count - 1);
  const Tensor u = unsqueeze(samples, 1);
  const Tensor places = floor((arange(count - 1, like) + u) * step) - floor(u * step);
  return cat({places.to(kLong), row}, 1);
}

/// (planes, count, window): the elements of each window.
Tensor windows(const Tensor& starts, std::int64_t window) {
  return unsqueeze(starts, 2) + arange(window, starts.options());
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& self, IntArrayRef kernel_size,
                                                 IntArrayRef output_size, const Tensor& random_samples) {
  const char* const op = "fractional_max_pool2d";
  ops::check_defined(op, "self", self);
  ops::check_defined(op, "random_samples", random_samples);
  if ((self.dim() != 3 && self.dim() != 4) || self.numel() == 0) {
    fail(op, "expected an input (N, C, H, W) or (C, H, W) with elements, got ", self);
  }
  if (kernel_size.size() != 2 || output_size.size() != 2) {
    fail(op, "expected two kernel sizes and two output sizes, got ", kernel_size, " and ", output_size);
  }
  const std::int64_t h = self.size(-2), w = self.size(-1), planes = self.numel() / (h * w);
  const std::int64_t kh = kernel_size[0], kw = kernel_size[1], oh = output_size[0], ow = output_size[1];
  if (kh < 1 || kw < 1 || oh < 1 || ow < 1 || oh + kh - 1 > h || ow + kw - 1 > w) {
    fail(op, "windows ", kernel_size, " do not lie ", output_size, " times in ", self);
  }
  if (random_samples.numel() != planes * 2 || !random_samples.is_floating_point() ||
      random_samples.device() != self.device()) {
    fail(op, "expected floating random_samples, two per plane of ", self, ", got ", random_samples);
  }
  Tensor elements;  // (planes, oh * ow, kh * kw): positions in the plane
  {
    const NoGradGuard no_grad;
    const Tensor samples = reshape(random_samples, {planes, 2});
    const Tensor columns = windows(starts(select(samples, 1, 0), w, kw, ow), kw);
    const Tensor rows = windows(starts(select(samples, 1, 1), h, kh, oh), kh);
    elements = reshape(reshape(rows, {planes, oh, 1, kh, 1}) * w + reshape(columns, {planes, 1, ow, 1, kw}),
                       {planes, oh * ow, kh * kw});
  }
  const Tensor values = reshape(gather(reshape(self, {planes, h * w}), 1, reshape(elements, {planes, -1})),
                                {planes, oh * ow, kh * kw});
  const auto [largest, which] = max(values, 2);
  Dims sizes(self.sizes().data(), static_cast<std::size_t>(self.dim() - 2));
  sizes.push_back(oh);
  sizes.push_back(ow);
  return {reshape(largest, sizes), reshape(squeeze(gather(elements, 2, unsqueeze(which, 2)), 2), sizes)};
}

}  // namespace halftone
