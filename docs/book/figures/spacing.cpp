// The distance between neighbouring numbers, for each power of two.

#include <cmath>

#include "halftone/docs/book/figures/figures.h"
#include "halftone/engine/half.h"
#include "halftone/examples/support/svg.h"

namespace {

/// log2 of the distance from 2^exponent to the next number of T; the format ends at max_exponent.
template <class T>
std::vector<Svg::Point> distances(double lowest, double highest) {
  std::vector<Svg::Point> steps;
  for (double e = lowest; e < std::fmin(highest, std::numeric_limits<T>::max_exponent); ++e) {
    const double smallest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
    const double distance = std::fmax(e - (std::numeric_limits<T>::digits - 1), smallest);
    steps.push_back({e, distance});
    steps.push_back({e + 1, distance});
  }
  return steps;
}

}  // namespace

std::string spacing_figure() {
  Svg svg(720, 380,
          "Distance between neighbouring numbers of float32, float16 and bfloat16 against their size");
  constexpr double kLow = -32, kHigh = 24;
  Plot plot(svg, {kLow, kHigh}, {-56, 18}, {70, 30}, 620, 290);
  for (int e = -32; e <= 24; e += 8) plot.x_tick(e, "2^" + std::to_string(e));
  for (int e = -48; e <= 16; e += 16) plot.y_tick(e, "2^" + std::to_string(e));
  plot.x_title("magnitude");
  plot.y_title("distance to the next number");
  plot.curve(distances<halftone::BFloat16>(kLow, kHigh), "two");
  plot.curve(distances<halftone::Half>(kLow, kHigh), "one");
  plot.curve(distances<float>(kLow, kHigh), "three");
  plot.vertical(-14, "faint", "float16: subnormal below");
  plot.vertical(16, "faint", "ends");
  svg.text({470, 88}, "bfloat16", Svg::Anchor::kStart, "two");
  svg.text({560, 118}, "float16", Svg::Anchor::kStart, "one");
  svg.text({560, 190}, "float32", Svg::Anchor::kStart, "three");
  return svg.str();
}
