// A trace as aligned text.

#include <algorithm>
#include <cmath>
#include <map>

#include "halftone/amp/trace_text.h"

namespace halftone::amp {

std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t first_number) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += c >= first_number ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

namespace {

using Row = std::vector<std::string>;

std::string title(const std::string& text) {
  return concat("\n", text, "\n", std::string(text.size(), '-'), "\n");
}

double total_self(const std::vector<TraceRow>& rows) {
  double sum = 0;
  for (const TraceRow& row : rows) sum += row.self;
  return sum;
}

std::string operators_by_time(const TraceLog& log, std::size_t most_rows) {
  const std::vector<TraceRow> sums = summarise(log);
  if (sums.empty()) return {};
  const double total = total_self(sums);
  std::vector<Row> rows = {
      {"operator", "phase", "policy", "dtypes", "calls", "own time", "share", "casts", "saved"}};
  const std::size_t shown = std::min(most_rows, sums.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const TraceRow& sum = sums[i];
    rows.push_back({sum.name, phase_name(sum.phase), sum.policy, sum.dtypes, std::to_string(sum.calls),
                    format_time(sum.self), format_number("%.1f %%", total > 0 ? 100 * sum.self / total : 0),
                    std::to_string(sum.casts), format_bytes(sum.saved_bytes)});
  }
  std::string text = title("operators by time") + aligned(rows, 4);
  if (shown < sums.size()) text += concat("and ", sums.size() - shown, " more rows\n");
  return text;
}

std::string casts(const TraceLog& log) {
  if (log.casts.empty()) return {};
  struct Sum {
    std::int64_t count = 0, read = 0, written = 0;
    double time = 0;
  };
  std::map<std::string, Sum> sums;
  for (const TraceCast& cast : log.casts) {
    Sum& sum = sums[concat(source_name(cast.source), " ", cast.from, " -> ", cast.to)];
    ++sum.count;
    sum.read += cast.bytes_read;
    sum.written += cast.bytes_written;
    sum.time += cast.time;
  }
  std::vector<Row> rows = {{"cast", "count", "read", "written", "time"}};
  for (const auto& [name, sum] : sums) {
    rows.push_back({name, std::to_string(sum.count), format_bytes(sum.read), format_bytes(sum.written),
                    format_time(sum.time)});
  }
  return title("casts that autocast inserted") + aligned(rows, 1);
}

std::string scale_events(const TraceLog& log) {
  std::string text;
  for (const TraceScale& event : log.scales) {
    if (!event.skipped && !event.grew && !event.backed_off) continue;
    text += concat("step ", event.step, ": ", event.skipped ? "skipped, " : "", "scale ", event.before,
                   " -> ", event.after,
                   event.grew         ? " (growth)"
                   : event.backed_off ? " (backoff)"
                                      : "",
                   event.stalled ? ", stalled at the floor" : "",
                   event.loss_nonfinite ? ", the loss itself was not finite" : "", "\n");
  }
  return text.empty() ? text : title("loss scale") + text;
}

std::string first_nonfinite(const TraceLog& log) {
  std::string text;
  for (const TraceNonFinite& found : log.nonfinite) text += found.str() + "\n";
  return text.empty() ? text : title("first infinite or NaN value of a step") + text;
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return format_number("%.2f %%", whole ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0);
}

/// The last one of every tensor.
std::string histograms(const TraceLog& log) {
  std::map<std::pair<std::string, bool>, const ExponentHistogram*> last;
  for (const ExponentHistogram& histogram : log.histograms)
    last[{histogram.name, histogram.is_gradient}] = &histogram;
  if (last.empty()) return {};
  std::vector<Row> rows = {{"tensor", "of", "dtype", "step", "scale", "largest", "zero", "flushed",
                            "subnormal", "overflow", "suggested scale"}};
  for (const auto& [key, h] : last) {
    rows.push_back({h->name, h->is_gradient ? "gradient" : "value", dtype_name(h->dtype),
                    std::to_string(h->step), format_number("%.10g", h->scale),
                    format_number("%.3g", h->largest), percent(h->zeros, h->elements),
                    percent(h->flushed, h->elements), percent(h->subnormal, h->elements),
                    percent(h->overflow, h->elements),
                    h->is_gradient && h->largest > 0 ? format_number("%.10g", h->suggested_scale()) : "-"});
  }
  return title("as float16 at the present scale") + aligned(rows, 3);
}

}  // namespace

std::string trace_table(const TraceLog& log, std::size_t most_rows) {
  std::string text = concat(log.operators.size(), " calls in ", format_time(log.time), ", ", log.steps.size(),
                            " steps, saved for backward: ", format_bytes(log.saved_bytes()), "\n");
  text += concat("tracing itself took ", format_time(log.own_time), " more\n");
  if (log.dropped) text += concat(log.dropped, " further calls were not recorded (max_operators)\n");
  return text + operators_by_time(log, most_rows) + casts(log) + scale_events(log) + first_nonfinite(log) +
         histograms(log);
}

}  // namespace halftone::amp
