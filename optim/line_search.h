#pragma once

#include <functional>

#include "halftone/engine/tensor.h"

namespace halftone::optim {

/// A point on the line that is searched.
struct LinePoint {
  double step = 0;   ///< its distance from the start, in units of the direction
  double value = 0;  ///< the function's
  Tensor gradient;   ///< of the function, like the weights
  double slope = 0;  ///< of the value along the line
};

/// Finds a step that fulfils the strong Wolfe conditions, by bracketing and zooming with cubic interpolation
/// (Nocedal and Wright 2006, algorithms 3.5 and 3.6, as PyTorch's). `evaluate` computes value, gradient and
/// slope at a step; `start` is the point at step 0, `first` the step that is tried first, `direction_max` the
/// direction's largest element. `evaluations` counts the calls. Returns the best point found, also when no
/// step fulfils the conditions.
LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double first,
                       double direction_max, double tolerance_change, std::int64_t& evaluations);

}  // namespace halftone::optim
