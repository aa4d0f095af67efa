// Indexing composed of index, index_put, gather and scatter.

#include "halftone/ops/inplace.h"

namespace halftone {
namespace {

/// Index tensors that name positions along one dimension.
std::vector<Tensor> along(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index) {
  if (self.dim() == 0) fail(op, "self must have a dimension, got a 0-d tensor");
  if (index.dim() > 1) fail(op, "index must be 1-d, got ", index);
  if (index.scalar_type() != kLong && index.scalar_type() != kInt)
    fail(op, "index must be int64 or int32, got ", index);
  std::vector<Tensor> indices(static_cast<std::size_t>(wrap_dim(op, dim, self.dim())) + 1);
  indices.back() = reshape(index, {-1});
  return indices;
}

void check_copied(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index,
                  const Tensor& source) {
  Dims sizes = self.sizes().dims();
  sizes[static_cast<std::size_t>(wrap_dim(op, dim, self.dim()))] = index.numel();
  const bool one = index.dim() == 0 && source.numel() == count_elements(sizes);
  if (source.sizes() != sizes && !one) fail(op, "expected source of shape ", sizes, ", got ", source);
  if (source.scalar_type() != self.scalar_type()) {
    fail(op, "self and source must have one dtype, got ", self.scalar_type(), " and ", source.scalar_type());
  }
}

Tensor filled(const char* op, const Tensor& self, const Tensor& value) {
  if (value.dim() != 0) fail(op, "value must be a number or a 0-d tensor, got ", value);
  return value.to(self.scalar_type());
}

void check_put(const char* op, const Tensor& self, const Tensor& index, const Tensor& source) {
  if (index.numel() != source.numel())
    fail(op, "index and source must have as many elements, got ", index, " and ", source);
  if (source.scalar_type() != self.scalar_type()) {
    fail(op, "self and source must have one dtype, got ", self.scalar_type(), " and ", source.scalar_type());
  }
}

}  // namespace

Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value) {
  return index_put(self, along("index_fill", self, dim, index), filled("index_fill", self, value));
}
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value) {
  return index_fill(self, dim, index, full({}, value, self.options()));
}
Tensor& index_fill_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value) {
  return index_put_(self, along("index_fill_", self, dim, index), filled("index_fill_", self, value));
}
Tensor& index_fill_(Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value) {
  return index_fill_(self, dim, index, full({}, value, self.options()));
}

Tensor index_copy(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source) {
  const std::vector<Tensor> indices = along("index_copy", self, dim, index);
  check_copied("index_copy", self, dim, index, source);
  return index_put(self, indices, source);
}
Tensor& index_copy_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source) {
  const std::vector<Tensor> indices = along("index_copy_", self, dim, index);
  check_copied("index_copy_", self, dim, index, source);
  return index_put_(self, indices, source);
}

Tensor take(const Tensor& self, const Tensor& index) {
  if (index.scalar_type() != kLong) fail("take", "index must be int64, got ", index);
  return halftone::index(reshape(self, {-1}), {index});
}

Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_put("put", self, index, source);
  const Tensor flat =
      index_put(reshape(self, {-1}), {reshape(index, {-1})}, reshape(source, {-1}), accumulate);
  return view(flat, self.sizes());
}
Tensor& put_(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  return ops::write_back(
      "put_", self, [&](const Tensor& x) { return put(x, index, source, accumulate); }, source);
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<std::int64_t> dim) {
  if (!dim) return gather(reshape(self, {-1}), 0, reshape(indices, {-1}));
  if (self.dim() != indices.dim())
    fail("take_along_dim", "self ", self, " and indices ", indices, " must have as many dimensions");
  const std::int64_t d = wrap_dim("take_along_dim", *dim, self.dim());
  Dims from = self.sizes().dims(), to = indices.sizes().dims();
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i == d) continue;
    from[at] = to[at] = broadcast_shapes("take_along_dim", {from[at]}, {to[at]})[0];
  }
  return gather(expand(self, from), d, expand(indices, to));
}

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  if (mask.scalar_type() != kBool) fail("masked_scatter", "mask must be bool, got ", mask);
  if (source.scalar_type() != self.scalar_type()) {
    fail("masked_scatter", "self and source must have one dtype, got ", self.scalar_type(), " and ",
         source.scalar_type());
  }
  const Dims sizes = broadcast_shapes("masked_scatter", self.sizes(), mask.sizes());
  const Tensor where_to = nonzero(reshape(expand(mask, sizes), {-1}));
  const std::int64_t count = where_to.size(0);
  if (source.numel() < count)
    fail("masked_scatter", "the mask is true ", count, " times but source has ", source.numel(), " elements");
  const Tensor flat = index_put(reshape(expand(self, sizes), {-1}), {select(where_to, 1, 0)},
                                narrow(reshape(source, {-1}), 0, 0, count));
  return view(flat, sizes);
}
Tensor& masked_scatter_(Tensor& self, const Tensor& mask, const Tensor& source) {
  return ops::write_back(
      "masked_scatter_", self, [&](const Tensor& x) { return masked_scatter(x, mask, source); }, source);
}

Tensor& masked_fill_(Tensor& self, const Tensor& mask, const Tensor& value) {
  if (value.dim() != 0) fail("masked_fill_", "value must be a number or a 0-d tensor, got ", value);
  return ops::write_back(
      "masked_fill_", self, [&](const Tensor& x) { return masked_fill(x, mask, value); }, value);
}

Tensor argwhere(const Tensor& self) { return nonzero(self); }

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  return unbind(self.dim() == 0 ? nonzero(reshape(self, {1})) : nonzero(self), 1);
}

std::vector<Tensor> where(const Tensor& condition) { return nonzero_numpy(condition); }

Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  const ScalarType dtype = result_type(self, other);
  return where(condition, full({}, self, TensorOptions(dtype).device(condition.device())),
               full({}, other, TensorOptions(dtype).device(condition.device())));
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  NoGradGuard no_grad;
  // Each element against its neighbour in sorted order that is not smaller.
  Tensor found = zeros_like(elements, TensorOptions(kBool));
  if (test_elements.numel() > 0) {
    const Tensor sorted = std::get<0>(sort(reshape(test_elements, {-1}), 0));
    const ScalarType dtype = result_type(elements, test_elements);
    const Tensor place =
        clamp(searchsorted(sorted.to(dtype), elements.to(dtype)), std::nullopt, sorted.numel() - 1);
    found = eq(take(sorted.to(dtype), place), elements.to(dtype));
  }
  return invert ? logical_not(found) : found;
}

}  // namespace halftone
