// Rows and elements by index tensors: index_select, index_add, gather, scatter, scatter_add. Sums into half
// tensors are accumulated in fp32 and rounded once.

#include "halftone/kernels/copy.h"
#include "halftone/kernels/index.h"
#include "halftone/ops/index_support.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

const IndexKernels& kernels(const Tensor& tensor) { return kernels_for<IndexKernels>(tensor.device()); }

void check_same_dtype(const char* op, const Tensor& self, const char* name, const Tensor& other) {
  if (other.scalar_type() != self.scalar_type()) {
    fail(op, "self and ", name, " must have one dtype, got ", self.scalar_type(), " and ",
         other.scalar_type());
  }
}

/// Rows along `dim`: index 0-d or 1-d, self not 0-d.
std::int64_t check_rows(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index) {
  if (self.dim() == 0) fail(op, "self must have a dimension, got a 0-d tensor");
  if (index.dim() > 1) fail(op, "index must be 1-d, got ", index);
  return wrap_dim(op, dim, self.dim());
}

Tensor as_rows(const Tensor& index) {
  return index.dim() == 1 ? index : alias(index, {1}, {1}, index.storage_offset());
}

/// gather and scatter: index lies inside self but along `dim`.
void check_elements(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index) {
  const std::int64_t d = wrap_dim(op, dim, self.dim());
  bool fits = index.dim() == self.dim();
  for (std::int64_t i = 0; fits && i < self.dim(); ++i) fits = i == d || index.size(i) <= self.size(i);
  if (!fits && index.numel() > 0) {
    fail(op, "index ", index, " must have the dimensions of self ", self,
         " and be no larger outside dimension ", d);
  }
}

void check_index_range(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index) {
  const std::int64_t d = wrap_dim(op, dim, self.dim());
  kernels(self).check_range(op, index, self.dim() == 0 ? 1 : self.size(d), d, false);
}

/// For each element of index, whether a scatter leaves its source in place (the last of those that go to one
/// place).
Tensor written_last(const Dims& self_sizes, std::int64_t dim, const Tensor& index) {
  NoGradGuard no_grad;
  const std::int64_t d = wrap_dim("scatter", dim, static_cast<std::int64_t>(self_sizes.size()));
  const Tensor order = arange(index.numel(), TensorOptions(kLong).device(index.device())).view(index.sizes());
  const Tensor writer = zeros(self_sizes, order.options()), found = empty_like(order);
  kernels(index).scatter(writer, d, index, order);
  kernels(index).gather(found, writer, d, index);
  return eq(found, order);
}

/// The part of src that index covers.
Tensor covered(const Tensor& src, const Tensor& index) {
  Tensor part = src;
  if (src.dim() != index.dim()) return part;
  for (std::int64_t d = 0; d < src.dim(); ++d) {
    if (src.size(d) > index.size(d)) part = narrow(part, d, 0, index.size(d));
  }
  return part;
}

}  // namespace

struct IndexSelect : Operator {
  static constexpr Schema schema{
      "index_select", {"self", "dim", "index"}, "the slices along dim that index names"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, const Tensor&) = &halftone::index_select;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(1, {0});

  static Meta infer(const Tensor& self, std::int64_t dim, const Tensor& index) {
    const std::int64_t d = check_rows("index_select", self, dim, index);
    Dims sizes = self.sizes().dims();
    sizes[static_cast<std::size_t>(d)] = index.numel();
    return like(self, sizes);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
    check_index_range("index_select", self, dim, index);
    kernels(out).take(out, self, as_rows(index), {wrap_dim("index_select", dim, self.dim())});
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t dim) {
    return index_add(zeros(s.sizes(0), grad.options()), dim, s.input(1), grad);
  }
  static void samples(Samples& s) {
    s(s.rand({4, 3}), 0, s.randint({5}, 0, 4));
    s(s.rand({2, 3}), -1, s.randint({2}, 0, 3));
    s(s.rand({2, 0}), 0, s.randint({3}, 0, 2));
  }
};
HALFTONE_REGISTER_OPERATOR(IndexSelect)

struct IndexAdd : Operator {
  static constexpr Schema schema{"index_add",
                                 {"self", "dim", "index", "source", "alpha"},
                                 "self with alpha * source added to the slices along dim that index names"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, const Tensor&, const Tensor&,
                                 const Scalar&) = &halftone::index_add;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr Keep saves = keep_input(1, {2});

  static Meta infer(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                    const Scalar&) {
    const std::int64_t d = check_rows("index_add", self, dim, index);
    check_same_dtype("index_add", self, "source", source);
    Dims sizes = self.sizes().dims();
    sizes[static_cast<std::size_t>(d)] = index.numel();
    if (source.sizes() != sizes) fail("index_add", "expected source of shape ", sizes, ", got ", source);
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index,
                  const Tensor& source, const Scalar& alpha) {
    check_index_range("index_add", self, dim, index);
    add_into(out, self, [&](const Tensor& sums) {
      kernels(out).add(sums, as_rows(index), {wrap_dim("index_add", dim, self.dim())}, source, alpha);
    });
  }
  static Gradients backward(const Saved& s, const Tensor& grad, std::int64_t dim, const Scalar& alpha) {
    Tensor for_source;
    if (s.needs(2)) {
      for_source = index_select(grad, dim, s.input(1));
      if (alpha.to_double() != 1) for_source = mul(for_source, alpha);
    }
    return {grad, Tensor(), for_source};
  }
  static void samples(Samples& s) {
    s(s.rand({4, 3}), 0, s.randint({5}, 0, 4), s.rand({5, 3}), 1);
    s(s.rand({2, 3}), -1, s.randint({2}, 0, 3), s.rand({2, 2}), -0.5);
    s(s.rand({2, 0}), 0, s.randint({3}, 0, 2), s.rand({3, 0}), 1);
  }
};
HALFTONE_REGISTER_OPERATOR(IndexAdd)

struct Gather : Operator {
  static constexpr Schema schema{
      "gather", {"self", "dim", "index"}, "the element at index[i] along dim, for every i"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, const Tensor&) = &halftone::gather;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(1, {0});

  static Meta infer(const Tensor& self, std::int64_t dim, const Tensor& index) {
    check_elements("gather", self, dim, index);
    return like(self, index.sizes());
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
    check_index_range("gather", self, dim, index);
    kernels(out).gather(out, self, wrap_dim("gather", dim, self.dim()), index);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t dim) {
    return scatter_add(zeros(s.sizes(0), grad.options()), dim, s.input(1), grad);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), 1, s.randint({3, 2}, 0, 4));
    s(s.rand({3, 4}), 0, s.randint({5, 2}, 0, 3));
    s(s.rand({2, 2}), -1, s.randint({0, 2}, 0, 2));
  }
};
HALFTONE_REGISTER_OPERATOR(Gather)

struct Scatter : Operator {
  static constexpr Schema schema{"scatter",
                                 {"self", "dim", "index", "src"},
                                 "self with src[i] written at index[i] along dim; the last of several wins"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, const Tensor&,
                                 const Tensor&) = &halftone::scatter;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr Keep saves = keep_input(1);

  static Meta infer(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
    check_elements("scatter", self, dim, index);
    check_same_dtype("scatter", self, "src", src);
    if (src.sizes() != index.sizes()) fail("scatter", "src ", src, " must cover index ", index);
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index,
                  const Tensor& src) {
    check_index_range("scatter", self, dim, index);
    copy_unless_same(out, self);
    kernels(out).scatter(out, wrap_dim("scatter", dim, self.dim()), index, src);
  }
  static Gradients backward(const Saved& s, const Tensor& grad, std::int64_t dim) {
    const Tensor index = s.input(1);
    Tensor for_self, for_src;
    if (s.needs(0)) for_self = scatter(grad, dim, index, 0);
    if (s.needs(2)) {
      const Tensor overwritten = logical_not(written_last(s.sizes(0), dim, index));
      for_src = masked_fill(gather(grad, dim, index), overwritten, 0);
    }
    return {for_self, Tensor(), for_src};
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), 1, s.randint({3, 2}, 0, 4), s.rand({3, 2}));
    s(s.rand({3, 2}), 0, s.randint({5, 2}, 0, 3),
      s.rand({6, 2}));  // some write to one place; src larger than index
    s(s.rand({2, 2}), -1, s.randint({0, 2}, 0, 2), s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Scatter)

struct ScatterAdd : Operator {
  static constexpr Schema schema{"scatter_add",
                                 {"self", "dim", "index", "src"},
                                 "self with src[i] added at index[i] along dim, in order"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, const Tensor&,
                                 const Tensor&) = &halftone::scatter_add;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr Keep saves = keep_input(1, {2});

  static Meta infer(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
    check_elements("scatter_add", self, dim, index);
    check_same_dtype("scatter_add", self, "src", src);
    if (src.sizes() != index.sizes()) fail("scatter_add", "src ", src, " must cover index ", index);
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index,
                  const Tensor& src) {
    check_index_range("scatter_add", self, dim, index);
    add_into(out, self, [&](const Tensor& sums) {
      kernels(out).scatter_add(sums, wrap_dim("scatter_add", dim, self.dim()), index, src);
    });
  }
  static Gradients backward(const Saved& s, const Tensor& grad, std::int64_t dim) {
    return {grad, Tensor(), s.needs(2) ? gather(grad, dim, s.input(1)) : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), 1, s.randint({3, 6}, 0, 4), s.rand({3, 6}));
    s(s.rand({3, 2}), 0, s.randint({5, 2}, 0, 3), s.rand({6, 2}));
    s(s.rand({2, 2}), -1, s.randint({0, 2}, 0, 2), s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(ScatterAdd)

}  // namespace ops

Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index) {
  return ops::dispatch<ops::IndexSelect>(self, dim, ops::as_index("index_select", index));
}

Tensor index_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  return ops::dispatch<ops::IndexAdd>(self, dim, ops::as_index("index_add", index), source, alpha);
}

Tensor& index_add_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha) {
  return ops::dispatch_inplace<ops::IndexAdd>(self, dim, ops::as_index("index_add_", index),
                                              source.to(self.scalar_type()), alpha);
}

Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& index) {
  return ops::dispatch<ops::Gather>(self, dim, ops::as_index("gather", index));
}

Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return ops::dispatch<ops::Scatter>(self, dim, ops::as_index("scatter", index), ops::covered(src, index));
}

Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter(self, dim, index, expand(full({}, value, self.options()), index.sizes()));
}

Tensor& scatter_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return ops::dispatch_inplace<ops::Scatter>(self, dim, ops::as_index("scatter_", index),
                                             ops::covered(src, index).to(self.scalar_type()));
}

Tensor& scatter_(Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_(self, dim, index, expand(full({}, value, self.options()), index.sizes()));
}

Tensor scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return ops::dispatch<ops::ScatterAdd>(self, dim, ops::as_index("scatter_add", index),
                                        ops::covered(src, index));
}

Tensor& scatter_add_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return ops::dispatch_inplace<ops::ScatterAdd>(self, dim, ops::as_index("scatter_add_", index),
                                                ops::covered(src, index).to(self.scalar_type()));
}

}  // namespace halftone
