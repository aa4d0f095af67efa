#pragma once

namespace halftone {

namespace detail {
extern constinit thread_local bool grad_enabled;
}

/// Whether this thread records operators for backward.
struct GradMode {
  /// True at first.
  static bool is_enabled() { return detail::grad_enabled; }
  /// Switches it on this thread; the guards below do so for a scope.
  static void set_enabled(bool enabled) { detail::grad_enabled = enabled; }
};

/// Sets the grad mode while alive.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : previous_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(previous_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};

/// Nothing is recorded while alive: evaluation, weight initialisation, optimizer steps.
class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};

/// libtorch's name for evaluation without a graph; here the same as NoGradGuard.
class InferenceMode : public AutoGradMode {
 public:
  explicit InferenceMode(bool enabled = true) : AutoGradMode(!enabled && GradMode::is_enabled()) {}
};

}  // namespace halftone
