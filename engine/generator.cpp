#include "halftone/engine/generator.h"

#include <mutex>

#include "halftone/engine/capture.h"
#include "halftone/engine/error.h"

namespace halftone {

struct Generator::Shared {
  std::mutex mutex;
  PhiloxState state;
};

Generator::Generator(std::uint64_t seed) : shared_(std::make_shared<Shared>()) { shared_->state.seed = seed; }

void Generator::set_current_seed(std::uint64_t seed) { set_state({seed, 0}); }

std::uint64_t Generator::current_seed() const { return state().seed; }

PhiloxState Generator::reserve(std::uint64_t blocks) {
  if (cuda::current_capture()) [[unlikely]]
    join_capture();
  std::lock_guard lock(shared_->mutex);
  const PhiloxState start = shared_->state;
  shared_->state.offset += blocks;
  return start;
}

PhiloxState Generator::state() const {
  if (cuda::current_capture()) [[unlikely]]
    join_capture();
  std::lock_guard lock(shared_->mutex);
  return shared_->state;
}

/// While a graph is captured, offsets count from a number in device memory, which every replay sets.
void Generator::join_capture() const {
  PhiloxState before;
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->state.base) return;
    before = shared_->state;
  }
  const std::uint64_t* base = cuda::current_capture()->random_base(*this, before);
  std::lock_guard lock(shared_->mutex);
  shared_->state = {before.seed, 0, base};
}

void Generator::set_state(PhiloxState state) {
  if (!state.base) cuda::refuse_in_capture("Generator", "seeding a random stream");
  std::lock_guard lock(shared_->mutex);
  shared_->state = state;
}

PhiloxPlace::PhiloxPlace(const PhiloxState& state)
    : seed(static_cast<std::int64_t>(state.seed)), offset(static_cast<std::int64_t>(state.offset)) {
  if (state.base) offset = -1 - offset;
}

PhiloxState PhiloxPlace::state() const {
  if (offset >= 0) [[likely]]
    return {static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(offset)};
  if (!cuda::current_capture()) {
    fail(
        "backward",
        "the forward pass was captured in a graph, and drew its random numbers there; capture both together");
  }
  return {static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(-1 - offset),
          default_generator().state().base};
}

Generator& default_generator(Device) {
  // One stream for all devices: a program gives the same numbers wherever it runs.
  static Generator generator;
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator().set_current_seed(seed); }

}  // namespace halftone
