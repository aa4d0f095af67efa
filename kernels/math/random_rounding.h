#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "halftone/engine/half.h"
#include "halftone/engine/host_device.h"

namespace halftone {

/// x rounded without bias to T (Half or BFloat16): the neighbour on the other side of x than the nearest
/// value is taken with the probability of its nearness. `uniform` is on [0, 1).
template <class T>
HALFTONE_HD T round_at_random(float x, float uniform) {
  const T nearest(x);
  const float back = static_cast<float>(nearest);
  if (back == x || !std::isfinite(back)) return nearest;
  const bool outward = std::fabs(x) > std::fabs(back);
  const T other = T::from_bits(static_cast<std::uint16_t>(outward ? nearest.bits + 1 : nearest.bits - 1));
  const float probability = (x - back) / (static_cast<float>(other) - back);
  return uniform < probability ? other : nearest;
}

}  // namespace halftone
