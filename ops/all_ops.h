#pragma once

// The list of built-in operators. An operator not named here does not compile; one named here but not registered
// does not link. Nothing else lists operators: tests, docs, the policy table and benchmarks read the registry.

#define HALFTONE_OPERATORS(X) \
  X(ToDtype) X(Clone) X(Copy) X(Fill) \
  X(Add) \
  X(MatmulToSize) X(Mm) X(Bmm) X(Mv) X(Dot) X(Outer) X(Matmul) X(Addmm) X(Baddbmm) X(Linear)

namespace halftone::ops {

#define HALFTONE_FORWARD_DECLARE(Op) struct Op;
HALFTONE_OPERATORS(HALFTONE_FORWARD_DECLARE)
#undef HALFTONE_FORWARD_DECLARE

}  // namespace halftone::ops
