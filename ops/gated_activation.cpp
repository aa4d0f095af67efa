// Activations with a second operand: prelu's slope, glu's gate, rrelu's noise.

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/pointwise.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {

struct PreluBackward : BinaryDerivative<PreluBackward, Fn::kPreluBackward> {
  static constexpr Schema schema{
      "prelu_backward", {"grad", "self", "weight"}, "grad, times weight where self <= 0"};
  static Tensor second_self(const Tensor&, const Tensor&, const Tensor&) { return {}; }
  static Tensor second_other(const Tensor& v, const Tensor& x, const Tensor&) { return where(x > 0, 0, v); }
};
HALFTONE_REGISTER_OPERATOR(PreluBackward)

namespace {

/// The slope as it broadcasts against `self`.
Tensor slope_of(const Tensor& self, const Tensor& weight) {
  check_defined("prelu", "self", self);
  check_defined("prelu", "weight", weight);
  const std::int64_t channels = self.dim() >= 2 ? self.size(1) : 1;
  if (weight.dim() > 1 || (weight.numel() != 1 && weight.numel() != channels)) {
    fail("prelu", "expected a weight of 1 or ", channels, " elements (channels of ", self, "), got ", weight);
  }
  if (weight.numel() == 1) return weight.dim() == 0 ? weight : reshape(weight, {});
  Dims sizes(static_cast<std::size_t>(self.dim()), 1);
  sizes[1] = channels;
  return reshape(weight, sizes);
}

}  // namespace

struct Prelu : Operator {
  static constexpr Schema schema{
      "prelu", {"self", "weight"}, "self, times the learned weight where it is negative"};
  static constexpr auto api = &halftone::prelu;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0) | keep_input(1, {0});

  static Meta infer(const Tensor& self, const Tensor& slope) {
    if (!self.is_floating_point() || self.scalar_type() != slope.scalar_type()) {
      fail(schema.name, "expected floating tensors of one dtype, got ", self, " and ", slope,
           "; convert one of them, or use an autocast region");
    }
    return broadcast_meta(schema.name, {&self, &slope}, self.scalar_type());
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& slope) {
    pointwise(Fn::kPrelu, out, {&self, &slope});
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    Gradients grads(2, Tensor());
    const Tensor x = s.input(0);
    if (s.needs(0)) grads[0] = PreluBackward::call(g, x, s.input(1));
    if (s.needs(1)) grads[1] = wide(g) * clamp_max(x, 0);
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({1}));
    s(s.rand({2, 3, 2}), s.rand({3}));
    s(s.rand({4}), s.rand({}));
    s(s.rand({0, 3}), s.rand({3}));
  }
};
HALFTONE_REGISTER_OPERATOR(Prelu)

struct Glu : Operator {
  static constexpr Schema schema{
      "glu", {"self", "dim"}, "the first half along dim times the sigmoid of the second"};
  static constexpr auto api = &halftone::glu;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr Keep saves = keep_input(0);

  static std::array<Tensor, 2> halves(const Tensor& self, std::int64_t dim) {
    const std::int64_t half = self.size(dim) / 2;
    return {narrow(self, dim, 0, half), narrow(self, dim, half, half)};
  }
  static Meta infer(const Tensor& self, std::int64_t dim) {
    check_defined(schema.name, "self", self);
    if (!self.is_floating_point()) fail(schema.name, "expected a floating tensor, got ", self);
    if (self.dim() == 0) fail(schema.name, "a 0-d tensor has no halves");
    const auto d = static_cast<std::size_t>(wrap_dim(schema.name, dim, self.dim()));
    Dims sizes = self.sizes().dims();
    if (sizes[d] % 2 != 0) fail(schema.name, "expected an even size along dim ", dim, ", got ", self);
    sizes[d] /= 2;
    return like(self, sizes);
  }
  static void run(const Tensor& out, const Tensor& self, std::int64_t dim) {
    const NoGradGuard no_grad;
    const auto [value, gate] = halves(self, dim);
    pointwise(Fn::kSigmoidTimes, out, {&gate, &value});
  }
  static Tensor backward(const Saved& s, const Tensor& g, std::int64_t dim) {
    const auto [value, gate] = halves(s.input(0), dim);
    const Tensor grad = wide(g), open = sigmoid(wide(gate));
    return cat({grad * open, grad * value * open * sigmoid(neg(wide(gate)))}, dim);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 4}), -1);
    s(s.rand({4, 3}), 0);
    s(s.rand({2, 0}), 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Glu)

namespace {

/// What each element of rrelu is multiplied with.
Tensor rrelu_slopes(const Tensor& self, double lower, double upper, std::optional<Generator> generator) {
  const NoGradGuard no_grad;
  Tensor noise = empty_like(self);
  uniform_(noise, lower, upper, std::move(generator));
  return where(self > 0, Scalar(1.0), noise);
}

void check_slopes(double lower, double upper) {
  if (!(lower <= upper)) fail("rrelu", "lower ", lower, " is above upper ", upper);
}

}  // namespace
}  // namespace ops

Tensor prelu(const Tensor& self, const Tensor& weight) {
  return ops::dispatch<ops::Prelu>(self, ops::slope_of(self, weight));
}

Tensor glu(const Tensor& self, std::int64_t dim) { return ops::dispatch<ops::Glu>(self, dim); }

Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
             std::optional<Generator> generator) {
  ops::check_slopes(lower.to_double(), upper.to_double());
  if (!training) return leaky_relu(self, (lower.to_double() + upper.to_double()) / 2);
  return self * ops::rrelu_slopes(self, lower.to_double(), upper.to_double(), std::move(generator));
}

Tensor& rrelu_(Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
               std::optional<Generator> generator) {
  ops::check_slopes(lower.to_double(), upper.to_double());
  if (!training) return leaky_relu_(self, (lower.to_double() + upper.to_double()) / 2);
  return mul_(self, ops::rrelu_slopes(self, lower.to_double(), upper.to_double(), std::move(generator)));
}

}  // namespace halftone
