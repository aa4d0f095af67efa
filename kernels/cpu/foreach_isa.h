// Compiles one body of CPU kernels once per instruction set. A family file X.cpp includes every header it
// needs, <immintrin.h> among them, and then
//
//   #define HALFTONE_ISA_BODY "halftone/kernels/cpu/X.inc"
//   #include "halftone/kernels/cpu/foreach_isa.h"
//
// after which X.inc exists as halftone::cpu::{baseline,avx2,avx512}::..., as avx512_bf16 too if the file has
// defined HALFTONE_ISA_WANT_BF16, and as amx if it has defined HALFTONE_ISA_WANT_AMX; `pick` (isa.h) chooses.
// No -m flag is used anywhere: only what stands between the markers below is compiled for the wider set, so
// that no inline function of a library header can take it.
//
// Rules for a body: it is pasted into a namespace, so it has no #include and opens no namespace; no lambda
// (g++ gives its invoker the baseline target) and no standard library template; helpers are HALFTONE_INLINE
// or static. It may ask HALFTONE_ISA_LEVEL: 0 baseline, 1 avx2, 2 avx512, 3 avx512_bf16,
// 4 amx.
//
// No include guard: each use compiles another body.

#ifndef HALFTONE_ISA_BODY
#error "define HALFTONE_ISA_BODY before including foreach_isa.h"
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // g++ 12's own AVX-512 headers start their pass-through
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // operands from undefined values
#endif

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "halftone/engine/half.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/cpu/lane_calls.h"
#include "halftone/kernels/params.h"

#ifndef HALFTONE_INLINE
#define HALFTONE_INLINE inline __attribute__((always_inline))
#endif
#define HALFTONE_FUNCTOR_BODIES  // the headers of kernels/math define their functors

// Baseline --------------------------------------------------------------------------------------------
#define HALFTONE_ISA_LEVEL 0
namespace halftone::cpu::baseline {
#include "halftone/kernels/cpu/vec.inc"
#include "halftone/kernels/math/pointwise_functors.h"
#include HALFTONE_ISA_BODY
}  // namespace halftone::cpu::baseline
#undef HALFTONE_ISA_LEVEL

// AVX2 ------------------------------------------------------------------------------------------------
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#define HALFTONE_ISA_LEVEL 1
namespace halftone::cpu::avx2 {
#include "halftone/kernels/cpu/vec.inc"
#include "halftone/kernels/math/pointwise_functors.h"
#include HALFTONE_ISA_BODY
}  // namespace halftone::cpu::avx2
#undef HALFTONE_ISA_LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

// AVX-512 ---------------------------------------------------------------------------------------------
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,prefer-vector-width=512")
#endif
#define HALFTONE_ISA_LEVEL 2
namespace halftone::cpu::avx512 {
#include "halftone/kernels/cpu/vec.inc"
#include "halftone/kernels/math/pointwise_functors.h"
#include HALFTONE_ISA_BODY
}  // namespace halftone::cpu::avx512
#undef HALFTONE_ISA_LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

// AVX-512 with bfloat16 dot products ------------------------------------------------------------------
#ifdef HALFTONE_ISA_WANT_BF16
#if defined(__clang__)
#pragma clang attribute push(                                                               \
    __attribute__((target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,prefer-vector-width=512")
#endif
#define HALFTONE_ISA_LEVEL 3
namespace halftone::cpu::avx512_bf16 {
#include "halftone/kernels/cpu/vec.inc"
#include "halftone/kernels/math/pointwise_functors.h"
#include HALFTONE_ISA_BODY
}  // namespace halftone::cpu::avx512_bf16
#undef HALFTONE_ISA_LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // HALFTONE_ISA_WANT_BF16

// AMX: tiles of bfloat16 ------------------------------------------------------------------------------
#ifdef HALFTONE_ISA_WANT_AMX
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((                                                                                \
        target("amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target( \
    "amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,prefer-vector-width=512")
#endif
#define HALFTONE_ISA_LEVEL 4
namespace halftone::cpu::amx {
#include "halftone/kernels/cpu/vec.inc"
#include "halftone/kernels/math/pointwise_functors.h"
#include HALFTONE_ISA_BODY
}  // namespace halftone::cpu::amx
#undef HALFTONE_ISA_LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // HALFTONE_ISA_WANT_AMX

#undef HALFTONE_FUNCTOR_BODIES
#undef HALFTONE_ISA_BODY
