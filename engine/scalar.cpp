#include "halftone/engine/scalar.h"

#include <limits>

namespace halftone {

std::int64_t Scalar::to_long() const {
  if (!is_floating_point()) return integer_;
  using Limits = std::numeric_limits<std::int64_t>;
  if (floating_ >= 0x1p63) return Limits::max();
  if (floating_ < -0x1p63) return Limits::min();
  return floating_ == floating_ ? static_cast<std::int64_t>(floating_) : 0;
}

}  // namespace halftone
