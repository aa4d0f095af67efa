// Views that change the shape: results that share the input's memory. Their gradients go back through the
// matching view.

#include "halftone/ops/alias.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

std::size_t at(std::int64_t dim) { return static_cast<std::size_t>(dim); }

/// Strides under which memory laid out as (sizes, strides) reads as `wanted`; nothing when no strides do.
/// Dimensions are taken from the last: each group of old ones that lie without gaps splits into new ones.
std::optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& wanted) {
  if (count_elements(sizes) == 0) return sizes == wanted ? strides : contiguous_strides(wanted);
  Dims out(wanted.size(), 1);
  auto next = static_cast<std::int64_t>(wanted.size()) - 1;
  std::int64_t base = sizes.empty() ? 1 : strides.back();
  std::int64_t old_count = 1, new_count = 1;
  for (std::int64_t d = static_cast<std::int64_t>(sizes.size()) - 1; d >= 0; --d) {
    old_count *= sizes[at(d)];
    const bool group_ends = d == 0 || (sizes[at(d - 1)] != 1 && strides[at(d - 1)] != old_count * base);
    if (!group_ends) continue;
    while (next >= 0 && (new_count < old_count || wanted[at(next)] == 1)) {
      out[at(next)] = new_count * base;
      new_count *= wanted[at(next)];
      --next;
    }
    if (new_count != old_count) return std::nullopt;
    if (d > 0) base = strides[at(d - 1)];
    old_count = new_count = 1;
  }
  for (; next >= 0; --next) {
    if (wanted[at(next)] != 1) return std::nullopt;
  }
  return out;
}

/// `shape` with its one -1 replaced by what makes the element counts agree.
Dims infer_shape(const char* op, const Tensor& self, IntArrayRef shape) {
  Dims out = shape.dims();
  std::int64_t known = 1, unknown = -1;
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == -1 && unknown < 0) {
      unknown = static_cast<std::int64_t>(d);
    } else if (out[d] < 0) {
      fail(op, "shape ", out, ": sizes must not be negative, except for one -1");
    } else if (__builtin_mul_overflow(known, out[d], &known)) {
      fail(op, "the number of elements of ", out, " does not fit into 64 bits");
    }
  }
  if (unknown >= 0) {
    if (known == 0) fail(op, "shape ", out, ": the -1 could be any size, since another size is 0");
    if (self.numel() % known == 0) out[at(unknown)] = self.numel() / known;
  }
  if ((unknown < 0 && known != self.numel()) || (unknown >= 0 && out[at(unknown)] < 0)) {
    fail(op, "shape ", shape, " does not fit ", self, ", which has ", self.numel(), " elements");
  }
  return out;
}

}  // namespace

Tensor alias_expand(const char* op, const Tensor& tensor, IntArrayRef sizes) {
  const TensorImpl& impl = *tensor.unsafe_impl();
  if (sizes.size() < impl.sizes.size()) {
    fail(op, "cannot expand ", tensor, " to ", sizes, ", which has fewer dimensions");
  }
  Dims out = sizes.dims(), strides(sizes.size(), 0);
  const std::size_t added = sizes.size() - impl.sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d < added) {
      if (out[d] < 0)
        fail(op, "size ", out[d], " at dimension ", d, " of ", sizes, ", which ", tensor, " does not have");
      continue;
    }
    const std::int64_t size = impl.sizes[d - added];
    if (out[d] == -1) out[d] = size;
    if (out[d] != size && size != 1) {
      fail(op, "cannot expand ", tensor, " to ", sizes, ": size ", size, " at dimension ", d - added,
           " is not 1");
    }
    strides[d] = out[d] == size ? impl.strides[d - added] : 0;
  }
  return alias(tensor, out, strides, impl.offset);
}

struct View : Operator {
  static constexpr Schema schema{
      "view", {"self", "size"}, "the same elements in another shape, without a copy"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef) = &halftone::view;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, IntArrayRef size) {
    const Dims sizes = infer_shape("view", self, size);
    const auto strides = view_strides(self.sizes().dims(), self.strides().dims(), sizes);
    if (!strides) {
      fail("view", "no strides make ", self, " with strides ", self.strides(), " a tensor of shape ", sizes,
           " without a copy; use reshape");
    }
    return alias(self, sizes, *strides, self.storage_offset());
  }
  static Tensor backward(const Saved& s, const Tensor& grad, IntArrayRef) {
    return reshape(grad, s.sizes(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 4}), Dims{6, 4});
    s(s.rand({2, 6}), Dims{-1, 3});
    s(s.rand({1}), Dims{});
    s(s.rand({0, 3}), Dims{3, 0, 2});
  }
};
HALFTONE_REGISTER_OPERATOR(View)

struct Transpose : Operator {
  static constexpr Schema schema{"transpose", {"self", "dim0", "dim1"}, "two dimensions exchanged"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, std::int64_t) = &halftone::transpose;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
    const std::size_t a = at(wrap_dim("transpose", dim0, self.dim())),
                      b = at(wrap_dim("transpose", dim1, self.dim()));
    Dims sizes = self.sizes().dims(), strides = self.strides().dims();
    if (a != b) {
      std::swap(sizes[a], sizes[b]);
      std::swap(strides[a], strides[b]);
    }
    return alias(self, sizes, strides, self.storage_offset());
  }
  static Tensor backward(const Saved&, const Tensor& grad, std::int64_t dim0, std::int64_t dim1) {
    return transpose(grad, dim0, dim1);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 4}), 0, 2);
    s(s.rand({2, 3}), -1, 0);
    s(s.rand({0, 3}), 0, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Transpose)

struct Permute : Operator {
  static constexpr Schema schema{"permute", {"self", "dims"}, "the dimensions in another order"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef) = &halftone::permute;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, IntArrayRef dims) {
    if (static_cast<std::int64_t>(dims.size()) != self.dim()) {
      fail("permute", "dims ", dims, " must name each of the ", self.dim(), " dimensions of ", self);
    }
    Dims sizes, strides;
    unsigned seen = 0;
    for (std::int64_t dim : dims) {
      const std::size_t d = at(wrap_dim("permute", dim, self.dim()));
      if (seen & 1u << d) fail("permute", "dims ", dims, " names dimension ", d, " twice");
      seen |= 1u << d;
      sizes.push_back(self.sizes()[d]);
      strides.push_back(self.strides()[d]);
    }
    return alias(self, sizes, strides, self.storage_offset());
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef dims) {
    Dims inverse = dims.dims();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      inverse[at(wrap_dim("permute", dims[i], static_cast<std::int64_t>(dims.size())))] =
          static_cast<std::int64_t>(i);
    }
    return permute(grad, inverse);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 4}), Dims{2, 0, 1});
    s(s.rand({2, 3}), Dims{-1, 0});
    s(s.rand({0, 2}), Dims{1, 0});
  }
};
HALFTONE_REGISTER_OPERATOR(Permute)

struct Expand : Operator {
  static constexpr Schema schema{
      "expand", {"self", "size", "implicit"}, "sizes of 1 repeated without a copy"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, bool) = &halftone::expand;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, IntArrayRef size, bool) {
    return alias_expand("expand", self, size);
  }
  // The engine sums a gradient to its input's shape.
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef, bool) { return grad; }
  static void samples(Samples& s) {
    s(s.rand({3, 1}), Dims{2, 3, 4}, false);
    s(s.rand({2, 3}), Dims{-1, 3}, true);
    s(s.rand({}), Dims{3}, false);
    s(s.rand({1, 2}), Dims{0, 2}, false);
    s(s.rand({0, 1}), Dims{0, 3}, false);
  }
};
HALFTONE_REGISTER_OPERATOR(Expand)

struct Squeeze : Operator {
  static constexpr Schema schema{"squeeze", {"self", "dim"}, "without dimension dim if its size is 1"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t) = &halftone::squeeze;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, std::int64_t dim) {
    Dims sizes = self.sizes().dims(), strides = self.strides().dims();
    const std::size_t d = at(wrap_dim("squeeze", dim, self.dim()));
    if (self.dim() > 0 && sizes[d] == 1) {
      sizes.erase(d);
      strides.erase(d);
    }
    return alias(self, sizes, strides, self.storage_offset());
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t) {
    return reshape(grad, s.sizes(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 1, 3}), 1);
    s(s.rand({2, 3}), -1);
    s(s.rand({1, 0}), 0);
  }
};
HALFTONE_REGISTER_OPERATOR(Squeeze)

struct Unsqueeze : Operator {
  static constexpr Schema schema{"unsqueeze", {"self", "dim"}, "with a dimension of size 1 inserted at dim"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t) = &halftone::unsqueeze;
  static constexpr auto precision = amp::Precision::kAny;

  static Tensor view(const Tensor& self, std::int64_t dim) {
    const std::size_t d = at(wrap_dim("unsqueeze", dim, self.dim() + 1));
    Dims sizes = self.sizes().dims(), strides = self.strides().dims();
    strides.insert(d, d < strides.size() ? sizes[d] * strides[d] : 1);
    sizes.insert(d, 1);
    return alias(self, sizes, strides, self.storage_offset());
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t) {
    return reshape(grad, s.sizes(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0);
    s(s.rand({2, 3}), -1);
    s(s.rand({}), 0);
    s(s.rand({0}), 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Unsqueeze)

}  // namespace ops

Tensor view(const Tensor& self, IntArrayRef size) { return ops::dispatch<ops::View>(self, size); }

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  const Dims sizes = ops::infer_shape("reshape", self, shape);
  if (sizes == self.sizes().dims()) return self;
  if (ops::view_strides(self.sizes().dims(), self.strides().dims(), sizes)) return view(self, sizes);
  return view(clone(self), sizes);
}

Tensor transpose(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  return ops::dispatch<ops::Transpose>(self, dim0, dim1);
}

Tensor t(const Tensor& self) {
  if (self.dim() > 2) fail("t", "expected at most 2 dimensions, got ", self, "; use transpose");
  return self.dim() < 2 ? transpose(self, 0, 0) : transpose(self, 0, 1);
}

Tensor permute(const Tensor& self, IntArrayRef dims) { return ops::dispatch<ops::Permute>(self, dims); }

Tensor movedim(const Tensor& self, std::int64_t source, std::int64_t destination) {
  const std::int64_t from = wrap_dim("movedim", source, self.dim());
  const std::int64_t to = wrap_dim("movedim", destination, self.dim());
  if (self.dim() == 0) return permute(self, {});
  Dims order;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (d != from) order.push_back(d);
  }
  order.insert(static_cast<std::size_t>(to), from);
  return permute(self, order);
}

Tensor expand(const Tensor& self, IntArrayRef size, bool implicit) {
  return ops::dispatch<ops::Expand>(self, size, implicit);
}

Tensor expand_as(const Tensor& self, const Tensor& other) { return expand(self, other.sizes()); }

Tensor squeeze(const Tensor& self) {
  Dims sizes;
  for (std::int64_t size : self.sizes()) {
    if (size != 1) sizes.push_back(size);
  }
  return view(self, sizes);
}

Tensor squeeze(const Tensor& self, std::int64_t dim) { return ops::dispatch<ops::Squeeze>(self, dim); }

Tensor unsqueeze(const Tensor& self, std::int64_t dim) { return ops::dispatch<ops::Unsqueeze>(self, dim); }

Tensor flatten(const Tensor& self, std::int64_t start_dim, std::int64_t end_dim) {
  const std::int64_t first = wrap_dim("flatten", start_dim, self.dim());
  const std::int64_t last = wrap_dim("flatten", end_dim, self.dim());
  if (first > last) fail("flatten", "start_dim ", start_dim, " comes after end_dim ", end_dim, " of ", self);
  if (self.dim() == 0) return reshape(self, {1});
  Dims sizes;
  std::int64_t merged = 1;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (d >= first && d <= last) {
      merged *= self.size(d);
      if (d == last) sizes.push_back(merged);
    } else {
      sizes.push_back(self.size(d));
    }
  }
  return reshape(self, sizes);
}

Tensor unflatten(const Tensor& self, std::int64_t dim, IntArrayRef sizes) {
  const std::int64_t d = wrap_dim("unflatten", dim, self.dim());
  if (self.dim() == 0 || sizes.empty())
    fail("unflatten", "cannot split dimension ", dim, " of ", self, " into ", sizes);
  const Dims parts = ops::infer_shape("unflatten", ops::alias(self, {self.size(d)}, {0}, 0), sizes);
  Dims out;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (i != d) {
      out.push_back(self.size(i));
      continue;
    }
    for (std::int64_t part : parts) out.push_back(part);
  }
  return view(self, out);
}

namespace {

/// Gives `self` the shape that `view`, a view of all its elements, has.
Tensor& take_shape(const char* op, Tensor& self, const Tensor& view) {
  if (autograd::wants_grad(self)) {
    fail(op, self,
         " has a gradient history, which an in-place change of shape would lose; assign the result of the "
         "form "
         "without the underscore");
  }
  TensorImpl& impl = *self.unsafe_impl();
  const TensorImpl& from = *view.unsafe_impl();
  impl.sizes = from.sizes;
  impl.strides = from.strides;
  impl.is_contiguous = from.is_contiguous;
  if (autograd::TensorMeta* meta = autograd::find_meta(self)) meta->leaf.sizes = impl.sizes;
  return self;
}

}  // namespace

Tensor& squeeze_(Tensor& self) { return take_shape("squeeze_", self, squeeze(self)); }
Tensor& squeeze_(Tensor& self, std::int64_t dim) { return take_shape("squeeze_", self, squeeze(self, dim)); }
Tensor& unsqueeze_(Tensor& self, std::int64_t dim) {
  return take_shape("unsqueeze_", self, unsqueeze(self, dim));
}
Tensor& transpose_(Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  return take_shape("transpose_", self, transpose(self, dim0, dim1));
}
Tensor& t_(Tensor& self) { return take_shape("t_", self, t(self)); }

Tensor& Tensor::resize_(IntArrayRef size) const {
  Tensor& self = const_cast<Tensor&>(*this);
  if (requires_grad()) fail("resize_", *this, " requires a gradient; a new size would lose its history");
  if (sizes() == size) return self;
  const Tensor wider = ops::allocate({size.dims(), scalar_type(), device()});
  TensorImpl& to = *impl_ptr();
  const auto held = static_cast<std::int64_t>(storage().bytes() / element_size()) - storage_offset();
  if (wider.numel() > held) {  // the elements it has come first in the new memory
    const NoGradGuard no_grad;
    const std::int64_t kept = std::min(numel(), held);
    if (kept > 0) ops::alias(wider, {kept}, {1}, 0).copy_(ops::alias(*this, {kept}, {1}, storage_offset()));
    to.storage = wider.unsafe_impl()->storage;
    to.offset = 0;
  }
  to.sizes = size.dims();
  to.strides = contiguous_strides(size);
  to.numel = wider.numel();
  to.is_contiguous = true;
  return self;
}

}  // namespace halftone
