#include "halftone/tools/trace_compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "halftone/amp/trace_text.h"

namespace halftone::tool {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string title(const std::string& text) {
  return concat("\n", text, "\n", std::string(text.size(), '-'), "\n");
}

std::string ratio(double before, double after) {
  return before > 0 ? amp::format_number("%.2f x", after / before) : std::string("-");
}

// --- Totals
std::string totals(const amp::TraceLog& a, const amp::TraceLog& b) {
  struct Sums {
    std::int64_t skipped = 0, fresh = 0, read = 0, written = 0;
  };
  const auto sums_of = [](const amp::TraceLog& log) {
    Sums sums;
    for (const amp::TraceStep& step : log.steps) sums.skipped += step.skipped_nonfinite;
    for (const amp::TraceCast& cast : log.casts) {
      sums.fresh += cast.source == amp::TraceCast::Source::kFresh;
      sums.read += cast.bytes_read;
      sums.written += cast.bytes_written;
    }
    return sums;
  };
  const Sums sa = sums_of(a), sb = sums_of(b);
  const auto count = [](auto n) { return std::to_string(n); };
  Rows rows = {
      {"", "before", "after", "ratio"},
      {"time", amp::format_time(a.time), amp::format_time(b.time), ratio(a.time, b.time)},
      {"calls", count(a.operators.size()), count(b.operators.size()), ""},
      {"steps", count(a.steps.size()), count(b.steps.size()), ""},
      {"skipped", count(sa.skipped), count(sb.skipped), ""},
      {"casts", count(a.casts.size()), count(b.casts.size()), ""},
      {"of them computed", count(sa.fresh), count(sb.fresh), ""},
      {"read by casts", amp::format_bytes(sa.read), amp::format_bytes(sb.read), ""},
      {"written by casts", amp::format_bytes(sa.written), amp::format_bytes(sb.written), ""},
      {"saved for backward", amp::format_bytes(a.saved_bytes()), amp::format_bytes(b.saved_bytes()), ""},
      {"infinite or NaN in", count(a.nonfinite.size()), count(b.nonfinite.size()), ""}};
  return amp::aligned(rows, 1);
}

// --- Operators
struct Side {
  std::int64_t calls = 0, casts = 0;
  double self = 0;
  std::set<std::string> types;  // "float32 float32 -> float16"
};
struct Pair {
  Side before, after;
};
using Pairs = std::map<std::pair<std::string, amp::TracePhase>, Pair>;

void add(Pairs& pairs, const amp::TraceLog& log, Side Pair::*side) {
  for (const amp::TraceRow& row : amp::summarise(log)) {
    Side& sum = pairs[{row.name, row.phase}].*side;
    sum.calls += row.calls;
    sum.casts += row.casts;
    sum.self += row.self;
    sum.types.insert(row.dtypes);
  }
}

std::string change_of(std::int64_t before, std::int64_t after) {
  return before == after ? std::to_string(before) : concat(before, " -> ", after);
}

std::string by_time(const Pairs& pairs, std::size_t most_rows) {
  std::vector<const Pairs::value_type*> order;
  for (const auto& entry : pairs) order.push_back(&entry);
  const auto change = [](const Pairs::value_type* e) {
    return std::fabs(e->second.after.self - e->second.before.self);
  };
  std::stable_sort(order.begin(), order.end(), [&](auto* x, auto* y) { return change(x) > change(y); });
  Rows rows = {{"operator", "phase", "before", "after", "ratio", "calls", "casts"}};
  const std::size_t shown = std::min(most_rows, order.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [key, pair] = *order[i];
    rows.push_back({key.first, phase_name(key.second), amp::format_time(pair.before.self),
                    amp::format_time(pair.after.self), ratio(pair.before.self, pair.after.self),
                    change_of(pair.before.calls, pair.after.calls),
                    change_of(pair.before.casts, pair.after.casts)});
  }
  std::string text = title("own time, the largest change first") + amp::aligned(rows, 2);
  if (shown < order.size()) text += concat("and ", order.size() - shown, " more rows\n");
  return text;
}

std::string other_types(const Pairs& pairs) {
  std::string text;
  const auto list = [&](const char* label, const std::set<std::string>& types,
                        const std::set<std::string>& others) {
    for (const std::string& type : types) {
      if (!others.count(type)) text += concat("  ", label, ": ", type, "\n");
    }
  };
  for (const auto& [key, pair] : pairs) {
    if (pair.before.types == pair.after.types || pair.before.types.empty() || pair.after.types.empty())
      continue;
    text += concat(key.first, ", ", phase_name(key.second), "\n");
    list("before", pair.before.types, pair.after.types);
    list("after", pair.after.types, pair.before.types);
  }
  return text.empty() ? text : title("ran in other types") + text;
}

std::string only_in(const Pairs& pairs, const char* heading, Side Pair::*here, Side Pair::*there) {
  std::string text;
  for (const auto& [key, pair] : pairs) {
    if ((pair.*here).calls == 0 || (pair.*there).calls != 0) continue;
    text += concat(text.empty() ? "" : ", ", key.first, " (", phase_name(key.second), ")");
  }
  return text.empty() ? text : title(heading) + text + "\n";
}

std::string skips(const amp::TraceLog& log) {
  std::string text;
  for (const amp::TraceStep& step : log.steps) {
    if (step.skipped_nonfinite) text += concat(text.empty() ? "" : ", ", step.step);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string trace_comparison(const amp::TraceLog& before, const amp::TraceLog& after, std::size_t most_rows) {
  Pairs pairs;
  add(pairs, before, &Pair::before);
  add(pairs, after, &Pair::after);
  std::string text = totals(before, after) + by_time(pairs, most_rows) + other_types(pairs);
  text += only_in(pairs, "only before", &Pair::before, &Pair::after);
  text += only_in(pairs, "only after", &Pair::after, &Pair::before);
  if (skips(before) != skips(after)) {
    text += title("skipped steps") + concat("before: ", skips(before), "\nafter:  ", skips(after), "\n");
  }
  return text;
}

}  // namespace halftone::tool
