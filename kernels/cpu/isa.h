#pragma once

namespace halftone::cpu {

/// The levels a CPU kernel is compiled for, each a superset of the one before: plain x86-64 (SSE2);
/// AVX2 + FMA + F16C; AVX-512 F/BW/DQ/VL; the same with the bfloat16 dot products; and with AMX tiles.
enum class Isa { kBaseline, kAvx2, kAvx512, kAvx512Bf16, kAmx };

inline constexpr int kIsaCount = 5;

/// The level kernels run at: the highest the processor has, or the lower one named by the environment
/// variable HALFTONE_ISA. Read once. Throws Error if the variable names no level, or one this processor
/// lacks.
Isa current_isa();

/// The highest level this processor has.
Isa highest_isa();

/// Makes `current_isa` return `isa` from now on, in every thread. Throws Error if the processor lacks it.
void set_isa_for_testing(Isa isa);

/// "baseline", "avx2", "avx512", "avx512_bf16" or "amx": the values of HALFTONE_ISA.
const char* isa_name(Isa isa);

/// The one of the five versions that belongs to `current_isa()`.
template <class F>
F* pick(F* baseline, F* avx2, F* avx512, F* avx512_bf16, F* amx) {
  F* const table[kIsaCount] = {baseline, avx2, avx512, avx512_bf16, amx};
  return table[static_cast<int>(current_isa())];
}

/// For a family without a version of its own for AMX.
template <class F>
F* pick(F* baseline, F* avx2, F* avx512, F* avx512_bf16) {
  return pick(baseline, avx2, avx512, avx512_bf16, avx512_bf16);
}

/// For a family without a version of its own for AVX512-BF16.
template <class F>
F* pick(F* baseline, F* avx2, F* avx512) {
  return pick(baseline, avx2, avx512, avx512, avx512);
}

}  // namespace halftone::cpu
