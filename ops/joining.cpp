// Ways to join and to split tensors, composed of cat, stack, expand and narrow.

#include "halftone/engine/tensor.h"

namespace halftone {
namespace {

template <class F>
std::vector<Tensor> each(const TensorList& tensors, F f) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& tensor : tensors) out.push_back(f(tensor));
  return out;
}

void check_any(const char* op, const TensorList& tensors) {
  if (tensors.empty()) fail(op, "expected at least one tensor");
}

/// The parts before each of `indices`, which count from either end.
std::vector<Tensor> split_before(const Tensor& self, IntArrayRef indices, std::int64_t dim) {
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t index : indices) {
    parts.push_back(slice(self, dim, start, index));
    start = index;
  }
  parts.push_back(slice(self, dim, start));
  return parts;
}

void check_rank(const char* op, const Tensor& self, std::int64_t least) {
  if (self.dim() < least) fail(op, "expected at least ", least, " dimensions, got ", self);
}

void check_sections(const char* op, const Tensor& self, std::int64_t dim, std::int64_t sections) {
  if (sections <= 0 || self.size(dim) % sections != 0)
    fail(op, sections, " sections do not divide dimension ", dim, " of ", self, " evenly; use tensor_split");
}

}  // namespace

Tensor atleast_1d(const Tensor& self) { return self.dim() == 0 ? reshape(self, {1}) : self; }
Tensor atleast_2d(const Tensor& self) {
  return self.dim() == 0 ? reshape(self, {1, 1}) : self.dim() == 1 ? unsqueeze(self, 0) : self;
}
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return reshape(self, {1, 1, 1});
  if (self.dim() == 1) return unsqueeze(unsqueeze(self, 0), -1);
  return self.dim() == 2 ? unsqueeze(self, -1) : self;
}

Tensor vstack(const TensorList& tensors) {
  check_any("vstack", tensors);
  return cat(each(tensors, atleast_2d), 0);
}

Tensor hstack(const TensorList& tensors) {
  check_any("hstack", tensors);
  const std::vector<Tensor> parts = each(tensors, atleast_1d);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor dstack(const TensorList& tensors) {
  check_any("dstack", tensors);
  return cat(each(tensors, atleast_3d), 2);
}

Tensor column_stack(const TensorList& tensors) {
  check_any("column_stack", tensors);
  return hstack(each(tensors, [](const Tensor& t) { return t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t; }));
}

Tensor block_diag(const TensorList& tensors) {
  std::vector<Tensor> blocks;
  std::int64_t columns = 0, before = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 2) fail("block_diag", "expected at most 2 dimensions, got ", tensor);
    blocks.push_back(atleast_2d(tensor));
    columns += blocks.back().size(1);
  }
  if (blocks.empty()) return empty({1, 0});
  for (Tensor& block : blocks) {
    const std::int64_t width = block.size(1);
    block = constant_pad_nd(block, {before, columns - before - width}, 0);
    before += width;
  }
  return cat(blocks, 0);
}

std::vector<Tensor> broadcast_tensors(const TensorList& tensors) {
  Dims sizes;
  for (const Tensor& tensor : tensors) sizes = broadcast_shapes("broadcast_tensors", sizes, tensor.sizes());
  return each(tensors, [&](const Tensor& t) { return expand(t, sizes); });
}

Tensor broadcast_to(const Tensor& self, IntArrayRef size) { return expand(self, size); }

Tensor tile(const Tensor& self, IntArrayRef dims) {
  Dims repeats = dims.dims();
  while (static_cast<std::int64_t>(repeats.size()) < self.dim()) repeats.insert(0, 1);
  return repeat(self, repeats);
}

std::vector<Tensor> meshgrid(const TensorList& tensors, std::string_view indexing) {
  check_any("meshgrid", tensors);
  if (indexing != "ij" && indexing != "xy")
    fail("meshgrid", "indexing must be \"ij\" or \"xy\", got \"", indexing, "\"");
  const bool swapped = indexing == "xy" && tensors.size() >= 2;
  Dims sizes;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 1) fail("meshgrid", "expected 0-d or 1-d tensors, got ", tensor);
    if (tensor.scalar_type() != tensors[0].scalar_type() || tensor.device() != tensors[0].device()) {
      fail("meshgrid", "expected one dtype and device, got ", tensors[0], " on ", tensors[0].device(),
           " and ", tensor, " on ", tensor.device());
    }
    sizes.push_back(tensor.numel());
  }
  if (swapped) std::swap(sizes[0], sizes[1]);
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t d = swapped && i < 2 ? 1 - i : i;
    Dims shape(sizes.size(), 1);
    shape[d] = tensors[i].numel();
    grids.push_back(expand(reshape(tensors[i], shape), sizes));
  }
  return grids;
}

Tensor cartesian_prod(const TensorList& tensors) {
  check_any("cartesian_prod", tensors);
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() != 1) fail("cartesian_prod", "expected vectors, got ", tensor);
  }
  if (tensors.size() == 1) return tensors[0];
  return stack(each(meshgrid(tensors), [](const Tensor& t) { return flatten(t); }), 1);
}

Tensor combinations(const Tensor& self, std::int64_t r, bool with_replacement) {
  if (self.dim() != 1) fail("combinations", "expected a vector, got ", self);
  if (r < 0 || r > kMaxDims) fail("combinations", "r must lie in 0 .. ", kMaxDims, ", got ", r);
  if (r == 0) return empty({0}, self.options());
  const std::int64_t n = self.numel();
  const Tensor order = arange(n, TensorOptions(kLong).device(self.device()));
  const std::vector<Tensor> grids = meshgrid(std::vector<Tensor>(static_cast<std::size_t>(r), order));
  Tensor chosen = ones(Dims(static_cast<std::size_t>(r), n), TensorOptions(kBool).device(self.device()));
  for (std::size_t i = 1; i < grids.size(); ++i) {
    chosen = logical_and(chosen, with_replacement ? le(grids[i - 1], grids[i]) : lt(grids[i - 1], grids[i]));
  }
  return stack(
      each(grids, [&](const Tensor& grid) { return index_select(self, 0, masked_select(grid, chosen)); }), 1);
}

std::vector<Tensor> tensor_split(const Tensor& self, std::int64_t sections, std::int64_t dim) {
  if (sections <= 0) fail("tensor_split", "sections must be positive, got ", sections);
  check_rank("tensor_split", self, 1);
  const std::int64_t size = self.size(dim), least = size / sections, larger = size % sections;
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < sections; ++i) {
    const std::int64_t length = least + (i < larger ? 1 : 0);
    parts.push_back(narrow(self, dim, start, length));
    start += length;
  }
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, std::int64_t dim) {
  check_rank("tensor_split", self, 1);
  wrap_dim("tensor_split", dim, self.dim());
  return split_before(self, indices, dim);
}

std::vector<Tensor> hsplit(const Tensor& self, std::int64_t sections) {
  check_rank("hsplit", self, 1);
  const std::int64_t dim = self.dim() == 1 ? 0 : 1;
  check_sections("hsplit", self, dim, sections);
  return tensor_split(self, sections, dim);
}
std::vector<Tensor> hsplit(const Tensor& self, IntArrayRef indices) {
  check_rank("hsplit", self, 1);
  return split_before(self, indices, self.dim() == 1 ? 0 : 1);
}
std::vector<Tensor> vsplit(const Tensor& self, std::int64_t sections) {
  check_rank("vsplit", self, 2);
  check_sections("vsplit", self, 0, sections);
  return tensor_split(self, sections, 0);
}
std::vector<Tensor> vsplit(const Tensor& self, IntArrayRef indices) {
  check_rank("vsplit", self, 2);
  return split_before(self, indices, 0);
}
std::vector<Tensor> dsplit(const Tensor& self, std::int64_t sections) {
  check_rank("dsplit", self, 3);
  check_sections("dsplit", self, 2, sections);
  return tensor_split(self, sections, 2);
}
std::vector<Tensor> dsplit(const Tensor& self, IntArrayRef indices) {
  check_rank("dsplit", self, 3);
  return split_before(self, indices, 2);
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, std::int64_t dim) {
  return split(self, split_sizes, dim);
}

}  // namespace halftone
