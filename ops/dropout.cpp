// Dropout keeps for backward where in the random stream it drew, 16 bytes, instead of a mask.

#include "halftone/kernels/dropout.h"

#include "halftone/ops/check_defined.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

/// True when the call does something. Throws Error for a p outside [0, 1].
bool drops(const char* op, double p, bool train) {
  if (!(p >= 0 && p <= 1)) fail(op, "expected a probability p in [0, 1], got ", p);
  return train && p > 0;
}

PhiloxPlace draw(const Tensor& input) {
  return PhiloxPlace(
      default_generator(input.device()).reserve(static_cast<std::uint64_t>(input.numel() + 3) / 4));
}

}  // namespace

/// Linear in its input: it is its own gradient, to every order.
struct PhiloxDropout : Operator {
  static constexpr Schema schema{"philox_dropout",
                                 {"input", "p", "seed", "offset"},
                                 "dropout with the mask at a given place in a random stream"};
  static constexpr Tensor (*api)(const Tensor&, double, std::int64_t,
                                 std::int64_t) = &halftone::philox_dropout;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& input, double p, std::int64_t, std::int64_t) {
    drops(schema.name, p, true);
    if (!input.is_floating_point()) fail(schema.name, "expected a floating tensor, got ", input);
    return like(input);
  }
  static void run(const Tensor& out, const Tensor& input, double p, std::int64_t seed, std::int64_t offset) {
    kernels_for<DropoutKernels>(out.device()).run(out, input, p, PhiloxPlace(seed, offset).state());
  }
  static Tensor backward(const Saved&, const Tensor& grad, double p, std::int64_t seed, std::int64_t offset) {
    return philox_dropout(grad, p, seed, offset);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 5}), 0.5, 7, 0);
    s(s.rand({2, 2, 2}), 0.25, 8, 3);
    s(s.rand({4}), 1.0, 7, 0);
    s(s.rand({}), 0.0, 7, 0);
    s(s.rand({0, 3}), 0.5, 7, 0);
  }
};
HALFTONE_REGISTER_OPERATOR(PhiloxDropout)

struct Dropout : Operator {
  static constexpr Schema schema{"dropout",
                                 {"input", "p", "train"},
                                 "zeros each element with probability p and divides the rest by 1 - p"};
  static constexpr Tensor (*api)(const Tensor&, double, bool) = &halftone::dropout;
  static constexpr auto precision = amp::Precision::kAny;

  static void samples(Samples& s) {
    s(s.rand({3, 4}), 0.5, true);
    s(s.rand({3, 4}), 0.5, false);
    s(s.rand({5}), 0.0, true);
    s(s.rand({0, 2}), 0.25, true);
  }
};
HALFTONE_REGISTER_OPERATOR(Dropout)

}  // namespace ops

Tensor philox_dropout(const Tensor& input, double p, std::int64_t seed, std::int64_t offset) {
  return ops::dispatch<ops::PhiloxDropout>(input, p, seed, offset);
}

Tensor dropout(const Tensor& input, double p, bool train) {
  ops::check_defined(ops::Dropout::schema.name, "input", input);
  if (!ops::drops(ops::Dropout::schema.name, p, train)) return input;
  const PhiloxPlace at = ops::draw(input);
  return philox_dropout(input, p, at.seed, at.offset);
}

Tensor& dropout_(Tensor& self, double p, bool train) {
  if (!ops::drops("dropout_", p, train)) return self;
  const PhiloxPlace at = ops::draw(self);
  return ops::dispatch_inplace<ops::PhiloxDropout>(self, p, at.seed, at.offset);
}

}  // namespace halftone
