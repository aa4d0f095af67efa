// Adaptive max pooling and unpooling, composed: windows that all have one size are max pooling; others are
// read through a table of places, each window filled up with places of its own.

#include <algorithm>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"

namespace halftone {
namespace {

struct Window {
  std::int64_t begin, end;
};

/// PyTorch's windows: floor(i in / out) .. ceil((i + 1) in / out).
std::vector<Window> windows(std::int64_t in, std::int64_t out) {
  std::vector<Window> all;
  for (std::int64_t i = 0; i < out; ++i) all.push_back({i * in / out, ((i + 1) * in + out - 1) / out});
  return all;
}

/// (oh * ow, k): the places (y * w + x) of each window; shorter ones repeat their last place.
Tensor place_table(std::int64_t h, std::int64_t w, std::int64_t oh, std::int64_t ow, Device device) {
  const std::vector<Window> rows = windows(h, oh), cols = windows(w, ow);
  std::int64_t kh = 0, kw = 0;
  for (const Window& row : rows) kh = std::max(kh, row.end - row.begin);
  for (const Window& col : cols) kw = std::max(kw, col.end - col.begin);
  const Tensor table = empty({oh * ow, kh * kw}, TensorOptions(kLong).device(kCPU));
  auto* next = table.data_ptr<std::int64_t>();
  for (const Window& row : rows) {
    for (const Window& col : cols) {
      for (std::int64_t y = 0; y < kh; ++y) {
        for (std::int64_t x = 0; x < kw; ++x) {
          *next++ = std::min(row.begin + y, row.end - 1) * w + std::min(col.begin + x, col.end - 1);
        }
      }
    }
  }
  return table.to(device);
}

std::tuple<Tensor, Tensor> adaptive_max_pool(const char* op, const Tensor& self, std::int64_t oh,
                                             std::int64_t ow) {
  const std::int64_t h = self.size(-2), w = self.size(-1);
  if (oh < 1 || ow < 1) fail(op, "expected a positive output_size, got ", oh, " x ", ow);
  if (h < 1 || w < 1) fail(op, "the planes of the input ", self, " are empty");
  if (h % oh == 0 && w % ow == 0) return max_pool2d_with_indices(self, {h / oh, w / ow});
  const Tensor table = place_table(h, w, oh, ow, self.device());
  Dims sizes = self.sizes().dims();
  sizes.back() = ow;
  sizes[sizes.size() - 2] = oh;
  const Tensor flat = flatten(self, -2);
  const Tensor read = unflatten(index_select(flat, -1, flatten(table)), -1, {table.size(0), table.size(1)});
  const auto [values, at] = max(read, -1);
  Tensor places;
  {
    const NoGradGuard no_grad;
    places = gather(expand(table, read.sizes()), -1, unsqueeze(at, -1));
  }
  return {reshape(values, sizes), reshape(places, sizes)};
}

void check_input(const char* op, const Tensor& self, std::int64_t spatial) {
  ops::check_defined(op, "self", self);
  if (!self.is_floating_point() || (self.dim() != spatial + 1 && self.dim() != spatial + 2)) {
    fail(op, "expected a floating input ", spatial == 1 ? "(N, C, L) or (C, L)" : "(N, C, H, W) or (C, H, W)",
         ", got ", self);
  }
}

}  // namespace

std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  check_input("adaptive_max_pool1d", self, 1);
  if (output_size.size() != 1) fail("adaptive_max_pool1d", "expected one output size, got ", output_size);
  const auto [values, places] =
      adaptive_max_pool("adaptive_max_pool1d", unsqueeze(self, -2), 1, output_size[0]);
  return {squeeze(values, -2), squeeze(places, -2)};
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size) {
  check_input("adaptive_max_pool2d", self, 2);
  if (output_size.size() != 1 && output_size.size() != 2) {
    fail("adaptive_max_pool2d", "expected one or two output sizes, got ", output_size);
  }
  return adaptive_max_pool("adaptive_max_pool2d", self, output_size[0], output_size.back());
}

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  const char* const op = "max_unpool2d";
  check_input(op, self, 2);
  ops::check_defined(op, "indices", indices);
  if (output_size.size() != 2 || output_size[0] < 1 || output_size[1] < 1) {
    fail(op, "expected an output_size (height, width), got ", output_size);
  }
  if (indices.scalar_type() != kLong || !(indices.sizes() == self.sizes())) {
    fail(op, "expected int64 indices shaped like the input ", self, ", got ", indices);
  }
  Dims planes(self.sizes().data(), static_cast<std::size_t>(self.dim() - 1)), sizes = self.sizes().dims();
  planes.back() = output_size[0] * output_size[1];
  sizes[sizes.size() - 2] = output_size[0];
  sizes.back() = output_size[1];
  const Tensor empty_planes = zeros(planes, self.options());
  return reshape(scatter(empty_planes, -1, flatten(indices, -2), flatten(self, -2)), sizes);
}

}  // namespace halftone
