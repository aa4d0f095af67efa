#pragma once

// What the arithmetic units of this machine give: independent chains of multiply-adds that keep every unit
// busy and do nothing else, at the instruction set that the kernels use (see HALFTONE_ISA).

#include <cstdint>

#include "halftone/bench/support/clock.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/isa.h"

namespace halftone::bench {

// Zeros: on some processors subnormal numbers, such as a register may hold by chance, take a hundred times as
// long.
#define HALFTONE_ZERO_AVX                                                                         \
  "vxorps %%xmm0,%%xmm0,%%xmm0\nvxorps %%xmm1,%%xmm1,%%xmm1\nvxorps %%xmm2,%%xmm2,%%xmm2\n"       \
  "vxorps %%xmm3,%%xmm3,%%xmm3\nvxorps %%xmm4,%%xmm4,%%xmm4\nvxorps %%xmm5,%%xmm5,%%xmm5\n"       \
  "vxorps %%xmm6,%%xmm6,%%xmm6\nvxorps %%xmm7,%%xmm7,%%xmm7\nvxorps %%xmm8,%%xmm8,%%xmm8\n"       \
  "vxorps %%xmm9,%%xmm9,%%xmm9\nvxorps %%xmm10,%%xmm10,%%xmm10\nvxorps %%xmm11,%%xmm11,%%xmm11\n" \
  "vxorps %%xmm14,%%xmm14,%%xmm14\nvxorps %%xmm15,%%xmm15,%%xmm15\n"
#define HALFTONE_ZERO_SSE                                                                    \
  "xorps %%xmm0,%%xmm0\nxorps %%xmm1,%%xmm1\nxorps %%xmm2,%%xmm2\nxorps %%xmm3,%%xmm3\n"     \
  "xorps %%xmm4,%%xmm4\nxorps %%xmm5,%%xmm5\nxorps %%xmm6,%%xmm6\nxorps %%xmm7,%%xmm7\n"     \
  "xorps %%xmm8,%%xmm8\nxorps %%xmm9,%%xmm9\nxorps %%xmm10,%%xmm10\nxorps %%xmm11,%%xmm11\n" \
  "xorps %%xmm14,%%xmm14\nxorps %%xmm15,%%xmm15\n"
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
  asm volatile(HALFTONE_ZERO_AVX "1:\n" HALFTONE_CHAINS_12("vfmadd231ps", "zmm") "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
inline void multiply_add_bf16(long n) {
  asm volatile(HALFTONE_ZERO_AVX "1:\n" HALFTONE_CHAINS_12("vdpbf16ps", "zmm") "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
inline void multiply_add_tiles(long n) {  // AMX: eight tiles of 16 rows of 64 bytes
  struct {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const config;
  asm volatile(
      "ldtilecfg %1\n1:\n"
      "tdpbf16ps %%tmm6,%%tmm4,%%tmm0\ntdpbf16ps %%tmm7,%%tmm4,%%tmm1\n"
      "tdpbf16ps %%tmm6,%%tmm5,%%tmm2\ntdpbf16ps %%tmm7,%%tmm5,%%tmm3\n"
      "dec %0\njnz 1b\ntilerelease\n"
      : "+r"(n)
      : "m"(config)
      : "cc");
}
inline void multiply_add_avx2(long n) {
  asm volatile(HALFTONE_ZERO_AVX "1:\n" HALFTONE_CHAINS_12("vfmadd231ps", "ymm") "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
inline void multiply_add_sse(long n) {  // a multiplication and an addition for every step
  asm volatile(HALFTONE_ZERO_SSE
               "1:\nmulps %%xmm14,%%xmm0\naddps %%xmm15,%%xmm1\nmulps %%xmm14,%%xmm2\naddps %%xmm15,%%xmm3\n"
               "mulps %%xmm14,%%xmm4\naddps %%xmm15,%%xmm5\nmulps %%xmm14,%%xmm6\naddps %%xmm15,%%xmm7\n"
               "mulps %%xmm14,%%xmm8\naddps %%xmm15,%%xmm9\nmulps %%xmm14,%%xmm10\naddps %%xmm15,%%xmm11\n"
               "dec %0\njnz 1b\n"
               : "+r"(n)::HALFTONE_CLOBBERS);
}
#undef HALFTONE_ZERO_AVX
#undef HALFTONE_ZERO_SSE
#undef HALFTONE_CHAINS_8
#undef HALFTONE_CHAINS_12
#undef HALFTONE_CLOBBERS

/// A loop of multiply-adds.
struct MultiplyAdd {
  void (*loop)(long turns);
  double flops;  // per turn

  /// Some turns on every thread that kernels may use. Returns the flops done.
  double run(long turns = 100000) const {
    const int threads = get_num_threads();
    parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) loop(turns);
    });
    return threads * static_cast<double>(turns) * flops;
  }
  /// Flops per second in one sample.
  double sample() const {
    const double start = now();
    const double done = run();
    return done / (now() - start);
  }
};

/// The unit that products of float32 (and of float16, which is widened) run on.
inline MultiplyAdd fp32_unit() {
  const cpu::Isa isa = cpu::current_isa();
  if (isa >= cpu::Isa::kAvx512) return {multiply_add_avx512, 12 * 32};
  if (isa == cpu::Isa::kAvx2) return {multiply_add_avx2, 12 * 16};
  return {multiply_add_sse, 12 * 4};
}
/// The unit that products of bfloat16 with bfloat16 run on.
inline MultiplyAdd bf16_unit() {
  const cpu::Isa isa = cpu::current_isa();
  if (isa == cpu::Isa::kAmx) return {multiply_add_tiles, 4 * 16 * 16 * 64};
  return isa == cpu::Isa::kAvx512Bf16 ? MultiplyAdd{multiply_add_bf16, 12 * 64} : fp32_unit();
}

}  // namespace halftone::bench
