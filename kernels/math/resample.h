#pragma once

#include <cmath>
#include <cstdint>

#include "halftone/engine/host_device.h"

// One dimension of a resampling: which input elements an output element is the weighted sum of, and the other
// way round. Shared by CPU and CUDA.
namespace halftone {

enum class ResampleMode : std::uint8_t {
  kNearest,       // floor(i * step)
  kNearestExact,  // floor((i + 1/2) * step): the element whose area the output's centre lies in
  kLinear,        //
  kCubic,         // Keys' kernel, a = -3/4
  kReflect,       // padding: mirrored at the border elements
  kReplicate,     // padding: the border elements repeated
  kCircular,      // padding: round the end
};

struct ResampleDim {
  ResampleMode mode = ResampleMode::kReplicate;
  bool align_corners = false;
  std::int64_t in = 1, out = 1;
  std::int64_t left = 0;  ///< padding in front of the input; negative: elements cut off
  double step = 1;        ///< input elements per output element

  struct Tap {
    std::int64_t column;
    double weight;
  };

  HALFTONE_HD int taps() const {
    return mode == ResampleMode::kLinear ? 2 : mode == ResampleMode::kCubic ? 4 : 1;
  }

  /// Tap k of output i.
  HALFTONE_HD Tap tap(std::int64_t i, int k) const {
    const double place = source(i);
    const std::int64_t column = first(i, place) + k;
    switch (mode) {
      case ResampleMode::kLinear: {
        const double beyond = place - std::floor(place);
        return {clamped(column), k == 0 ? 1 - beyond : beyond};
      }
      case ResampleMode::kCubic:
        return {clamped(column), cubic_weight(place - std::floor(place), k)};
      case ResampleMode::kReflect:
        return {column < 0 ? -column : column >= in ? 2 * (in - 1) - column : column, 1};
      case ResampleMode::kCircular:
        return {column < 0 ? column + in : column >= in ? column - in : column, 1};
      default:
        return {clamped(column), 1};
    }
  }

  /// Calls f(i, weight) for every tap that reads input element j.
  template <class F>
  HALFTONE_HD void for_each_reader(std::int64_t j, F&& f) const {
    if (mode == ResampleMode::kReflect) {
      visit(j + left, f);
      if (j > 0) visit(left - j, f);
      if (j < in - 1) visit(left + 2 * (in - 1) - j, f);
    } else if (mode == ResampleMode::kCircular) {
      for (int turn = -1; turn <= 1; ++turn) visit(j + left + turn * in, f);
    } else {
      // The first tap never moves back, so the readers stand together; borders also get what lies outside.
      const std::int64_t begin = j == 0 ? 0 : count_before(j - taps() + 1);
      const std::int64_t end = j == in - 1 ? out : count_before(j + 1);
      for (std::int64_t i = begin; i < end; ++i) {
        for (int k = 0; k < taps(); ++k) {
          const Tap t = tap(i, k);
          if (t.column == j) f(i, t.weight);
        }
      }
    }
  }

 private:
  template <class F>
  HALFTONE_HD void visit(std::int64_t i, F& f) const {
    if (i >= 0 && i < out) f(i, 1.0);
  }

  HALFTONE_HD std::int64_t clamped(std::int64_t column) const {
    return column < 0 ? 0 : column >= in ? in - 1 : column;
  }

  /// The place in the input that output i reads. Nearest is found in float: for exact halves and thirds the
  /// choice is then PyTorch's.
  HALFTONE_HD double source(std::int64_t i) const {
    switch (mode) {
      case ResampleMode::kNearest:
        return std::floor(static_cast<float>(i) * static_cast<float>(step));
      case ResampleMode::kNearestExact:
        return std::floor((static_cast<float>(i) + 0.5f) * static_cast<float>(step));
      case ResampleMode::kLinear: {
        if (align_corners) return step * static_cast<double>(i);
        const double place = step * (static_cast<double>(i) + 0.5) - 0.5;
        return place < 0 ? 0 : place;
      }
      case ResampleMode::kCubic:
        if (align_corners) return step * static_cast<double>(i);
        return step * (static_cast<double>(i) + 0.5) - 0.5;
      default:
        return static_cast<double>(i - left);
    }
  }

  /// Where tap 0 stands before it is brought inside.
  HALFTONE_HD std::int64_t first(std::int64_t i, double place) const {
    if (mode == ResampleMode::kCubic) return static_cast<std::int64_t>(std::floor(place)) - 1;
    if (mode <= ResampleMode::kLinear) return static_cast<std::int64_t>(std::floor(place));
    return i - left;
  }

  /// Outputs whose first tap stands before `column`.
  HALFTONE_HD std::int64_t count_before(std::int64_t column) const {
    std::int64_t low = 0, high = out;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (first(middle, source(middle)) < column)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  HALFTONE_HD static double cubic_weight(double beyond, int k) {
    constexpr double a = -0.75;
    const double x = k == 0 ? beyond + 1 : k == 1 ? beyond : k == 2 ? 1 - beyond : 2 - beyond;
    if (k == 1 || k == 2) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }
};

}  // namespace halftone
