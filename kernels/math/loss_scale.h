#pragma once

#include <cstdint>

#include "halftone/engine/host_device.h"

// How a loss scale moves. The same functions run on the host for parameters on the CPU and in a kernel of one
// thread for parameters on a CUDA device, where the host does not know the numbers.
namespace halftone {

/// What dynamic loss scaling remembers, in the memory of the parameters' device.
struct LossScaleState {
  float scale = 1;
  std::uint32_t overflowed = 0;      ///< this iteration: a gradient was infinite or NaN
  std::uint32_t clean = 0;           ///< this iteration: a step was made on its gradients
  std::uint32_t loss_nonfinite = 0;  ///< this iteration: a loss was infinite or NaN before scaling
  std::int64_t growth_tracker = 0;   ///< clean iterations since the last overflow or growth
  std::int64_t hysteresis_left = 1;
  std::int64_t floor_skips = 0;  ///< overflows in a row that found the scale at its floor
};

/// The settings it moves by; see amp::LossScalingOptions.
struct LossScaleRules {
  double growth_factor = 2, backoff_factor = 0.5;
  double min_scale = 0, max_scale = 0;
  std::int64_t growth_interval = 1, hysteresis = 1, stalled_after = 1;
  bool refill_hysteresis = false;
  bool fixed = false;  ///< the scale never moves
};

/// True when the scale cannot back off further.
HALFTONE_HD inline bool at_floor(const LossScaleState& state, const LossScaleRules& rules) {
  return rules.fixed || static_cast<double>(state.scale) <= rules.min_scale;
}

/// Whether an overflow now makes `stalled_after` skips in a row at the floor.
HALFTONE_HD inline bool would_stall(const LossScaleState& state, const LossScaleRules& rules) {
  return at_floor(state, rules) && state.floor_skips + 1 >= rules.stalled_after;
}

/// Ends an iteration: an overflow makes the scale smaller, `growth_interval` clean iterations make it larger.
HALFTONE_HD inline void move_scale(LossScaleState& state, const LossScaleRules& rules) {
  if (state.overflowed) {
    state.floor_skips = at_floor(state, rules) ? state.floor_skips + 1 : 0;
    state.growth_tracker = 0;
    if (state.hysteresis_left > 1) {
      --state.hysteresis_left;
    } else if (!rules.fixed) {
      const double smaller = static_cast<double>(state.scale) * rules.backoff_factor;
      state.scale = static_cast<float>(smaller > rules.min_scale ? smaller : rules.min_scale);
    }
  } else if (state.clean) {
    if (rules.refill_hysteresis) state.hysteresis_left = rules.hysteresis;
    state.floor_skips = 0;
    if (++state.growth_tracker >= rules.growth_interval) {
      state.growth_tracker = 0;
      state.hysteresis_left = rules.hysteresis;
      const double grown = static_cast<double>(state.scale) * rules.growth_factor;
      if (!rules.fixed && grown <= rules.max_scale) state.scale = static_cast<float>(grown);
    }
  }
  state.overflowed = state.clean = state.loss_nonfinite = 0;
}

}  // namespace halftone
