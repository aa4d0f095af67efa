// How fast products are, in GFLOP/s and in percent of what this machine's arithmetic units can do, which is
// measured first (at the instruction set in use: see HALFTONE_ISA). Every product is checked against fp64
// before it is timed.
//
//   bench_gemm [threads]
//
// One line per size and dtype: median of the samples during which the kernel did not preempt this process,
// and their spread. `NT` multiplies by a transposed matrix, as a linear layer does.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "halftone/bench/support/ceiling.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"

namespace {

using namespace halftone;
using i64 = std::int64_t;

struct Ceilings {
  double fp32, bf16;  // GFLOP/s of the threads that kernels may use
};

// Products
// ------------------------------------------------------------------------------------------------------

std::vector<unsigned char> random_matrix(Dtype dtype, i64 count, unsigned seed, std::vector<double>& values) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * element_size(dtype));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (i64 i = 0; i < count; ++i) {
    dispatch_all(dtype, [&]<class T>() {
      T& x = reinterpret_cast<T*>(bytes.data())[i];
      x = static_cast<T>(uniform(random));
      values.push_back(static_cast<double>(x));
    });
  }
  return bytes;
}

struct Size {
  i64 m, k, n;
};

bool measure_size(Dtype dtype, const Size& s, bool transposed, double limit) {
  std::vector<double> a_values, b_values;
  const std::vector<unsigned char> a = random_matrix(dtype, s.m * s.k, 1, a_values);
  const std::vector<unsigned char> b = random_matrix(dtype, s.k * s.n, 2, b_values);
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
  const MatrixRef a_ref{a.data(), dtype, s.k, 1, 0};
  const MatrixRef b_ref{b.data(), dtype, transposed ? 1 : s.n, transposed ? s.k : 1, 0};
  const MutableMatrixRef c_ref{c.data(), kFloat, s.n, 1, 0};
  const GemmKernels& kernels = cpu_kernels<GemmKernels>();
  const auto run = [&] { kernels.run(1, s.m, s.n, s.k, a_ref, b_ref, c_ref, {}); };

  run();
  double worst = 0;  // error in units of the bound that kernels/gemm.h states
  for (i64 i = 0; i < s.m; i += std::max<i64>(1, s.m / 5)) {
    for (i64 j = 0; j < s.n; ++j) {
      double exact = 0, sum = 0;
      for (i64 k = 0; k < s.k; ++k) {
        const double product =
            a_values[static_cast<std::size_t>(i * s.k + k)] *
            b_values[static_cast<std::size_t>(k * b_ref.row_stride + j * b_ref.col_stride)];
        exact += product;
        sum += std::fabs(product);
      }
      const double bound = static_cast<double>(s.k + 2) * 0x1p-24 * sum + 0x1p-24 * std::fabs(exact);
      const double error = std::fabs(static_cast<double>(c[static_cast<std::size_t>(i * s.n + j)]) - exact);
      worst = std::max(worst, std::isnan(error) ? INFINITY : error / bound);
    }
  }
  if (worst > 1) {
    std::printf("%-9s %s %ldx%ldx%ld WRONG: error is %.3g times the bound\n", dtype_name(dtype),
                transposed ? "NT" : "NN", long(s.m), long(s.k), long(s.n), worst);
    return false;
  }

  const bench::Timing t = bench::measure(run);
  const double gflop = 2e-9 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  std::printf("%-9s %s %5ldx%4ldx%4ld %9.1f %8.1f .. %-8.1f %5.1f %%\n", dtype_name(dtype),
              transposed ? "NT" : "NN", long(s.m), long(s.k), long(s.n), gflop / t.median, gflop / t.high,
              gflop / t.low, 100 * gflop / t.median / limit);
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  set_num_threads(threads);
  const Ceilings limits{1e-9 * bench::fp32_unit().measure(), 1e-9 * bench::bf16_unit().measure()};
  std::printf("%s, %d thread(s); ceiling: fp32 %.1f GFLOP/s, bf16 * bf16 %.1f GFLOP/s\n",
              cpu::isa_name(cpu::current_isa()), threads, limits.fp32, limits.bf16);
  std::printf("type         m x  k x  n     GFLOP/s      low .. high     of ceiling\n");
  const Size sizes[] = {{64, 64, 64},       {128, 128, 128}, {256, 256, 256}, {512, 512, 512},
                        {1024, 1024, 1024}, {128, 784, 512}, {128, 512, 10},  {1, 512, 512}};
  bool right = true;
  for (const Dtype dtype : {kFloat, kBFloat16, kHalf})
    for (const bool transposed : {false, true})
      for (const Size& s : sizes)
        right &= measure_size(dtype, s, transposed, dtype == kBFloat16 ? limits.bf16 : limits.fp32);
  return right ? 0 : 1;
}
