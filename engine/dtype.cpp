#include "halftone/engine/dtype.h"

#include <cmath>
#include <limits>

namespace halftone {

const char* dtype_name(ScalarType dtype) {
  constexpr const char* names[kDtypeCount] = {"uint8",   "bool",     "int32",   "int64",
                                              "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(dtype)];
}

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (is_low_precision(a) && is_low_precision(b)) return kFloat;
  if (is_floating_point(a) || is_floating_point(b)) return a > b ? a : b;  // float beats integer
  if (a == kBool) return b;
  if (b == kBool) return a;
  return a > b ? a : b;  // uint8 < int32 < int64
}

double unit_roundoff(ScalarType dtype) {
  switch (dtype) {
    case kHalf:
      return 0x1p-11;
    case kBFloat16:
      return 0x1p-8;
    case kFloat:
      return 0x1p-24;
    case kDouble:
      return 0x1p-53;
    default:
      return 0;
  }
}

double max_value(ScalarType dtype) {
  return dispatch_all(dtype, []<class T>() { return static_cast<double>(std::numeric_limits<T>::max()); });
}

}  // namespace halftone
