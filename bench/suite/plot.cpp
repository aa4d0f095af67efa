#include "halftone/bench/suite/plot.h"

#include <algorithm>
#include <cmath>

#include "halftone/amp/html_page.h"
#include "halftone/bench/suite/format.h"

namespace halftone::bench {
namespace {

using amp::html_escaped;

std::string fixed(double x) { return format_number("%.1f", x); }

std::string text(double x, double y, const char* anchor, const std::string& words, const char* more = "") {
  return concat("<text x=\"", fixed(x), "\" y=\"", fixed(y), "\" text-anchor=\"", anchor, "\"", more, ">",
                html_escaped(words), "</text>");
}

std::string line(double x1, double y1, double x2, double y2) {
  return concat("<line class=\"rule\" x1=\"", fixed(x1), "\" y1=\"", fixed(y1), "\" x2=\"", fixed(x2),
                "\" y2=\"", fixed(y2), "\"/>");
}

std::string begin(double width, double height, const std::string& title) {
  return concat("<svg viewBox=\"0 0 ", fixed(width), " ", fixed(height), "\" role=\"img\" aria-label=\"",
                html_escaped(title), "\">");
}

/// Numbers to pixels along one axis, and where its ticks are.
class Axis {
 public:
  Axis(double low, double high, bool log, double from, double to) : log_(log), from_(from), to_(to) {
    if (log_) {
      low_ = std::floor(std::log10(low) + 1e-9), high_ = std::ceil(std::log10(high) - 1e-9);
      if (high_ <= low_) high_ = low_ + 1;
    } else {
      low_ = 0, high_ = high > 0 ? 1.05 * high : 1;
    }
  }
  double at(double value) const {
    const double x = log_ ? std::log10(value) : value;
    return from_ + (to_ - from_) * (x - low_) / (high_ - low_);
  }
  std::vector<double> ticks() const {
    std::vector<double> all;
    if (log_) {
      const double step = std::max(1.0, std::ceil((high_ - low_) / 8));
      for (double e = low_; e <= high_; e += step) all.push_back(std::pow(10.0, e));
      return all;
    }
    const double power = std::pow(10.0, std::floor(std::log10(high_ / 4)));
    const double step = power * (high_ / 4 / power >= 5 ? 5 : high_ / 4 / power >= 2 ? 2 : 1);
    for (double v = 0; v <= high_; v += step) all.push_back(v);
    return all;
  }

 private:
  bool log_;
  double low_, high_, from_, to_;
};

std::string draw(const Series& series, const Axis& x, const Axis& y) {
  std::string out;
  if (series.line && series.points.size() > 1) {
    out += concat("<polyline fill=\"none\" stroke=\"var(", series.colour, ")\" stroke-width=\"2\" points=\"");
    for (const auto& [px, py] : series.points) out += fixed(x.at(px)) + "," + fixed(y.at(py)) + " ";
    out += "\"/>";
  }
  for (std::size_t i = 0; series.dots && i < series.points.size(); ++i) {
    const auto& [px, py] = series.points[i];
    out += concat("<circle r=\"4\" fill=\"var(", series.colour, ")\" cx=\"", fixed(x.at(px)), "\" cy=\"",
                  fixed(y.at(py)), "\"><title>",
                  i < series.labels.size() ? html_escaped(series.labels[i]) : "", "</title></circle>");
  }
  return out;
}

}  // namespace

std::string short_number(double value) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  int prefix = 0;
  for (; std::fabs(value) >= 999.5 && prefix < 4; ++prefix) value /= 1000;
  return format_number("%.3g", value) + kPrefixes[prefix];
}

std::string svg_of(const Plot& plot) {
  constexpr double kWidth = 480, kHeight = 300, kLeft = 56, kBottom = 40, kTop = 30, kRight = 14;
  double low_x = INFINITY, high_x = 0, low_y = INFINITY, high_y = 0;
  for (const Series& series : plot.series) {
    for (const auto& [x, y] : series.points) {
      low_x = std::min(low_x, x), high_x = std::max(high_x, x);
      low_y = std::min(low_y, y), high_y = std::max(high_y, y);
    }
  }
  std::string out = begin(kWidth, kHeight, plot.title);
  if (high_x > 0 && high_y > 0) {
    const Axis x(low_x, high_x, plot.log_x, kLeft, kWidth - kRight);
    const Axis y(low_y, high_y, plot.log_y, kHeight - kBottom, kTop);
    for (const double tick : x.ticks()) {
      out += line(x.at(tick), kTop, x.at(tick), kHeight - kBottom);
      out += text(x.at(tick), kHeight - kBottom + 14, "middle", short_number(tick));
    }
    for (const double tick : y.ticks()) {
      out += line(kLeft, y.at(tick), kWidth - kRight, y.at(tick));
      out += text(kLeft - 4, y.at(tick) + 4, "end", short_number(tick));
    }
    for (const Series& series : plot.series) out += draw(series, x, y);
  }
  out += text((kLeft + kWidth) / 2, kHeight - 6, "middle", plot.x_label);
  out += text(4, 14, "start", plot.y_label);
  double key = kWidth - kRight;
  for (auto series = plot.series.rbegin(); series != plot.series.rend(); ++series) {
    if (series->caption.empty()) continue;
    out += text(key, 14, "end", series->caption, concat(" style=\"fill:var(", series->colour, ")\"").c_str());
    key -= 8.0 * static_cast<double>(series->caption.size()) + 8;
  }
  return out + "</svg>";
}

std::string svg_of(const BarChart& chart) {
  constexpr double kWidth = 640, kNames = 230, kBar = 11, kGap = 9, kBottom = 20;
  double height = kGap, most = 1;
  for (const BarChart::Group& group : chart.groups) {
    height += kBar * static_cast<double>(group.bars.size()) + kGap;
    for (const BarChart::Bar& bar : group.bars) most = std::max(most, bar.value);
  }
  for (const double rule : chart.rules) most = std::max(most, rule);
  const auto x = [&](double value) { return kNames + (kWidth - kNames - 46) * value / most; };
  std::string out = begin(kWidth, height + kBottom, chart.title);
  double y = kGap;
  for (const BarChart::Group& group : chart.groups) {
    out += text(kNames - 6, y + kBar * static_cast<double>(group.bars.size()) / 2 + 4, "end", group.name);
    for (const BarChart::Bar& bar : group.bars) {
      out += concat("<rect fill=\"var(", bar.colour, ")\" x=\"", fixed(kNames), "\" y=\"", fixed(y),
                    "\" width=\"", fixed(x(bar.value) - kNames), "\" height=\"", fixed(kBar - 1),
                    "\"><title>", html_escaped(bar.label), "</title></rect>");
      out += text(x(bar.value) + 4, y + kBar - 1, "start", format_number("%.2f", bar.value));
      y += kBar;
    }
    y += kGap;
  }
  for (const double rule : chart.rules) {
    out += line(x(rule), 0, x(rule), height);
    out += text(x(rule), height + 14, "middle", format_number("%.3g", rule));
  }
  return out + "</svg>";
}

}  // namespace halftone::bench
