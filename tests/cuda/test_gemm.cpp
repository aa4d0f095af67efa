// Matrix products on the device against fp64: dtypes, layouts, alignments, batches, epilogues, sizes small
// enough for the own kernel and large enough for copies of operands; and what kernels/gemm.h promises about
// NaN, rounding and errors.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "halftone/engine/cuda_math.h"
#include "halftone/engine/error.h"
#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"

using namespace halftone;
using Catch::Matchers::Contains;

namespace {

using i64 = std::int64_t;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

const GemmKernels& gemm() { return kernels_for<GemmKernels>(kCUDA); }

/// A matrix (or a batch) in any dtype and layout, with a copy on the device.
class Matrix {
 public:
  enum Layout { kRowMajor, kColMajor, kPadded, kSparse, kMisaligned, kNegative };

  const Dtype dtype;
  const i64 rows, cols, batch;

  Matrix(Dtype d, i64 r, i64 c, Layout layout = kRowMajor, i64 b = 1) : dtype(d), rows(r), cols(c), batch(b) {
    row_stride_ = layout == kColMajor ? 1 : layout == kPadded ? c + 3 : layout == kSparse ? 2 * c + 1 : c;
    col_stride_ = layout == kColMajor ? r : layout == kSparse ? 2 : 1;
    batch_stride_ = r * c * 3 + r * 3 + 5;
    if (layout == kMisaligned) offset_ = 1;
    if (layout == kNegative) {
      offset_ = (r - 1) * row_stride_;
      row_stride_ = -row_stride_;
    }
    const i64 elements = batch_stride_ * b + (layout == kNegative ? r * c : 1);
    host_ = empty({elements * static_cast<i64>(element_size(d))}, TensorOptions(kByte).device(kCPU));
    std::memset(host_.data_ptr(), 0, host_.nbytes());
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  double get(i64 i, i64 j, i64 b = 0) const {
    return dispatch_all(dtype, [&]<class T>() {
      return static_cast<double>(static_cast<const T*>(host_.data_ptr())[at(b, i, j)]);
    });
  }
  void set(i64 i, i64 j, double value, i64 b = 0) {
    device_ = Tensor();
    dispatch_all(dtype,
                 [&]<class T>() { static_cast<T*>(host_.data_ptr())[at(b, i, j)] = static_cast<T>(value); });
  }
  Matrix& fill(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const bool integer = !is_floating_point(dtype);
    for (i64 b = 0; b < batch; ++b)
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < cols; ++j)
          set(i, j, integer ? std::round(uniform(random) * 50) : uniform(random), b);
    return *this;
  }
  Matrix& fill_with(double value) {
    for (i64 b = 0; b < batch; ++b)
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < cols; ++j) set(i, j, value, b);
    return *this;
  }

  MatrixRef ref() { return {address(), dtype, row_stride_, col_stride_, batch_stride_}; }
  MutableMatrixRef out() { return {address(), dtype, row_stride_, col_stride_, batch_stride_}; }
  /// Brings the results back.
  void fetch() { std::memcpy(host_.data_ptr(), device_.cpu().data_ptr(), host_.nbytes()); }

  bool same_bytes(const Matrix& other) const {
    return host_.nbytes() == other.host_.nbytes() &&
           std::memcmp(host_.data_ptr(), other.host_.data_ptr(), host_.nbytes()) == 0;
  }

 private:
  i64 at(i64 b, i64 i, i64 j) const {
    return offset_ + b * batch_stride_ + i * row_stride_ + j * col_stride_;
  }
  void* address() {
    if (!device_.defined()) device_ = host_.to(kCUDA);
    return static_cast<unsigned char*>(device_.data_ptr()) + offset_ * static_cast<i64>(element_size(dtype));
  }

  i64 row_stride_, col_stride_, batch_stride_, offset_ = 0;
  Tensor host_, device_;
};

void multiply(Matrix& a, Matrix& b, Matrix& c, const Epilogue& epilogue = {}) {
  gemm().run(c.batch, c.rows, c.cols, a.cols, a.ref(), b.ref(), c.out(), epilogue);
  c.fetch();
}

/// Checks c = activation(alpha * a * b + beta * addend + bias) against fp64 with the bound that gemm.h
/// states. Tensor cores may cut off what they shift out where that bound counts on rounding: twice the error
/// per addition.
void check_product(const Matrix& a, const Matrix& b, const Matrix& c, const Epilogue& e = {},
                   const Matrix* addend = nullptr, const Matrix* bias = nullptr) {
  const bool wide = a.dtype == kDouble || b.dtype == kDouble;
  const double u = 2 * unit_roundoff(wide ? kDouble : kFloat), u_out = unit_roundoff(c.dtype);
  const double tiny = c.dtype == kHalf ? 0x1p-25 : c.dtype == kDouble ? 0 : 0x1p-126;
  for (i64 m = 0; m < c.batch; ++m) {
    for (i64 i = 0; i < c.rows; ++i) {
      for (i64 j = 0; j < c.cols; ++j) {
        double exact = 0, size = 0;
        for (i64 k = 0; k < a.cols; ++k) {
          const double product = e.alpha * a.get(i, k, m) * b.get(k, j, m);
          exact += product;
          size += std::fabs(product);
        }
        if (addend) {
          exact += e.beta * addend->get(i, j, m);
          size += std::fabs(e.beta * addend->get(i, j, m));
        }
        if (bias) {
          exact += bias->get(0, j);
          size += std::fabs(bias->get(0, j));
        }
        if (e.activation == Activation::kRelu && exact < 0) exact = 0;
        const double bound =
            static_cast<double>(a.cols + 4) * u * size * (1 + u_out) + u_out * std::fabs(exact) + tiny;
        if (!(std::fabs(c.get(i, j, m) - exact) <= bound)) {
          CAPTURE(m, i, j, exact, c.get(i, j, m), bound);
          FAIL("product out of bounds");
        }
      }
    }
  }
}

constexpr Dtype kFloats[] = {kFloat, kHalf, kBFloat16};
constexpr Matrix::Layout kLayouts[] = {Matrix::kRowMajor, Matrix::kColMajor,   Matrix::kPadded,
                                       Matrix::kSparse,   Matrix::kMisaligned, Matrix::kNegative};

/// Too small for copies of operands to pay, and large enough.
struct Size {
  i64 m, n, k;
};
constexpr Size kSmall{9, 21, 17}, kLarge{71, 67, 61};

}  // namespace

TEST_CASE("device products of every pair of dtypes and layouts meet their bound") {
  for (const Dtype dtype : kFloats)
    for (const Dtype out : {kFloat, kHalf, kBFloat16, kDouble})
      for (const Matrix::Layout la : kLayouts)
        for (const Matrix::Layout lb : kLayouts) {
          CAPTURE(dtype_name(dtype), dtype_name(out), la, lb);
          Matrix a(dtype, kSmall.m, kSmall.k, la), b(dtype, kSmall.k, kSmall.n, lb);
          Matrix c(out, kSmall.m, kSmall.n, kLayouts[(la + lb) % 6]);
          a.fill(1), b.fill(2);
          multiply(a, b, c);
          check_product(a, b, c);
        }
}

TEST_CASE("device products mix dtypes") {
  for (const Size size : {kSmall, kLarge})
    for (const Dtype da : kFloats)
      for (const Dtype db : kFloats)
        for (const Dtype dc : kFloats) {
          CAPTURE(size.m, dtype_name(da), dtype_name(db), dtype_name(dc));
          Matrix a(da, size.m, size.k), b(db, size.k, size.n), c(dc, size.m, size.n);
          a.fill(3), b.fill(4);
          multiply(a, b, c);
          check_product(a, b, c);
        }
}

TEST_CASE("large device products of every layout meet their bound") {
  for (const Matrix::Layout la : kLayouts)
    for (const Matrix::Layout lb : kLayouts) {
      CAPTURE(la, lb);
      Matrix a(kHalf, kLarge.m, kLarge.k, la), b(kHalf, kLarge.k, kLarge.n, lb);
      Matrix c(kHalf, kLarge.m, kLarge.n, kLayouts[(la + lb) % 6]);
      a.fill(5), b.fill(6);
      multiply(a, b, c);
      check_product(a, b, c);
    }
}

TEST_CASE("device products of odd sizes meet their bound") {
  for (const Dtype dtype : kFloats) {
    for (const i64 m : {1, 2, 5, 33})
      for (const i64 n : {1, 3, 16, 31})
        for (const i64 k : {1, 2, 7, 65}) {
          CAPTURE(dtype, m, n, k);
          Matrix a(dtype, m, k), b(dtype, k, n), c(kFloat, m, n);
          a.fill(7), b.fill(8);
          multiply(a, b, c);
          check_product(a, b, c);
        }
    for (const Size s : {Size{130, 5, 200}, Size{3, 150, 513}, Size{1, 1, 2000}, Size{65, 129, 64}}) {
      CAPTURE(dtype, s.m, s.n, s.k);
      Matrix a(dtype, s.m, s.k, Matrix::kSparse), b(dtype, s.k, s.n), c(dtype, s.m, s.n);
      a.fill(9), b.fill(10);
      multiply(a, b, c);
      check_product(a, b, c);
    }
  }
}

TEST_CASE("a device batch is each of its products") {
  for (const Dtype dtype : kFloats)
    for (const i64 m : {6, 40}) {
      Matrix a(dtype, m, 70, Matrix::kPadded, 5), b(dtype, 70, 20, Matrix::kColMajor, 5);
      Matrix c(dtype, m, 20, Matrix::kRowMajor, 5), sparse(dtype, m, 20, Matrix::kSparse, 5);
      a.fill(11), b.fill(12);
      multiply(a, b, c);
      check_product(a, b, c);
      multiply(a, b, sparse);
      check_product(a, b, sparse);
    }
}

TEST_CASE("a device batch shares its bias") {
  for (const Dtype dtype : {kFloat, kHalf, kDouble})
    for (const i64 m : {6, 90}) {
      CAPTURE(dtype_name(dtype), m);
      Matrix a(dtype, m, 70, Matrix::kRowMajor, 3), b(dtype, 70, 20, Matrix::kRowMajor, 3);
      Matrix c(dtype, m, 20, Matrix::kRowMajor, 3), bias(dtype, 1, 20);
      a.fill(32), b.fill(33), bias.fill(34);
      Epilogue e;
      e.bias = bias.ref().data;
      e.bias_dtype = dtype;
      multiply(a, b, c, e);
      check_product(a, b, c, e, nullptr, &bias);
    }
}

TEST_CASE("device operands broadcast with zero strides") {
  const i64 batch = 4, m = 5, n = 33, k = 70;
  for (const Dtype dtype : {kFloat, kHalf, kDouble}) {
    Matrix a(dtype, batch * m, k), b(dtype, k, n), folded(dtype, batch * m, n), row(dtype, batch * m, n);
    a.fill(13), b.fill(14);
    MatrixRef ra = a.ref(), rb = b.ref();
    ra.batch_stride = m * k;
    rb.batch_stride = 0;
    MutableMatrixRef rc = folded.out();
    rc.batch_stride = m * n;
    gemm().run(batch, m, n, k, ra, rb, rc, {});
    folded.fetch();
    check_product(a, b, folded);

    ra = a.ref();
    ra.row_stride = 0;  // every row is the first
    gemm().run(1, batch * m, n, k, ra, b.ref(), row.out(), {});
    row.fetch();
    Matrix first(dtype, batch * m, k);
    for (i64 i = 0; i < batch * m; ++i)
      for (i64 j = 0; j < k; ++j) first.set(i, j, a.get(0, j));
    check_product(first, b, row);
  }
}

TEST_CASE("the device epilogue scales, adds, biases and activates, then rounds once") {
  for (const Size size : {kSmall, kLarge, Size{9, 21, 0}})
    for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble})
      for (const Dtype other : {dtype, kFloat})
        for (const Matrix::Layout layout : {Matrix::kRowMajor, Matrix::kColMajor, Matrix::kSparse})
          for (int parts = 0; parts < 8; ++parts) {
            const bool adds = parts & 1, biases = parts & 2, activates = parts & 4;
            if (size.m == kLarge.m && layout == Matrix::kSparse && dtype != kHalf) continue;
            CAPTURE(size.m, size.k, dtype_name(dtype), dtype_name(other), layout, adds, biases, activates);
            Matrix a(dtype, size.m, size.k), b(dtype, size.k, size.n), c(dtype, size.m, size.n, layout);
            Matrix addend(other, size.m, size.n, layout), bias(other, 1, size.n);
            a.fill(15), b.fill(16), addend.fill(17), bias.fill(18), c.fill_with(kNaN);
            Epilogue e;
            e.alpha = 0.5;
            if (adds) e.beta = -2, e.addend = addend.ref();
            if (biases) e.bias = bias.ref().data, e.bias_dtype = other;
            if (activates) e.activation = Activation::kRelu;
            multiply(a, b, c, e);
            check_product(a, b, c, e, adds ? &addend : nullptr, biases ? &bias : nullptr);
          }
}

TEST_CASE("GELU follows the product, and what it is applied to comes out as well") {
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  for (const Size size : {kSmall, kLarge, Size{64, 40, 72}, Size{9, 24, 0}})
    for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble})
      for (const Matrix::Layout layout : {Matrix::kRowMajor, Matrix::kColMajor, Matrix::kPadded})
        for (const Activation activation : {Activation::kGeluTanh, Activation::kRelu, Activation::kNone})
          for (const bool keeps : {true, false})
            for (const bool biases : {true, false}) {
              CAPTURE(size.m, size.n, dtype_name(dtype), layout, static_cast<int>(activation), keeps, biases);
              Matrix a(dtype, size.m, size.k), b(dtype, size.k, size.n), bias(dtype, 1, size.n);
              Matrix c(dtype, size.m, size.n, layout), before(dtype, size.m, size.n, layout);
              a.fill(41), b.fill(42), bias.fill(43), c.fill_with(kNaN), before.fill_with(kNaN);
              Epilogue e;
              e.activation = activation;
              if (biases) e.bias = bias.ref().data, e.bias_dtype = dtype;
              if (keeps) e.before_activation = before.out().data;
              multiply(a, b, c, e);
              if (!keeps) {
                Epilogue plain = e;
                plain.activation = Activation::kNone;
                multiply(a, b, before, plain);
              } else {
                before.fetch();
              }
              check_product(a, b, before, {}, nullptr, biases ? &bias : nullptr);
              // From what was rounded to C's dtype: an error of that size times the slope, at most 1.13.
              const double u = unit_roundoff(dtype), tiny = dtype == kHalf ? 0x1p-24 : 0x1p-126;
              for (i64 i = 0; i < size.m; ++i)
                for (i64 j = 0; j < size.n; ++j) {
                  const double x = before.get(i, j);
                  const double exact = activation == Activation::kGeluTanh ? gelu(x)
                                       : activation == Activation::kRelu   ? std::fmax(x, 0)
                                                                           : x;
                  const double arithmetic = dtype == kDouble ? 1e-14 : 2e-6;
                  const double bound = (3 * u + arithmetic) * (std::fabs(x) + std::fabs(exact)) + tiny;
                  if (!(std::fabs(c.get(i, j) - exact) <= bound)) {
                    CAPTURE(i, j, x, exact, c.get(i, j), bound);
                    FAIL("activation out of bounds");
                  }
                }
            }
}

TEST_CASE("the sums of A's rows come with the product") {
  for (const Size size : {kSmall, kLarge, Size{64, 40, 2000}, Size{9, 24, 0}, Size{5, 0, 7}})
    for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble})
      for (const Dtype sums_dtype : {dtype, kFloat})
        for (const Matrix::Layout la : {Matrix::kRowMajor, Matrix::kColMajor, Matrix::kSparse})
          for (const Matrix::Layout lc : {Matrix::kRowMajor, Matrix::kColMajor}) {
            CAPTURE(size.m, size.k, dtype_name(dtype), dtype_name(sums_dtype), la, lc);
            Matrix a(dtype, size.m, size.k, la), b(dtype, size.k, size.n), c(dtype, size.m, size.n, lc);
            Matrix sums(sums_dtype, 1, size.m);
            a.fill(44), b.fill(45), c.fill_with(kNaN), sums.fill_with(kNaN);
            Epilogue e;
            e.row_sums = sums.out().data;
            e.row_sums_dtype = sums_dtype;
            multiply(a, b, c, e);
            sums.fetch();
            check_product(a, b, c);
            const double u = 2 * unit_roundoff(dtype == kDouble ? kDouble : kFloat);
            for (i64 i = 0; i < size.m; ++i) {
              double exact = 0, magnitude = 0;
              for (i64 k = 0; k < size.k; ++k) exact += a.get(i, k), magnitude += std::fabs(a.get(i, k));
              const double bound = static_cast<double>(size.k + 4) * u * magnitude +
                                   2 * unit_roundoff(sums_dtype) * std::fabs(exact);
              CHECK(std::fabs(sums.get(0, i) - exact) <= bound);
            }
          }
  Matrix a(kFloat, 4, 4, Matrix::kRowMajor, 2), c(kFloat, 4, 4, Matrix::kRowMajor, 2), sums(kFloat, 1, 4);
  a.fill(46);
  Epilogue e;
  e.row_sums = sums.out().data;
  CHECK_THROWS_WITH(gemm().run(2, 4, 4, 4, a.ref(), a.ref(), c.out(), e), Contains("one matrix"));
}

TEST_CASE("a device addend may be one row, one column or one number") {
  for (const Size size : {kSmall, kLarge})
    for (const Dtype dtype : kFloats)
      for (const double beta : {1.0, 0.5}) {
        for (int repeated = 0; repeated < 4; ++repeated) {
          CAPTURE(size.m, dtype_name(dtype), beta, repeated);
          Matrix a(dtype, size.m, size.k), b(dtype, size.k, size.n), c(dtype, size.m, size.n);
          Matrix values(dtype, size.m, size.n), expanded(dtype, size.m, size.n);
          a.fill(19), b.fill(20), values.fill(21);
          Epilogue e;
          e.beta = beta;
          e.addend = values.ref();
          if (repeated & 1) e.addend.row_stride = 0;
          if (repeated & 2) e.addend.col_stride = 0;
          for (i64 i = 0; i < size.m; ++i)
            for (i64 j = 0; j < size.n; ++j)
              expanded.set(i, j, values.get(repeated & 1 ? 0 : i, repeated & 2 ? 0 : j));
          multiply(a, b, c, e);
          check_product(a, b, c, e, &expanded);
        }
      }
}

TEST_CASE("the device addend may be the result itself, and is not read when beta is zero") {
  for (const Size size : {kSmall, kLarge})
    for (const Dtype dtype : {kFloat, kHalf, kDouble})
      for (const Matrix::Layout layout : {Matrix::kRowMajor, Matrix::kColMajor, Matrix::kSparse}) {
        CAPTURE(size.m, dtype_name(dtype), layout);
        Matrix a(dtype, size.m, size.k), b(dtype, size.k, size.n), c(dtype, size.m, size.n, layout);
        Matrix start(dtype, size.m, size.n, layout);
        a.fill(22), b.fill(23), c.fill(24), start.fill(24);
        Epilogue e;
        e.beta = 1;
        e.addend = c.ref();
        multiply(a, b, c, e);
        check_product(a, b, c, e, &start);

        c.fill_with(kNaN);
        e.beta = 0;
        e.addend = c.ref();
        multiply(a, b, c, e);
        check_product(a, b, c);
      }
}

TEST_CASE("NaN and infinities propagate through device products and their activation") {
  for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble})
    for (const Matrix::Layout layout : {Matrix::kRowMajor, Matrix::kSparse}) {
      CAPTURE(dtype_name(dtype), layout);
      Matrix a(dtype, 9, 35, layout), b(dtype, 35, 34), c(dtype, 9, 34);
      a.fill_with(1);
      a.set(2, 34, 0);  // 0 * inf
      b.set(34, 33, kInf);
      a.set(4, 0, kNaN);
      b.set(1, 5, -kInf);
      b.set(2, 5, kInf);  // inf - inf
      Epilogue e;
      e.activation = Activation::kRelu;
      for (const Epilogue& epilogue : {Epilogue{}, e}) {
        multiply(a, b, c, epilogue);
        for (i64 j = 0; j < 34; ++j) CHECK(std::isnan(c.get(4, j)));
        for (i64 i = 0; i < 9; ++i) CHECK(std::isnan(c.get(i, 5)));
        CHECK(std::isnan(c.get(2, 33)));
        CHECK(c.get(0, 33) == kInf);
        CHECK(c.get(0, 0) == 0);
      }
    }
}

TEST_CASE("device sums beyond a half's range are formed in fp32") {
  Matrix a(kHalf, 1, 4), b(kHalf, 4, 1), c(kHalf, 1, 1);
  const double left[] = {60000, 60000, -60000, -60000};
  for (i64 k = 0; k < 4; ++k) a.set(0, k, left[k]), b.set(k, 0, k == 0 ? 2 : 1);
  multiply(a, b, c);
  CHECK(c.get(0, 0) == 60000);
  b.set(1, 0, 2);
  multiply(a, b, c);
  CHECK(c.get(0, 0) == kInf);  // 120000 rounds to infinity once, at the end
}

TEST_CASE("device float64 products accumulate in fp64, whatever the layout and the partner") {
  for (const Dtype db : {kDouble, kFloat, kHalf})
    for (const Matrix::Layout la : kLayouts)
      for (const Matrix::Layout lb : kLayouts) {
        CAPTURE(dtype_name(db), la, lb);
        Matrix a(kDouble, 7, 29, la, 2), b(db, 29, 11, lb, 2), c(kDouble, 7, 11, la, 2),
            f(kFloat, 7, 11, lb, 2);
        a.fill(25), b.fill(26);
        multiply(a, b, c);
        check_product(a, b, c);
        multiply(a, b, f);
        check_product(a, b, f);
      }
  Matrix a(kFloat, kLarge.m, kLarge.k), b(kDouble, kLarge.k, kLarge.n), c(kDouble, kLarge.m, kLarge.n);
  a.fill(27), b.fill(28);
  multiply(a, b, c);
  check_product(a, b, c);
}

TEST_CASE("device integer products are exact and wrap") {
  for (const Dtype dtype : {kLong, kInt, kByte}) {
    Matrix a(dtype, 5, 30), b(dtype, 30, 67, Matrix::kColMajor), c(dtype, 5, 67);
    for (i64 k = 0; k < 30; ++k) {
      for (i64 i = 0; i < 5; ++i) a.set(i, k, static_cast<double>((i * 7 + k * 3) % 50));
      for (i64 j = 0; j < 67; ++j) b.set(k, j, static_cast<double>((j * 5 + k) % 40));
    }
    multiply(a, b, c);
    for (i64 i = 0; i < 5; ++i)
      for (i64 j = 0; j < 67; ++j) {
        i64 exact = 0;
        for (i64 k = 0; k < 30; ++k) exact += static_cast<i64>(a.get(i, k)) * static_cast<i64>(b.get(k, j));
        CHECK(c.get(i, j) == static_cast<double>(dtype == kByte ? exact % 256 : exact));
      }
  }
  Matrix a(kLong, 1, 1), b(kLong, 1, 1), c(kLong, 1, 1);
  a.set(0, 0, 0x1p62), b.set(0, 0, 6);
  multiply(a, b, c);
  CHECK(c.get(0, 0) == -0x1p63);
}

TEST_CASE("empty device products") {
  Matrix a(kFloat, 3, 0), b(kFloat, 0, 4), c(kFloat, 3, 4);
  c.fill(29);
  multiply(a, b, c);
  for (i64 i = 0; i < 3; ++i)
    for (i64 j = 0; j < 4; ++j) CHECK(c.get(i, j) == 0);
  gemm().run(0, 3, 4, 5, {}, {}, {}, {});
  gemm().run(1, 0, 4, 5, {}, {}, {}, {});
  gemm().run(1, 3, 0, 5, {}, {}, {}, {});
}

TEST_CASE("what a device product cannot do is refused by name") {
  Matrix f(kFloat, 2, 2), l(kLong, 2, 2), cf(kFloat, 2, 2), cl(kLong, 2, 2);
  CHECK_THROWS_AS(multiply(f, l, cf), Error);
  CHECK_THROWS_AS(multiply(f, f, cl), Error);
  CHECK_THROWS_AS(gemm().run(1, 2, 2, -1, f.ref(), f.ref(), cf.out(), {}), Error);
  CHECK_THROWS_AS(gemm().run(1, 2, 2, 2, MatrixRef{}, f.ref(), cf.out(), {}), Error);
  Epilogue e;
  e.beta = 1;
  CHECK_THROWS_AS(multiply(f, f, cf, e), Error);
}

TEST_CASE("the same device product gives the same bits, also after TF32 was allowed for a while") {
  Matrix a(kFloat, 40, 50), b(kFloat, 50, 30), first(kFloat, 40, 30), second(kFloat, 40, 30),
      tf32(kFloat, 40, 30);
  a.fill(30), b.fill(31);
  multiply(a, b, first);
  cuda::set_allow_tf32(true);
  multiply(a, b, tf32);
  cuda::set_allow_tf32(false);
  multiply(a, b, second);
  CHECK(first.same_bytes(second));
  // TF32 keeps 10 bits of the operands.
  for (i64 i = 0; i < 40; ++i)
    for (i64 j = 0; j < 30; ++j) CHECK(tf32.get(i, j) == Approx(first.get(i, j)).margin(50 * 0x1p-9));
}
