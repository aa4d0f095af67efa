#pragma once

#include <string>
#include <vector>

namespace halftone::bench {

/// What became of a case between two runs. kUnclear: the medians differ, but no file says how much they
/// spread.
enum class Verdict { kSame, kFaster, kSlower, kUnclear, kAdded, kRemoved };

/// "same", "faster", "slower", "unclear", "added", "removed".
const char* verdict_name(Verdict verdict);

/// One case in two result files. Times in seconds; 0 where a file lacks it.
struct Comparison {
  std::string name;
  double before = 0, after = 0;              ///< medians
  double share_before = 0, share_after = 0;  ///< percent of the ceiling of its own run; 0: not measured
  Verdict verdict = Verdict::kSame;

  double ratio() const { return before > 0 ? after / before : 0; }
};

/// Compares two texts in Google Benchmark's JSON schema, those of to_json or another program's, case by case
/// in the order of the second; repetitions under one name are taken together. A case is faster or slower when
/// the quartiles of the two runs do not overlap and the medians differ by more than 2 %, also relative to the
/// ceilings of their runs where both have them. Throws Error on a text that is not such a file; `before_name`
/// and `after_name` stand in the message.
std::vector<Comparison> compare(const std::string& before, const std::string& after,
                                const std::string& before_name = "the first file",
                                const std::string& after_name = "the second file");

/// An aligned table, and how many cases had which verdict.
std::string comparison_table(const std::vector<Comparison>& comparisons);

}  // namespace halftone::bench
