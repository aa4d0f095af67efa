#pragma once

#include <cstddef>

// Hooks of AddressSanitizer and ThreadSanitizer. Weak: null where the program is linked without them. The
// emulator's own files are compiled without sanitizers; only kernels and host code under test are
// instrumented.

extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom,
                                                          std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_bottom,
                                                           std::size_t* old_size);
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* start, std::size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* start, std::size_t size);
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}

namespace simt::sanitizer {

/// The program runs under ThreadSanitizer: every CUDA thread then has a fiber and a stack of its own.
inline bool is_thread_sanitizer() { return __tsan_create_fiber != nullptr; }
inline bool is_address_sanitizer() { return __asan_poison_memory_region != nullptr; }

/// Whether there is anything to tell a sanitizer.
inline const bool kIsActive = is_thread_sanitizer() || is_address_sanitizer();

inline void poison(const void* start, std::size_t bytes) {
  if (is_address_sanitizer()) __asan_poison_memory_region(start, bytes);
}
inline void unpoison(const void* start, std::size_t bytes) {
  if (is_address_sanitizer()) __asan_unpoison_memory_region(start, bytes);
}

/// What happened before release(tag) is seen after acquire(tag).
inline void release(void* tag) {
  if (kIsActive && is_thread_sanitizer()) __tsan_release(tag);
}
inline void acquire(void* tag) {
  if (kIsActive && is_thread_sanitizer()) __tsan_acquire(tag);
}

}  // namespace simt::sanitizer
