// A report as a page: the machine, its ceilings, a table per family, throughput against size, times relative
// to fp32, and the roofline.

#include <algorithm>
#include <cmath>
#include <map>

#include "halftone/amp/html_page.h"
#include "halftone/bench/suite/format.h"
#include "halftone/bench/suite/plot.h"

namespace halftone::bench {
namespace {

using amp::html_escaped;

const char* colour_of(const std::string& precision) {
  if (precision == "fp32") return "--blue";
  if (precision == "bf16") return "--orange";
  return precision == "fp16" ? "--green" : "--purple";
}

std::string fact(const std::string& value, const std::string& name) {
  return concat("<li><b>", html_escaped(value), "</b>", html_escaped(name), "</li>");
}

std::string facts(const Report& report) {
  const Context& c = report.context;
  std::string out = "<ul class=\"facts\" id=\"facts\">";
  out += fact(c.device == "cpu" ? c.processor : c.device, concat(c.isa, ", ", c.processors, " processors"));
  out += fact(concat(c.threads), c.pinned ? "threads, pinned" : "threads, not pinned");
  out += fact(c.cold ? "cold" : "warm", "caches");
  out += fact(c.date, "date");
  std::string load;
  for (const double x : c.load) load += format_number("%.2f ", x);
  return out + fact(load, "load before") + "</ul>";
}

std::string ceilings(const Ceilings& c) {
  std::string out =
      "<h2>Ceilings of this machine</h2>\n<p class=\"note\">Measured in the same run by loops that do "
      "nothing else. Every "
      "case is held against its own ceiling, sampled in turns with it.</p>\n<ul id=\"ceilings\">";
  for (const std::string& line : ceiling_lines(c)) out += "<li>" + html_escaped(line) + "</li>";
  return out + "</ul>";
}

std::string table(const std::vector<const Result*>& results) {
  std::string out =
      "<div class=\"wide\"><table><thead><tr><th>case</th><th>shape</th><th>precision</th><th "
      "class=\"number\">median</th>"
      "<th class=\"number\">quartiles</th><th class=\"number\">rate</th><th class=\"number\">of its "
      "ceiling</th>"
      "<th class=\"number\">error / allowed</th></tr></thead><tbody>";
  for (const Result* r : results) {
    out +=
        concat("<tr><td>", html_escaped(r->name), "</td><td>", r->shape, "</td><td>", r->precision, "</td>");
    if (r->is_right()) {
      for (const std::string& cell :
           {format_time(r->seconds), format_time(r->first_quartile) + " .. " + format_time(r->third_quartile),
            format_rate(*r), format_share(*r), format_number("%.2g", r->error)})
        out += "<td class=\"number\">" + cell + "</td>";
    } else {
      out += concat("<td colspan=\"5\" style=\"color:var(--bad)\">wrong by ", format_number("%.3g", r->error),
                    " times what is allowed; not timed</td>");
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

/// Throughput against size, a picture per operator that was measured at two sizes or more.
std::string throughput(const std::vector<const Result*>& results) {
  std::map<std::string, std::map<std::string, Series>> operators;
  std::map<std::string, bool> flops;
  for (const Result* r : results) {
    if (!r->is_right() || r->bytes + r->flops <= 0 || r->seconds <= 0) continue;
    Series& series = operators[r->name][r->precision];
    series.caption = r->precision, series.colour = colour_of(r->precision);
    flops[r->name] = counts_flops(*r);
    series.points.emplace_back(counts_flops(*r) ? r->flops : r->bytes,
                               1e-9 * (counts_flops(*r) ? r->flops : r->bytes) / r->seconds);
    series.labels.push_back(concat(r->id(), ": ", format_rate(*r)));
  }
  std::string out;
  for (auto& [name, by_precision] : operators) {
    Plot plot{name, flops[name] ? "operations" : "bytes moved", flops[name] ? "GFLOP/s" : "GB/s", true, false,
              {}};
    std::size_t most = 0;
    for (auto& [precision, series] : by_precision) {
      std::vector<std::size_t> order(series.points.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return series.points[a] < series.points[b]; });
      Series sorted = series;
      for (std::size_t i = 0; i < order.size(); ++i)
        sorted.points[i] = series.points[order[i]], sorted.labels[i] = series.labels[order[i]];
      most = std::max(most, order.size());
      plot.series.push_back(std::move(sorted));
    }
    if (most < 2) continue;
    out += concat("<figure>", svg_of(plot), "<figcaption>", html_escaped(name), "</figcaption></figure>");
  }
  return out.empty() ? out : "<div class=\"grid\">" + out + "</div>";
}

/// Time of the half types relative to fp32's, bars of all cases that have both.
std::string ratios(const Report& report) {
  std::map<std::string, double> fp32;
  for (const Result& r : report.results) {
    if (r.precision == "fp32" && r.is_right()) fp32[r.group()] = r.seconds;
  }
  BarChart chart{"time relative to fp32", {}, {0.5, 1}};
  std::map<std::string, std::size_t> place;
  for (const Result& r : report.results) {
    const auto base = fp32.find(r.group());
    if (r.precision == "fp32" || base == fp32.end() || !r.is_right()) continue;
    const auto [found, is_new] = place.try_emplace(r.group(), chart.groups.size());
    if (is_new) chart.groups.push_back({r.group(), {}});
    const double ratio = r.seconds / base->second;
    chart.groups[found->second].bars.push_back(
        {colour_of(r.precision), concat(r.id(), format_number(": %.3f of fp32's time", ratio)), ratio});
  }
  if (chart.groups.empty()) return "";
  return concat(
      "<h2>Half types beside fp32</h2>\n<p class=\"note\">Time of bf16<span class=\"key\" "
      "style=\"background:var(--orange)\">"
      "</span> and fp16<span class=\"key\" style=\"background:var(--green)\"></span> relative to fp32's: "
      "shorter is "
      "faster.</p>\n<figure id=\"ratios\">",
      svg_of(chart), "</figure>");
}

/// Cases that declare both flops and bytes under the machine's limits.
std::string roofline(const Report& report) {
  Plot plot{"roofline", "operations per byte", "GFLOP/s", true, true, {}};
  std::map<std::string, Series> by_precision;
  double least = INFINITY, most = 0;
  for (const Result& r : report.results) {
    if (!r.is_right() || r.flops <= 0 || r.bytes <= 0 || r.seconds <= 0) continue;
    Series& dots = by_precision[r.precision];
    dots.caption = r.precision, dots.colour = colour_of(r.precision), dots.line = false;
    const double intensity = r.flops / r.bytes;
    dots.points.emplace_back(intensity, 1e-9 * r.flops / r.seconds);
    dots.labels.push_back(concat(r.id(), ": ", format_rate(r)));
    least = std::min(least, intensity), most = std::max(most, intensity);
  }
  if (by_precision.empty() || report.ceilings.levels.empty()) return "";
  const double bandwidth = report.ceilings.levels.back().best();
  for (auto& [precision, dots] : by_precision) {
    const double peak = report.ceilings.flops(precision_from(precision));
    Series roof{"", dots.colour, {}, {}, true, false};
    const double knee = peak / bandwidth, left = std::min(least, knee / 4), right = std::max(most, knee * 4);
    for (const double x : {left, knee, right})
      roof.points.emplace_back(x, 1e-9 * std::min(peak, x * bandwidth));
    plot.series.push_back(std::move(roof));
    plot.series.push_back(dots);
  }
  return concat(
      "<h2>Roofline</h2>\n<p class=\"note\">A case below the slope waits for memory, one below the flat part "
      "for arithmetic. "
      "Bytes are arguments and results moved once from memory; what stays in a cache may lie above the "
      "slope.</p>\n"
      "<figure id=\"roofline\">",
      svg_of(plot), "</figure>");
}

}  // namespace

std::string to_html(const Report& report) {
  std::string body = facts(report) + ceilings(report.ceilings);
  std::vector<std::pair<std::string, std::vector<const Result*>>> by_family;
  for (const Result& result : report.results) {
    if (by_family.empty() || by_family.back().first != result.family)
      by_family.push_back({result.family, {}});
    by_family.back().second.push_back(&result);
  }
  for (const auto& [family, results] : by_family)
    body += concat("\n<h2>", html_escaped(family), "</h2>\n", throughput(results), table(results));
  return amp::html_page("halftone benchmarks", "", body + ratios(report) + roofline(report));
}

}  // namespace halftone::bench
