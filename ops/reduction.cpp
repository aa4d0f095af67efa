// Sums, means, products, running sums, and the logical reductions.

#include "halftone/ops/reduction.h"

#include "halftone/kernels/copy.h"

namespace halftone {
namespace ops {

Reduced reduced(const char* op, IntArrayRef sizes, IntArrayRef dims) {
  Reduced r;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  for (std::int64_t dim : dims) {
    const DimMask bit = DimMask{1} << wrap_dim(op, dim, rank);
    if (r.mask & bit) fail(op, "dimension ", dim, " is named twice in ", dims);
    r.mask |= bit;
  }
  const DimMask all = (DimMask{1} << sizes.size()) - 1;
  r.mask = dims.empty() ? all : r.mask & all;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const bool is_reduced = (r.mask >> d & 1) != 0;
    r.kept.push_back(is_reduced ? 1 : sizes[d]);
    if (is_reduced) {
      r.count *= sizes[d];
    } else {
      r.dropped.push_back(sizes[d]);
    }
  }
  return r;
}

void reduce(ReduceOp op, const Tensor& out, const Tensor& self, DimMask mask, const Params& params) {
  kernels_for<ReduceKernels>(out.device()).run(op, out, self, mask, params);
}

Tensor with_kept_dims(const char* op, const Tensor& grad, IntArrayRef input_sizes, IntArrayRef dims) {
  return grad.reshape(reduced(op, input_sizes, dims).kept);
}

Tensor widened(const Tensor& tensor) { return tensor.to(accumulate_type(tensor.scalar_type())); }

void check_floating(const char* op, const Tensor& self) {
  if (!self.defined() || !self.is_floating_point()) fail(op, "expected a floating tensor, got ", self);
}

Meta sum_meta(const Tensor& self, const Dims& sizes, OptionalDtype dtype) {
  Meta meta = like(self, sizes, dtype);
  if (!dtype && !self.is_floating_point()) meta.dtype = kLong;
  return meta;
}

Tensor converted_for_sum(const Tensor& self, OptionalDtype dtype) {
  return dtype && (*dtype == kDouble || !is_floating_point(*dtype)) ? self.to(*dtype) : self;
}

struct Sum : Operator {
  static constexpr Schema schema{
      "sum", {"self", "dim", "keepdim", "dtype"}, "sum over dimensions; integers give int64"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, bool, OptionalDtype) = &halftone::sum;
  static constexpr auto precision = amp::Precision::kFp32;

  static Meta infer(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
    return sum_meta(self, reduced("sum", self.sizes(), dim).sizes(keepdim), dtype);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool, OptionalDtype) {
    reduce(ReduceOp::kSum, out, self, reduced("sum", self.sizes(), dim).mask);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dim, bool, OptionalDtype) {
    return with_kept_dims("sum", grad, s.sizes(0), dim).expand(s.sizes(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{}, false, std::nullopt);
    s(s.rand({2, 3, 2}), Dims{0, -1}, true, kDouble);
    s(s.rand({2, 3}), Dims{1}, false, std::nullopt);
    s(s.rand({}), Dims{0}, false, std::nullopt);
    s(s.rand({2, 0}), Dims{1}, false, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(Sum)

struct Mean : Operator {
  static constexpr Schema schema{
      "mean", {"self", "dim", "keepdim", "dtype"}, "mean over dimensions; NaN of nothing"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, bool, OptionalDtype) = &halftone::mean;
  static constexpr auto precision = amp::Precision::kFp32Inside;

  static Meta infer(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
    const Meta meta = like(self, reduced("mean", self.sizes(), dim).sizes(keepdim), dtype);
    if (!is_floating_point(meta.dtype)) {
      fail("mean", "expected a floating tensor or dtype, got ", self,
           "; pass dtype = kFloat for the mean of integers");
    }
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool, OptionalDtype) {
    reduce(ReduceOp::kMean, out, self, reduced("mean", self.sizes(), dim).mask);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dim, bool, OptionalDtype) {
    const double count = static_cast<double>(reduced("mean", s.sizes(0), dim).count);
    return with_kept_dims("mean", grad / count, s.sizes(0), dim).expand(s.sizes(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{}, false, std::nullopt);
    s(s.rand({2, 3, 2}), Dims{0, -1}, true, kDouble);
    s(s.rand({2, 3}), Dims{1}, false, std::nullopt);
    s(s.rand({0, 2}), Dims{1}, false, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(Mean)

namespace {

/// x shifted by `by` places towards the end of the last dimension, ones coming in.
Tensor shifted(const Tensor& x, std::int64_t by) {
  Dims front = x.sizes().dims();
  front.back() = by;
  return cat({ones(front, x.options()), x.narrow(-1, 0, x.size(-1) - by)}, -1);
}

/// For each place of the last dimension the product of all places before it, by doubling the reach of each.
Tensor product_before(const Tensor& x) {
  Tensor product = shifted(x, 1);
  for (std::int64_t reach = 1; reach < x.size(-1); reach *= 2) product = product * shifted(product, reach);
  return product;
}

}  // namespace

struct Prod : Operator {
  static constexpr Schema schema{"prod", {"self", "dim", "keepdim", "dtype"}, "product over dimensions"};
  static Tensor call(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
    return dispatch<Prod>(converted_for_sum(self, dtype), dim, keepdim, dtype);
  }
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, bool, OptionalDtype) = &call;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
    if (dim.size() > 1) fail("prod", "takes one dimension or all of them, got ", dim);
    return sum_meta(self, reduced("prod", self.sizes(), dim).sizes(keepdim), dtype);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool, OptionalDtype) {
    reduce(ReduceOp::kProd, out, self, reduced("prod", self.sizes(), dim).mask);
  }
  // Each element's factor is the product of the others, formed without division: right with any number of
  // zeros.
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dim, bool, OptionalDtype) {
    const Tensor x = widened(s.input(0));
    const Reduced r = reduced("prod", x.sizes(), dim);
    if (x.numel() == 0 || x.dim() == 0) return grad.reshape(r.kept).expand(x.sizes());
    const bool whole = r.kept == Dims(r.kept.size(), 1);
    const Tensor rows = whole ? x.reshape(x.numel()) : x.movedim(dim[0], -1);
    if (rows.size(-1) == 1) return grad.reshape(r.kept);
    const Tensor others = product_before(rows) * product_before(rows.flip(-1)).flip(-1);
    return (whole ? others.reshape(x.sizes()) : others.movedim(-1, dim[0])) * grad.reshape(r.kept);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{}, false, std::nullopt);
    s(s.rand({2, 3, 2}), Dims{1}, true, kDouble);
    Tensor zeros = s.rand({3, 3});
    for (int i : {1, 3, 5}) zeros.data_ptr<double>()[i] = 0;
    s(zeros, Dims{1}, false, std::nullopt);
    s(s.rand({2, 0}), Dims{1}, false, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(Prod)

struct SumToSize : Operator {
  static constexpr Schema schema{
      "sum_to_size", {"self", "size"}, "self summed down to a size that broadcasts to its own"};
  static constexpr auto api = &halftone::sum_to_size;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self, IntArrayRef size) {
    if (size.size() > self.sizes().size() ||
        !(broadcast_shapes("sum_to_size", size, self.sizes()) == self.sizes().dims())) {
      fail("sum_to_size", "size ", size, " does not broadcast to the shape of ", self);
    }
    return like(self, size);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef size) {
    const std::size_t rank = self.sizes().size(), extra = rank - size.size();
    Dims kept(extra, 1);
    for (std::int64_t n : size) kept.push_back(n);
    DimMask mask = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      if (kept[d] != self.sizes()[d]) mask |= DimMask{1} << d;
    }
    NoGradGuard no_grad;
    reduce(ReduceOp::kSum, out.view(kept), self, mask);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims&) { return grad.expand(s.sizes(0)); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{3});
    s(s.rand({2, 3, 2}), Dims{3, 1});
    s(s.rand({2, 3}), Dims{});
    s(s.rand({0, 2}), Dims{1, 2});
  }
};
HALFTONE_REGISTER_OPERATOR(SumToSize)

// --- Running sums
// -----------------------------------------------------------------------------------------------

namespace {

void running_sum(const Tensor& out, const Tensor& self, std::int64_t dim, bool reverse) {
  if (self.dim() == 0) {
    kernels_for<CopyKernels>(out.device()).copy(out, self);
    return;
  }
  kernels_for<ReduceKernels>(out.device())
      .cumulative(Cumulative::kSum, out, self, wrap_dim("cumsum", dim, self.dim()), reverse);
}

}  // namespace

struct CumsumBackward : Operator {
  static constexpr Schema schema{"cumsum_backward", {"grad", "dim", "dtype"}, "running sum from the end"};
  static Tensor call(const Tensor& grad, std::int64_t dim, ScalarType dtype) {
    return dispatch<CumsumBackward>(grad, dim, dtype);
  }
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, ScalarType) = &call;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& grad, std::int64_t, ScalarType dtype) {
    return like(grad, grad.sizes(), OptionalDtype(dtype));
  }
  static void run(const Tensor& out, const Tensor& grad, std::int64_t dim, ScalarType) {
    running_sum(out, grad, dim, true);
  }
  static Tensor backward(const Saved&, const Tensor& g, std::int64_t dim, ScalarType) {
    return cumsum(g, dim);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0, kDouble);
    s(s.rand({4}), -1, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), 1, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(CumsumBackward)

struct Cumsum : Operator {
  static constexpr Schema schema{
      "cumsum", {"self", "dim", "dtype"}, "running sum along dim; integers give int64"};
  static constexpr auto api = &halftone::cumsum;
  static constexpr auto precision = amp::Precision::kFp32;

  static Meta infer(const Tensor& self, std::int64_t dim, OptionalDtype dtype) {
    wrap_dim("cumsum", dim, self.dim());
    return sum_meta(self, self.sizes().dims(), dtype);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim, OptionalDtype) {
    running_sum(out, self, dim, false);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t dim, OptionalDtype) {
    return CumsumBackward::call(grad, dim, s.dtype(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0, std::nullopt);
    s(s.rand({2, 3, 2}), -2, kDouble);
    s(s.rand({0, 2}), 1, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(Cumsum)

// --- Logical
// ----------------------------------------------------------------------------------------------------

/// A reduction of truth values: no gradient.
template <class Op, ReduceOp kReduce, ScalarType kDtype>
struct LogicalReduction : Operator {
  static Tensor call(const Tensor& self, IntArrayRef dim, bool keepdim) {
    return dispatch<Op>(self, dim, keepdim);
  }
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, bool) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool differentiable = false;

  static Meta infer(const Tensor& self, IntArrayRef dim, bool keepdim) {
    return like(self, reduced(Op::schema.name, self.sizes(), dim).sizes(keepdim), kDtype);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool) {
    reduce(kReduce, out, self, reduced(Op::schema.name, self.sizes(), dim).mask);
  }
  static void samples(Samples& s) {
    s(s.randint({2, 3}, 0, 2), Dims{}, false);
    s(s.mask({3, 4}), Dims{1}, true);
    s(s.rand({2, 0}), Dims{1}, false);
  }
};

struct All : LogicalReduction<All, ReduceOp::kAll, kBool> {
  static constexpr Schema schema{"all", {"self", "dim", "keepdim"}, "whether no element is 0"};
};
HALFTONE_REGISTER_OPERATOR(All)

struct Any : LogicalReduction<Any, ReduceOp::kAny, kBool> {
  static constexpr Schema schema{"any", {"self", "dim", "keepdim"}, "whether an element is not 0"};
};
HALFTONE_REGISTER_OPERATOR(Any)

struct CountNonzero : LogicalReduction<CountNonzero, ReduceOp::kCountNonzero, kLong> {
  static constexpr Schema schema{"count_nonzero", {"self", "dim", "keepdim"}, "how many elements are not 0"};
};
HALFTONE_REGISTER_OPERATOR(CountNonzero)

}  // namespace ops

Tensor sum(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
  return ops::dispatch<ops::Sum>(ops::converted_for_sum(self, dtype), dim, keepdim, dtype);
}
Tensor sum(const Tensor& self, OptionalDtype dtype) { return sum(self, IntArrayRef(), false, dtype); }
Tensor mean(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
  return ops::dispatch<ops::Mean>(dtype == kDouble ? self.to(kDouble) : self, dim, keepdim, dtype);
}
Tensor mean(const Tensor& self, OptionalDtype dtype) { return mean(self, IntArrayRef(), false, dtype); }
Tensor prod(const Tensor& self, std::int64_t dim, bool keepdim, OptionalDtype dtype) {
  return ops::Prod::call(self, dim, keepdim, dtype);
}
Tensor prod(const Tensor& self, OptionalDtype dtype) {
  return ops::Prod::call(self, IntArrayRef(), false, dtype);
}

Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  return self.sizes() == size ? self : ops::dispatch<ops::SumToSize>(self, size);
}

Tensor cumsum(const Tensor& self, std::int64_t dim, OptionalDtype dtype) {
  return ops::dispatch<ops::Cumsum>(ops::converted_for_sum(self, dtype), dim, dtype);
}

Tensor all(const Tensor& self, std::int64_t dim, bool keepdim) { return ops::All::call(self, dim, keepdim); }
Tensor all(const Tensor& self) { return ops::All::call(self, IntArrayRef(), false); }
Tensor any(const Tensor& self, std::int64_t dim, bool keepdim) { return ops::Any::call(self, dim, keepdim); }
Tensor any(const Tensor& self) { return ops::Any::call(self, IntArrayRef(), false); }
Tensor count_nonzero(const Tensor& self) { return ops::CountNonzero::call(self, IntArrayRef(), false); }
Tensor count_nonzero(const Tensor& self, IntArrayRef dim) {
  return ops::CountNonzero::call(self, dim, false);
}

}  // namespace halftone
