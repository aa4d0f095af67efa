// Largest and smallest elements, their places, and who gets their gradient.

#include "halftone/ops/reduction.h"

namespace halftone {
namespace ops {
namespace {

void check_not_empty(const char* op, const Tensor& self, const Reduced& r) {
  if (r.count == 0) fail(op, "nothing to choose from: ", self, " has size 0 in a reduced dimension");
}

}  // namespace

/// amax or amin: elements that tie for the extreme share its gradient equally.
template <class Op, ReduceOp kReduce>
struct Extreme : Operator {
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(0) | keep_result();

  static Meta infer(const Tensor& self, IntArrayRef dim, bool keepdim) {
    const Reduced r = reduced(Op::schema.name, self.sizes(), dim);
    check_not_empty(Op::schema.name, self, r);
    return like(self, r.sizes(keepdim));
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool) {
    reduce(kReduce, out, self, reduced(Op::schema.name, self.sizes(), dim).mask);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dim, bool) {
    const char* const op = Op::schema.name;
    const Tensor x = s.input(0);
    const Tensor chosen = x == with_kept_dims(op, s.result(), x.sizes(), dim);
    const Tensor ties = with_kept_dims(op, sum(chosen, dim, true), x.sizes(), dim);
    return where(chosen, with_kept_dims(op, widened(grad), x.sizes(), dim) / ties, 0);
  }
  static void samples(Samples& s) {
    s(s.distinct({2, 3}), Dims{}, false);
    s(s.distinct({2, 3, 2}), Dims{0, -1}, true);
    s(s.distinct({5}), Dims{0}, false);
    s(s.rand({0, 2}), Dims{1}, false);
  }
};

struct Amax : Extreme<Amax, ReduceOp::kMax> {
  static constexpr Schema schema{"amax", {"self", "dim", "keepdim"}, "largest element; NaN if there is one"};
  static constexpr auto api = &halftone::amax;
};
HALFTONE_REGISTER_OPERATOR(Amax)

struct Amin : Extreme<Amin, ReduceOp::kMin> {
  static constexpr Schema schema{"amin", {"self", "dim", "keepdim"}, "smallest element; NaN if there is one"};
  static constexpr auto api = &halftone::amin;
};
HALFTONE_REGISTER_OPERATOR(Amin)

/// max or min along one dimension: values and indices; the first of equal elements gets the gradient.
template <class Op, bool kLargest>
struct ExtremeAlong : Operator {
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& self, std::int64_t dim, bool keepdim) {
    const Reduced r = reduced(Op::schema.name, self.sizes(), dim);
    check_not_empty(Op::schema.name, self, r);
    return {like(self, r.sizes(keepdim)), like(self, r.sizes(keepdim), kLong)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& self, std::int64_t dim, bool) {
    const std::int64_t d = wrap_dim(Op::schema.name, dim, self.dim());
    NoGradGuard no_grad;
    const bool scalar = self.dim() == 0;  // the kernel reduces along a dimension: give it one
    const Tensor values = scalar ? out[0].view(1) : out[0], indices = scalar ? out[1].view(1) : out[1];
    kernels_for<ReduceKernels>(self.device())
        .arg(kLargest, indices, &values, scalar ? self.view(1) : self, d);
  }
  static Tensor backward(const Saved& s, const Gradients& grads, std::int64_t dim, bool) {
    if (!grads[0].defined()) return {};
    const auto kept = [&](const Tensor& t) { return with_kept_dims(Op::schema.name, t, s.sizes(0), dim); };
    const Tensor grad = kept(grads[0]);
    return scatter(zeros(s.sizes(0), grad.options()), dim, kept(s.result(1).detach()), grad);
  }
  static void samples(Samples& s) {
    s(s.distinct({2, 3}), 1, false);
    s(s.distinct({2, 3, 2}), -3, true);
    s(s.distinct({5}), 0, false);
    s(s.rand({0, 2}), 1, false);
  }
};

struct Max : ExtremeAlong<Max, true> {
  static constexpr Schema schema{
      "max", {"self", "dim", "keepdim"}, "largest elements along dim, and their indices"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, std::int64_t, bool) = &halftone::max;
};
HALFTONE_REGISTER_OPERATOR(Max)

struct Min : ExtremeAlong<Min, false> {
  static constexpr Schema schema{
      "min", {"self", "dim", "keepdim"}, "smallest elements along dim, and their indices"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, std::int64_t, bool) = &halftone::min;
};
HALFTONE_REGISTER_OPERATOR(Min)

/// argmax or argmin: along one dimension, or over all elements in row-major order.
template <class Op, bool kLargest>
struct ArgExtreme : Operator {
  using Dim = std::optional<std::int64_t>;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool differentiable = false;

  static Meta infer(const Tensor& self, Dim dim, bool keepdim) {
    const Reduced r = reduced(Op::schema.name, self.sizes(), dim ? IntArrayRef(*dim) : IntArrayRef());
    check_not_empty(Op::schema.name, self, r);
    return like(self, r.sizes(keepdim), kLong);
  }
  static void run(const Tensor& out, const Tensor& self, Dim dim, bool) {
    NoGradGuard no_grad;
    const bool flat = !dim || self.dim() == 0;
    kernels_for<ReduceKernels>(self.device())
        .arg(kLargest, flat ? out.view(1) : out, nullptr, flat ? self.reshape(self.numel()) : self,
             flat ? 0 : wrap_dim(Op::schema.name, *dim, self.dim()));
  }
  static void samples(Samples& s) {
    s(s.distinct({2, 3}), std::nullopt, false);
    s(s.distinct({2, 3, 2}), 1, true);
    s(s.rand({0, 2}), 1, false);
  }
};

struct Argmax : ArgExtreme<Argmax, true> {
  static constexpr Schema schema{"argmax", {"self", "dim", "keepdim"}, "index of the first largest element"};
  static constexpr auto api = &halftone::argmax;
};
HALFTONE_REGISTER_OPERATOR(Argmax)

struct Argmin : ArgExtreme<Argmin, false> {
  static constexpr Schema schema{"argmin", {"self", "dim", "keepdim"}, "index of the first smallest element"};
  static constexpr auto api = &halftone::argmin;
};
HALFTONE_REGISTER_OPERATOR(Argmin)

}  // namespace ops

Tensor amax(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return ops::dispatch<ops::Amax>(self, dim, keepdim);
}
Tensor amin(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return ops::dispatch<ops::Amin>(self, dim, keepdim);
}
Tensor max(const Tensor& self) { return amax(self); }
Tensor min(const Tensor& self) { return amin(self); }
Tensor max(const Tensor& self, const Tensor& other) { return maximum(self, other); }
Tensor min(const Tensor& self, const Tensor& other) { return minimum(self, other); }

std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t dim, bool keepdim) {
  auto [values, indices] = ops::dispatch<ops::Max>(self, dim, keepdim);
  return {values, indices};
}
std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t dim, bool keepdim) {
  auto [values, indices] = ops::dispatch<ops::Min>(self, dim, keepdim);
  return {values, indices};
}

Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  return ops::dispatch<ops::Argmax>(self, dim, keepdim);
}
Tensor argmin(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  return ops::dispatch<ops::Argmin>(self, dim, keepdim);
}

}  // namespace halftone
