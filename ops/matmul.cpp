// Matrix products. Transposes are strides.

#include "halftone/ops/product_rules.h"

namespace halftone {
namespace ops {
struct MatmulToSize : Operator {
  static constexpr Schema schema{
      "matmul_to_size",
      {"self", "other", "size", "dtype", "alpha"},
      "alpha * self @ other, batches summed or repeated to size: the gradient of products"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, IntArrayRef, ScalarType,
                                 double) = &halftone::matmul_to_size;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& a, const Tensor& b, IntArrayRef size, ScalarType dtype, double) {
    if (a.dim() < 2 || b.dim() < 2 || size.size() < 2) {
      fail(schema.name, "expected matrices, got ", a, " times ", b, " into ", size);
    }
    check_inner(schema.name, a, b, a.size(-1), b.size(-2));
    if (size[size.size() - 2] != a.size(-2) || size.back() != b.size(-1)) {
      fail(schema.name, a, " times ", b, " does not give ", size);
    }
    const Dims batch = broadcast_shapes(schema.name, matrices(a).batch, matrices(b).batch);
    broadcast_shapes(schema.name, batch, IntArrayRef(size.data(), size.size() - 2));
    Meta meta = like(a, size, dtype);
    meta.explicit_dtype = true;
    return meta;
  }
  static void run(const Tensor& out, const Tensor& a, const Tensor& b, IntArrayRef, ScalarType,
                  double alpha) {
    Epilogue epilogue;
    epilogue.alpha = alpha;
    run_product(out.device(), matrices(out), matrices(a), matrices(b), epilogue);
  }
  static Gradients backward(const Saved& s, const Tensor& g, IntArrayRef, ScalarType, double alpha) {
    return {grad_of_left(s, 0, 1, g, alpha), grad_of_right(s, 0, 1, g, alpha)};
  }
  static void samples(Samples& s) {
    using Sizes = std::vector<std::int64_t>;
    s(s.rand({2, 3}), s.rand({3, 2}), Sizes{2, 2}, kDouble, 1.0);
    s(s.rand({3, 2, 2}), s.rand({3, 2, 1}), Sizes{2, 1}, kDouble, 0.5);
    s(s.rand({2, 1, 2}), s.rand({2, 2}), Sizes{3, 1, 1, 2}, kDouble, -2.0);
    s(s.rand({2, 1, 1, 2}), s.rand({3, 2, 2}), Sizes{1, 3, 1, 2}, kDouble, 1.0);
    s(s.rand({2, 0}), s.rand({0, 3}), Sizes{2, 3}, kDouble, 1.0);
    s(s.rand({2, 2}), s.rand({2, 2}), Sizes{2, 2}, kFloat, 1.0).smooth = false;  // rounds to float32
  }
};
HALFTONE_REGISTER_OPERATOR(MatmulToSize)

struct Mm : Operator {
  static constexpr Schema schema{"mm", {"self", "mat2"}, "the product of two matrices"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::mm;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& a, const Tensor& b) {
    check_rank(schema.name, "self", a, 2);
    check_rank(schema.name, "mat2", b, 2);
    check_inner(schema.name, a, b, a.size(1), b.size(0));
    check_product_operands(schema.name, {&a, &b});
    return like(a, {a.size(0), b.size(1)});
  }
  static void run(const Tensor& out, const Tensor& a, const Tensor& b) {
    run_product(out.device(), matrices(out), matrices(a), matrices(b));
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    return {grad_of_left(s, 0, 1, g), grad_of_right(s, 0, 1, g)};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({3, 4}));
    s(s.rand({1, 5}), s.rand({5, 1}));
    s(s.rand({3, 0}), s.rand({0, 2}));
    s(s.rand({0, 3}), s.rand({3, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Mm)

struct Bmm : Operator {
  static constexpr Schema schema{"bmm", {"self", "mat2"}, "products of two batches of matrices"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::bmm;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& a, const Tensor& b) {
    check_rank(schema.name, "self", a, 3);
    check_rank(schema.name, "mat2", b, 3);
    if (a.size(0) != b.size(0)) fail(schema.name, "the batch sizes differ: ", a, " times ", b);
    check_inner(schema.name, a, b, a.size(2), b.size(1));
    check_product_operands(schema.name, {&a, &b});
    return like(a, {a.size(0), a.size(1), b.size(2)});
  }
  static void run(const Tensor& out, const Tensor& a, const Tensor& b) {
    run_product(out.device(), matrices(out), matrices(a), matrices(b));
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    return {grad_of_left(s, 0, 1, g), grad_of_right(s, 0, 1, g)};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 2, 3}), s.rand({2, 3, 2}));
    s(s.rand({1, 1, 2}), s.rand({1, 2, 3}));
    s(s.rand({0, 2, 3}), s.rand({0, 3, 1}));
  }
};
HALFTONE_REGISTER_OPERATOR(Bmm)

struct Mv : Operator {
  static constexpr Schema schema{"mv", {"self", "vec"}, "a matrix times a vector"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::mv;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& a, const Tensor& v) {
    check_rank(schema.name, "self", a, 2);
    check_rank(schema.name, "vec", v, 1);
    check_inner(schema.name, a, v, a.size(1), v.size(0));
    check_product_operands(schema.name, {&a, &v});
    return like(a, {a.size(0)});
  }
  static void run(const Tensor& out, const Tensor& a, const Tensor& v) {
    run_product(out.device(), column_or_matrices(out), matrices(a), column_or_matrices(v));
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    Gradients grads(2, Tensor());
    const Tensor column = unsqueeze(g, 1);
    if (s.needs(0)) grads[0] = matmul_to_size(column, unsqueeze(s.input(1), 0), s.sizes(0), s.dtype(0), 1);
    if (s.needs(1)) {
      grads[1] = squeeze(matmul_to_size(swap_last(s.input(0)), column, {s.sizes(1)[0], 1}, s.dtype(1), 1), 1);
    }
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({3, 2}), s.rand({2}));
    s(s.rand({1, 4}), s.rand({4}));
    s(s.rand({2, 0}), s.rand({0}));
  }
};
HALFTONE_REGISTER_OPERATOR(Mv)

struct Dot : Operator {
  static constexpr Schema schema{"dot", {"self", "tensor"}, "the inner product of two vectors"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::dot;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& a, const Tensor& b) {
    check_rank(schema.name, "self", a, 1);
    check_rank(schema.name, "tensor", b, 1);
    check_inner(schema.name, a, b, a.size(0), b.size(0));
    check_product_operands(schema.name, {&a, &b});
    return like(a, {});
  }
  static void run(const Tensor& out, const Tensor& a, const Tensor& b) {
    const MatrixStack one{out.data_ptr(), out.scalar_type(), {}, {}, 1, 1, 0, 0};
    run_product(out.device(), one, row_or_matrices(a), column_or_matrices(b));
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    Gradients grads(2, Tensor());
    if (s.needs(0)) grads[0] = mul(s.input(1), g);
    if (s.needs(1)) grads[1] = mul(s.input(0), g);
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({4}), s.rand({4}));
    s(s.rand({1}), s.rand({1}));
    s(s.rand({0}), s.rand({0}));
  }
};
HALFTONE_REGISTER_OPERATOR(Dot)

/// A product with one term per element, so like mul it promotes and does not go to the autocast dtype.
struct Outer : Operator {
  static constexpr Schema schema{
      "outer", {"self", "vec2"}, "every element of self times every element of vec2"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::outer;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& a, const Tensor& b) {
    check_rank(schema.name, "self", a, 1);
    check_rank(schema.name, "vec2", b, 1);
    if (a.is_floating_point() != b.is_floating_point()) check_product_operands(schema.name, {&a, &b});
    return like(a, {a.size(0), b.size(0)}, promote_types(a.scalar_type(), b.scalar_type()));
  }
  static void run(const Tensor& out, const Tensor& a, const Tensor& b) {
    run_product(out.device(), matrices(out), column_or_matrices(a), row_or_matrices(b));
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    Gradients grads(2, Tensor());
    if (s.needs(0)) {
      grads[0] = squeeze(matmul_to_size(g, unsqueeze(s.input(1), 1), {s.sizes(0)[0], 1}, s.dtype(0), 1), 1);
    }
    if (s.needs(1)) {
      grads[1] = squeeze(matmul_to_size(unsqueeze(s.input(0), 0), g, {1, s.sizes(1)[0]}, s.dtype(1), 1), 0);
    }
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({3}), s.rand({2}));
    s(s.rand({1}), s.rand({4}));
    s(s.rand({0}), s.rand({3}));
  }
};
HALFTONE_REGISTER_OPERATOR(Outer)

struct Matmul : Operator {
  static constexpr Schema schema{
      "matmul", {"self", "other"}, "vectors, matrices or broadcast batches of matrices multiplied"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::matmul;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& a, const Tensor& b) {
    check_defined(schema.name, "self", a);
    check_defined(schema.name, "other", b);
    if (a.dim() == 0 || b.dim() == 0) {
      fail(schema.name, "expected operands with one dimension or more, got ", a, " and ", b);
    }
    check_product_operands(schema.name, {&a, &b});
    const MatrixStack left = row_or_matrices(a), right = column_or_matrices(b);
    check_inner(schema.name, a, b, left.cols, right.rows);
    Dims sizes = broadcast_shapes(schema.name, left.batch, right.batch);
    if (a.dim() > 1) sizes.push_back(left.rows);
    if (b.dim() > 1) sizes.push_back(right.cols);
    return like(a, sizes);
  }
  static void run(const Tensor& out, const Tensor& a, const Tensor& b) {
    const MatrixStack left = row_or_matrices(a), right = column_or_matrices(b);
    run_product(out.device(), result_matrices(out, left.rows, right.cols, a.dim() > 1, b.dim() > 1), left,
                right);
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    Gradients grads(2, Tensor());
    const bool left_vector = s.sizes(0).size() == 1, right_vector = s.sizes(1).size() == 1;
    Tensor full = right_vector ? unsqueeze(g, -1) : g;
    if (left_vector) full = unsqueeze(full, -2);
    if (s.needs(0)) {
      const Tensor other = right_vector ? unsqueeze(s.input(1), 0) : swap_last(s.input(1));
      Dims sizes = s.sizes(0);
      if (left_vector) sizes.insert(0, 1);
      grads[0] = matmul_to_size(full, other, sizes, s.dtype(0), 1);
      if (left_vector) grads[0] = squeeze(grads[0], 0);
    }
    if (s.needs(1)) {
      const Tensor other = left_vector ? unsqueeze(s.input(0), 1) : swap_last(s.input(0));
      Dims sizes = s.sizes(1);
      if (right_vector) sizes.push_back(1);
      grads[1] = matmul_to_size(other, full, sizes, s.dtype(1), 1);
      if (right_vector) grads[1] = squeeze(grads[1], 1);
    }
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({3}), s.rand({3}));
    s(s.rand({3}), s.rand({3, 2}));
    s(s.rand({2, 3}), s.rand({3}));
    s(s.rand({2, 3}), s.rand({3, 2}));
    s(s.rand({2}), s.rand({3, 2, 2}));
    s(s.rand({2, 2, 3}), s.rand({3}));
    s(s.rand({2, 2, 3}), s.rand({3, 2}));
    s(s.rand({2, 1, 2, 2}), s.rand({3, 2, 1}));
    s(s.rand({2, 2}), s.rand({2, 3, 2, 1}));
    s(s.rand({2, 0}), s.rand({3, 0, 2}));
    s(s.rand({0, 2, 3}), s.rand({3, 2}));
  }

 private:
  /// `out` with the dimensions put back that a vector operand leaves out.
  static MatrixStack result_matrices(const Tensor& out, std::int64_t rows, std::int64_t cols, bool has_rows,
                                     bool has_cols) {
    Dims sizes = out.sizes().dims(), strides = out.strides().dims();
    if (!has_cols) sizes.push_back(1), strides.push_back(0);
    if (!has_rows) sizes.insert(sizes.size() - 1, 1), strides.insert(strides.size() - 1, 0);
    const std::size_t batch = sizes.size() - 2;
    return {out.data_ptr(), out.scalar_type(), Dims(sizes.data(), batch), Dims(strides.data(), batch), rows,
            cols,           strides[batch],    strides[batch + 1]};
  }
};
HALFTONE_REGISTER_OPERATOR(Matmul)

}  // namespace ops

Tensor mm(const Tensor& self, const Tensor& mat2) { return ops::dispatch<ops::Mm>(self, mat2); }

Tensor bmm(const Tensor& self, const Tensor& mat2) { return ops::dispatch<ops::Bmm>(self, mat2); }

Tensor mv(const Tensor& self, const Tensor& vec) { return ops::dispatch<ops::Mv>(self, vec); }

Tensor dot(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Dot>(self, other); }

Tensor outer(const Tensor& self, const Tensor& vec2) { return ops::dispatch<ops::Outer>(self, vec2); }

Tensor matmul(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Matmul>(self, other); }

Tensor matmul_to_size(const Tensor& self, const Tensor& other, IntArrayRef size, ScalarType dtype,
                      double alpha) {
  return ops::dispatch<ops::MatmulToSize>(self, other, size, dtype, alpha);
}

}  // namespace halftone
