// Matrix products against fp64: every pair of dtypes, transposes, odd sizes, epilogues, at every instruction
// set this processor has; and the promises of kernels/gemm.h about what a result may depend on.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "halftone/engine/error.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"

using namespace halftone;

namespace {

using i64 = std::int64_t;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

const GemmKernels& gemm() { return cpu_kernels<GemmKernels>(); }

/// Runs `f` at every level this processor has.
template <class F>
void at_every_isa(F f) {
  const cpu::Isa before = cpu::current_isa();
  for (int level = 0; level <= static_cast<int>(cpu::highest_isa()); ++level) {
    cpu::set_isa_for_testing(static_cast<cpu::Isa>(level));
    INFO("isa " << cpu::isa_name(static_cast<cpu::Isa>(level)));
    f();
  }
  cpu::set_isa_for_testing(before);
}

/// A matrix (or a batch) in memory of its own, in any dtype and layout.
struct Matrix {
  enum Layout { kRowMajor, kColMajor, kPadded, kSparse };

  Dtype dtype;
  i64 rows, cols, batch, row_stride, col_stride, batch_stride;
  std::vector<unsigned char> bytes;

  Matrix(Dtype d, i64 r, i64 c, Layout layout = kRowMajor, i64 b = 1) : dtype(d), rows(r), cols(c), batch(b) {
    row_stride = layout == kColMajor ? 1 : layout == kPadded ? c + 3 : layout == kSparse ? 2 * c + 1 : c;
    col_stride = layout == kColMajor ? r : layout == kSparse ? 2 : 1;
    batch_stride = r * c * 3 + r * 3 + 5;
    bytes.assign(static_cast<std::size_t>(batch_stride * b + 1) * element_size(d), 0);
  }

  i64 at(i64 b, i64 i, i64 j) const { return b * batch_stride + i * row_stride + j * col_stride; }
  double get(i64 i, i64 j, i64 b = 0) const {
    return dispatch_all(dtype, [&]<class T>() {
      return static_cast<double>(reinterpret_cast<const T*>(bytes.data())[at(b, i, j)]);
    });
  }
  void set(i64 i, i64 j, double value, i64 b = 0) {
    dispatch_all(dtype,
                 [&]<class T>() { reinterpret_cast<T*>(bytes.data())[at(b, i, j)] = static_cast<T>(value); });
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
  MatrixRef ref() const { return {bytes.data(), dtype, row_stride, col_stride, batch_stride}; }
  MutableMatrixRef out() { return {bytes.data(), dtype, row_stride, col_stride, batch_stride}; }
};

void multiply(const Matrix& a, const Matrix& b, Matrix& c, const Epilogue& epilogue = {}) {
  gemm().run(c.batch, c.rows, c.cols, a.cols, a.ref(), b.ref(), c.out(), epilogue);
}

/// Every element of `x` equals the one `value(i, j)` gives; NaN equals nothing.
template <class F>
bool equals(const Matrix& x, F value) {
  for (i64 i = 0; i < x.rows; ++i)
    for (i64 j = 0; j < x.cols; ++j)
      if (!(x.get(i, j) == static_cast<double>(value(i, j)))) return false;
  return true;
}

/// Checks c = a * b against fp64 with the bound that gemm.h states.
void check_product(const Matrix& a, const Matrix& b, const Matrix& c) {
  const double u = unit_roundoff(kFloat), u_out = c.dtype == kDouble ? 0 : unit_roundoff(c.dtype);
  const double tiny = c.dtype == kHalf ? 0x1p-25 : 0x1p-126 * static_cast<double>(a.cols + 1);
  for (i64 m = 0; m < c.batch; ++m) {
    for (i64 i = 0; i < c.rows; ++i) {
      for (i64 j = 0; j < c.cols; ++j) {
        double exact = 0, size = 0;
        for (i64 k = 0; k < a.cols; ++k) {
          const double product = a.get(i, k, m) * b.get(k, j, m);
          exact += product;
          size += std::fabs(product);
        }
        const double error = std::fabs(c.get(i, j, m) - exact);
        const double bound =
            static_cast<double>(a.cols + 2) * u * size * (1 + u_out) + u_out * std::fabs(exact) + tiny;
        if (!(error <= bound)) {
          CAPTURE(m, i, j, exact, c.get(i, j, m), bound);
          FAIL("product out of bounds");
        }
      }
    }
  }
}

constexpr Dtype kFloats[] = {kFloat, kHalf, kBFloat16};
constexpr Matrix::Layout kLayouts[] = {Matrix::kRowMajor, Matrix::kColMajor, Matrix::kPadded,
                                       Matrix::kSparse};

}  // namespace

TEST_CASE("products of every pair of dtypes and layouts meet their bound") {
  at_every_isa([] {
    for (const Dtype da : kFloats)
      for (const Dtype db : kFloats)
        for (const Dtype dc : {kFloat, kHalf, kBFloat16, kDouble})
          for (const Matrix::Layout la : kLayouts)
            for (const Matrix::Layout lb : kLayouts) {
              INFO(dtype_name(da) << " * " << dtype_name(db) << " -> " << dtype_name(dc) << " layouts " << la
                                  << lb);
              const Matrix a = Matrix(da, 19, 37, la).fill(1), b = Matrix(db, 37, 41, lb).fill(2);
              Matrix c(dc, 19, 41, kLayouts[(la + lb) % 4]);
              multiply(a, b, c);
              check_product(a, b, c);
            }
  });
}

TEST_CASE("products of every size around the register and cache blocks meet their bound") {
  at_every_isa([] {
    for (const Dtype dtype : kFloats) {
      for (const i64 m : {1, 2, 5, 8, 13, 33})
        for (const i64 n : {1, 3, 16, 31, 32, 33, 70})
          for (const i64 k : {1, 2, 7, 16, 65}) {
            CAPTURE(dtype, m, n, k);
            const Matrix a = Matrix(dtype, m, k).fill(3), b = Matrix(dtype, k, n).fill(4);
            Matrix c(kFloat, m, n);
            multiply(a, b, c);
            check_product(a, b, c);
          }
      struct Size {
        i64 m, n, k;
      };
      for (const Size s :
           {Size{9, 40, 255}, Size{9, 40, 257}, Size{20, 9, 513}, Size{3, 5, 1100}, Size{251, 35, 70},
            Size{500, 33, 9}, Size{7, 600, 12}, Size{485, 520, 300}, Size{130, 600, 520}}) {
        CAPTURE(dtype, s.m, s.n, s.k);
        const Matrix a = Matrix(dtype, s.m, s.k).fill(5),
                     b = Matrix(dtype, s.k, s.n, Matrix::kColMajor).fill(6);
        Matrix c(dtype, s.m, s.n);
        multiply(a, b, c);
        check_product(a, b, c);
      }
    }
  });
}

TEST_CASE("a batch is each of its products") {
  at_every_isa([] {
    for (const Dtype dtype : kFloats) {
      const Matrix a = Matrix(dtype, 6, 300, Matrix::kPadded, 5).fill(7);
      const Matrix b = Matrix(dtype, 300, 20, Matrix::kColMajor, 5).fill(8);
      Matrix c(dtype, 6, 20, Matrix::kRowMajor, 5);
      multiply(a, b, c);
      check_product(a, b, c);
    }
  });
}

TEST_CASE("operands broadcast with zero strides, results fold into one product bit for bit") {
  at_every_isa([] {
    const i64 batch = 4, m = 5, n = 33, k = 70;
    const Matrix a = Matrix(kFloat, batch * m, k).fill(9), b = Matrix(kFloat, k, n).fill(10);
    Matrix folded(kFloat, batch * m, n), single(kFloat, batch * m, n), row(kFloat, batch * m, n);
    MatrixRef ra = a.ref(), rb = b.ref();
    ra.batch_stride = m * k;
    rb.batch_stride = 0;
    MutableMatrixRef rc = folded.out();
    rc.batch_stride = m * n;
    gemm().run(batch, m, n, k, ra, rb, rc, {});
    multiply(a, b, single);
    CHECK(folded.bytes == single.bytes);

    ra = a.ref();
    ra.row_stride = 0;  // every row is the first
    gemm().run(1, batch * m, n, k, ra, b.ref(), row.out(), {});
    CHECK(equals(row, [&](i64, i64 j) { return single.get(0, j); }));
  });
}

TEST_CASE("an element depends on its row, its column and k only") {
  at_every_isa([] {
    for (const Dtype dtype : kFloats) {
      const i64 m = 75, n = 90, k = 600;
      const Matrix a = Matrix(dtype, m, k).fill(11), b = Matrix(dtype, k, n).fill(12);
      Matrix whole(kFloat, m, n);
      multiply(a, b, whole);

      {  // row by row, and column by column
        Matrix row(kFloat, 1, n), column(kFloat, m, 1);
        for (i64 i = 0; i < m; ++i) {
          MatrixRef one = a.ref();
          one.data = a.bytes.data() + static_cast<std::size_t>(a.at(0, i, 0)) * element_size(dtype);
          gemm().run(1, 1, n, k, one, b.ref(), row.out(), {});
          REQUIRE(equals(row, [&](i64, i64 j) { return whole.get(i, j); }));
        }
        for (i64 j = 0; j < n; ++j) {
          MatrixRef one = b.ref();
          one.data = b.bytes.data() + static_cast<std::size_t>(b.at(0, 0, j)) * element_size(dtype);
          gemm().run(1, m, 1, k, a.ref(), one, column.out(), {});
          REQUIRE(equals(column, [&](i64 i, i64) { return whole.get(i, j); }));
        }
      }
      {  // not on layouts
        for (const Matrix::Layout la : kLayouts)
          for (const Matrix::Layout lb : kLayouts)
            for (const Matrix::Layout lc : kLayouts) {
              Matrix a2(dtype, m, k, la), b2(dtype, k, n, lb), c2(kFloat, m, n, lc);
              for (i64 i = 0; i < m; ++i)
                for (i64 j = 0; j < k; ++j) a2.set(i, j, a.get(i, j));
              for (i64 i = 0; i < k; ++i)
                for (i64 j = 0; j < n; ++j) b2.set(i, j, b.get(i, j));
              multiply(a2, b2, c2);
              REQUIRE(equals(c2, [&](i64 i, i64 j) { return whole.get(i, j); }));
            }
      }
      {  // not on threads
        const int before = get_num_threads();
        for (const int threads : {1, 2, 3, 7}) {
          set_num_threads(threads);
          Matrix other(kFloat, m, n);
          multiply(a, b, other);
          CHECK(other.bytes == whole.bytes);
        }
        set_num_threads(before);
      }
      {  // not on the epilogue's presence: the output is the rounded fp32 result
        for (const Dtype out : {kHalf, kBFloat16}) {
          Matrix rounded(out, m, n), expected(out, m, n);
          multiply(a, b, rounded);
          for (i64 i = 0; i < m; ++i)
            for (i64 j = 0; j < n; ++j) expected.set(i, j, whole.get(i, j));
          CHECK(rounded.bytes == expected.bytes);
        }
      }
    }
  });
}

TEST_CASE("the epilogue scales, adds, biases and activates in fp32, then rounds once") {
  at_every_isa([] {
    for (const Dtype dtype : kFloats)
      for (const Dtype other : kFloats)
        for (const i64 k : {0, 40, 700})
          for (const i64 n : {10, 45})
            for (const Matrix::Layout layout : kLayouts) {
              CAPTURE(dtype, other, k, n, layout);
              const i64 m = 37;
              const Matrix a = Matrix(dtype, m, k).fill(13), b = Matrix(dtype, k, n).fill(14);
              const Matrix bias = Matrix(other, 1, n).fill(15), addend = Matrix(other, m, n, layout).fill(16);
              Matrix product(kFloat, m, n), c(dtype, m, n, layout), expected(dtype, m, n, layout);
              multiply(a, b, product);
              Epilogue e;
              e.alpha = 0.5;
              e.beta = -2;
              e.addend = addend.ref();
              e.bias = bias.bytes.data();
              e.bias_dtype = other;
              e.activation = Activation::kRelu;
              multiply(a, b, c, e);
              for (i64 i = 0; i < m; ++i) {
                for (i64 j = 0; j < n; ++j) {  // powers of two: only the two additions round
                  const float scaled = static_cast<float>(product.get(i, j)) * 0.5f;
                  const float sum = scaled + -2.0f * static_cast<float>(addend.get(i, j));
                  const float value = sum + static_cast<float>(bias.get(0, j));
                  expected.set(i, j, value < 0 ? 0.0f : value);
                }
              }
              REQUIRE(c.bytes == expected.bytes);
            }
  });
}

TEST_CASE("an activation reads the unrounded sum, which comes out rounded as well") {
  for (const Dtype dtype : kFloats)
    for (const Matrix::Layout layout : kLayouts)
      for (const Activation activation : {Activation::kGeluTanh, Activation::kRelu, Activation::kNone}) {
        CAPTURE(dtype, layout, static_cast<int>(activation));
        const i64 m = 11, n = 21, k = 30, batch = 2;
        const Matrix a = Matrix(dtype, m, k, layout, batch).fill(21);
        const Matrix b = Matrix(dtype, k, n, layout, batch).fill(22);
        Matrix product(kFloat, m, n, layout, batch), c(dtype, m, n, layout, batch), before = c;
        multiply(a, b, product);
        Epilogue e;
        e.activation = activation;
        e.before_activation = before.bytes.data();
        multiply(a, b, c, e);
        Matrix alone(dtype, m, n, layout, batch);
        e.before_activation = nullptr;
        multiply(a, b, alone, e);
        CHECK(c.bytes == alone.bytes);
        for (i64 matrix = 0; matrix < batch; ++matrix)
          for (i64 i = 0; i < m; ++i)
            for (i64 j = 0; j < n; ++j) {
              const double x = product.get(i, j, matrix);
              const double slope = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
              const double y = activation == Activation::kGeluTanh ? 0.5 * x * (1 + std::tanh(slope))
                               : activation == Activation::kRelu   ? std::fmax(x, 0)
                                                                   : x;
              REQUIRE(std::fabs(before.get(i, j, matrix) - x) <= unit_roundoff(dtype) * std::fabs(x));
              REQUIRE(std::fabs(c.get(i, j, matrix) - y) <=
                      (unit_roundoff(dtype) + 4e-7) * std::fabs(y) + 0x1p-25);
            }
      }
}

TEST_CASE("the sums of A's rows come with the product") {
  for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble})
    for (const Dtype sums_dtype : {dtype, kFloat})
      for (const Matrix::Layout layout : kLayouts)
        for (const i64 k : {0, 1, 700})
          for (const i64 n : {0, 13}) {
            CAPTURE(dtype, sums_dtype, layout, k, n);
            const i64 m = 9;
            const Matrix a = Matrix(dtype, m, k, layout).fill(23), b = Matrix(dtype, k, n).fill(24);
            Matrix c(dtype, m, n), alone(dtype, m, n), sums(sums_dtype, 1, m);
            for (i64 i = 0; i < m; ++i) sums.set(0, i, kNaN);
            Epilogue e;
            e.row_sums = sums.bytes.data();
            e.row_sums_dtype = sums_dtype;
            multiply(a, b, c, e);
            multiply(a, b, alone);
            CHECK(c.bytes == alone.bytes);
            for (i64 i = 0; i < m; ++i) {
              double exact = 0, size = 0;
              for (i64 l = 0; l < k; ++l) exact += a.get(i, l), size += std::fabs(a.get(i, l));
              REQUIRE(std::fabs(sums.get(0, i) - exact) <=
                      unit_roundoff(sums_dtype) * std::fabs(exact) + 1e-6 * size);
            }
          }
}

TEST_CASE("the addend may be the result itself, and is not read when beta is zero") {
  at_every_isa([] {
    for (const i64 k : {30, 600}) {
      const Matrix a = Matrix(kFloat, 20, k).fill(17), b = Matrix(kFloat, k, 40).fill(18);
      Matrix product(kFloat, 20, 40), c = Matrix(kFloat, 20, 40).fill(19);
      const Matrix start = c;
      multiply(a, b, product);
      Epilogue e;
      e.beta = 1;
      e.addend = c.ref();
      multiply(a, b, c, e);
      CHECK(equals(c, [&](i64 i, i64 j) {
        return static_cast<float>(start.get(i, j)) + static_cast<float>(product.get(i, j));
      }));
      for (i64 i = 0; i < 20; ++i)
        for (i64 j = 0; j < 40; ++j) c.set(i, j, kNaN);
      e.beta = 0;
      multiply(a, b, c, e);
      CHECK(c.bytes == product.bytes);
    }
  });
}

TEST_CASE("NaN and infinities propagate through products") {
  at_every_isa([] {
    for (const Dtype dtype : kFloats) {
      Matrix a(dtype, 9, 35), b(dtype, 35, 34), c(dtype, 9, 34);
      for (i64 i = 0; i < 9; ++i)
        for (i64 k = 0; k < 35; ++k) a.set(i, k, 1);
      a.set(2, 34, 0);  // 0 * inf
      b.set(34, 33, kInf);
      a.set(4, 0, kNaN);
      b.set(1, 5, -kInf);
      b.set(2, 5, kInf);  // inf - inf
      multiply(a, b, c);
      for (i64 j = 0; j < 34; ++j) CHECK(std::isnan(c.get(4, j)));
      for (i64 i = 0; i < 9; ++i) CHECK(std::isnan(c.get(i, 5)));
      CHECK(std::isnan(c.get(2, 33)));
      CHECK(c.get(0, 33) == kInf);
      CHECK(c.get(0, 0) == 0);
    }
  });
}

TEST_CASE("sums beyond a half's range are formed in fp32") {
  at_every_isa([] {
    Matrix a(kHalf, 1, 4), b(kHalf, 4, 1), c(kHalf, 1, 1);
    const double left[] = {60000, 60000, -60000, -60000};
    for (i64 k = 0; k < 4; ++k) a.set(0, k, left[k]), b.set(k, 0, k == 0 ? 2 : 1);
    multiply(a, b, c);
    CHECK(c.get(0, 0) == 60000);
    b.set(1, 0, 2);
    multiply(a, b, c);
    CHECK(c.get(0, 0) == kInf);  // 120000 rounds to infinity once, at the end
  });
}

TEST_CASE("subnormals are exact, except in products of two bfloat16 on AVX512-BF16 and AMX") {
  at_every_isa([] {
    const double tiny = 0x1p-130;
    Matrix a(kBFloat16, 1, 1), b(kBFloat16, 1, 1), c(kFloat, 1, 1), wide(kFloat, 1, 1);
    a.set(0, 0, tiny);
    b.set(0, 0, 1);
    wide.set(0, 0, 1);
    multiply(a, wide, c);
    CHECK(c.get(0, 0) == tiny);
    multiply(a, b, c);
    CHECK(c.get(0, 0) == (cpu::current_isa() >= cpu::Isa::kAvx512Bf16 ? 0.0 : tiny));
  });
}

TEST_CASE("empty products") {
  const Matrix a(kFloat, 3, 0), b(kFloat, 0, 4);
  Matrix c = Matrix(kFloat, 3, 4).fill(20);
  multiply(a, b, c);
  for (i64 i = 0; i < 3; ++i)
    for (i64 j = 0; j < 4; ++j) CHECK(c.get(i, j) == 0);
  gemm().run(0, 3, 4, 5, {}, {}, {}, {});
  gemm().run(1, 0, 4, 5, {}, {}, {}, {});
  gemm().run(1, 3, 0, 5, {}, {}, {}, {});
}

TEST_CASE("float64 products accumulate in fp64, whatever the layout") {
  for (const Dtype db : {kDouble, kFloat, kHalf})
    for (const Matrix::Layout la : kLayouts)
      for (const Matrix::Layout lb : kLayouts) {
        const Matrix a = Matrix(kDouble, 13, 57, la, 2).fill(21), b = Matrix(db, 57, 11, lb, 2).fill(22);
        Matrix c(kDouble, 13, 11, la, 2);
        multiply(a, b, c);
        for (i64 m = 0; m < 2; ++m)
          for (i64 i = 0; i < 13; ++i)
            for (i64 j = 0; j < 11; ++j) {
              double exact = 0;
              for (i64 k = 0; k < 57; ++k) exact += a.get(i, k, m) * b.get(k, j, m);
              REQUIRE(c.get(i, j, m) == Approx(exact).epsilon(1e-13).margin(1e-14));
            }
      }
}

TEST_CASE("float64 operands broadcast with zero strides") {
  for (const i64 m : {1, 6})
    for (const i64 n : {1, 9}) {
      CAPTURE(m, n);
      const Matrix a = Matrix(kDouble, m, 20).fill(25), b = Matrix(kDouble, 20, n).fill(26);
      for (const bool rows : {false, true})
        for (const bool left : {false, true}) {
          MatrixRef ra = a.ref(), rb = b.ref();
          MatrixRef& repeated = left ? ra : rb;
          (rows ? repeated.row_stride : repeated.col_stride) = 0;
          Matrix c(kDouble, m, n);
          gemm().run(1, m, n, 20, ra, rb, c.out(), {});
          const auto at = [](const MatrixRef& x, i64 i, i64 j) {
            return static_cast<const double*>(x.data)[i * x.row_stride + j * x.col_stride];
          };
          for (i64 i = 0; i < m; ++i)
            for (i64 j = 0; j < n; ++j) {
              double exact = 0;
              for (i64 k = 0; k < 20; ++k) exact += at(ra, i, k) * at(rb, k, j);
              CHECK(c.get(i, j) == Approx(exact).epsilon(1e-13).margin(1e-14));
            }
        }
    }
}

TEST_CASE("integer products are exact and wrap") {
  for (const Dtype dtype : {kLong, kInt}) {
    const Matrix a = Matrix(dtype, 5, 30).fill(23), b = Matrix(dtype, 30, 7, Matrix::kColMajor).fill(24);
    Matrix c(dtype, 5, 7), zero(dtype, 5, 7);
    multiply(a, b, c);
    for (i64 i = 0; i < 5; ++i)
      for (i64 j = 0; j < 7; ++j) {
        double exact = 0;
        for (i64 k = 0; k < 30; ++k) exact += a.get(i, k) * b.get(k, j);
        CHECK(c.get(i, j) == exact);
      }
  }
}

TEST_CASE("what a product cannot do is refused by name") {
  const Matrix f(kFloat, 2, 2), l(kLong, 2, 2);
  Matrix cf(kFloat, 2, 2), cl(kLong, 2, 2);
  CHECK_THROWS_AS(multiply(f, l, cf), Error);
  CHECK_THROWS_AS(multiply(f, f, cl), Error);
  CHECK_THROWS_AS(gemm().run(1, 2, 2, -1, f.ref(), f.ref(), cf.out(), {}), Error);
  CHECK_THROWS_AS(gemm().run(1, 2, 2, 2, MatrixRef{}, f.ref(), cf.out(), {}), Error);
  Epilogue e;
  e.beta = 1;
  CHECK_THROWS_AS(multiply(f, f, cf, e), Error);

  Epilogue gelu, sums;
  gelu.activation = Activation::kGeluTanh;
  CHECK_THROWS_AS(multiply(l, l, cl, gelu), Error);
  sums.row_sums = cf.bytes.data();
  CHECK_THROWS_AS(gemm().run(2, 1, 1, 1, f.ref(), f.ref(), cf.out(), sums), Error);
  CHECK_THROWS_AS(multiply(l, l, cl, sums), Error);
}
