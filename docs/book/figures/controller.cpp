// The loss scale's controller: its states, and a history of it.

#include <cmath>

#include "halftone/docs/book/figures/figures.h"
#include "halftone/engine/philox.h"
#include "halftone/examples/support/svg.h"
#include "halftone/kernels/math/loss_scale.h"

using namespace halftone;

namespace {

void box(Svg& svg, Svg::Point corner, const char* first, const char* second) {
  svg.frame(corner, 170, 58, "ink");
  svg.text({corner.first + 85, corner.second + 25}, first, Svg::Anchor::kMiddle);
  svg.text({corner.first + 85, corner.second + 44}, second, Svg::Anchor::kMiddle, "faint");
}

}  // namespace

std::string controller_figure() {
  Svg svg(720, 330, "States of the loss scale's controller");
  box(svg, {275, 30}, "backward with S", "of the loss times S");
  box(svg, {30, 140}, "skipped", "no bit changes");
  box(svg, {520, 140}, "applied", "clean steps: n + 1");
  box(svg, {30, 250}, "S = max(S / 2, floor)", "n = 0");
  box(svg, {520, 250}, "S = 2 S, if allowed", "n = 0");
  svg.arrow({275, 70}, {115, 80}, {115, 138}, "ink");
  svg.text({150, 62}, "infinite or NaN", Svg::Anchor::kMiddle, "two");
  svg.arrow({445, 70}, {605, 80}, {605, 138}, "ink");
  svg.text({560, 62}, "all finite", Svg::Anchor::kMiddle, "three");
  svg.arrow({115, 198}, {115, 248}, "ink");
  svg.text({123, 228}, "hysteresis used up");
  svg.arrow({605, 198}, {605, 248}, "ink");
  svg.text({597, 228}, "n = growth interval", Svg::Anchor::kEnd);
  svg.arrow({200, 279}, {330, 270}, {340, 90}, "ink");
  svg.arrow({520, 279}, {390, 270}, {380, 90}, "ink");
  svg.arrow({520, 160}, {420, 150}, {402, 90}, "ink");
  svg.text({452, 175}, "n below it", Svg::Anchor::kMiddle);
  svg.arrow({200, 160}, {300, 150}, {318, 90}, "ink");
  svg.text({268, 175}, "absorbed", Svg::Anchor::kMiddle);
  return svg.str();
}

std::string scale_history_figure() {
  constexpr int kSteps = 1200;
  Svg svg(720, 360, "A loss scale over 1200 steps, with the steps that are skipped");
  Plot plot(svg, {0, kSteps}, {6, 22}, {60, 40}, 630, 260);
  for (int step = 0; step <= kSteps; step += 200) plot.x_tick(step, std::to_string(step));
  for (int e = 8; e <= 22; e += 4) plot.y_tick(e, "2^" + std::to_string(e));
  plot.x_title("step");
  plot.y_title("scale");

  LossScaleRules rules;
  rules.growth_interval = 60;
  rules.min_scale = 0x1p-14;
  rules.max_scale = 0x1p127;
  LossScaleState state;
  state.scale = 0x1p16f;
  std::vector<Svg::Point> scale, limit;
  std::vector<double> skips;
  for (int step = 0; step < kSteps; ++step) {
    const philox::Block random = philox::block(11, static_cast<std::uint64_t>(step));
    // The gradients shrink with training, and one step in the middle makes them 64 times as large.
    const double middle = (step < 700 ? 13 + step / 140.0 : 12 + (step - 700) / 140.0);
    const double largest = middle + 0.7 * philox::normal(random.word[0], random.word[1]).first;
    const double present = std::log2(static_cast<double>(state.scale));
    limit.push_back({step, largest});
    scale.push_back({step, present});
    const bool overflow = present > largest;
    if (overflow) skips.push_back(step);
    (overflow ? state.overflowed : state.clean) = 1;
    move_scale(state, rules);
    scale.push_back({step, std::log2(static_cast<double>(state.scale))});
  }
  plot.curve(limit, "faint", 1);
  plot.curve(scale, "one");
  for (double step : skips) svg.line(plot.at(step, 6), plot.at(step, 6.6), "two", 1.5);
  svg.text({70, 54}, "grey: the scale at which the step would overflow", Svg::Anchor::kStart, "faint");
  svg.text({400, 54}, "scale", Svg::Anchor::kStart, "one");
  svg.text({450, 54}, "skipped steps: " + std::to_string(skips.size()) + " of " + std::to_string(kSteps),
           Svg::Anchor::kStart, "two");
  return svg.str();
}
