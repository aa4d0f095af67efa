// How large the gradients of chapter 2's model are, and where float16 begins and ends.

#include <algorithm>
#include <cmath>

#include "halftone/docs/book/figures/figures.h"
#include "halftone/docs/book/reader.h"
#include "halftone/examples/support/svg.h"

namespace {

using halftone::amp::ExponentHistogram;

constexpr int kLow = -36, kHigh = 18;

/// Bars of one histogram, as shares of all elements; the largest reaches `height` of the plot.
void draw(Svg& svg, const char* title, const ExponentHistogram& histogram, double top) {
  Plot plot(svg, {kLow, kHigh}, {0, 1.25}, {50, top}, 640, 110);
  for (int e = kLow; e <= kHigh; e += 6) plot.x_tick(e, "2^" + std::to_string(e));
  const double most =
      static_cast<double>(*std::max_element(histogram.counts.begin(), histogram.counts.end()));
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const int e = histogram.first_exponent + static_cast<int>(i);
    if (e < kLow || e >= kHigh) continue;
    const char* colour = e < -25 ? "two" : e < -14 ? "four" : "one";
    plot.bar(e + 0.08, e + 0.92, static_cast<double>(histogram.counts[i]) / most, colour);
  }
  plot.vertical(-25, "two", "zero in float16");
  plot.vertical(-14, "four", "subnormal");
  plot.vertical(16, "ink", "");
  svg.text({690, top - 6}, "infinite", Svg::Anchor::kEnd);
  svg.text({50, top - 6}, title);
}

}  // namespace

std::string gradients_figure() {
  TrainedReader trained;
  trained.loss(8192).backward();
  Svg svg(720, 470, "Exponents of gradients, with the limits of float16");
  const auto& reader = trained.reader;
  const halftone::Tensor activation = reader->before_tanh.grad();
  draw(svg, "gradient of out.weight", halftone::amp::exponent_histogram(reader->out->weight.grad()), 30);
  draw(svg, "gradient before tanh", halftone::amp::exponent_histogram(activation), 180);
  draw(svg, "gradient before tanh, loss times 65536", halftone::amp::exponent_histogram(activation * 65536.0),
       330);
  return svg.str();
}
