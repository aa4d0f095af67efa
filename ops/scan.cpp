// Running products, extremes, log-sum-exps and linear recurrences along a dimension.

#include "halftone/kernels/copy.h"
#include "halftone/ops/inplace.h"
#include "halftone/ops/reduction.h"

namespace halftone {
namespace ops {
namespace {

const ReduceKernels& kernels(const Tensor& tensor) { return kernels_for<ReduceKernels>(tensor.device()); }

void copy_into(const Tensor& out, const Tensor& self) {
  kernels_for<CopyKernels>(out.device()).copy(out, self);
}

void accumulate(Cumulative op, const char* name, const Tensor& out, const Tensor& self, std::int64_t dim) {
  if (self.dim() == 0) return copy_into(out, self);
  kernels(out).cumulative(op, out, self, wrap_dim(name, dim, self.dim()), false);
}

/// The elements one further along `dim`; what comes in at the end is not used by a recurrence.
Tensor next_along(const Tensor& x, std::int64_t dim, std::int64_t by = -1) {
  return x.dim() == 0 || x.numel() == 0 ? x : roll(x, {by}, {dim});
}

}  // namespace

struct LinearRecurrence : Operator {
  static constexpr Schema schema{
      "linear_recurrence",
      {"self", "factors", "dim", "reverse"},
      "y[k] = self[k] + factors[k] * y[k - 1] along dim; from the end with y[k + 1] if reverse"};
  static constexpr auto api = &halftone::linear_recurrence;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(1) | Keep{{}, {input_mask({1})}};

  static Meta infer(const Tensor& self, const Tensor& factors, std::int64_t dim, bool) {
    check_floating("linear_recurrence", self);
    check_floating("linear_recurrence", factors);
    wrap_dim("linear_recurrence", dim, self.dim());
    if (factors.sizes() != self.sizes() || factors.device() != self.device())
      fail("linear_recurrence", "expected factors like ", self, ", got ", factors);
    return like(self, self.sizes(), promote_types(self.scalar_type(), factors.scalar_type()));
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& factors, std::int64_t dim,
                  bool reverse) {
    if (self.dim() == 0) return copy_into(out, self);
    kernels(out).recurrence(out, self, factors, wrap_dim("linear_recurrence", dim, self.dim()), reverse);
  }
  static Gradients backward(const Saved& s, const Tensor& grad, std::int64_t dim, bool reverse) {
    // The gradient runs the other way; each step reads the factor of the step behind it.
    const std::int64_t behind = reverse ? 1 : -1;
    const Tensor factors = widened(s.input(1));
    const Tensor for_self = linear_recurrence(widened(grad), next_along(factors, dim, behind), dim, !reverse);
    if (!s.needs(1)) return {for_self, Tensor()};
    const Tensor y = widened(s.result());
    if (y.dim() == 0 || y.numel() == 0) return {for_self, zeros_like(factors)};
    const std::int64_t d = wrap_dim("linear_recurrence", dim, y.dim()), last = y.size(d) - 1;
    const Tensor before = reverse ? cat({narrow(y, d, 1, last), zeros_like(narrow(y, d, 0, 1))}, d)
                                  : cat({zeros_like(narrow(y, d, 0, 1)), narrow(y, d, 0, last)}, d);
    return {for_self, for_self * before};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 4}), s.rand({2, 4}), 1, false);
    s(s.rand({3, 2}), s.rand({3, 2}), 0, true);
    s(s.rand({}), s.rand({}), 0, false);
    s(s.rand({0, 2}), s.rand({0, 2}), -1, true);
  }
};
HALFTONE_REGISTER_OPERATOR(LinearRecurrence)

struct Cumprod : Operator {
  static constexpr Schema schema{
      "cumprod", {"self", "dim", "dtype"}, "running product along dim; integers give int64"};
  static constexpr auto api = &halftone::cumprod;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, std::int64_t dim, OptionalDtype dtype) {
    wrap_dim("cumprod", dim, self.dim());
    return sum_meta(self, self.sizes().dims(), dtype);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim, OptionalDtype) {
    accumulate(Cumulative::kProd, "cumprod", out, self, dim);
  }
  // What comes before x[k], times the sum of grad[i] x[k + 1] ... x[i]: no division, so zeros do not matter.
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t dim, OptionalDtype) {
    const Tensor x = widened(s.input(0));
    if (x.dim() == 0 || x.numel() == 0) return grad;
    const Tensor after = linear_recurrence(widened(grad), next_along(x, dim), dim, true);
    const std::int64_t d = wrap_dim("cumprod", dim, x.dim());
    const Tensor before = cat({ones_like(narrow(x, d, 0, 1)), narrow(cumprod(x, d), d, 0, x.size(d) - 1)}, d);
    return before * after;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0, std::nullopt);
    s(s.rand({2, 3, 2}), -2, kDouble);
    Tensor zeros = s.rand({3, 4});
    for (int i : {1, 5, 6}) zeros.data_ptr<double>()[i] = 0;
    s(zeros, 1, std::nullopt);
    s(s.rand({0, 2}), 1, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(Cumprod)

struct Logcumsumexp : Operator {
  static constexpr Schema schema{
      "logcumsumexp", {"self", "dim"}, "log of the running sum of exp(self) along dim, without overflow"};
  static constexpr auto api = &halftone::logcumsumexp;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, std::int64_t dim) {
    check_floating("logcumsumexp", self);
    wrap_dim("logcumsumexp", dim, self.dim());
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim) {
    accumulate(Cumulative::kLogSumExp, "logcumsumexp", out, self, dim);
  }
  // The sums again, in fp32: half results are too coarse to take exponentials of differences of them.
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t dim) {
    const Tensor x = widened(s.input(0));
    if (x.dim() == 0 || x.numel() == 0) return grad;
    const Tensor total = logcumsumexp(x, dim), following = next_along(total, dim);
    const Tensor shrink =
        exp(where(total == following, 0, total - following));  // equal: perhaps both infinite
    const Tensor reached = linear_recurrence(widened(grad), shrink, dim, true);
    return exp(x - where(isinf(total), 0, total)) * reached;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0);
    s(s.rand({2, 3, 2}), -2);
    s(s.rand({0, 2}), 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Logcumsumexp)

/// Cummax or Cummin: values and indices; the gradient goes where the values were taken.
template <class Op, bool kLargest>
struct RunningExtreme : Operator {
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& self, std::int64_t dim) {
    wrap_dim(Op::schema.name, dim, self.dim());
    return {like(self), like(self, self.sizes(), kLong)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& self, std::int64_t dim) {
    NoGradGuard no_grad;
    const bool scalar = self.dim() == 0;  // the kernel walks along a dimension: give it one
    kernels(self).running_extreme(kLargest, scalar ? out[0].view(1) : out[0],
                                  scalar ? out[1].view(1) : out[1], scalar ? self.view(1) : self,
                                  wrap_dim(Op::schema.name, dim, self.dim()));
  }
  static Tensor backward(const Saved& s, const Gradients& grads, std::int64_t dim) {
    if (!grads[0].defined()) return {};
    return scatter_add(zeros(s.sizes(0), grads[0].options()), dim, s.result(1), grads[0]);
  }
  static void samples(Samples& s) {
    s(s.distinct({3, 4}), 1);
    s(s.distinct({4, 2}), 0);
    s(s.distinct({}), -1);
    s(s.rand({0, 2}), 0);
  }
};

struct Cummax : RunningExtreme<Cummax, true> {
  static constexpr Schema schema{
      "cummax", {"self", "dim"}, "the largest element so far along dim, and its index"};
  static constexpr auto api = &halftone::cummax;
};
HALFTONE_REGISTER_OPERATOR(Cummax)

struct Cummin : RunningExtreme<Cummin, false> {
  static constexpr Schema schema{
      "cummin", {"self", "dim"}, "the smallest element so far along dim, and its index"};
  static constexpr auto api = &halftone::cummin;
};
HALFTONE_REGISTER_OPERATOR(Cummin)

}  // namespace ops

Tensor linear_recurrence(const Tensor& self, const Tensor& factors, std::int64_t dim, bool reverse) {
  return ops::dispatch<ops::LinearRecurrence>(self, factors, dim, reverse);
}
Tensor cumprod(const Tensor& self, std::int64_t dim, OptionalDtype dtype) {
  return ops::dispatch<ops::Cumprod>(ops::converted_for_sum(self, dtype), dim, dtype);
}
Tensor logcumsumexp(const Tensor& self, std::int64_t dim) {
  return ops::dispatch<ops::Logcumsumexp>(self, dim);
}
std::tuple<Tensor, Tensor> cummax(const Tensor& self, std::int64_t dim) {
  const auto [values, indices] = ops::dispatch<ops::Cummax>(self, dim);
  return {values, indices};
}
std::tuple<Tensor, Tensor> cummin(const Tensor& self, std::int64_t dim) {
  const auto [values, indices] = ops::dispatch<ops::Cummin>(self, dim);
  return {values, indices};
}

Tensor& cumsum_(Tensor& self, std::int64_t dim, OptionalDtype dtype) {
  return ops::write_back("cumsum_", self, [&](const Tensor& x) { return cumsum(x, dim, dtype); });
}
Tensor& cumprod_(Tensor& self, std::int64_t dim, OptionalDtype dtype) {
  return ops::write_back("cumprod_", self, [&](const Tensor& x) { return cumprod(x, dim, dtype); });
}

}  // namespace halftone
