#pragma once

namespace halftone {

/// The scalar arguments of a kernel: a slope, the bounds of a clamp, ... What each slot means is said where
/// the functor or the reduction is declared. Slots that are not used are zero.
struct Params {
  double p[4] = {0, 0, 0, 0};
};

}  // namespace halftone
