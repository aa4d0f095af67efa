#include "halftone/bench/suite/compare.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "halftone/bench/suite/format.h"
#include "halftone/bench/support/turns.h"

namespace halftone::bench {
namespace {

constexpr double kSameWithin = 0.02;

/// The times of one case in one file.
struct Times {
  std::vector<double> medians;  // one per repetition
  double first = 0, third = 0;  // quartiles, where the file says or the repetitions show them
  double share = 0;

  double median() const { return quantile(medians, 0.5); }
  bool has_spread() const { return third > 0; }
};

double unit_seconds(const std::string& unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  fail("bench", "no unit of time is called '", unit, "'");
}

/// The cases of a file in its order.
std::vector<std::pair<std::string, Times>> read(const std::string& text, const std::string& file) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("benchmarks") || !json["benchmarks"].is_array())
    fail("bench", file, " is not a result file: expected a JSON object with an array 'benchmarks'");
  std::vector<std::pair<std::string, Times>> cases;
  std::map<std::string, std::size_t> place;
  for (const nlohmann::json& entry : json["benchmarks"]) {
    try {
      if (entry.value("run_type", "iteration") != "iteration" || entry.value("error_occurred", false))
        continue;
      const std::string name = entry.value("run_name", entry.at("name").get<std::string>());
      const auto [found, is_new] = place.try_emplace(name, cases.size());
      if (is_new) cases.emplace_back(name, Times{});
      Times& times = cases[found->second].second;
      const double unit = unit_seconds(entry.value("time_unit", "ns"));
      times.medians.push_back(unit * entry.at("real_time").get<double>());
      times.first = unit * entry.value("real_time_q1", 0.0);
      times.third = unit * entry.value("real_time_q3", 0.0);
      times.share = entry.value("ceiling_%", 0.0);
    } catch (const nlohmann::json::exception& e) {
      fail("bench", file, " has an entry that is no benchmark: ", e.what());
    }
  }
  for (auto& [name, times] : cases) {
    if (times.has_spread() || times.medians.size() < 3) continue;
    times.first = quantile(times.medians, 0.25);
    times.third = quantile(times.medians, 0.75);
  }
  return cases;
}

/// Whether `change` of a case is also one relative to the ceilings of the two runs: when the whole machine
/// has become slower, its cases have not.
bool holds_beside_ceilings(const Times& before, const Times& after, double change) {
  if (before.share <= 0 || after.share <= 0) return true;
  const double relative = before.share / after.share - 1;
  return change > 0 ? relative > kSameWithin : relative < -kSameWithin;
}

Verdict verdict_of(const Times& before, const Times& after) {
  const double change = after.median() / before.median() - 1;
  if (std::fabs(change) <= kSameWithin || !holds_beside_ceilings(before, after, change))
    return Verdict::kSame;
  if (!before.has_spread() || !after.has_spread()) return Verdict::kUnclear;
  if (after.first > before.third) return Verdict::kSlower;
  return after.third < before.first ? Verdict::kFaster : Verdict::kSame;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  constexpr const char* kNames[] = {"same", "faster", "slower", "unclear", "added", "removed"};
  return kNames[static_cast<int>(verdict)];
}

std::vector<Comparison> compare(const std::string& before, const std::string& after,
                                const std::string& before_name, const std::string& after_name) {
  const auto old_cases = read(before, before_name), new_cases = read(after, after_name);
  std::map<std::string, const Times*> old_times, new_times;
  for (const auto& [name, times] : old_cases) old_times[name] = &times;
  for (const auto& [name, times] : new_cases) new_times[name] = &times;
  std::vector<Comparison> all;
  for (const auto& [name, times] : new_cases) {
    Comparison c{name, 0, times.median(), 0, times.share, Verdict::kAdded};
    if (const auto found = old_times.find(name); found != old_times.end()) {
      c.before = found->second->median();
      c.share_before = found->second->share;
      c.verdict = verdict_of(*found->second, times);
    }
    all.push_back(c);
  }
  for (const auto& [name, times] : old_cases) {
    if (!new_times.contains(name))
      all.push_back({name, times.median(), 0, times.share, 0, Verdict::kRemoved});
  }
  return all;
}

std::string comparison_table(const std::vector<Comparison>& comparisons) {
  char line[256];
  std::snprintf(line, sizeof line, "%-60s %11s %11s %7s %17s  %s\n", "case", "before", "after", "ratio",
                "of its ceiling", "verdict");
  std::string text = line;
  std::map<Verdict, int> counts;
  for (const Comparison& c : comparisons) {
    ++counts[c.verdict];
    const auto time = [](double seconds) { return seconds > 0 ? format_time(seconds) : std::string("-"); };
    const auto share = [](double percent) {
      return percent > 0 ? format_number("%.0f %%", percent) : std::string("-");
    };
    std::snprintf(line, sizeof line, "%-60s %11s %11s %7s %7s -> %6s  %s\n", c.name.c_str(),
                  time(c.before).c_str(), time(c.after).c_str(),
                  c.before > 0 && c.after > 0 ? format_number("%.3f", c.ratio()).c_str() : "-",
                  share(c.share_before).c_str(), share(c.share_after).c_str(), verdict_name(c.verdict));
    text += line;
  }
  std::string summary;
  for (const auto& [verdict, count] : counts)
    summary += concat(summary.empty() ? "" : ", ", count, " ", verdict_name(verdict));
  return text + (summary.empty() ? "no cases" : summary) + "\n";
}

}  // namespace halftone::bench
