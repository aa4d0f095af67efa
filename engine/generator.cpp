#include "halftone/engine/generator.h"

namespace halftone {

Generator::Generator(std::uint64_t seed) : shared_(std::make_shared<Shared>()) { shared_->state.seed = seed; }

void Generator::set_current_seed(std::uint64_t seed) { set_state({seed, 0}); }

std::uint64_t Generator::current_seed() const { return state().seed; }

PhiloxState Generator::reserve(std::uint64_t blocks) {
  std::lock_guard lock(shared_->mutex);
  const PhiloxState start = shared_->state;
  shared_->state.offset += blocks;
  return start;
}

PhiloxState Generator::state() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->state;
}

void Generator::set_state(PhiloxState state) {
  std::lock_guard lock(shared_->mutex);
  shared_->state = state;
}

Generator& default_generator(Device) {
  // One stream for all devices: a program gives the same numbers wherever it runs.
  static Generator generator;
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator().set_current_seed(seed); }

}  // namespace halftone
