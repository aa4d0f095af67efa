#include "halftone/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace halftone::optim {
namespace {

constexpr double kDecrease = 1e-4, kCurvature = 0.9;
constexpr std::int64_t kMostTrials = 25;

/// The minimum of the cubic through both points with their slopes, within `low` .. `high`; the middle where
/// there is none.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double minimum =
      a.step <= b.step ? b.step - (b.step - a.step) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                       : a.step - (a.step - b.step) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::isfinite(minimum) ? std::min(std::max(minimum, low), high) : (low + high) / 2;
}

double cubic_minimum(const LinePoint& a, const LinePoint& b) {
  return cubic_minimum(a, b, std::min(a.step, b.step), std::max(a.step, b.step));
}

}  // namespace

LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double first,
                       double direction_max, double tolerance_change, std::int64_t& evaluations) {
  const auto is_too_high = [&](const LinePoint& point) {
    return point.value > start.value + kDecrease * point.step * start.slope;
  };
  const auto is_flat = [&](const LinePoint& point) {
    return std::fabs(point.slope) <= -kCurvature * start.slope;
  };
  const auto evaluate_at = [&](double step) {
    ++evaluations;
    return evaluate(step);
  };

  // Bracketing: two points with a minimum between them.
  LinePoint previous = start, now = evaluate_at(first);
  LinePoint bracket[2];
  bool is_bracketed = false, is_done = false;
  std::int64_t trials = 0;
  for (; trials < kMostTrials; ++trials) {
    if (is_too_high(now) || (trials > 1 && now.value >= previous.value)) {
      bracket[0] = previous;
      bracket[1] = now;
      is_bracketed = true;
      break;
    }
    if (is_flat(now)) return now;
    if (now.slope >= 0) {
      bracket[0] = previous;
      bracket[1] = now;
      is_bracketed = true;
      break;
    }
    const double shortest = now.step + 0.01 * (now.step - previous.step), longest = now.step * 10;
    const double next = cubic_minimum(previous, now, shortest, longest);
    previous = std::exchange(now, evaluate_at(next));
  }
  if (!is_bracketed) {
    bracket[0] = start;
    bracket[1] = now;
  }

  // Zooming: the bracket shrinks around a point that fulfils the conditions.
  bool had_little_progress = false;
  int low = bracket[0].value <= bracket[1].value ? 0 : 1;
  while (!is_done && trials < kMostTrials) {
    LinePoint &best = bracket[low], &other = bracket[1 - low];
    if (std::fabs(bracket[1].step - bracket[0].step) * direction_max < tolerance_change) break;
    double step = cubic_minimum(bracket[0], bracket[1]);
    const double lower = std::min(bracket[0].step, bracket[1].step),
                 upper = std::max(bracket[0].step, bracket[1].step);
    // Too close to an end: the second time, or at the end itself, a step of a tenth of the bracket away from
    // it.
    const double margin = 0.1 * (upper - lower);
    if (std::min(upper - step, step - lower) < margin) {
      if (had_little_progress || step >= upper || step <= lower) {
        step = std::fabs(step - upper) < std::fabs(step - lower) ? upper - margin : lower + margin;
        had_little_progress = false;
      } else {
        had_little_progress = true;
      }
    } else {
      had_little_progress = false;
    }
    const LinePoint tried = evaluate_at(step);
    ++trials;
    if (is_too_high(tried) || tried.value >= best.value) {
      other = tried;
      low = bracket[0].value <= bracket[1].value ? 0 : 1;
    } else {
      if (is_flat(tried)) {
        is_done = true;
      } else if (tried.slope * (other.step - best.step) >= 0) {
        other = best;
      }
      best = tried;
    }
  }
  return bracket[low];
}

}  // namespace halftone::optim
