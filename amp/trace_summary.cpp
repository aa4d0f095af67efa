// Sums over a trace, and sentences about it.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "halftone/amp/trace_text.h"

namespace halftone::amp {

const char* phase_name(TracePhase phase) {
  constexpr const char* names[] = {"forward", "backward", "step"};
  return names[static_cast<int>(phase)];
}

const char* kind_name(TraceKind kind) {
  constexpr const char* names[] = {"operator", "view", "in_place", "node", "step"};
  return names[static_cast<int>(kind)];
}

const char* source_name(TraceCast::Source source) {
  constexpr const char* names[] = {"fresh", "cached", "shadow"};
  return names[static_cast<int>(source)];
}

const char* origin_name(TraceNonFinite::Origin origin) {
  constexpr const char* names[] = {"computed", "input", "parameter"};
  return names[static_cast<int>(origin)];
}

std::string format_number(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string format_bytes(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return concat(bytes, " B");
  if (bytes < 1024 * 1024) return format_number("%.1f KiB", value / 1024);
  return format_number("%.2f MiB", value / (1024 * 1024));
}

std::string format_bytes(const std::vector<TraceBytes>& bytes) {
  std::string text;
  for (const TraceBytes& part : bytes) {
    text += concat(text.empty() ? "" : ", ", dtype_name(part.dtype), " ", format_bytes(part.bytes));
  }
  return text.empty() ? "none" : text;
}

std::string format_time(double microseconds) {
  if (microseconds < 1e3) return format_number("%.1f us", microseconds);
  if (microseconds < 1e6) return format_number("%.2f ms", microseconds / 1e3);
  return format_number("%.2f s", microseconds / 1e6);
}

std::vector<TraceBytes> TraceLog::saved_bytes(std::int64_t step) const {
  std::map<std::int64_t, std::map<ScalarType, std::int64_t>> of_step;
  for (const TraceOperator& op : operators) {
    for (const TraceBytes& saved : op.saved) of_step[op.step][saved.dtype] += saved.bytes;
  }
  std::vector<TraceBytes> result;
  std::int64_t most = -1;
  for (const auto& [number, parts] : of_step) {
    std::int64_t sum = 0;
    for (const auto& part : parts) sum += part.second;
    if (step >= 0 ? number != step : sum <= most) continue;
    most = sum;
    result.clear();
    for (const auto& [dtype, bytes] : parts) result.push_back({dtype, bytes});
  }
  return result;
}

double TraceLog::suggested_scale() const {
  std::map<std::string, double> last;
  for (const ExponentHistogram& histogram : histograms) {
    if (histogram.is_gradient && histogram.largest > 0) last[histogram.name] = histogram.suggested_scale();
  }
  double scale = 0;
  for (const auto& entry : last) scale = scale == 0 ? entry.second : std::min(scale, entry.second);
  return scale;
}

namespace {

std::string dtypes_of(const TraceOperator& op) {
  std::string text;
  for (const TraceTensor& input : op.inputs) text += concat(text.empty() ? "" : " ", dtype_name(input.dtype));
  text += text.empty() ? "->" : " ->";
  for (const TraceTensor& output : op.outputs) text += concat(" ", dtype_name(output.dtype));
  return text;
}

}  // namespace

std::vector<TraceRow> summarise(const TraceLog& log) {
  std::vector<TraceRow> rows;
  std::map<std::tuple<std::string, TracePhase, std::string, std::string>, std::size_t> places;
  std::vector<std::size_t> row_of(log.operators.size(), 0);
  for (std::size_t i = 0; i < log.operators.size(); ++i) {
    const TraceOperator& op = log.operators[i];
    if (op.kind == TraceKind::kNode) continue;
    std::string policy = op.kind == TraceKind::kStep ? "-" : precision_name(op.policy);
    if (op.kind != TraceKind::kStep && !op.autocast) policy += " (off)";
    const std::string dtypes = dtypes_of(op);
    const auto place = places.try_emplace({op.name, op.phase, policy, dtypes}, rows.size());
    if (place.second) rows.push_back({op.name, op.phase, policy, dtypes, 0, 0, 0, 0, 0, 0});
    row_of[i] = place.first->second;
    TraceRow& row = rows[row_of[i]];
    ++row.calls;
    row.time += op.time;
    row.self += op.self;
    for (const TraceBytes& saved : op.saved) row.saved_bytes += saved.bytes;
  }
  for (const TraceCast& cast : log.casts) {
    if (cast.op < 0 || static_cast<std::size_t>(cast.op) >= row_of.size()) continue;
    TraceRow& row = rows[row_of[static_cast<std::size_t>(cast.op)]];
    ++row.casts;
    row.cast_bytes += cast.bytes_read + cast.bytes_written;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TraceRow& a, const TraceRow& b) { return a.self > b.self; });
  return rows;
}

std::string TraceNonFinite::str() const {
  const std::string what = nan && infinite ? concat(infinite, " infinite and ", nan, " NaN")
                                           : concat(nan ? nan : infinite, nan ? " NaN" : " infinite");
  const std::string where =
      module.empty() ? (after.empty() ? "" : concat(" (after ", after, ")")) : concat(" of ", module);
  std::string text = concat("step ", step, ": ");
  if (origin == Origin::kInput) {
    return text + concat("'", name, "'", where, " in ", phase_name(phase), " was given ", what, " in ", dtype,
                         sizes, ", which no traced operator made: look at the data");
  }
  if (origin == Origin::kParameter) {
    return text + concat("'", name, "'", where, " in ", phase_name(phase), " was given ", what, " in '",
                         input, "' (", dtype, sizes, ")");
  }
  text += concat("'", name, "'", where, " made ", what, " of ", dtype, sizes, " in ", phase_name(phase));
  if (!node.empty()) text += concat(", for the gradient of '", node, "'");
  if (!std::isnan(largest_input)) text += concat("; its inputs are at most ", largest_input);
  if (phase == TracePhase::kBackward && scale != 1) text += concat(" at loss scale ", scale);
  if (fp32_too) text += *fp32_too ? "; fp32 gives the same" : "; in fp32 it is finite";
  return text;
}

}  // namespace halftone::amp
