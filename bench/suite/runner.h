#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/bench/suite/report.h"

namespace halftone::bench {

/// What is to be measured, and how.
struct Options {
  std::vector<std::string> families;    ///< none: all
  std::vector<std::string> precisions;  ///< none: fp32, bf16 and fp16, and on a CUDA device tf32
  std::vector<std::string> shapes;      ///< instead of the families' own, such as "512x512x512"
  std::string filter;                   ///< only cases whose "family/name/shape" contains it
  std::string device = "cpu";
  int threads = 1;
  bool pin = true;       ///< threads to processors
  bool cold = false;     ///< every call with its operands out of the caches
  bool quick = false;    ///< few shapes, few and short samples
  int repetitions = 0;   ///< samples of every case; 0: 11, or 5 in quick mode
  double sample_ms = 0;  ///< least length of a sample; 0: 3, or 1 in quick mode
};

/// The cases that the options choose, in groups of one operator and shape in all precisions. Throws Error on
/// names and shapes that do not exist, on a device that is not there, and when nothing is left.
std::vector<std::vector<Case>> chosen_cases(const Options& options);

/// Checks and times the cases of a group, all precisions and their ceilings in turns. A case whose result is
/// wrong is not timed.
std::vector<Result> run_group(const std::vector<Case>& group, const Ceilings& ceilings,
                              const Options& options);

/// Measures the machine's ceilings and then every group. `on_start` is told the context and the ceilings,
/// `on_result` every result as it comes; both may be empty. Number of threads and their processors are put
/// back afterwards. Throws Error as chosen_cases does, and on numbers that make no sense.
Report run_suite(const Options& options, const std::function<void(const Report&)>& on_start,
                 const std::function<void(const Result&)>& on_result);

}  // namespace halftone::bench
