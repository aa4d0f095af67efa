#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

// What the emulated launch must know about a kernel: the launch helper of kernels/cuda/launch.h registers it
// first.

namespace simt {

/// One parameter of a kernel.
struct Parameter {
  std::size_t size = 0;
  std::size_t alignment = 1;
  bool is_pointer = false;  // to data; names (const char*) are carried for the host and not followed
};

struct KernelInfo {
  const void* function = nullptr;
  const char* signature =
      nullptr;  // __PRETTY_FUNCTION__ of a function that has the kernel as template argument K
  const Parameter* parameters = nullptr;
  std::size_t parameter_count = 0;
  void (*call)(void* const* arguments) = nullptr;  // runs the kernel as one thread
};

/// Notes a kernel; the host may launch it from then on.
void add_kernel(const KernelInfo& kernel);

/// The name of kernel K in `signature`.
std::string kernel_name(const char* signature);

template <auto K>
struct KernelTraits;

template <class... P, void (*K)(P...)>
struct KernelTraits<K> {
  template <class T>
  static constexpr Parameter describe() {
    return {sizeof(T), alignof(T), std::is_pointer_v<T> && !std::is_same_v<T, const char*>};
  }
  static constexpr std::array<Parameter, sizeof...(P) + 1> parameters = {describe<P>()..., Parameter{}};

  template <std::size_t... I>
  static void unpack([[maybe_unused]] void* const* arguments, std::index_sequence<I...>) {
    K(*static_cast<std::remove_cv_t<P>*>(arguments[I])...);
  }
  static void call(void* const* arguments) { unpack(arguments, std::index_sequence_for<P...>()); }
};

/// Makes kernel K known, once.
template <auto K>
void register_kernel(const char* signature) {
  static const bool registered = [&] {
    using Traits = KernelTraits<K>;
    add_kernel({reinterpret_cast<const void*>(K), signature, Traits::parameters.data(),
                Traits::parameters.size() - 1, &Traits::call});
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace simt
