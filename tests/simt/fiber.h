#pragma once

#include <cstddef>

#include "halftone/tests/simt/sanitizer.h"

// Elsewhere, and where HALFTONE_SIMT_UCONTEXT is defined, the C library switches, at the price of a system
// call each.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(HALFTONE_SIMT_UCONTEXT)
#define HALFTONE_SIMT_SWITCH 1
#else
#define HALFTONE_SIMT_SWITCH 0
#include <ucontext.h>
#endif

#if HALFTONE_SIMT_SWITCH
/// Saves the registers that calls preserve on this stack, leaves its pointer at `save` and goes on where `to`
/// was saved.
extern "C" void simt_switch(void** save, void* to);
#endif

namespace simt {

/// A stack of its own and a place in the code: the host's own context, or one CUDA thread after another. A
/// fiber is used by one host thread only.
class Fiber {
 public:
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10;

  /// The context of the calling host thread.
  Fiber();
  /// Starts with `entry`, which never returns, when first resumed.
  explicit Fiber(void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves this fiber, which must be the running one, for `next`; returns when somebody resumes this one.
  void switch_to(Fiber& next) {
    if (sanitizer::kIsActive) {
      switch_annotated(next);
    } else {
      transfer_to(next);
    }
  }
  /// Forgets what the fiber did; it starts from its entry again. No destructors run.
  void reset();
  /// Fetches what a switch to this fiber will need.
  void prefetch() const {
#if HALFTONE_SIMT_SWITCH
    const auto* top = static_cast<const char*>(stack_pointer_);
    __builtin_prefetch(top);
    __builtin_prefetch(top + 64);
    __builtin_prefetch(top + 128);
    __builtin_prefetch(top + 192);
#endif
  }
  /// Whether `address` lies in the guard below the stack.
  bool is_in_guard(const void* address) const;

 private:
  void switch_annotated(Fiber& next);
  /// First on every new stack.
  static void begin();
  /// What is due on the other side of a switch.
  static void arrive();
  /// Sets up the stack to start with `begin`.
  void prepare();

#if HALFTONE_SIMT_SWITCH
  void transfer_to(Fiber& next) { simt_switch(&stack_pointer_, next.stack_pointer_); }
  void* stack_pointer_ = nullptr;
#else
  void transfer_to(Fiber& next) { swapcontext(&context_, &next.context_); }
  ucontext_t context_{};
#endif
  void (*entry_)() = nullptr;
  void* mapping_ = nullptr;  // guard page, then the stack; null for the host's context
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
  std::size_t color_ = 0;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
  void* tsan_ = nullptr;        // ThreadSanitizer's
};

}  // namespace simt
