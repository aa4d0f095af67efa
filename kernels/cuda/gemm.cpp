// Matrix products on the device: cuBLASLt where it can express them, with operands brought into a form that
// it takes where that pays; own kernels for the rest.

#include "halftone/kernels/gemm.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "halftone/engine/error.h"
#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/cublaslt_matmul.h"
#include "halftone/kernels/cuda/gemm_kernels.h"
#include "halftone/kernels/cuda/runtime.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/row_sums.h"

namespace halftone::cuda {
namespace {

using i64 = std::int64_t;

/// Multiplications from which copies of operands pay. Below, one launch of the own kernel is faster.
constexpr double kWorthCopying = 1 << 18;

MatrixRef transposed(MatrixRef x) {
  std::swap(x.row_stride, x.col_stride);
  return x;
}

MatrixRef reading(const MutableMatrixRef& x) {
  return {x.data, x.dtype, x.row_stride, x.col_stride, x.batch_stride};
}

/// The leading dimension of a matrix whose columns lie in memory one after the other; nothing if they do not.
std::optional<i64> leading_dimension(i64 row_stride, i64 col_stride, i64 rows, i64 cols) {
  if (rows > 1 && row_stride != 1) return {};
  if (cols == 1) return rows;
  return col_stride >= rows ? std::optional(col_stride) : std::nullopt;
}

/// `x` as cuBLASLt's operand (rows, cols).
std::optional<LtMatrix> as_operand(const MatrixRef& x, i64 batch, i64 rows, i64 cols) {
  if (batch > 1 && x.batch_stride < 0) return {};
  const i64 batch_stride = batch > 1 ? x.batch_stride : 0;
  const auto plain = leading_dimension(x.row_stride, x.col_stride, rows, cols);
  const auto swapped = leading_dimension(x.col_stride, x.row_stride, cols, rows);
  if (swapped && (rows == 1 || !plain)) return LtMatrix{x.data, x.dtype, *swapped, batch_stride, true};
  if (plain) return LtMatrix{x.data, x.dtype, *plain, batch_stride, false};
  return {};
}

/// `x` as cuBLASLt's result or addend (rows, cols), which cannot be transposed.
std::optional<LtMatrix> as_result(const MatrixRef& x, i64 batch, i64 rows, i64 cols) {
  if (batch > 1 && x.batch_stride < 0) return {};
  const auto ld = leading_dimension(x.row_stride, x.col_stride, rows, cols);
  if (!ld) return {};
  return LtMatrix{x.data, x.dtype, *ld, batch > 1 ? x.batch_stride : 0, false};
}

/// A product on its way to cuBLASLt. Columns lie one after the other there: a row-major C is the product
/// C^T = B^T A^T.
class LtPlan {
 public:
  explicit LtPlan(const GemmProblem& problem) : p_(problem) {
    const bool wide = p_.a.dtype == kDouble || p_.b.dtype == kDouble;
    sum_dtype_ = wide ? kDouble : kFloat;
    operand_dtype_ = p_.a.dtype == p_.b.dtype ? p_.a.dtype : sum_dtype_;
  }

  /// Whether the product that was enqueued sums the rows of A as well.
  bool has_summed_rows() const { return has_summed_rows_; }

  /// Enqueues the product; false if it is left to the own kernel.
  bool run() {
    const auto [a, b] = std::pair(operand(p_.a, p_.m, p_.k), operand(p_.b, p_.k, p_.n));
    place_result();
    const bool direct = has_place_ && place_terms();
    const bool worth_copying = static_cast<double>(p_.batch) * static_cast<double>(p_.m) *
                                   static_cast<double>(p_.n) * static_cast<double>(p_.k) >=
                               kWorthCopying;
    if (!(a && b && direct && !seed_.data) && !worth_copying) return false;

    const MatrixRef left = a ? p_.a : packed(p_.a, p_.m, p_.k, packed_a_);
    const MatrixRef right = b ? p_.b : packed(p_.b, p_.k, p_.n, packed_b_);
    if (direct) {
      if (seed_.data) copy_matrices(p_.batch, p_.m, p_.n, seed_, p_.c);
      if (multiply(left, right)) return true;
    }
    return worth_copying && multiply_apart(left, right);
  }

 private:
  bool operand(const MatrixRef& x, i64 rows, i64 cols) const {
    return x.dtype == operand_dtype_ && as_operand(x, p_.batch, rows, cols).has_value();
  }

  /// Decides whether cuBLASLt can write C, and on which side its operands stand.
  void place_result() {
    if (p_.c.dtype != operand_dtype_ && p_.c.dtype != sum_dtype_) return;
    if (operand_dtype_ == kDouble && p_.c.dtype != kDouble) return;
    const MatrixRef c = reading(p_.c);
    if (const auto row_major = as_result(transposed(c), p_.batch, p_.n, p_.m)) {
      swapped_ = has_place_ = true;
      lt_.d = *row_major;
    } else if (const auto column_major = as_result(c, p_.batch, p_.m, p_.n)) {
      has_place_ = true;
      lt_.d = *column_major;
    }
  }

  /// Puts bias, addend and activation into cuBLASLt's epilogue; false if they do not all go there. A term it
  /// has no place for can be written to C beforehand, to which the product is then added.
  bool place_terms() {
    const Epilogue& e = p_.epilogue;
    MatrixRef addend = e.addend, bias{e.bias, e.bias_dtype, 0, 1, 0};
    double beta = e.beta;
    const bool is_bias = addend.data && !bias.data && beta == 1 && addend.data != p_.c.data &&
                         (addend.row_stride == 0 || p_.m == 1) && (addend.col_stride == 1 || p_.n == 1) &&
                         (addend.batch_stride == 0 || p_.batch == 1);
    if (is_bias) std::swap(addend, bias);
    if (e.activation != Activation::kNone && operand_dtype_ == kDouble) return false;
    // How exact the library's GELU is for small results is not documented: half types only.
    if (e.activation == Activation::kGeluTanh && !is_low_precision(p_.c.dtype)) return false;
    if ((addend.data && addend.dtype != p_.c.dtype) || (bias.data && bias.dtype != p_.c.dtype)) return false;

    lt_.activation = e.activation;
    lt_.before_activation = e.before_activation;
    if (lt_.before_activation && (e.activation != Activation::kGeluTanh || !takes_before_activation(lt_)))
      return false;
    lt_.alpha = e.alpha;
    const bool bias_fits = !bias.data || (swapped_ && operand_dtype_ != kDouble);
    const auto placed = swapped_ ? as_result(transposed(addend), p_.batch, p_.n, p_.m)
                                 : as_result(addend, p_.batch, p_.m, p_.n);
    const bool addend_fits = !addend.data || placed.has_value();
    if ((!bias_fits || !addend_fits) && addend.data && bias.data) return false;

    if (!bias_fits || !addend_fits) {
      seed_ = bias_fits ? addend : bias;
      lt_.c = lt_.d;
      lt_.beta = bias_fits ? beta : 1;
      return true;
    }
    lt_.bias = bias.data;
    if (addend.data) {
      lt_.c = *placed;
      lt_.beta = beta;
    }
    return true;
  }

  /// A copy in the dtype of the products, row by row, every row at a multiple of 16 bytes.
  MatrixRef packed(const MatrixRef& x, i64 rows, i64 cols, Tensor& memory) const {
    const i64 matrices = x.batch_stride == 0 ? 1 : p_.batch, row = (cols + 7) / 8 * 8;
    memory = scratch(operand_dtype_, matrices * rows * row);
    const MutableMatrixRef copy{memory.data_ptr(), operand_dtype_, row, 1, matrices == 1 ? 0 : rows * row};
    copy_matrices(matrices, rows, cols, x, copy);
    return reading(copy);
  }

  static Tensor scratch(Dtype dtype, i64 elements) {
    return empty({elements},
                 TensorOptions(dtype).device(kCUDA, static_cast<std::int8_t>(current_device_index())));
  }

  bool multiply(const MatrixRef& a, const MatrixRef& b) {
    lt_.batch = p_.batch;
    lt_.k = p_.k;
    lt_.m = swapped_ ? p_.n : p_.m;
    lt_.n = swapped_ ? p_.m : p_.n;
    lt_.a =
        *(swapped_ ? as_operand(transposed(b), p_.batch, p_.n, p_.k) : as_operand(a, p_.batch, p_.m, p_.k));
    lt_.b =
        *(swapped_ ? as_operand(transposed(a), p_.batch, p_.k, p_.m) : as_operand(b, p_.batch, p_.k, p_.n));
    return multiply_and_sum() || enqueue(lt_);
  }

  /// The product with the sums of A's rows, where they are wanted and fit into cuBLASLt's epilogue.
  bool multiply_and_sum() {
    const Epilogue& e = p_.epilogue;
    const bool fits = e.row_sums && e.row_sums_dtype == lt_.d.dtype && operand_dtype_ != kDouble &&
                      e.alpha == 1 && lt_.beta == 0 && !lt_.bias && lt_.activation == Activation::kNone;
    if (!fits) return false;
    lt_.sums = e.row_sums;
    lt_.sums_of_b = swapped_;
    has_summed_rows_ = enqueue(lt_);
    lt_.sums = nullptr;
    return has_summed_rows_;
  }

  /// The sums to memory of their own, from which C is made by one more pass.
  bool multiply_apart(const MatrixRef& a, const MatrixRef& b) {
    const Tensor memory = scratch(sum_dtype_, p_.batch * p_.m * p_.n);
    const MutableMatrixRef sums{memory.data_ptr(), sum_dtype_, p_.n, 1, p_.m * p_.n};
    swapped_ = true;
    lt_ = {};
    lt_.d = *as_result(transposed(reading(sums)), p_.batch, p_.n, p_.m);
    if (!multiply(a, b)) return false;
    finish(p_, reading(sums));
    return true;
  }

  const GemmProblem& p_;
  Dtype sum_dtype_, operand_dtype_;
  LtProduct lt_;
  bool swapped_ = false, has_place_ = false, has_summed_rows_ = false;
  MatrixRef seed_;  // what C starts from, if it is not null
  Tensor packed_a_, packed_b_;
};

/// A batch of products with one B is one product with more rows, if the rows are evenly spaced.
void fold_batch(GemmProblem& p) {
  const MatrixRef& addend = p.epilogue.addend;
  const bool rows_follow = p.a.batch_stride == p.m * p.a.row_stride &&
                           p.c.batch_stride == p.m * p.c.row_stride &&
                           (!addend.data || addend.batch_stride == p.m * addend.row_stride);
  if (p.batch == 1 || p.b.batch_stride != 0 || !rows_follow) return;
  p.m *= p.batch;
  p.batch = 1;
}

/// The device that owns `data`.
Device device_of(const void* data) {
  if (count_devices().count == 1) return Device(kCUDA, 0);
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes");
  return Device(kCUDA, static_cast<std::int8_t>(attributes.device));
}

void require(const void* data, const char* name) {
  if (!data) fail("gemm", name, " has no data");
}

void run(i64 batch, i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b, const MutableMatrixRef& c,
         const Epilogue& epilogue) {
  if (batch < 0 || m < 0 || n < 0 || k < 0)
    fail("gemm", "negative size: batch ", batch, ", m ", m, ", n ", n, ", k ", k);
  const bool floats = is_floating_point(a.dtype);
  if (epilogue.row_sums && (batch != 1 || !floats))
    fail("gemm", "sums of rows are those of one matrix of floats, got a batch of ", batch, " in ", a.dtype);
  if (!floats && (epilogue.activation != Activation::kNone || epilogue.before_activation))
    fail("gemm", "activations are for floats: A is ", a.dtype, ", B ", b.dtype);
  if (batch == 0 || m == 0 || (n == 0 && !epilogue.row_sums)) return;
  if (n == 0) return sum_rows(m, k, a, epilogue, device_of(epilogue.row_sums));
  if (k > 0) require(a.data, "A"), require(b.data, "B");
  require(c.data, "C");
  if (epilogue.beta != 0) require(epilogue.addend.data, "the addend (beta is not 0)");

  if (floats && is_floating_point(b.dtype) && !is_floating_point(c.dtype))
    fail("gemm", "a product of floats cannot be stored as ", c.dtype);
  if (floats != is_floating_point(b.dtype) || floats != is_floating_point(c.dtype))
    fail("gemm", "floats and integers do not mix: A is ", a.dtype, ", B ", b.dtype, ", C ", c.dtype);

  GemmProblem problem{batch, m, n, k, a, b, c, epilogue};
  if (epilogue.beta == 0) problem.epilogue.addend = {};
  fold_batch(problem);
  const Device device = device_of(c.data);
  const DeviceScope scope(device);
  // cuBLASLt does not read operands whose product counts nothing: their NaN would be lost.
  const bool all_count = k > 0 && epilogue.alpha != 0;
  LtPlan plan(problem);
  if (!floats || !all_count || !plan.run()) multiply_tiled(problem);
  if (epilogue.row_sums && !plan.has_summed_rows()) sum_rows(m, k, a, epilogue, device);
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {
template <>
const GemmKernels& cuda_kernels<GemmKernels>() {
  static const GemmKernels kernels{cuda::run};
  return kernels;
}
}  // namespace halftone
