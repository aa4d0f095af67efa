#include "halftone/examples/mixed_precision_paper/histogram.h"

#include <algorithm>
#include <cstdio>

#include "halftone/examples/support/svg.h"

namespace {

using halftone::amp::ExponentHistogram;

constexpr int kLow = -60, kHigh = 18, kBin = 6;  // powers of two; smaller gradients count in the first bin

/// Elements between 2^from and 2^to, as a share of those that are not zero.
double share(const ExponentHistogram& h, int from, int to) {
  std::int64_t inside = 0, all = 0;
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    const int exponent = std::clamp(h.first_exponent + static_cast<int>(i), kLow, kHigh - 1);
    all += h.counts[i];
    if (exponent >= from && exponent < to) inside += h.counts[i];
  }
  return all ? static_cast<double>(inside) / static_cast<double>(all) : 0;
}

template <class F>
void print_row(const std::string& name, const std::vector<GradientHistogram>& histograms, const F& value) {
  std::printf("%-30s", name.c_str());
  for (const GradientHistogram& histogram : histograms) std::printf("%16.1f", 100 * value(histogram.counts));
  std::printf("\n");
}

std::string power(int exponent) { return "2^" + std::to_string(exponent); }

}  // namespace

void print_histograms(const std::vector<GradientHistogram>& histograms) {
  std::printf("\n%-30s", "gradients, % by magnitude");
  for (const GradientHistogram& histogram : histograms) std::printf("%16s", histogram.model.c_str());
  std::printf("\n");
  for (int from = kLow; from < kHigh; from += kBin) {
    print_row(from == kLow ? "below " + power(from + kBin) : power(from) + " to " + power(from + kBin),
              histograms, [&](const ExponentHistogram& h) { return share(h, from, from + kBin); });
  }
  for (double scale : {1.0, 256.0, 65536.0}) {
    print_row("zero in fp16, loss times " + std::to_string(static_cast<int>(scale)), histograms,
              [&](const ExponentHistogram& h) { return h.share_flushed_at(scale); });
  }
  std::printf("\n");
}

void draw_histograms(const std::string& path, const std::vector<GradientHistogram>& histograms) {
  constexpr int kHeight = 150;
  Svg svg(720, kHeight * static_cast<int>(histograms.size()) + 10,
          "Exponents of gradients, with the limits of float16");
  double top = 30;
  for (const GradientHistogram& histogram : histograms) {
    Plot plot(svg, {kLow, kHigh}, {0, 1.25}, {50, top}, 640, 100);
    double most = 0;
    for (int e = kLow; e < kHigh; ++e) most = std::max(most, share(histogram.counts, e, e + 1));
    for (int e = kLow; most > 0 && e < kHigh; ++e) {
      const char* colour = e < -25 ? "two" : e < -14 ? "four" : "one";
      plot.bar(e + 0.08, e + 0.92, share(histogram.counts, e, e + 1) / most, colour);
    }
    for (int e = kLow; e <= kHigh; e += kBin) plot.x_tick(e, power(e));
    plot.vertical(-25, "two", "zero in fp16");
    plot.vertical(-14, "four", "subnormal");
    plot.vertical(16, "ink", "");
    svg.text({50, top - 6}, histogram.model);
    top += kHeight;
  }
  halftone::amp::write_text_file(path, svg.str());
}
