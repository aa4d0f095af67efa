#pragma once

// What the arithmetic units of this machine give: independent chains of multiply-adds that keep every unit
// busy and do nothing else, at the instruction set that the kernels use (see HALFTONE_ISA).

#include "halftone/bench/support/measure.h"
#include "halftone/kernels/cpu/isa.h"

namespace halftone::bench {

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

inline void multiply_add_avx512(long n) {
  asm volatile("1:\n" HALFTONE_CHAINS_12("vfmadd231ps", "zmm") "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
inline void multiply_add_bf16(long n) {
  asm volatile("1:\n" HALFTONE_CHAINS_12("vdpbf16ps", "zmm") "dec %0\njnz 1b\n" : "+r"(n)::HALFTONE_CLOBBERS);
}
inline void multiply_add_avx2(long n) {
  asm volatile("1:\n" HALFTONE_CHAINS_12("vfmadd231ps", "ymm") "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
inline void multiply_add_sse(long n) {  // a multiplication and an addition for every step
  asm volatile(
      "1:\nmulps %%xmm14,%%xmm0\naddps %%xmm15,%%xmm1\nmulps %%xmm14,%%xmm2\naddps %%xmm15,%%xmm3\n"
      "mulps %%xmm14,%%xmm4\naddps %%xmm15,%%xmm5\nmulps %%xmm14,%%xmm6\naddps %%xmm15,%%xmm7\n"
      "mulps %%xmm14,%%xmm8\naddps %%xmm15,%%xmm9\nmulps %%xmm14,%%xmm10\naddps %%xmm15,%%xmm11\n"
      "dec %0\njnz 1b\n"
      : "+r"(n)::HALFTONE_CLOBBERS);
}
#undef HALFTONE_CHAINS_8
#undef HALFTONE_CHAINS_12
#undef HALFTONE_CLOBBERS

/// A loop of multiply-adds. The registers are not set: what they hold does not change the time.
struct MultiplyAdd {
  void (*loop)(long turns);
  double flops;  // per turn

  /// Flops done per second by all threads that kernels may use, in one sample of some `turns`.
  double sample(long turns = 100000) const {
    const int threads = get_num_threads();
    const double start = now();
    parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) loop(turns);
    });
    return threads * static_cast<double>(turns) * flops / (now() - start);
  }
  /// The median of several samples.
  double measure() const {
    std::vector<double> samples(15);
    for (double& s : samples) s = sample();
    std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
    return samples[7];
  }
};

/// The unit that products of float32 (and of float16, which is widened) run on.
inline MultiplyAdd fp32_unit() {
  const cpu::Isa isa = cpu::current_isa();
  if (isa == cpu::Isa::kAvx512 || isa == cpu::Isa::kAvx512Bf16) return {multiply_add_avx512, 12 * 32};
  if (isa == cpu::Isa::kAvx2) return {multiply_add_avx2, 12 * 16};
  return {multiply_add_sse, 12 * 4};
}
/// The unit that products of bfloat16 with bfloat16 run on.
inline MultiplyAdd bf16_unit() {
  return cpu::current_isa() == cpu::Isa::kAvx512Bf16 ? MultiplyAdd{multiply_add_bf16, 12 * 64} : fp32_unit();
}

}  // namespace halftone::bench
