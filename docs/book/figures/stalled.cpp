// A float16 weight whose updates are smaller than half its last place.

#include "halftone/docs/book/figures/figures.h"
#include "halftone/engine/half.h"
#include "halftone/engine/philox.h"
#include "halftone/examples/support/svg.h"
#include "halftone/kernels/math/random_rounding.h"

using halftone::Half;

std::string stalled_figure() {
  constexpr int kSteps = 400;
  constexpr float kUpdate = 0x1p-13f;  // a quarter of the distance from 1 to the number below it
  Svg svg(720, 360,
          "A float16 weight under small updates: alone, with a float32 master, with stochastic rounding");
  Plot plot(svg, {0, kSteps}, {0.94, 1.005}, {70, 40}, 620, 260);
  for (int step = 0; step <= kSteps; step += 100) plot.x_tick(step, std::to_string(step));
  plot.y_tick(0.95, "0.95");
  plot.y_tick(0.975, "0.975");
  plot.y_tick(1, "1");
  plot.x_title("step");
  plot.y_title("weight");

  Half alone(1.0f), random(1.0f);
  float master = 1;
  std::vector<Svg::Point> of_alone, of_master, of_random;
  for (int step = 0; step <= kSteps; ++step) {
    of_alone.push_back({step, static_cast<double>(float(alone))});
    of_master.push_back({step, static_cast<double>(float(Half(master)))});
    of_random.push_back({step, static_cast<double>(float(random))});
    alone -= kUpdate;
    master -= kUpdate;
    const float uniform =
        halftone::philox::uniform(halftone::philox::word(5, 0, static_cast<std::uint64_t>(step)));
    random = halftone::round_at_random<Half>(float(random) - kUpdate, uniform);
  }
  plot.curve(of_random, "three", 1.5);
  plot.curve(of_master, "one");
  plot.curve(of_alone, "two");
  svg.text({440, 56}, "float16 alone: never moves", Svg::Anchor::kStart, "two");
  svg.text({180, 240}, "rounded from a float32 master", Svg::Anchor::kStart, "one");
  svg.text({180, 260}, "float16, stochastic rounding", Svg::Anchor::kStart, "three");
  return svg.str();
}
