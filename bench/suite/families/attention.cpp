// Scaled dot product attention, forward and gradient. Its n x n matrix never stands in memory, so the bytes
// are those of queries, keys, values and results.

#include <cmath>

#include "halftone/bench/suite/families/operands.h"

namespace halftone::bench {
namespace {

struct Operands {
  Tensor q, k, v, grad;
  double scale;
};
Operands operands(const Shape& shape, const Setting& setting) {
  manual_seed(1);
  return {uniform(shape, setting), uniform(shape, setting), uniform(shape, setting), uniform(shape, setting),
          1 / std::sqrt(static_cast<double>(shape[3]))};
}

/// The attention of the operands in float64, step by step, with the sizes of what is added up.
struct Exact {
  Tensor q, k, v, weights;  // weights: softmax(q k^T scale)
  double factor;            // how much an error of the scores is magnified: their terms' largest sum

  Exact(const Operands& o, bool causal) : q(exactly(o.q)), k(exactly(o.k)), v(exactly(o.v)) {
    Tensor scores = matmul(q, k.transpose(-2, -1)) * o.scale;
    factor = 1 + 2 * (matmul(q.abs(), k.abs().transpose(-2, -1)) * o.scale).max().item<double>();
    if (causal) {
      const Tensor hidden =
          ones({q.size(2), k.size(2)}, TensorOptions(kDouble).device(kCPU)).triu(1).to(kBool);
      scores = scores.masked_fill(hidden, -1e300);
    }
    weights = softmax(scores, -1);
  }
};

double length_of(const Shape& shape) { return static_cast<double>(shape[2] + shape[3]) + 16; }

Work forward(const Shape& shape, const Setting& setting, bool causal) {
  const Operands o = operands(shape, setting);
  return work_of(
      [=] { return scaled_dot_product_attention(o.q, o.k, o.v, {}, 0.0, causal, o.scale); },
      [=] {
        const Exact e(o, causal);
        return Reference{matmul(e.weights, e.v), e.factor * matmul(e.weights, e.v.abs()), length_of(shape)};
      });
}

Work gradient(const Shape& shape, const Setting& setting, bool causal) {
  const Operands o = operands(shape, setting);
  const auto call = [=] {
    return scaled_dot_product_attention_backward(o.grad, o.q, o.k, o.v, {}, false, 0.0, causal, o.scale, 0,
                                                 0);
  };
  Work work;
  work.run = [=] { call(); };
  work.results = [=] {
    std::vector<Tensor> all = call();
    all.resize(3);  // not the mask's
    return all;
  };
  work.references = [=] {
    const Exact e(o, causal);
    const Tensor g = exactly(o.grad), p = e.weights, pt = p.transpose(-2, -1);
    const Tensor dp = matmul(g, e.v.transpose(-2, -1)),
                 dp_terms = matmul(g.abs(), e.v.abs().transpose(-2, -1));
    const Tensor ds = p * (dp - (p * dp).sum(-1, true)) * o.scale;
    const Tensor ds_terms = e.factor * p * (dp_terms + (p * dp_terms).sum(-1, true)) * o.scale;
    // The products' own sums, and those of what they are made of.
    const double length = 2 * length_of(shape);
    return std::vector<Reference>{
        {matmul(ds, e.k), matmul(ds_terms, e.k.abs()), length},
        {matmul(ds.transpose(-2, -1), e.q), matmul(ds_terms.transpose(-2, -1), e.q.abs()), length},
        {matmul(pt, g), e.factor * matmul(pt, g.abs()), length}};
  };
  return work;
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  const std::int64_t n = bytes_of(shape[0] * shape[1] * shape[2] * shape[3], setting);
  // Two products forward, five backward (one of them again); half of each under the causal mask.
  const double product = 2.0 * static_cast<double>(shape[0] * shape[1]) *
                         static_cast<double>(shape[2] * shape[2]) * static_cast<double>(shape[3]);
  std::vector<Case> all(3);
  for (const bool causal : {false, true}) {
    Case& c = all[causal];
    c.name = causal ? "forward_causal" : "forward";
    c.flops = (causal ? 1 : 2) * product;
    c.passes = {{{n, n, n}, {}, {n}}};
    c.prepare = [=] { return forward(shape, setting, causal); };
  }
  all[2].name = "gradient_causal";
  all[2].flops = 2.5 * product;
  all[2].passes = {{{n, n, n, n}, {}, {n, n, n}}};
  all[2].prepare = [=] { return gradient(shape, setting, true); };
  for (Case& c : all) c.bound = Bound::kArithmetic;
  return all;
}

}  // namespace

Family attention_family() {
  return {"attention",
          "scaled dot product attention and its gradient",
          "batch x heads x length x width",
          {{16, 4, 128, 32}, {1, 8, 512, 64}, {1, 8, 1024, 64}},
          {{2, 4, 128, 32}},
          {{16, 16, 1024, 64}, {4, 16, 4096, 64}},
          {1, 2, 8, 4},
          cases};
}

}  // namespace halftone::bench
