// All pointwise functors: `HALFTONE_POINTWISE_FUNCTORS(X)` calls X(Name) for each. A functor is one formula,
// generic in the vector type V: F32 in the CPU kernels, double in their scalar loop, float or double on a
// device, and I64 for integers where it says `kIntegers`. It takes its tensor operands first to last; scalar
// arguments come from Params in its constructor. To add one: the struct and one word in the list of the same
// header.
//
// The lists stand alone; the bodies are pasted into each ISA namespace (no include guard) where
// HALFTONE_FUNCTOR_BODIES is defined, and for float and double alone where HALFTONE_SCALAR_FUNCTORS is too.

#ifdef HALFTONE_FUNCTOR_BODIES
#include "halftone/kernels/math/scalar.h"
#ifndef HALFTONE_SCALAR_FUNCTORS
#include "halftone/kernels/math/elementary.h"
#endif
#endif

#include "halftone/kernels/math/unary.h"  // first: the others use Sign

#include "halftone/kernels/math/activation.h"
#include "halftone/kernels/math/arith.h"
#include "halftone/kernels/math/compare.h"
#include "halftone/kernels/math/loss.h"
#include "halftone/kernels/math/recurrent.h"
#include "halftone/kernels/math/special.h"
#include "halftone/kernels/math/unary_backward.h"

#define HALFTONE_POINTWISE_FUNCTORS(X) \
  HALFTONE_ARITH_FUNCTORS(X)           \
  HALFTONE_UNARY_FUNCTORS(X)           \
  HALFTONE_UNARY_BACKWARD_FUNCTORS(X)  \
  HALFTONE_ACTIVATION_FUNCTORS(X)      \
  HALFTONE_COMPARE_FUNCTORS(X)         \
  HALFTONE_LOSS_FUNCTORS(X)            \
  HALFTONE_SPECIAL_FUNCTORS(X)         \
  HALFTONE_RECURRENT_FUNCTORS(X)
