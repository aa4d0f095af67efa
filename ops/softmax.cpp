// softmax and log_softmax: half inputs are read as they are, computed in fp32, written once.

#include "halftone/kernels/softmax.h"

#include "halftone/ops/check_defined.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

Meta softmax_meta(const char* op, const Tensor& x, std::int64_t dim, OptionalDtype dtype) {
  check_defined(op, "self", x);
  wrap_dim(op, dim, x.dim());
  if (!is_floating_point(dtype.value_or(x.scalar_type()))) {
    fail(op, "expected a floating tensor or a floating dtype argument, got ", x);
  }
  return like(x, x.sizes(), dtype);
}

Meta backward_meta(const char* op, const Tensor& grad, const Tensor& result, std::int64_t dim,
                   ScalarType dtype) {
  wrap_dim(op, dim, result.dim());
  if (!(grad.sizes() == result.sizes()))
    fail(op, "the gradient ", grad, " and the result ", result, " differ in shape");
  if (!grad.is_floating_point() || !result.is_floating_point() || !is_floating_point(dtype)) {
    fail(op, "expected floating tensors, got ", grad, " and ", result, " for a gradient in ", dtype);
  }
  Meta meta = like(result, result.sizes(), dtype);
  meta.explicit_dtype = true;
  return meta;
}

const SoftmaxKernels& kernels(const Tensor& x) { return kernels_for<SoftmaxKernels>(x.device()); }

void backward_samples(Samples& s, double low, double high) {
  s(s.rand({3, 4}), s.rand({3, 4}, low, high), -1, kDouble);
  s(s.rand({2, 3, 2}), s.rand({2, 3, 2}, low, high), 1, kDouble);
  s(s.rand({5}), s.rand({5}, low, high), 0, kDouble);
  s(s.rand({}), s.rand({}, low, high), 0, kDouble);
  s(s.rand({0, 3}), s.rand({0, 3}, low, high), 1, kDouble);
  s(s.rand({2, 2}), s.rand({2, 2}, low, high), 1, kFloat).smooth = false;  // rounds to float32
}

void forward_samples(Samples& s) {
  s(s.rand({3, 5}), -1, std::nullopt);
  s(s.rand({2, 3, 4}), 1, std::nullopt);
  s(s.rand({4, 2}, -30, 30), 0, std::nullopt);
  s(s.rand({}), 0, std::nullopt);
  s(s.rand({2, 0}), 1, std::nullopt);
  s(s.rand({2, 3}), 1, kDouble);
}

}  // namespace

struct SoftmaxBackward : Operator {
  static constexpr Schema schema{
      "softmax_backward", {"grad", "result", "dim", "dtype"}, "gradient of softmax, in dtype"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, std::int64_t,
                                 ScalarType) = &halftone::softmax_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1);

  static Meta infer(const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType dtype) {
    return backward_meta(schema.name, grad, result, dim, dtype);
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType) {
    kernels(out).softmax_backward(out, grad, result, wrap_dim(schema.name, dim, result.dim()));
  }
  static Gradients backward(const Saved& s, const Tensor& g, std::int64_t dim, ScalarType) {
    Gradients grads(2, Tensor());
    const Tensor result = s.input(1);
    if (s.needs(0)) grads[0] = softmax_backward(g, result, dim, s.dtype(0));
    if (s.needs(1)) {
      const Tensor y = wide(result), u = wide(s.input(0)), v = wide(g);
      const Tensor from_u = sum(u * y, dim, true), from_v = sum(v * y, dim, true);
      grads[1] = v * (u - from_u) - u * from_v;
    }
    return grads;
  }
  static void samples(Samples& s) { backward_samples(s, 0.1, 1); }
};
HALFTONE_REGISTER_OPERATOR(SoftmaxBackward)

struct Softmax : Operator {
  static constexpr Schema schema{"softmax", {"self", "dim", "dtype"}, "exp(x) / sum(exp(x)) along dim"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, OptionalDtype) = &halftone::softmax;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_result();

  static Meta infer(const Tensor& x, std::int64_t dim, OptionalDtype dtype) {
    return softmax_meta(schema.name, x, dim, dtype);
  }
  static void run(const Tensor& out, const Tensor& x, std::int64_t dim, OptionalDtype) {
    kernels(out).softmax(out, x, wrap_dim(schema.name, dim, x.dim()));
  }
  static Tensor backward(const Saved& s, const Tensor& g, std::int64_t dim, OptionalDtype) {
    return softmax_backward(g, s.result(), dim, s.dtype(0));
  }
  static void samples(Samples& s) { forward_samples(s); }
};
HALFTONE_REGISTER_OPERATOR(Softmax)

struct LogSoftmaxBackward : Operator {
  static constexpr Schema schema{
      "log_softmax_backward", {"grad", "result", "dim", "dtype"}, "gradient of log_softmax, in dtype"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, std::int64_t,
                                 ScalarType) = &halftone::log_softmax_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1);

  static Meta infer(const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType dtype) {
    return backward_meta(schema.name, grad, result, dim, dtype);
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType) {
    kernels(out).log_softmax_backward(out, grad, result, wrap_dim(schema.name, dim, result.dim()));
  }
  static Gradients backward(const Saved& s, const Tensor& g, std::int64_t dim, ScalarType) {
    Gradients grads(2, Tensor());
    const Tensor p = exp(wide(s.input(1))), v = wide(g);
    const Tensor from_v = sum(v * p, dim, true);
    if (s.needs(0)) grads[0] = v - from_v;
    if (s.needs(1)) grads[1] = neg(v * p * sum(wide(s.input(0)), dim, true));
    return grads;
  }
  static void samples(Samples& s) { backward_samples(s, -2, 0); }
};
HALFTONE_REGISTER_OPERATOR(LogSoftmaxBackward)

struct LogSoftmax : Operator {
  static constexpr Schema schema{"log_softmax", {"self", "dim", "dtype"}, "x - log(sum(exp(x))) along dim"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, OptionalDtype) = &halftone::log_softmax;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_result();

  static Meta infer(const Tensor& x, std::int64_t dim, OptionalDtype dtype) {
    return softmax_meta(schema.name, x, dim, dtype);
  }
  static void run(const Tensor& out, const Tensor& x, std::int64_t dim, OptionalDtype) {
    kernels(out).log_softmax(out, x, wrap_dim(schema.name, dim, x.dim()));
  }
  static Tensor backward(const Saved& s, const Tensor& g, std::int64_t dim, OptionalDtype) {
    return log_softmax_backward(g, s.result(), dim, s.dtype(0));
  }
  static void samples(Samples& s) { forward_samples(s); }
};
HALFTONE_REGISTER_OPERATOR(LogSoftmax)

}  // namespace ops

Tensor softmax(const Tensor& self, std::int64_t dim, OptionalDtype dtype) {
  return ops::dispatch<ops::Softmax>(self, dim, dtype);
}

Tensor log_softmax(const Tensor& self, std::int64_t dim, OptionalDtype dtype) {
  return ops::dispatch<ops::LogSoftmax>(self, dim, dtype);
}

Tensor softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType dtype) {
  return ops::dispatch<ops::SoftmaxBackward>(grad, result, dim, dtype);
}

Tensor log_softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType dtype) {
  return ops::dispatch<ops::LogSoftmaxBackward>(grad, result, dim, dtype);
}

}  // namespace halftone
