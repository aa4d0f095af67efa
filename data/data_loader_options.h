#pragma once

#include <cstdint>
#include <optional>

#include "halftone/engine/arg.h"

namespace halftone::data {

/// Options of a DataLoader.
struct DataLoaderOptions {
  DataLoaderOptions(std::size_t batch_size = 1) : batch_size_(batch_size) {}
  /// Examples in a batch, at least 1.
  HALFTONE_ARG(std::size_t, batch_size);
  /// Threads that prepare batches ahead; 0 prepares each when it is asked for.
  HALFTONE_ARG(std::size_t, workers) = 0;
  /// Batches in preparation at a time; twice the workers unless given.
  HALFTONE_ARG(std::optional<std::size_t>, max_jobs) = std::nullopt;
  /// With workers: batches come in the order of the sampler. Otherwise each comes as soon as it is ready.
  HALFTONE_ARG(bool, enforce_ordering) = true;
  /// Leaves out a last batch that is smaller than the others.
  HALFTONE_ARG(bool, drop_last) = false;

 public:
  /// Longest wait for one batch: a std::chrono duration, which this header does not need.
  template <class Duration>
  requires requires(Duration duration) {
    Duration::period::num;
    duration.count();
  }
  DataLoaderOptions& timeout(Duration duration) {
    const double milliseconds = 1000.0 * Duration::period::num / Duration::period::den;
    timeout_ms_ = static_cast<std::int64_t>(static_cast<double>(duration.count()) * milliseconds);
    return *this;
  }
  /// No limit, as at first.
  DataLoaderOptions& timeout(std::nullopt_t) {
    timeout_ms_.reset();
    return *this;
  }
  /// The same in milliseconds; without a value there is no limit.
  std::optional<std::int64_t> timeout_ms() const { return timeout_ms_; }

 private:
  std::optional<std::int64_t> timeout_ms_;
};

}  // namespace halftone::data
