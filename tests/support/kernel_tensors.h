#pragma once

#include <cstdint>
#include <vector>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/convert_value.h"
#include "halftone/kernels/cpu/isa.h"

/// Tensors made without any operator, for tests of the kernels below the operators.
namespace halftone::testing {

/// A tensor over new memory of `elements` elements.
inline Tensor strided(ScalarType dtype, const Dims& sizes, const Dims& strides, std::int64_t offset,
                      std::int64_t elements) {
  auto storage =
      make_intrusive<Storage>(static_cast<std::size_t>(elements) * element_size(dtype), Device(kCPU));
  return Tensor(make_intrusive<TensorImpl>(storage, dtype, sizes, strides, offset));
}

inline Tensor empty(ScalarType dtype, const Dims& sizes) {
  return strided(dtype, sizes, contiguous_strides(sizes), 0, count_elements(sizes));
}

/// Another window on the same memory.
inline Tensor window(const Tensor& t, const Dims& sizes, const Dims& strides, std::int64_t offset) {
  return Tensor(
      make_intrusive<TensorImpl>(t.unsafe_impl()->storage, t.scalar_type(), sizes, strides, offset));
}

/// Element i in row-major order, in memory.
inline std::byte* element(const Tensor& t, std::int64_t i) {
  std::int64_t at = 0;
  for (std::int64_t d = t.dim() - 1; d >= 0; --d) {
    at += i % t.size(d) * t.stride(d);
    i /= t.size(d);
  }
  return static_cast<std::byte*>(t.data_ptr()) + at * t.itemsize();
}

inline double get(const Tensor& t, std::int64_t i) {
  return dispatch_all(t.scalar_type(), [&]<class T>() {
    return convert_value<double>(*reinterpret_cast<const T*>(element(t, i)));
  });
}

template <class V>
void put(const Tensor& t, std::int64_t i, V value) {
  dispatch_all(t.scalar_type(),
               [&]<class T>() { *reinterpret_cast<T*>(element(t, i)) = convert_value<T>(value); });
}

inline Tensor from(ScalarType dtype, const std::vector<double>& values) {
  Tensor t = empty(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) put(t, static_cast<std::int64_t>(i), values[i]);
  return t;
}

inline bool same_bits(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  return std::equal(element(a, i), element(a, i) + a.itemsize(), element(b, j));
}

/// The ISA levels of this machine that differ for kernels without a bfloat16 version.
inline std::vector<cpu::Isa> isa_levels() {
  std::vector<cpu::Isa> levels;
  for (const cpu::Isa isa : {cpu::Isa::kBaseline, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    if (isa <= cpu::highest_isa()) levels.push_back(isa);
  }
  return levels;
}

/// Runs the kernels at one level while alive.
class IsaGuard {
 public:
  explicit IsaGuard(cpu::Isa isa) : previous_(cpu::current_isa()) { cpu::set_isa_for_testing(isa); }
  ~IsaGuard() { cpu::set_isa_for_testing(previous_); }
  IsaGuard(const IsaGuard&) = delete;
  IsaGuard& operator=(const IsaGuard&) = delete;

 private:
  cpu::Isa previous_;
};

}  // namespace halftone::testing
