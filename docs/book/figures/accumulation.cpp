// The error of a sum that is kept in float16, and in float32, against the number of its terms.

#include <cmath>

#include "halftone/docs/book/figures/figures.h"
#include "halftone/engine/half.h"
#include "halftone/engine/philox.h"
#include "halftone/examples/support/svg.h"

using halftone::Half;

std::string accumulation_figure() {
  constexpr int kLongest = 16;
  Svg svg(720, 380,
          "Relative error of a sum of n numbers between 0 and 1, accumulated in float16 and in float32");
  Plot plot(svg, {0, kLongest}, {-32, 2}, {70, 40}, 620, 280);
  for (int e = 0; e <= kLongest; e += 2) plot.x_tick(e, "2^" + std::to_string(e));
  for (int e = -32; e <= 0; e += 8) plot.y_tick(e, "2^" + std::to_string(e));
  plot.x_title("number of terms n");
  plot.y_title("relative error");

  std::vector<Svg::Point> in_half, in_float, half_bound, float_bound;
  for (int e = 1; e <= kLongest; ++e) {
    // The mean error over a few sums, so that one lucky sum does not make a dent.
    const std::uint64_t n = std::uint64_t{1} << e, sums = 32;
    double half_error = 0, float_error = 0;
    for (std::uint64_t s = 0; s < sums; ++s) {
      Half half(0.0f);
      float single = 0;
      double exact = 0;
      for (std::uint64_t i = 0; i < n; ++i) {
        const Half term(halftone::philox::uniform(halftone::philox::word(s, 0, i)));
        half += float(term);
        single += float(term);
        exact += static_cast<double>(float(term));
      }
      half_error += std::fabs(static_cast<double>(float(half)) - exact) / exact / static_cast<double>(sums);
      float_error += std::fabs(static_cast<double>(single) - exact) / exact / static_cast<double>(sums);
    }
    if (half_error > 0) in_half.push_back({e, std::log2(half_error)});
    if (float_error > 0) in_float.push_back({e, std::log2(float_error)});
    half_bound.push_back({e, std::fmin(e - 11, 0)});
    float_bound.push_back({e, e - 24.0});
  }
  plot.curve(half_bound, "two", 1, true);
  plot.curve(float_bound, "one", 1, true);
  plot.curve(in_half, "two");
  plot.curve(in_float, "one");
  svg.text({80, 60}, "float16", Svg::Anchor::kStart, "two");
  svg.text({150, 60}, "float32", Svg::Anchor::kStart, "one");
  svg.text({220, 60}, "dashed: the bounds n u", Svg::Anchor::kStart, "faint");
  return svg.str();
}
