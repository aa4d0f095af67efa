// The cosine of the angle between vectors.

#include <limits>

#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/pointwise.h"
#include "halftone/ops/reduction.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

/// max(|x|, eps) along `dim`, kept.
Tensor bounded_length(const Tensor& x, std::int64_t dim, double eps) {
  return clamp_min(norm(x, 2, dim, true), eps);
}

}  // namespace

struct CosineSimilarity : Operator {
  static constexpr Schema schema{"cosine_similarity",
                                 {"x1", "x2", "dim", "eps"},
                                 "(x1 / |x1|) . (x2 / |x2|) along dim, lengths bounded below by eps"};
  static constexpr auto api = &halftone::cosine_similarity;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1);

  static Meta infer(const Tensor& x1, const Tensor& x2, std::int64_t dim, double) {
    for (const Tensor* x : {&x1, &x2}) {
      check_defined("cosine_similarity", x == &x1 ? "x1" : "x2", *x);
      if (!x->is_floating_point()) fail("cosine_similarity", "expected floating tensors, got ", *x);
    }
    if (x1.device() != x2.device()) {
      fail("cosine_similarity", "expected one device, got ", x1.device(), " and ", x2.device());
    }
    const Dims sizes = broadcast_shapes("cosine_similarity", x1.sizes(), x2.sizes());
    return like(x1, reduced("cosine_similarity", sizes, dim).sizes(false),
                promote_types(x1.scalar_type(), x2.scalar_type()));
  }

  // Each length is bounded below on its own, which keeps the result within [-1, 1].
  static void run(const Tensor& out, const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps) {
    const NoGradGuard no_grad;
    const Dims sizes = broadcast_shapes("cosine_similarity", x1.sizes(), x2.sizes());
    const Reduced rows = reduced("cosine_similarity", sizes, dim);
    const ScalarType dtype = accumulate_type(promote_types(x1.scalar_type(), x2.scalar_type()));
    const auto normalized = [&](const Tensor& x) {
      const Tensor length = allocate({rows.kept, dtype, out.device()});
      const Tensor quotient = allocate({sizes, dtype, out.device()}), vectors = expand(x, sizes);
      reduce(ReduceOp::kNorm2, length, vectors, rows.mask);
      pointwise(Fn::kClamp, length, {&length}, {{eps, std::numeric_limits<double>::infinity()}});
      pointwise(Fn::kDiv, quotient, {&vectors, &length});
      return quotient;
    };
    const Tensor products = normalized(x1), other = normalized(x2);
    pointwise(Fn::kMul, products, {&products, &other});
    reduce(ReduceOp::kSum, out, products, rows.mask);
  }

  // For a: (b / |b| - cos a / |a|) / |a|; a length at its bound does not move.
  static Gradients backward(const Saved& s, const Tensor& grad, std::int64_t dim, double eps) {
    const WideResults wide_results;
    const Dims sizes = broadcast_shapes("cosine_similarity", s.sizes(0), s.sizes(1));
    const Tensor a = expand(as_wide(s.input(0)), sizes), b = expand(as_wide(s.input(1)), sizes);
    const Tensor la = bounded_length(a, dim, eps), lb = bounded_length(b, dim, eps);
    const Tensor ua = a / la, ub = b / lb;
    const Tensor g = with_kept_dims("cosine_similarity", wide(grad), sizes, dim);
    const Tensor cosine = sum(ua * ub, dim, true);
    const auto gradient = [&](const Tensor& unit, const Tensor& length, const Tensor& other) {
      return addcmul(other, unit, where(gt(length, eps), neg(cosine), 0)) * (g / length);
    };
    return {s.needs(0) ? gradient(ua, la, ub) : Tensor(), s.needs(1) ? gradient(ub, lb, ua) : Tensor()};
  }

  static void samples(Samples& s) {
    s(s.rand({3, 4}), s.rand({3, 4}), 1, 1e-8);
    s(s.rand({2, 3, 2}), s.rand({3, 1}), -2, 1e-8);
    s(s.rand({2, 3}, 0.1, 0.2), s.rand({2, 3}), 0, 0.9);
    s(s.rand({5}), s.rand({5}), 0, 1e-8);
    s(s.rand({0, 2}), s.rand({0, 2}), 1, 1e-8);
  }
};
HALFTONE_REGISTER_OPERATOR(CosineSimilarity)

}  // namespace ops

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps) {
  return ops::dispatch<ops::CosineSimilarity>(x1, x2, dim, eps);
}

}  // namespace halftone
