// Advanced indexing: index, index_put, masked_select, nonzero. Index tensors and masks become one int64
// tensor of checked positions in the indexed dimensions; the operators work on that.

#include "halftone/ops/index_support.h"

namespace halftone {
namespace ops {
namespace {

const IndexKernels& kernels(const Tensor& tensor) { return kernels_for<IndexKernels>(tensor.device()); }

/// Where an index goes: `positions` count in the indexed dimensions of self, read as one.
struct Places {
  Tensor positions;
  Dims dims;
};

/// One entry per dimension of self: masks are replaced by the coordinates of their true elements.
std::vector<Tensor> without_masks(const char* op, const Tensor& self, const TensorList& indices) {
  std::vector<Tensor> entries;
  for (const Tensor& index : indices) {
    const auto next = static_cast<std::int64_t>(entries.size());
    if (!index.defined() || index.scalar_type() != kBool) {
      entries.push_back(index.defined() ? as_index(op, index) : index);
      continue;
    }
    for (std::int64_t d = 0; d < index.dim(); ++d) {
      if (next + d >= self.dim() || index.size(d) != self.size(next + d)) {
        fail(op, "the mask ", index, " does not fit self ", self, " at dimension ", next);
      }
    }
    if (index.dim() == 0) fail(op, "a 0-d mask is not accepted in a list of indices");
    const Tensor found = nonzero(index);
    for (std::int64_t d = 0; d < index.dim(); ++d) entries.push_back(alias_select(found, 1, d));
  }
  if (static_cast<std::int64_t>(entries.size()) > self.dim()) {
    fail(op, "too many indices (", entries.size(), ") for ", self);
  }
  return entries;
}

Places find_places(const char* op, const Tensor& self, const TensorList& indices) {
  const std::vector<Tensor> entries = without_masks(op, self, indices);
  Places places;
  Dims shape;
  for (std::size_t d = 0; d < entries.size(); ++d) {
    if (!entries[d].defined()) continue;
    places.dims.push_back(static_cast<std::int64_t>(d));
    shape = broadcast_shapes(op, shape, entries[d].sizes());
  }
  if (places.dims.empty()) return places;
  places.positions = allocate({shape, kLong, self.device()});
  kernels_for<CopyKernels>(self.device()).fill(places.positions, 0, 0);
  for (std::int64_t d : places.dims) {
    const Tensor& entry = entries[static_cast<std::size_t>(d)];
    kernels(self).check_range(op, entry, self.size(d), d, true);
    if (count_elements(shape) > 0) kernels(self).combine(places.positions, entry, self.size(d));
  }
  return places;
}

/// Dimensions before those of the index in the indexed result: where the indexed ones were if they are
/// adjacent, else none (NumPy's rule).
std::size_t index_front(const Dims& dims) {
  for (std::size_t i = 1; i < dims.size(); ++i) {
    if (dims[i] != dims[i - 1] + 1) return 0;
  }
  return static_cast<std::size_t>(dims[0]);
}

/// self's shape with the indexed dimensions replaced by those of `positions`.
Dims indexed_sizes(IntArrayRef self, const Tensor& positions, const Dims& dims) {
  Dims out;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(self.size()); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end())
      out.push_back(self[static_cast<std::size_t>(d)]);
  }
  for (std::size_t i = 0; i < positions.sizes().size(); ++i) {
    out.insert(index_front(dims) + i, positions.sizes()[i]);
  }
  return out;
}

/// For each position, whether a later one names the same place; shaped to broadcast against the indexed
/// result.
Tensor overwritten(const Dims& self_sizes, const Tensor& positions, const Dims& dims) {
  NoGradGuard no_grad;
  std::int64_t places = 1;
  for (std::int64_t d : dims) places *= self_sizes[static_cast<std::size_t>(d)];
  const Tensor flat = positions.reshape({-1});
  const Tensor order = arange(flat.numel(), TensorOptions(kLong).device(flat.device()));
  const Tensor writer = zeros({places}, order.options()), found = empty_like(order);
  kernels(flat).scatter(writer, 0, flat, order);
  kernels(flat).gather(found, writer, 0, flat);
  Dims shape = positions.sizes().dims();
  const std::size_t rank = indexed_sizes(self_sizes, positions, dims).size();
  while (index_front(dims) + shape.size() < rank) shape.push_back(1);
  return ne(found, order).view(shape);
}

}  // namespace

struct Index : Operator {
  static constexpr Schema schema{
      "index", {"self", "indices"}, "the elements that index tensors or masks name"};
  static constexpr Tensor (*api)(const Tensor&, const TensorList&) = &halftone::index;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(1, {0});

  static Meta infer(const Tensor& self, const Tensor& positions, const Dims& dims) {
    return like(self, indexed_sizes(self.sizes(), positions, dims));
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& positions, const Dims& dims) {
    kernels(out).take(out, self, positions, dims);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dims);
  static void samples(Samples& s) {
    const Tensor none;
    s(s.rand({4, 3}), std::vector<Tensor>{s.randint({5}, -4, 4)});
    s(s.rand({3, 4, 2}), std::vector<Tensor>{none, s.randint({2, 2}, 0, 4)});
    s(s.rand({3, 2, 4}), std::vector<Tensor>{s.randint({2, 1}, 0, 3), none, s.randint({3}, -4, 4)});
    s(s.rand({3, 4}), std::vector<Tensor>{s.randint({2}, 0, 3), s.randint({2}, 0, 4)});
    s(s.rand({3, 4}), std::vector<Tensor>{s.mask({3, 4})});
    s(s.rand({2, 0}), std::vector<Tensor>{s.randint({3}, 0, 2)});
  }
};
HALFTONE_REGISTER_OPERATOR(Index)

struct IndexPut : Operator {
  static constexpr Schema schema{
      "index_put",
      {"self", "indices", "values", "accumulate"},
      "self with values written (the last of several wins) or added where indices say"};
  static constexpr Tensor (*api)(const Tensor&, const TensorList&, const Tensor&,
                                 bool) = &halftone::index_put;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr Keep saves = keep_input(1);

  static Meta infer(const Tensor& self, const Tensor& positions, const Tensor& values, const Dims& dims,
                    bool) {
    if (values.scalar_type() != self.scalar_type()) {
      fail("index_put", "self and values must have one dtype, got ", self.scalar_type(), " and ",
           values.scalar_type());
    }
    const Dims wanted = indexed_sizes(self.sizes(), positions, dims);
    if (values.dim() > static_cast<std::int64_t>(wanted.size()) ||
        !(broadcast_shapes("index_put", wanted, values.sizes()) == wanted)) {
      fail("index_put", "values ", values, " do not broadcast to the indexed shape ", wanted);
    }
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& positions, const Tensor& values,
                  const Dims& dims, bool accumulate) {
    const Tensor source = alias_expand("index_put", values, indexed_sizes(self.sizes(), positions, dims));
    if (accumulate) {
      add_into(out, self, [&](const Tensor& sums) { kernels(out).add(sums, positions, dims, source, 1); });
    } else {
      copy_unless_same(out, self);
      kernels(out).put(out, positions, dims, source);
    }
  }
  static Gradients backward(const Saved& s, const Tensor& grad, const Dims& dims, bool accumulate) {
    const Tensor positions = s.input(1);
    Tensor for_self = grad, for_values;
    if (!accumulate && s.needs(0)) {
      for_self = dispatch<IndexPut>(grad, positions, zeros({}, grad.options()), dims, false);
    }
    if (s.needs(2)) {
      for_values = dispatch<Index>(grad, positions, dims);
      if (!accumulate) for_values = masked_fill(for_values, overwritten(s.sizes(0), positions, dims), 0);
    }
    return {for_self, Tensor(), for_values};
  }
  static void samples(Samples& s) {
    const Tensor none;
    s(s.rand({4, 3}), std::vector<Tensor>{s.randint({6}, -4, 4)}, s.rand({6, 3}), true);
    s(s.rand({4, 3}), std::vector<Tensor>{s.randint({6}, 0, 4)}, s.rand({6, 3}),
      false);  // some write to one place
    s(s.rand({3, 2, 4}), std::vector<Tensor>{s.randint({2, 1}, 0, 3), none, s.randint({3}, 0, 4)},
      s.rand({3, 1}), false);
    s(s.rand({2, 3, 2}), std::vector<Tensor>{none, s.randint({4}, 0, 3)}, s.rand({2, 4, 2}), false);
    s(s.rand({3, 4}), std::vector<Tensor>{s.mask({3, 4})}, s.rand({}), true);
    s(s.rand({2, 0}), std::vector<Tensor>{s.randint({3}, 0, 2)}, s.rand({3, 0}), false);
  }
};
HALFTONE_REGISTER_OPERATOR(IndexPut)

Tensor Index::backward(const Saved& s, const Tensor& grad, const Dims& dims) {
  return dispatch<IndexPut>(zeros(s.sizes(0), grad.options()), s.input(1), grad, dims, true);
}

struct Nonzero : Operator {
  static constexpr Schema schema{
      "nonzero", {"self"}, "coordinates of the elements that are not zero, one row each"};
  static constexpr Tensor (*api)(const Tensor&) = &halftone::nonzero;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool differentiable = false;

  // The shape depends on the values.
  static Meta infer(const Tensor& self) {
    return like(self, {kernels(self).count_nonzero(self), self.dim()}, kLong);
  }
  static void run(const Tensor& out, const Tensor& self) { kernels(out).nonzero(out, self); }
  static void samples(Samples& s) {
    s(s.mask({3, 4}));
    s(s.rand({2, 2}));
    s(s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Nonzero)

}  // namespace ops

Tensor index(const Tensor& self, const TensorList& indices) {
  const ops::Places places = ops::find_places("index", self, indices);
  return places.dims.empty() ? self : ops::dispatch<ops::Index>(self, places.positions, places.dims);
}

Tensor index_put(const Tensor& self, const TensorList& indices, const Tensor& values, bool accumulate) {
  const ops::Places places = ops::find_places("index_put", self, indices);
  if (places.dims.empty()) fail("index_put", "expected at least one index tensor");
  return ops::dispatch<ops::IndexPut>(self, places.positions, values, places.dims, accumulate);
}

Tensor& index_put_(Tensor& self, const TensorList& indices, const Tensor& values, bool accumulate) {
  const ops::Places places = ops::find_places("index_put_", self, indices);
  if (places.dims.empty()) fail("index_put_", "expected at least one index tensor");
  return ops::dispatch_inplace<ops::IndexPut>(self, places.positions, values.to(self.scalar_type()),
                                              places.dims, accumulate);
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  if (mask.scalar_type() != kBool) fail("masked_select", "mask must be bool, got ", mask);
  const Dims sizes = broadcast_shapes("masked_select", self.sizes(), mask.sizes());
  if (sizes.empty()) return masked_select(unsqueeze(self, 0), unsqueeze(mask, 0));
  return index(expand(self, sizes), {expand(mask, sizes)});
}

Tensor nonzero(const Tensor& self) { return ops::dispatch<ops::Nonzero>(self); }

}  // namespace halftone
