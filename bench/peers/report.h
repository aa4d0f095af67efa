#pragma once

// Contenders that take turns, and tables of what came of it, in Markdown and JSON.

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "halftone/bench/support/ceiling.h"
#include "halftone/bench/support/turns.h"

namespace peers {

namespace bench = halftone::bench;

using bench::Contender;

/// Median seconds of each contender over nine rounds.
inline std::vector<double> median_times(const std::vector<Contender>& contenders, int threads) {
  std::vector<double> medians;
  const std::chrono::milliseconds pause(threads > 1 ? 50 : 0);
  for (const std::vector<double>& samples : bench::take_turns(contenders, 9, pause))
    medians.push_back(bench::quantile(samples, 0.5));
  return medians;
}

/// A function of this process as a contender: samples of 3 ms or more, repeated when the kernel preempted
/// one.
inline Contender contender(std::string name, std::function<void()> call) {
  call();
  long repeats = 1;
  for (double t = 0; t < 3e-3; repeats *= 2) {
    const double start = bench::now();
    for (long i = 0; i < repeats; ++i) call();
    t = bench::now() - start;
  }
  return {std::move(name), [call = std::move(call), repeats] {
            double seconds = 0;
            for (int attempt = 0; attempt < 5; ++attempt) {
              const long before = bench::preemptions();
              const double start = bench::now();
              for (long i = 0; i < repeats; ++i) call();
              seconds = (bench::now() - start) / static_cast<double>(repeats);
              if (bench::preemptions() == before) break;
            }
            return seconds;
          }};
}

/// The arithmetic unit as a contender: seconds that `flops` take at its limit.
inline Contender ceiling(const bench::MultiplyAdd& unit, double flops) {
  return {"ceiling", [=] { return flops / unit.sample(); }};
}

/// Rows of named values; numbers are printed with three digits that count.
struct Table {
  using Row = nlohmann::ordered_json;

  std::string title, note;
  std::vector<Row> rows;

  void add(Row row) { rows.push_back(std::move(row)); }
  std::string markdown() const;
};

/// What the parts of the report are asked for.
struct Request {
  std::vector<int> threads;
  std::string folder;  ///< of this program: the workers stand beside it
};

std::vector<Table> gemm_tables(const Request& request);
std::vector<Table> conv_tables(const Request& request);
std::vector<Table> step_tables(const Request& request);
std::vector<Table> overhead_tables(const Request& request);

}  // namespace peers
