#include "halftone/kernels/cpu/reduce_loops.h"

#include <cmath>

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/reduce.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {

namespace {

using baseline::I64;

// Double and integers: the same operations in plain loops. The value type of int64 memory is I64.

template <class T>
using Value = std::conditional_t<std::is_same_v<T, double>, double, I64>;

inline double raw(double x) { return x; }
inline std::int64_t raw(I64 x) { return x.v; }

template <class Op, class T>
T plain_block(const T* x, std::int64_t n, T shift) {
  using V = Value<T>;
  V total[4] = {V(Op::kIdentity), V(Op::kIdentity), V(Op::kIdentity), V(Op::kIdentity)};
  for (std::int64_t i = 0; i < n; ++i) total[i % 4] = Op::combine(total[i % 4], Op::map(V(x[i]), V(shift)));
  return raw(Op::combine(Op::combine(total[0], total[1]), Op::combine(total[2], total[3])));
}

template <class Op, class T>
void plain_row(T* sums, const T* x, const T* shifts, std::int64_t n) {
  using V = Value<T>;
  for (std::int64_t i = 0; i < n; ++i) sums[i] = raw(Op::combine(V(sums[i]), Op::map(V(x[i]), V(shifts[i]))));
}

template <class Op, class A>
A combine_partials(A a, A b) {
  return raw(Op::combine(Value<A>(a), Value<A>(b)));
}

template <class Op, class T>
Loops<T, T> plain_loops() {
  return {&plain_block<Op, T>, &plain_row<Op, T>, &combine_partials<Op, T>, raw(Value<T>(Op::kIdentity))};
}

const Loops<double, double> kDoubleLoops[] = {
#define HALFTONE_LOOPS(name) plain_loops<baseline::name##Op, double>(),
    HALFTONE_REDUCTIONS(HALFTONE_LOOPS)
#undef HALFTONE_LOOPS
};

const Loops<std::int64_t, std::int64_t> kIntegerLoops[] = {
#define HALFTONE_LOOPS(name) plain_loops<baseline::name##Op, std::int64_t>(),
    HALFTONE_INTEGER_REDUCTIONS(HALFTONE_LOOPS)
#undef HALFTONE_LOOPS
};

}  // namespace

template <>
Loops<float, double> reduce_loops(LoopKind kind) {
  const int i = static_cast<int>(kind);
  const FloatLoops& loops = pick(baseline::float_loops, avx2::float_loops, avx512::float_loops)[i];
  return {loops.block, loops.row, kDoubleLoops[i].combine, kDoubleLoops[i].identity};
}

template <>
Loops<double, double> reduce_loops(LoopKind kind) {
  return kDoubleLoops[static_cast<int>(kind)];
}

template <>
Loops<std::int64_t, std::int64_t> reduce_loops(LoopKind kind) {
  return kIntegerLoops[static_cast<int>(kind)];
}

Loops<float, double> square_loops() {
  Loops<float, double> loops = reduce_loops<float, double>(LoopKind::kSum);
  loops.block = pick(baseline::float_squares, avx2::float_squares, avx512::float_squares)->block;
  loops.row = nullptr;
  return loops;
}

}  // namespace halftone::cpu
