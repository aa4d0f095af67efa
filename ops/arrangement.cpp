// Rearrangements composed of views, flips and copies into views.

#include <algorithm>
#include <cmath>

#include "halftone/engine/tensor.h"

namespace halftone {
namespace {

/// A copy of `self`, apart from its memory, with `src` in the view of it that `of` takes.
template <class F>
Tensor scattered(const char* op, const Tensor& self, const Tensor& src, F of) {
  Tensor out = clone(self);
  const Tensor window = of(out);
  if (window.sizes() != src.sizes()) fail(op, "expected src of shape ", window.sizes(), ", got ", src);
  window.copy_(src);
  return out;
}

/// The rows and columns of a (rows, cols) matrix where `inside` (of ones, tril or triu) is not zero.
Tensor places(const char* op, std::int64_t row, std::int64_t col, const TensorOptions& options,
              Tensor (*triangle)(const Tensor&, std::int64_t), std::int64_t offset) {
  if (row < 0 || col < 0) fail(op, "sizes must not be negative, got ", row, " and ", col);
  const ScalarType dtype = options.dtype_opt().value_or(kLong);
  const Tensor inside = triangle(ones({row, col}, TensorOptions(kBool).device(options.device())), offset);
  return transpose(nonzero(inside), 0, 1).contiguous().to(dtype);
}

}  // namespace

Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  if (source.size() != destination.size())
    fail("movedim", "expected one destination per source, got ", source, " and ", destination);
  const auto rank = static_cast<std::size_t>(self.dim());
  Dims order(rank, -1);
  std::array<bool, kMaxDims> moved{};
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto from = static_cast<std::size_t>(wrap_dim("movedim", source[i], self.dim()));
    const auto to = static_cast<std::size_t>(wrap_dim("movedim", destination[i], self.dim()));
    if (rank == 0) continue;
    if (moved[from] || order[to] >= 0)
      fail("movedim", "a dimension is named twice in ", source, " or ", destination);
    moved[from] = true;
    order[to] = static_cast<std::int64_t>(from);
  }
  std::size_t next = 0;
  for (std::int64_t& d : order) {
    if (d >= 0) continue;
    while (moved[next]) ++next;
    d = static_cast<std::int64_t>(next++);
  }
  return permute(self, order);
}

Tensor moveaxis(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  return movedim(self, source, destination);
}

Tensor ravel(const Tensor& self) { return contiguous(reshape(self, {-1})); }

Tensor vander(const Tensor& x, std::optional<std::int64_t> N, bool increasing) {
  if (!x.defined() || x.dim() != 1) fail("vander", "expected a vector, got ", x);
  const std::int64_t columns = N.value_or(x.size(0));
  if (columns < 0) fail("vander", "expected N >= 0, got ", columns);
  const ScalarType dtype = is_floating_point(x.scalar_type()) ? x.scalar_type() : kLong;
  const TensorOptions options = TensorOptions(dtype).device(x.device());
  if (columns == 0) return empty({x.size(0), 0}, options);
  const Tensor factors =
      cat({ones({x.size(0), 1}, options), expand(unsqueeze(x.to(dtype), 1), {x.size(0), columns - 1})}, 1);
  const Tensor powers = cumprod(factors, 1);
  return increasing ? powers : flip(powers, {1});
}

Tensor fliplr(const Tensor& self) {
  if (self.dim() < 2) fail("fliplr", "expected at least 2 dimensions, got ", self);
  return flip(self, {1});
}

Tensor flipud(const Tensor& self) {
  if (self.dim() < 1) fail("flipud", "expected at least 1 dimension, got ", self);
  return flip(self, {0});
}

Tensor rot90(const Tensor& self, std::int64_t k, IntArrayRef dims) {
  if (dims.size() != 2) fail("rot90", "expected two dimensions, got ", dims);
  const std::int64_t a = wrap_dim("rot90", dims[0], self.dim()), b = wrap_dim("rot90", dims[1], self.dim());
  if (self.dim() < 2 || a == b) fail("rot90", "dims ", dims, " must be two dimensions of ", self);
  switch (((k % 4) + 4) % 4) {
    case 1:
      return transpose(flip(self, {b}), a, b);
    case 2:
      return flip(self, {a, b});
    case 3:
      return transpose(flip(self, {a}), a, b);
    default:
      return clone(self);
  }
}

Tensor diag_embed(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  if (self.dim() == 0) fail("diag_embed", "expected at least 1 dimension, got ", self);
  const std::int64_t rank = self.dim() + 1;
  const std::int64_t a = wrap_dim("diag_embed", dim1, rank), b = wrap_dim("diag_embed", dim2, rank);
  if (a == b) fail("diag_embed", "dim1 and dim2 must differ, got ", dim1, " and ", dim2);
  const std::int64_t size = self.size(-1) + std::abs(offset);
  Dims sizes(self.sizes().data(), self.sizes().size() - 1);
  sizes.insert(static_cast<std::size_t>(std::min(a, b)), size);
  sizes.insert(static_cast<std::size_t>(std::max(a, b)), size);
  Tensor out = zeros(sizes, self.options());
  diagonal(out, offset, a, b).copy_(self);
  return out;
}

Tensor diag(const Tensor& self, std::int64_t diagonal) {
  if (self.dim() == 1) return diag_embed(self, diagonal);
  if (self.dim() == 2) return clone(halftone::diagonal(self, diagonal));
  fail("diag", "expected a vector or a matrix, got ", self);
}

Tensor diagflat(const Tensor& self, std::int64_t offset) { return diag_embed(flatten(self), offset); }

Tensor trace(const Tensor& self) {
  if (self.dim() != 2) fail("trace", "expected a matrix, got ", self);
  return sum(diagonal(self));
}

Tensor narrow_copy(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return clone(narrow(self, dim, start, length));
}

Tensor select_scatter(const Tensor& self, const Tensor& src, std::int64_t dim, std::int64_t index) {
  return scattered("select_scatter", self, src, [&](const Tensor& out) { return select(out, dim, index); });
}

Tensor slice_scatter(const Tensor& self, const Tensor& src, std::int64_t dim,
                     std::optional<std::int64_t> start, std::optional<std::int64_t> end, std::int64_t step) {
  return scattered("slice_scatter", self, src,
                   [&](const Tensor& out) { return slice(out, dim, start, end, step); });
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, std::int64_t offset, std::int64_t dim1,
                        std::int64_t dim2) {
  return scattered("diagonal_scatter", self, src,
                   [&](const Tensor& out) { return diagonal(out, offset, dim1, dim2); });
}

Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& options) {
  return places("tril_indices", row, col, options, &tril, offset);
}

Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& options) {
  return places("triu_indices", row, col, options, &triu, offset);
}

Tensor& fill_diagonal_(Tensor& self, const Scalar& value, bool wrap) {
  if (self.dim() < 2) fail("fill_diagonal_", "expected at least 2 dimensions, got ", self);
  std::int64_t step = 0;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (self.dim() > 2 && self.size(d) != self.size(0))
      fail("fill_diagonal_", "with more than 2 dimensions all sizes must be equal, got ", self);
    step += self.stride(d);
  }
  const std::int64_t square = *std::min_element(self.sizes().begin(), self.sizes().end());
  as_strided(self, {square}, {step}, self.storage_offset()).fill_(value);
  if (wrap && self.dim() == 2) {
    for (std::int64_t top = square + 1; square > 0 && top < self.size(0); top += square + 1) {
      const std::int64_t length = std::min(square, self.size(0) - top);
      as_strided(self, {length}, {step}, self.storage_offset() + top * self.stride(0)).fill_(value);
    }
  }
  return self;
}

}  // namespace halftone
