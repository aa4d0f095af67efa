// Order along a dimension: sort, topk, argsort; one_hot. NaN counts as the largest value, equal values keep
// their order.

#include <limits>

#include "halftone/ops/index_support.h"

namespace halftone {
namespace ops {
namespace {

void sort_into(const std::array<Tensor, 2>& out, const Tensor& self, std::int64_t dim, bool descending) {
  kernels_for<ArrangeKernels>(self.device()).sort(out[0], out[1], self, dim, descending);
}

/// The gradient of the values goes back to where they were taken.
Tensor return_to(const Saved& s, const Tensor& grad, std::int64_t dim) {
  if (!grad.defined()) return {};
  return scatter_add(zeros(s.sizes(0), grad.options()), dim, s.result(1), grad);
}

}  // namespace

struct Sort : Operator {
  static constexpr Schema schema{
      "sort", {"self", "dim", "descending"}, "values in order along dim, and where they were"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, std::int64_t, bool) = &halftone::sort;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& self, std::int64_t dim, bool) {
    wrap_dim("sort", dim, self.dim());
    return {like(self), like(self, self.sizes(), kLong)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& self, std::int64_t dim, bool descending) {
    sort_into(out, self, wrap_dim("sort", dim, self.dim()), descending);
  }
  static Tensor backward(const Saved& s, const Gradients& grads, std::int64_t dim, bool) {
    return return_to(s, grads[0], dim);
  }
  static void samples(Samples& s) {
    s(s.distinct({3, 4}), -1, false);
    s(s.distinct({4, 2}), 0, true);
    s(s.distinct({}), 0, false);
    s(s.distinct({2, 0}), 1, false);
  }
};
HALFTONE_REGISTER_OPERATOR(Sort)

struct Topk : Operator {
  static constexpr Schema schema{
      "topk",
      {"self", "k", "dim", "largest", "sorted"},
      "the k largest (or smallest) values along dim, in order, and where they were"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, std::int64_t, std::int64_t, bool,
                                                     bool) = &halftone::topk;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& self, std::int64_t k, std::int64_t dim, bool, bool) {
    const std::int64_t d = wrap_dim("topk", dim, self.dim());
    Dims sizes = self.sizes().dims();
    const std::int64_t size = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(d)];
    if (k < 0 || k > size)
      fail("topk", "k = ", k, " does not fit dimension ", d, " of size ", size, " of ", self);
    if (sizes.empty()) {
      if (k == 0) fail("topk", "k must be 1 for a 0-d tensor");
    } else {
      sizes[static_cast<std::size_t>(d)] = k;
    }
    return {like(self, sizes), like(self, sizes, kLong)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& self, std::int64_t, std::int64_t dim,
                  bool largest, bool) {
    sort_into(out, self, wrap_dim("topk", dim, self.dim()), largest);
  }
  static Tensor backward(const Saved& s, const Gradients& grads, std::int64_t, std::int64_t dim, bool, bool) {
    return return_to(s, grads[0], dim);
  }
  static void samples(Samples& s) {
    s(s.distinct({3, 4}), 2, -1, true, true);
    s(s.distinct({4, 2}), 3, 0, false, false);
    s(s.distinct({5}), 5, 0, true, true);
    s(s.distinct({2, 0}), 0, 1, true, true);
  }
};
HALFTONE_REGISTER_OPERATOR(Topk)

struct Searchsorted : Operator {
  static constexpr Schema schema{"searchsorted",
                                 {"sorted_sequence", "self", "out_int32", "right"},
                                 "how many elements of a sorted sequence come before each element of self"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, bool, bool) = &halftone::searchsorted;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool differentiable = false;

  static Meta infer(const Tensor& sorted, const Tensor& self, bool out_int32, bool) {
    bool fits = sorted.dim() == 1 || (sorted.dim() > 0 && sorted.dim() == self.dim());
    for (std::int64_t d = 0; fits && sorted.dim() > 1 && d + 1 < self.dim(); ++d)
      fits = sorted.size(d) == self.size(d);
    if (!fits) {
      fail("searchsorted", "expected one sorted row, or a row for each row of values, got ", sorted, " and ",
           self);
    }
    if (sorted.scalar_type() != self.scalar_type())
      fail("searchsorted", "the sorted sequence and the values must have one dtype, got ", sorted, " and ",
           self);
    if (out_int32 && sorted.size(-1) > std::numeric_limits<std::int32_t>::max())
      fail("searchsorted", "places in ", sorted, " do not fit into int32");
    return like(self, self.sizes(), out_int32 ? kInt : kLong);
  }
  static void run(const Tensor& out, const Tensor& sorted, const Tensor& self, bool, bool right) {
    const NoGradGuard no_grad;
    kernels_for<ArrangeKernels>(out.device()).search(out, sorted.contiguous(), self.contiguous(), right);
  }
  static void samples(Samples& s) {
    s(std::get<0>(sort(s.rand({5}), 0)), s.rand({2, 3}), false, false);
    s(std::get<0>(sort(s.randint({2, 6}, 0, 4), 1)), s.randint({2, 3}, 0, 5), true, true);
    s(s.rand({0}), s.rand({2}), false, true);
  }
};
HALFTONE_REGISTER_OPERATOR(Searchsorted)

}  // namespace ops

std::tuple<Tensor, Tensor> sort(const Tensor& self, std::int64_t dim, bool descending) {
  const auto [values, indices] = ops::dispatch<ops::Sort>(self, dim, descending);
  return {values, indices};
}

std::tuple<Tensor, Tensor> topk(const Tensor& self, std::int64_t k, std::int64_t dim, bool largest,
                                bool sorted) {
  const auto [values, indices] = ops::dispatch<ops::Topk>(self, k, dim, largest, sorted);
  return {values, indices};
}

Tensor argsort(const Tensor& self, std::int64_t dim, bool descending) {
  NoGradGuard no_grad;
  return std::get<1>(sort(self, dim, descending));
}

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right) {
  return ops::dispatch<ops::Searchsorted>(sorted_sequence, self, out_int32, right);
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right) {
  if (sorted_sequence.dim() != 1)
    fail("searchsorted", "for a number the sequence must be 1-d, got ", sorted_sequence);
  return searchsorted(sorted_sequence, full({}, self, sorted_sequence.options()), out_int32, right);
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  if (boundaries.dim() != 1) fail("bucketize", "boundaries must be 1-d, got ", boundaries);
  const ScalarType dtype = promote_types(self.scalar_type(), boundaries.scalar_type());
  return searchsorted(boundaries.to(dtype), self.to(dtype), out_int32, right);
}
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  return searchsorted(boundaries, self, out_int32, right);
}

Tensor one_hot(const Tensor& self, std::int64_t num_classes) {
  if (self.scalar_type() != kLong) fail("one_hot", "expected int64 classes, got ", self);
  if (num_classes == -1) {
    if (self.numel() == 0) fail("one_hot", "num_classes must be given when there are no classes to count");
    num_classes = max(self).item<std::int64_t>() + 1;
  }
  if (num_classes < 1) fail("one_hot", "num_classes must be positive, got ", num_classes);
  Dims sizes = self.sizes().dims();
  sizes.push_back(num_classes);
  Tensor out = zeros(sizes, self.options());
  return scatter_(out, -1, unsqueeze(self, -1), 1);
}

}  // namespace halftone
