// Products and norms of vectors and matrices, composed of matmul, sums and norm.

#include <cmath>
#include <limits>

#include "halftone/ops/composed.h"
#include "halftone/ops/inplace.h"

namespace halftone {
namespace {

void check_matrix(const char* op, const char* name, const Tensor& self) {
  if (self.dim() != 2) fail(op, name, " must be a matrix, got ", self);
}

/// beta * self + alpha * product, where beta 0 ignores what self holds, NaN included.
Tensor combined(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const Tensor scaled = alpha.to_double() == 1 ? product : product * alpha;
  if (beta.to_double() == 0) return expand(scaled, broadcast_shapes("addmv", self.sizes(), scaled.sizes()));
  return (beta.to_double() == 1 ? self : self * beta) + scaled;
}

/// The cheapest way to multiply matrices of sizes p[0] x p[1], p[1] x p[2], ...: where to split each part.
std::vector<std::vector<std::size_t>> best_splits(const std::vector<std::int64_t>& p) {
  const std::size_t n = p.size() - 1;
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> split(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length) {
    for (std::size_t i = 0; i + length < n; ++i) {
      const std::size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double here =
            cost[i][k] + cost[k + 1][j] +
            static_cast<double>(p[i]) * static_cast<double>(p[k + 1]) * static_cast<double>(p[j + 1]);
        if (here < cost[i][j]) {
          cost[i][j] = here;
          split[i][j] = k;
        }
      }
    }
  }
  return split;
}

Tensor multiplied(const std::vector<Tensor>& matrices, const std::vector<std::vector<std::size_t>>& split,
                  std::size_t i, std::size_t j) {
  if (i == j) return matrices[i];
  const std::size_t k = split[i][j];
  return mm(multiplied(matrices, split, i, k), multiplied(matrices, split, k + 1, j));
}

std::pair<std::int64_t, std::int64_t> matrix_dims(const char* op, const Tensor& self, IntArrayRef dim) {
  if (self.dim() < 2 || dim.size() != 2)
    fail(op, "expected a matrix in two dimensions, got ", dim, " of ", self);
  const std::int64_t rows = wrap_dim(op, dim[0], self.dim()), columns = wrap_dim(op, dim[1], self.dim());
  if (rows == columns) fail(op, "the two dimensions must differ, got ", dim);
  return {rows, columns};
}

}  // namespace

Tensor vdot(const Tensor& self, const Tensor& other) { return dot(self, other); }

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  return combined(self, mv(mat, vec), beta, alpha);
}
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  return combined(self, outer(vec1, vec2), beta, alpha);
}
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  if (batch1.dim() != 3 || batch2.dim() != 3 || batch1.size(0) != batch2.size(0))
    fail("addbmm", "expected two batches of matrices, got ", batch1, " and ", batch2);
  return combined(self, tensordot(batch1, batch2, {0, 2}, {0, 1}), beta, alpha);
}

Tensor& addmv_(Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  return ops::write_back(
      "addmv_", self, [&](const Tensor& x) { return addmv(x, mat, vec, beta, alpha); }, mat, vec);
}
Tensor& addr_(Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  return ops::write_back(
      "addr_", self, [&](const Tensor& x) { return addr(x, vec1, vec2, beta, alpha); }, vec1, vec2);
}
Tensor& addbmm_(Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                const Scalar& alpha) {
  return ops::write_back(
      "addbmm_", self, [&](const Tensor& x) { return addbmm(x, batch1, batch2, beta, alpha); }, batch1,
      batch2);
}
Tensor& addmm_(Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
               const Scalar& alpha) {
  return ops::write_back(
      "addmm_", self, [&](const Tensor& x) { return addmm(x, mat1, mat2, beta, alpha); }, mat1, mat2);
}
Tensor& baddbmm_(Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                 const Scalar& alpha) {
  return ops::write_back(
      "baddbmm_", self, [&](const Tensor& x) { return baddbmm(x, batch1, batch2, beta, alpha); }, batch1,
      batch2);
}

Tensor matrix_power(const Tensor& self, std::int64_t n) {
  if (self.dim() < 2 || self.size(-1) != self.size(-2))
    fail("matrix_power", "expected square matrices, got ", self);
  if (n < 0)
    fail("matrix_power", "negative powers need an inverse, which halftone does not have; got n = ", n);
  if (n == 0) return clone(expand(eye(self.size(-1), self.options()), self.sizes()));
  Tensor result, square = self;
  for (std::uint64_t left = static_cast<std::uint64_t>(n); left != 0; left >>= 1) {
    if ((left & 1) != 0) result = result.defined() ? matmul(result, square) : square;
    if (left > 1) square = matmul(square, square);
  }
  return n == 1 ? clone(result) : result;
}
Tensor linalg_matrix_power(const Tensor& self, std::int64_t n) { return matrix_power(self, n); }

Tensor linalg_multi_dot(const TensorList& tensors) {
  if (tensors.size() < 2) fail("linalg_multi_dot", "expected at least two tensors, got ", tensors.size());
  std::vector<Tensor> matrices = tensors.vec();
  const bool row = matrices.front().dim() == 1, column = matrices.back().dim() == 1;
  if (row) matrices.front() = unsqueeze(matrices.front(), 0);
  if (column) matrices.back() = unsqueeze(matrices.back(), 1);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    check_matrix("linalg_multi_dot", "each tensor but the ends", matrices[i]);
    if (i > 0 && matrices[i].size(0) != sizes.back())
      fail("linalg_multi_dot", matrices[i - 1], " and ", matrices[i], " do not fit");
    if (i == 0) sizes.push_back(matrices[i].size(0));
    sizes.push_back(matrices[i].size(1));
  }
  Tensor result = multiplied(matrices, best_splits(sizes), 0, matrices.size() - 1);
  if (column) result = squeeze(result, 1);
  return row ? squeeze(result, 0) : result;
}

Tensor chain_matmul(const TensorList& matrices) {
  for (const Tensor& matrix : matrices) check_matrix("chain_matmul", "each operand", matrix);
  if (matrices.empty()) fail("chain_matmul", "expected at least one matrix");
  return matrices.size() == 1 ? matrices[0] : linalg_multi_dot(matrices);
}

Tensor linalg_matmul(const Tensor& self, const Tensor& other) { return matmul(self, other); }

Tensor linalg_cross(const Tensor& self, const Tensor& other, std::int64_t dim) {
  const Dims sizes = broadcast_shapes("cross", self.sizes(), other.sizes());
  if (self.dim() != other.dim()) fail("cross", self, " and ", other, " must have as many dimensions");
  const std::int64_t d = wrap_dim("cross", dim, self.dim());
  if (self.dim() == 0 || self.size(d) != 3 || other.size(d) != 3)
    fail("cross", "dimension ", dim, " of ", self, " and ", other, " must have size 3");
  const Tensor a = expand(self, sizes), b = expand(other, sizes);
  // (a2 b3 - a3 b2, a3 b1 - a1 b3, a1 b2 - a2 b1)
  return roll(a, {-1}, {d}) * roll(b, {-2}, {d}) - roll(a, {-2}, {d}) * roll(b, {-1}, {d});
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<std::int64_t> dim) {
  if (dim) return linalg_cross(self, other, *dim);
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) == 3) return linalg_cross(self, other, d);
  }
  fail("cross", "no dimension of ", self, " has size 3");
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, std::int64_t dim) { return sum(x * y, dim); }

Tensor linalg_diagonal(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return diagonal(self, offset, dim1, dim2);
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<std::int64_t>) {
  if (x1.dim() < 2 || x2.dim() < 2 || x1.size(-1) != x2.size(-1))
    fail("cdist", "expected rows of one length, got ", x1, " and ", x2);
  if (!(p >= 0)) fail("cdist", "p must not be negative, got ", p);
  const ops::WideOperands operands("cdist", {&x1, &x2});
  return operands.result(norm(unsqueeze(operands[0], -2) - unsqueeze(operands[1], -3), p, -1));
}

Tensor pdist(const Tensor& self, double p) {
  if (self.dim() != 2) fail("pdist", "expected rows, got ", self);
  const ops::WideOperands operands("pdist", {&self});
  const Tensor rows = operands[0];
  const Tensor places =
      triu_indices(self.size(0), self.size(0), 1, TensorOptions(kLong).device(self.device()));
  const Tensor differences =
      index_select(rows, 0, select(places, 0, 0)) - index_select(rows, 0, select(places, 0, 1));
  return operands.result(norm(differences, p, 1));
}

// --- Norms
// ------------------------------------------------------------------------------------------------------

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim,
                          OptionalDtype dtype) {
  if (dtype) return norm(self, ord, dim.value_or({}), keepdim, *dtype);
  return norm(self, ord, dim.value_or({}), keepdim);
}

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim, bool keepdim,
                          OptionalDtype dtype) {
  const auto [rows, columns] = matrix_dims("linalg_matrix_norm", self, dim);
  const Tensor x = abs(dtype ? self.to(*dtype) : self);
  const double p = ord.to_double(), magnitude = std::abs(p);
  if (magnitude != 1 && !std::isinf(magnitude))
    fail("linalg_matrix_norm",
         "ord must be \"fro\", 1, -1, inf or -inf (singular values are not supported), got ", p);
  const std::int64_t summed = magnitude == 1 ? rows : columns, compared = magnitude == 1 ? columns : rows;
  const Tensor sums = sum(x, summed, true);
  const Tensor result = p > 0 ? amax(sums, compared, true) : amin(sums, compared, true);
  if (keepdim) return result;
  return squeeze(squeeze(result, std::max(rows, columns)), std::min(rows, columns));
}

Tensor linalg_matrix_norm(const Tensor& self, std::string_view ord, IntArrayRef dim, bool keepdim,
                          OptionalDtype dtype) {
  matrix_dims("linalg_matrix_norm", self, dim);
  if (ord != "fro")
    fail("linalg_matrix_norm",
         "ord must be \"fro\", 1, -1, inf or -inf (singular values are not supported), got \"", ord, "\"");
  return linalg_vector_norm(self, 2, dim, keepdim, dtype);
}

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord, OptionalIntArrayRef dim,
                   bool keepdim, OptionalDtype dtype) {
  if (!ord) return linalg_vector_norm(self, 2, dim, keepdim, dtype);
  const bool matrix = dim ? (*dim).size() == 2 : self.dim() == 2;
  if (!matrix) {
    if (!dim && self.dim() != 1)
      fail("linalg_norm", "with ord and without dim, expected a vector or a matrix, got ", self);
    return linalg_vector_norm(self, *ord, dim, keepdim, dtype);
  }
  return linalg_matrix_norm(self, *ord, dim.value_or({-2, -1}), keepdim, dtype);
}

Tensor linalg_norm(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim, bool keepdim,
                   OptionalDtype dtype) {
  if (!dim && self.dim() != 2) fail("linalg_norm", "ord \"", ord, "\" needs a matrix, got ", self);
  return linalg_matrix_norm(self, ord, dim.value_or({-2, -1}), keepdim, dtype);
}

}  // namespace halftone
