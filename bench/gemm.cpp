// How fast products are, in GFLOP/s and in percent of what this machine's arithmetic units can do, which is
// measured first (at the instruction set in use: see HALFTONE_ISA). Every product is checked against fp64
// before it is timed.
//
//   bench_gemm [threads]
//
// One line per size and dtype: median of the samples during which the kernel did not preempt this process,
// and their spread. `NT` multiplies by a transposed matrix, as a linear layer does.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"

namespace {

using namespace halftone;
using i64 = std::int64_t;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

long preemptions() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

struct Timing {
  double median, low, high;  // seconds per call
};

template <class F>
Timing measure(F f) {
  f();
  long repeats = 1;
  for (double t = 0; t < 2e-3; repeats *= 2) {
    const double start = now();
    for (long i = 0; i < repeats; ++i) f();
    t = now() - start;
  }
  std::vector<double> clean, all;
  const double begin = now();
  while ((clean.size() < 15 && now() - begin < 1.0) || all.size() < 3) {
    const long before = preemptions();
    const double start = now();
    for (long i = 0; i < repeats; ++i) f();
    all.push_back((now() - start) / static_cast<double>(repeats));
    if (preemptions() == before) clean.push_back(all.back());
  }
  std::vector<double>& samples = clean.size() >= 3 ? clean : all;
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back()};
}

// Ceilings: independent chains that keep every unit busy, nothing else.
// -----------------------------------------

#define HALFTONE_CHAINS_8(op, r)                                                                           \
  op " %%" r "14,%%" r "15,%%" r "0\n" op " %%" r "14,%%" r "15,%%" r "1\n" op " %%" r "14,%%" r "15,%%" r \
     "2\n" op " %%" r "14,%%" r "15,%%" r "3\n" op " %%" r "14,%%" r "15,%%" r "4\n" op " %%" r "14,%%" r  \
     "15,%%" r "5\n" op " %%" r "14,%%" r "15,%%" r "6\n" op " %%" r "14,%%" r "15,%%" r "7\n"
#define HALFTONE_CHAINS_12(op, r)                                                                          \
  HALFTONE_CHAINS_8(op, r)                                                                                 \
  op " %%" r "14,%%" r "15,%%" r "8\n" op " %%" r "14,%%" r "15,%%" r "9\n" op " %%" r "14,%%" r "15,%%" r \
     "10\n" op " %%" r "14,%%" r "15,%%" r "11\n"
#define HALFTONE_CLOBBERS                                                                                    \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14", \
      "xmm15", "cc"

void loop_avx512(long n) {
  asm volatile("1:\n" HALFTONE_CHAINS_12("vfmadd231ps", "zmm") "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
void loop_bf16(long n) {
  asm volatile("1:\n" HALFTONE_CHAINS_12("vdpbf16ps", "zmm") "dec %0\njnz 1b\n" : "+r"(n)::HALFTONE_CLOBBERS);
}
void loop_avx2(long n) {
  asm volatile("1:\n" HALFTONE_CHAINS_12("vfmadd231ps", "ymm") "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
void loop_sse(long n) {  // a multiplication and an addition for every step
  asm volatile(
      "1:\nmulps %%xmm14,%%xmm0\naddps %%xmm15,%%xmm1\nmulps %%xmm14,%%xmm2\naddps %%xmm15,%%xmm3\n"
      "mulps %%xmm14,%%xmm4\naddps %%xmm15,%%xmm5\nmulps %%xmm14,%%xmm6\naddps %%xmm15,%%xmm7\n"
      "mulps %%xmm14,%%xmm8\naddps %%xmm15,%%xmm9\nmulps %%xmm14,%%xmm10\naddps %%xmm15,%%xmm11\n"
      "dec %0\njnz 1b\n"
      : "+r"(n)::HALFTONE_CLOBBERS);
}

/// GFLOP/s of `threads` threads that all run `loop`, which does `flops` per turn. The registers are not set:
/// what they hold does not change the time.
double ceiling(void (*loop)(long), double flops, int threads) {
  constexpr long kTurns = 200000;
  const Timing t = measure([&] {
    parallel_for(threads, 1, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) loop(kTurns);
    });
  });
  return threads * kTurns * flops / t.median / 1e9;
}

struct Ceilings {
  double fp32, bf16;
  explicit Ceilings(int threads) {
    const cpu::Isa isa = cpu::current_isa();
    const bool wide = isa == cpu::Isa::kAvx512 || isa == cpu::Isa::kAvx512Bf16;
    fp32 = wide                     ? ceiling(loop_avx512, 12 * 32, threads)
           : isa == cpu::Isa::kAvx2 ? ceiling(loop_avx2, 12 * 16, threads)
                                    : ceiling(loop_sse, 12 * 4, threads);
    bf16 = isa == cpu::Isa::kAvx512Bf16 ? ceiling(loop_bf16, 12 * 64, threads) : fp32;
  }
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

bool bench(Dtype dtype, const Size& s, bool transposed, double limit) {
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

  const Timing t = measure(run);
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
  const Ceilings limits(threads);
  std::printf("%s, %d thread(s); ceiling: fp32 %.1f GFLOP/s, bf16 * bf16 %.1f GFLOP/s\n",
              cpu::isa_name(cpu::current_isa()), threads, limits.fp32, limits.bf16);
  std::printf("type         m x  k x  n     GFLOP/s      low .. high     of ceiling\n");
  const Size sizes[] = {{64, 64, 64},       {128, 128, 128}, {256, 256, 256}, {512, 512, 512},
                        {1024, 1024, 1024}, {128, 784, 512}, {128, 512, 10},  {1, 512, 512}};
  bool right = true;
  for (const Dtype dtype : {kFloat, kBFloat16, kHalf})
    for (const bool transposed : {false, true})
      for (const Size& s : sizes)
        right &= bench(dtype, s, transposed, dtype == kBFloat16 ? limits.bf16 : limits.fp32);
  return right ? 0 : 1;
}
