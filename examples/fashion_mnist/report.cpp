#include "halftone/examples/fashion_mnist/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string mebibytes(std::size_t bytes) {
  return format("%.2f MiB", static_cast<double>(bytes) / (1 << 20));
}

const std::vector<std::string> kColumns = {"precision",  "test accuracy", "ms/step",      "saved activations",
                                           "peak bytes", "final scale",   "skipped steps"};

std::vector<std::string> row_of(const Run& run) {
  return {run.precision,
          format("%.2f %%", 100 * run.accuracy),
          format("%.2f", run.ms_per_step),
          mebibytes(run.saved_bytes),
          mebibytes(run.peak_bytes),
          run.final_scale > 0 ? format("%g", run.final_scale) : "-",
          run.scales.empty() ? "-" : std::to_string(run.skipped_steps)};
}

struct Point {
  double x, y;
};

/// Means of up to 200 groups of neighbouring steps: a readable curve of any length.
std::vector<Point> smoothed(const std::vector<float>& values) {
  std::vector<Point> points;
  const std::size_t group = std::max<std::size_t>(1, values.size() / 200);
  for (std::size_t i = 0; i + group <= values.size(); i += group) {
    double sum = 0;
    for (std::size_t k = 0; k < group; ++k) sum += values[i + k];
    points.push_back(
        {static_cast<double>(i) + 0.5 * static_cast<double>(group), sum / static_cast<double>(group)});
  }
  return points;
}

std::vector<Point> log2_points(const std::vector<float>& values) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Only where the scale moves: the curve is a staircase.
    const bool moves =
        i == 0 || i + 1 == values.size() || values[i] != values[i - 1] || values[i] != values[i + 1];
    if (moves) points.push_back({static_cast<double>(i), std::log2(values[i])});
  }
  return points;
}

struct Curve {
  std::string name;
  int colour;
  std::vector<Point> points;
};

constexpr double kWidth = 640, kHeight = 300, kLeft = 48, kBottom = 28, kTop = 10;

std::string chart(const char* title, const char* y_format, const std::vector<Curve>& curves) {
  double x_max = 1, y_min = INFINITY, y_max = -INFINITY;
  for (const Curve& curve : curves) {
    for (const Point& p : curve.points) {
      if (!std::isfinite(p.y)) continue;
      x_max = std::max(x_max, p.x);
      y_min = std::min(y_min, p.y);
      y_max = std::max(y_max, p.y);
    }
  }
  if (!(y_min < y_max)) {
    y_min = std::isfinite(y_min) ? y_min - 1 : 0;
    y_max = y_min + 2;
  }
  const auto x_at = [&](double x) { return kLeft + x / x_max * (kWidth - kLeft - 10); };
  const auto y_at = [&](double y) {
    return kTop + (y_max - y) / (y_max - y_min) * (kHeight - kBottom - kTop);
  };

  std::string svg = std::string("<h2>") + title +
                    "</h2>\n<svg viewBox=\"0 0 640 300\" role=\"img\" aria-label=\"" + title + "\">\n";
  for (int i = 0; i <= 4; ++i) {
    const double y = y_min + (y_max - y_min) * i / 4;
    const std::string height = format("%.1f", y_at(y));
    svg += "<line class=\"grid\" x1=\"48\" x2=\"630\" y1=\"" + height + "\" y2=\"" + height + "\"/>";
    svg +=
        "<text x=\"42\" y=\"" + height + "\" text-anchor=\"end\" dy=\"4\">" + format(y_format, y) + "</text>";
    const double x = x_max * i / 4;
    svg += "<text x=\"" + format("%.1f", x_at(x)) + "\" y=\"294\" text-anchor=\"" +
           (i == 4 ? "end" : "middle") + "\">" + format("%.0f", x) + "</text>\n";
  }
  for (const Curve& curve : curves) {
    std::string path;
    for (const Point& p : curve.points) {
      if (!std::isfinite(p.y)) continue;
      path += (path.empty() ? "M" : "L") + format("%.1f", x_at(p.x)) + " " + format("%.1f", y_at(p.y));
    }
    svg += "<path class=\"c" + std::to_string(curve.colour) + "\" d=\"" + path + "\"><title>" + curve.name +
           "</title></path>\n";
  }
  svg += "</svg>\n<p class=\"legend\">";
  for (const Curve& curve : curves) {
    svg += "<span class=\"c" + std::to_string(curve.colour) + "\">&#9644; " + curve.name + "</span> ";
  }
  return svg + "</p>\n";
}

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --line: #ddd; --c0: #0b62c4; --c1: #c4500b; --c2: #128a4a; --c3: #8a2fb0 }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --paper: #141416; --line: #3a3a3e; --c0: #6db3ff; --c1: #ffa066; --c2: #62d394; --c3: #d59bf0 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 46rem; margin: 1.5rem auto; padding: 0 1rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; white-space: nowrap } td, th { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right } td:first-child, th:first-child { text-align: left }
svg { width: 100%; height: auto } svg text { font-size: 12px; fill: var(--ink) } .grid { stroke: var(--line) } path { fill: none; stroke-width: 1.8 }
path.c0 { stroke: var(--c0) } path.c1 { stroke: var(--c1) } path.c2 { stroke: var(--c2) } path.c3 { stroke: var(--c3) }
span.c0 { color: var(--c0) } span.c1 { color: var(--c1) } span.c2 { color: var(--c2) } span.c3 { color: var(--c3) } .legend span { margin-right: 1rem }
</style>
)";

}  // namespace

void print_table(const std::vector<Run>& runs) {
  std::vector<std::vector<std::string>> rows = {kColumns};
  for (const Run& run : runs) rows.push_back(row_of(run));
  std::vector<std::size_t> widths(kColumns.size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const int width = static_cast<int>(widths[c]);
      std::printf(c == 0 ? "%-*s" : "  %*s", width, row[c].c_str());
    }
    std::printf("\n");
  }
}

bool write_html(const std::string& path, const std::string& title, const std::vector<Run>& runs) {
  std::string page = kHead + ("<title>" + title + "</title></head><body>\n<h1>" + title + "</h1>\n");
  page += "<div class=\"scroll\"><table><tr>";
  for (const std::string& column : kColumns) page += "<th>" + column + "</th>";
  page += "</tr>\n";
  for (const Run& run : runs) {
    page += "<tr>";
    for (const std::string& cell : row_of(run)) page += "<td>" + cell + "</td>";
    page += "</tr>\n";
  }
  page += "</table></div>\n";

  std::vector<Curve> losses, scales;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    losses.push_back({runs[i].precision, static_cast<int>(i % 4), smoothed(runs[i].losses)});
    if (!runs[i].scales.empty()) {
      scales.push_back({runs[i].precision, static_cast<int>(i % 4), log2_points(runs[i].scales)});
    }
  }
  page += chart("Training loss by step", "%.2f", losses);
  if (!scales.empty()) page += chart("Loss scale by step (power of two)", "%.1f", scales);
  page += "</body></html>\n";

  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return false;
  const bool written = std::fwrite(page.data(), 1, page.size(), file) == page.size();
  return std::fclose(file) == 0 && written;
}
