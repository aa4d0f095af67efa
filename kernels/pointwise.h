#pragma once

#include <cstdint>
#include <span>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/math/pointwise_functors.h"
#include "halftone/kernels/params.h"

namespace halftone {

/// Every pointwise formula of kernels/math: Fn::kAdd, Fn::kSiluBackward, ...
enum class Fn : std::uint8_t {
#define HALFTONE_FN_ENTRY(name) k##name,
  HALFTONE_POINTWISE_FUNCTORS(HALFTONE_FN_ENTRY)
#undef HALFTONE_FN_ENTRY
};

namespace detail {
inline constexpr const char* kFnNames[] = {
#define HALFTONE_FN_NAME(name) #name,
    HALFTONE_POINTWISE_FUNCTORS(HALFTONE_FN_NAME)
#undef HALFTONE_FN_NAME
};
}  // namespace detail

/// Number of formulas; Fn values are 0 .. kFnCount - 1.
inline constexpr int kFnCount = static_cast<int>(std::size(detail::kFnNames));
static_assert(kFnCount < 256);

/// "Add", "SiluBackward", ...
constexpr const char* fn_name(Fn fn) { return detail::kFnNames[static_cast<int>(fn)]; }

/// Most tensor operands a formula has.
inline constexpr int kMaxFnOperands = 4;

/// Kernels that compute every element of the output from the elements at the same place of the inputs.
struct PointwiseKernels {
  /// out[i] = fn(in[0][i], in[1][i], ...). The inputs broadcast to the sizes of `out`; every tensor has any
  /// dtype and any strides. Computed in double if `out` or an input (other than a wrapped number) is float64;
  /// in int64 if all are integers or bool and the formula has an integer form; else in float. Rounded once to
  /// the dtype of `out`. `out` may be one of the inputs (with the same geometry) but must not otherwise
  /// overlap them. Throws Error on a wrong number of operands, shapes that do not broadcast, and dtypes the
  /// formula lacks.
  void (*run)(Fn fn, const Tensor& out, std::span<const Tensor* const> in, const Params& params);
  /// Number of tensor operands of a formula.
  int (*operands)(Fn fn);
};

template <>
const PointwiseKernels& cpu_kernels<PointwiseKernels>();

}  // namespace halftone
