#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "halftone/engine/device.h"

namespace halftone {

/// A position in a counter-based random stream: Philox 4x32-10 with key `seed` at block `offset`.
struct PhiloxState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  /// In a captured CUDA graph: a counter in device memory that is added to `offset` and moves with every
  /// replay.
  const std::uint64_t* base = nullptr;
};

/// Random stream (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Counter-based: the
/// same seed gives the same numbers on every device and with any number of threads. Copies share the stream.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = kDefaultSeed);

  void set_current_seed(std::uint64_t seed);  ///< restarts the stream
  /// What the stream was started with.
  std::uint64_t current_seed() const;

  /// Reserves `blocks` Philox blocks (four 32-bit numbers each) and returns where they start.
  PhiloxState reserve(std::uint64_t blocks);

  /// Where the next numbers come from.
  PhiloxState state() const;
  /// Goes on from there.
  void set_state(PhiloxState state);

  /// libtorch's default seed.
  static constexpr std::uint64_t kDefaultSeed = 67280421310721ULL;

 private:
  void join_capture() const;

  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// A position in the process-wide stream as two integers, which operators take as arguments and keep for
/// backward. One that counts from a captured graph's counter has a negative offset.
struct PhiloxPlace {
  std::int64_t seed, offset;  ///< as in PhiloxState

  explicit PhiloxPlace(const PhiloxState& state);
  PhiloxPlace(std::int64_t seed, std::int64_t offset) : seed(seed), offset(offset) {}
  /// Throws Error when it belongs to a capture that is over.
  PhiloxState state() const;
};

/// The process-wide stream that factories, dropout and initialisers draw from.
Generator& default_generator(Device device = kCPU);

/// Seeds the process-wide stream.
void manual_seed(std::uint64_t seed);

}  // namespace halftone
