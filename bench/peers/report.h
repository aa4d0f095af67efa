#pragma once

// Contenders that take turns, and tables of what came of it, in Markdown and JSON.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "halftone/bench/support/ceiling.h"

namespace peers {

namespace bench = halftone::bench;

/// One of those that take turns: `sample` gives the seconds that one call took in one sample.
struct Contender {
  std::string name;
  std::function<double()> sample;
};

/// Median seconds of each contender over `rounds` rounds in which each has one sample, so that all of them
/// meet the same machine.
inline std::vector<double> take_turns(const std::vector<Contender>& contenders, int rounds = 9) {
  std::vector<std::vector<double>> samples(contenders.size());
  for (const Contender& c : contenders) c.sample();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) samples[i].push_back(contenders[i].sample());
  }
  std::vector<double> medians;
  for (std::vector<double>& s : samples) {
    std::nth_element(s.begin(), s.begin() + rounds / 2, s.end());
    medians.push_back(s[static_cast<std::size_t>(rounds) / 2]);
  }
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
