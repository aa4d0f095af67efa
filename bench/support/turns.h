#pragma once

// Measurements that take turns, so that all of them meet the same machine.

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace halftone::bench {

/// One of those that take turns: `sample` gives the seconds that one call took in one sample.
struct Contender {
  std::string name;
  std::function<double()> sample;
};

/// The samples of each contender over `rounds` rounds in which each has one. Every second round goes
/// backwards, so that a machine that slows down steadily favours nobody. A round before the first is not
/// counted. Before each turn there is a `pause`, if any, and then a sample that is not counted either: pools
/// of threads spin after their work, OpenBLAS's for some 30 ms, and would take the time of whoever comes
/// next.
inline std::vector<std::vector<double>> take_turns(const std::vector<Contender>& contenders, int rounds,
                                                   std::chrono::milliseconds pause = {}) {
  std::vector<std::vector<double>> samples(contenders.size());
  const auto sample = [pause](const Contender& contender) {
    if (pause.count() > 0) {
      std::this_thread::sleep_for(pause);
      contender.sample();
    }
    return contender.sample();
  };
  for (const Contender& c : contenders) sample(c);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const std::size_t turn = round % 2 == 0 ? i : contenders.size() - 1 - i;
      samples[turn].push_back(sample(contenders[turn]));
    }
  }
  return samples;
}

/// The value below which a share of the samples lies (0.5: the median), between two of them by proportion. 0
/// of no samples.
inline double quantile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double place = share * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (place - static_cast<double>(below)) * (samples[above] - samples[below]);
}

}  // namespace halftone::bench
