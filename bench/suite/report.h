#pragma once

#include <string>
#include <vector>

#include "halftone/bench/suite/case.h"
#include "halftone/bench/suite/ceilings.h"

namespace halftone::bench {

/// The machine and the settings of a run.
struct Context {
  struct Cache {
    std::string type;  ///< "Data", "Instruction", "Unified"
    int level = 0, sharing = 1;
    std::int64_t bytes = 0;
  };
  std::string date, host, executable, processor, isa, build;
  int processors = 0, mhz = 0, threads = 1;
  bool scaling = false, pinned = false, cold = false;
  std::string device;        ///< "cpu", or the GPU's name
  std::vector<double> load;  ///< of the last 1, 5 and 15 minutes
  std::vector<Cache> caches;
};

/// The context of this process; settings as given.
Context make_context(Device device, int threads, bool pinned, bool cold);

/// What came of one case.
struct Result {
  std::string family, name, shape, precision;
  double error = 0;  ///< largest error in units of what is allowed; above 1 the case was not timed
  long iterations = 0;
  int samples = 0;
  double seconds = 0, first_quartile = 0, third_quartile = 0;  ///< per call: median and quartiles
  double cpu_seconds = 0;
  double limit = 0;  ///< median seconds of its ceiling in the same rounds; 0: none
  double flops = 0, bytes = 0;
  Bound bound = Bound::kNone;
  bool quiet = true;

  bool is_right() const { return error <= 1; }
  std::string group() const { return concat(family, "/", name, "/", shape); }
  std::string id() const { return concat(group(), "/", precision); }
  /// limit / seconds; 0 without a ceiling.
  double share() const { return seconds > 0 ? limit / seconds : 0; }
};

/// A whole run.
struct Report {
  Context context;
  Ceilings ceilings;
  std::vector<Result> results;

  bool all_right() const;
};

/// The machine's ceilings and the head of the table, one line of the table, and what stands below it.
std::string table_head(const Report& report);
std::string table_line(const Result& result);

/// One line per case, with a head. Seconds, flops and bytes are plain numbers.
std::string to_csv(const Report& report);
/// In the schema of Google Benchmark's --benchmark_format=json: {"context": {...}, "benchmarks": [{"name",
/// "iterations", "real_time", "cpu_time", "time_unit", counters...}]}. real_time is the median.
std::string to_json(const Report& report);
/// A page on its own: tables and plots, nothing is fetched.
std::string to_html(const Report& report);

}  // namespace halftone::bench
