#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

// Atomic functions of the device, for the types the device has them for.

namespace simt {

/// Replaces *address by update(*address) and returns what was there.
template <class T, class Update>
T atomic_update(T* address, Update update) {
  std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(old, update(old), std::memory_order_relaxed)) {
  }
  return old;
}

/// The same for types of 4 bytes that are not trivially copyable by the letter: __half2 and __nv_bfloat162.
template <class T, class Update>
T atomic_update_pair(T* address, Update update) {
  static_assert(sizeof(T) == sizeof(std::uint32_t));
  const auto as_pair = [](std::uint32_t word) {
    T pair;
    std::memcpy(static_cast<void*>(&pair), &word, sizeof(T));
    return pair;
  };
  const std::uint32_t old = atomic_update(reinterpret_cast<std::uint32_t*>(address), [&](std::uint32_t word) {
    const T updated = update(as_pair(word));
    std::memcpy(&word, static_cast<const void*>(&updated), sizeof(T));
    return word;
  });
  return as_pair(old);
}

/// 32- and 64-bit integers the device has the function for; `long` is not among them.
template <class T>
concept AtomicInteger =
    std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;
template <class T>
concept AtomicOrdered = AtomicInteger<T> || std::same_as<T, long long>;
template <class T>
concept AtomicExchanged = AtomicInteger<T> || std::same_as<T, float>;
template <class T>
concept AtomicCompared = AtomicInteger<T> || std::same_as<T, unsigned short>;

}  // namespace simt

// std::type_identity_t takes the operand out of deduction, so that it converts as it does for nvcc's
// overloads.

template <simt::AtomicInteger T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}
inline float atomicAdd(float* address, float value) {
  return simt::atomic_update(address, [=](float old) { return old + value; });
}
inline double atomicAdd(double* address, double value) {
  return simt::atomic_update(address, [=](double old) { return old + value; });
}
inline __half2 atomicAdd(__half2* address, __half2 value) {
  return simt::atomic_update_pair(address, [=](__half2 old) { return __hadd2(old, value); });
}
inline __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value) {
  return simt::atomic_update_pair(address, [=](__nv_bfloat162 old) { return __hadd2(old, value); });
}
inline int atomicSub(int* address, int value) {
  return std::atomic_ref<int>(*address).fetch_sub(value, std::memory_order_relaxed);
}
inline unsigned atomicSub(unsigned* address, unsigned value) {
  return std::atomic_ref<unsigned>(*address).fetch_sub(value, std::memory_order_relaxed);
}
template <simt::AtomicOrdered T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return simt::atomic_update(address, [=](T old) { return old < value ? value : old; });
}
template <simt::AtomicOrdered T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return simt::atomic_update(address, [=](T old) { return value < old ? value : old; });
}
template <simt::AtomicExchanged T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).exchange(value, std::memory_order_relaxed);
}
template <simt::AtomicCompared T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, value, std::memory_order_relaxed);
  return expected;
}
template <simt::AtomicInteger T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_and(value, std::memory_order_relaxed);
}
template <simt::AtomicInteger T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_or(value, std::memory_order_relaxed);
}
template <simt::AtomicInteger T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_xor(value, std::memory_order_relaxed);
}
/// Counts up to `limit`, then from 0.
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return simt::atomic_update(address, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}
/// Counts down to 0, then from `limit`.
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return simt::atomic_update(address,
                             [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}
