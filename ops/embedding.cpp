// Looking up rows of a table; the gradient sums rows in a fixed order, in fp32.

#include "halftone/kernels/embedding.h"

#include "halftone/ops/check_defined.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

void check_indices(const char* op, const Tensor& indices, const Tensor& other) {
  check_defined(op, "indices", indices);
  if (indices.is_floating_point() || indices.scalar_type() == kBool) {
    fail(op, "expected integer indices, got ", indices);
  }
  if (indices.device() != other.device()) {
    fail(op, "expected all tensors on one device, got ", indices.device(), " and ", other.device());
  }
}

void check_padding(const char* op, std::int64_t padding_idx, std::int64_t rows) {
  if (padding_idx < -1 || padding_idx >= rows) {
    fail(op, "padding_idx ", padding_idx, " is not a row: expected 0 to ", rows - 1, ", or -1 for none");
  }
}

}  // namespace

struct EmbeddingBackward : Operator {
  static constexpr Schema schema{"embedding_backward",
                                 {"grad", "indices", "num_weights", "padding_idx", "scale_grad_by_freq"},
                                 "sums the rows of grad by their index into a table of num_weights rows"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, std::int64_t, std::int64_t,
                                 bool) = &halftone::embedding_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(1);

  static Meta infer(const Tensor& grad, const Tensor& indices, std::int64_t rows, std::int64_t padding_idx,
                    bool) {
    check_indices(schema.name, indices, grad);
    check_padding(schema.name, padding_idx, rows);
    Dims expected = indices.sizes().dims();
    expected.push_back(grad.dim() > 0 ? grad.size(-1) : 0);
    if (!grad.is_floating_point() || !(grad.sizes() == IntArrayRef(expected))) {
      fail(schema.name, "expected a floating gradient (indices..., features) for indices ", indices, ", got ",
           grad);
    }
    return like(grad, {rows, grad.size(-1)});
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& indices, std::int64_t,
                  std::int64_t padding_idx, bool scale_grad_by_freq) {
    kernels_for<EmbeddingKernels>(out.device()).backward(out, grad, indices, padding_idx, scale_grad_by_freq);
  }
  static Gradients backward(const Saved& s, const Tensor& g, std::int64_t rows, std::int64_t padding_idx,
                            bool scale_grad_by_freq) {
    const Tensor indices = s.input(1), gathered = embedding(g, indices);
    if (padding_idx < 0 && !scale_grad_by_freq) return {gathered, Tensor()};
    const Tensor factors = allocate(like(indices, indices.sizes(), accumulate_type(g.scalar_type())));
    kernels_for<EmbeddingKernels>(g.device())
        .factors(factors, indices, rows, padding_idx, scale_grad_by_freq);
    return {gathered * unsqueeze(factors, -1), Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({4, 2}), s.randint({4}, 0, 3), 3, -1, false);
    s(s.rand({2, 3, 2}), s.randint({2, 3}, 0, 4), 4, 1, true);
    s(s.rand({2}), s.randint({}, 0, 2), 2, -1, true);
    s(s.rand({0, 2}), s.randint({0}, 0, 2), 2, 0, false);
  }
};
HALFTONE_REGISTER_OPERATOR(EmbeddingBackward)

/// Without the public function's `sparse`, which has one value that is accepted.
struct Embedding : Operator {
  static constexpr Schema schema{"embedding",
                                 {"weight", "indices", "padding_idx", "scale_grad_by_freq"},
                                 "rows of weight; the row padding_idx gets no gradient"};
  static Tensor call(const Tensor& weight, const Tensor& indices, std::int64_t padding_idx,
                     bool scale_grad_by_freq) {
    return embedding(weight, indices, padding_idx, scale_grad_by_freq);
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, std::int64_t, bool) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(1);

  static Meta infer(const Tensor& weight, const Tensor& indices, std::int64_t padding_idx, bool) {
    check_defined(schema.name, "weight", weight);
    if (weight.dim() != 2) fail(schema.name, "expected a table (rows, features), got ", weight);
    check_indices(schema.name, indices, weight);
    check_padding(schema.name, padding_idx, weight.size(0));
    Dims sizes = indices.sizes().dims();
    sizes.push_back(weight.size(1));
    return like(weight, sizes);
  }
  static void run(const Tensor& out, const Tensor& weight, const Tensor& indices, std::int64_t, bool) {
    kernels_for<EmbeddingKernels>(out.device()).forward(out, weight, indices);
  }
  static Gradients backward(const Saved& s, const Tensor& g, std::int64_t padding_idx,
                            bool scale_grad_by_freq) {
    return {embedding_backward(g, s.input(1), s.sizes(0)[0], padding_idx, scale_grad_by_freq), Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({4, 3}), s.randint({5}, 0, 4), -1, false);
    // What padding and frequency make of the gradient is a convention, not a derivative.
    s(s.rand({3, 2}), s.randint({2, 2}, 0, 3), 1, true).smooth = false;
    s(s.rand({3, 2}), s.randint({}, 0, 3), -1, true);
    s(s.rand({3, 2}), s.randint({0}, 0, 3), 0, false);
  }
};
HALFTONE_REGISTER_OPERATOR(Embedding)

}  // namespace ops

Tensor embedding(const Tensor& weight, const Tensor& indices, std::int64_t padding_idx,
                 bool scale_grad_by_freq, bool sparse) {
  if (sparse) fail("embedding", "sparse gradients are not supported: pass sparse = false");
  return ops::dispatch<ops::Embedding>(weight, indices, padding_idx, scale_grad_by_freq);
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t num_weights,
                          std::int64_t padding_idx, bool scale_grad_by_freq) {
  return ops::dispatch<ops::EmbeddingBackward>(grad, indices, num_weights, padding_idx, scale_grad_by_freq);
}

}  // namespace halftone
