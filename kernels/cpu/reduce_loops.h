#pragma once

#include <cstdint>

/// The operations of reduce.inc, those that integers have first.
#define HALFTONE_INTEGER_REDUCTIONS(X) X(Sum) X(Prod) X(Max) X(Min) X(AbsSum) X(AbsMax) X(Count) X(Any) X(All)
#define HALFTONE_REDUCTIONS(X) HALFTONE_INTEGER_REDUCTIONS(X) X(ExpSum) X(SquareSum) X(PowSum)

namespace halftone::cpu {

enum class LoopKind : std::uint8_t {
#define HALFTONE_LOOP_KIND(name) k##name,
  HALFTONE_REDUCTIONS(HALFTONE_LOOP_KIND)
#undef HALFTONE_LOOP_KIND
};

/// One operation over elements of type T: a block of one output's elements, or one row for many outputs. A is
/// the type of partial results. `shift` is a value per output that the operation wants.
template <class T, class A>
struct Loops {
  A (*block)(const T* x, std::int64_t n, T shift);
  void (*row)(T* sums, const T* x, const T* shifts, std::int64_t n);
  A (*combine)(A a, A b);
  A identity;
};

/// The part of it that is compiled per ISA.
struct FloatLoops {
  double (*block)(const float* x, std::int64_t n, float shift);
  void (*row)(float* sums, const float* x, const float* shifts, std::int64_t n);
};

/// The loops on the current ISA: (float, double), (double, double) or (int64_t, int64_t).
template <class T, class A>
Loops<T, A> reduce_loops(LoopKind kind);

/// Sum of squares of floats in double, whose `row` is null.
Loops<float, double> square_loops();

}  // namespace halftone::cpu
