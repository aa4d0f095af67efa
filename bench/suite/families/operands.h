#pragma once

// What the families share: operands, and cases with one result.

#include "halftone/bench/suite/case.h"
#include "halftone/engine/functions.h"

namespace halftone::bench {

/// Uniform on [low, high), rounded to the setting's dtype. The same in every run after manual_seed.
inline Tensor uniform(const std::vector<std::int64_t>& sizes, const Setting& setting, double low = -1,
                      double high = 1) {
  const Tensor numbers = rand(sizes, TensorOptions(kFloat).device(kCPU)) * (high - low) + low;
  return numbers.to(setting.dtype()).to(setting.device);
}

/// Integers in [0, high), int64.
inline Tensor integers(std::int64_t high, const std::vector<std::int64_t>& sizes, const Setting& setting) {
  return randint(0, high, sizes, TensorOptions(kLong).device(kCPU)).to(setting.device);
}

/// The numbers that a tensor holds, in float64 on the CPU.
inline Tensor exactly(const Tensor& tensor) { return tensor.detach().to(kCPU).to(kDouble); }

/// Bytes of `count` elements of the setting's dtype.
inline std::int64_t bytes_of(std::int64_t count, const Setting& setting) {
  return count * static_cast<std::int64_t>(element_size(setting.dtype()));
}

/// Work with one result: `call` gives a tensor, `reference` a Reference.
template <class Call, class MakeReference>
Work work_of(Call call, MakeReference reference) {
  Work work;
  work.run = [call] { call(); };
  work.results = [call] { return std::vector<Tensor>{call()}; };
  work.references = [reference] { return std::vector<Reference>{reference()}; };
  return work;
}

/// An operator whose time goes into memory traffic, for a family of shapes.
struct MemoryBoundOperator {
  const char* name;
  Work (*prepare)(const Shape&, const Setting&);
  Traffic traffic;
};

inline std::vector<Case> cases_of(const std::vector<MemoryBoundOperator>& operators, const Shape& shape,
                                  const Setting& setting) {
  std::vector<Case> all;
  for (const MemoryBoundOperator& op : operators) {
    Case c;
    c.name = op.name;
    c.bound = Bound::kMemory;
    c.passes = {op.traffic};
    c.prepare = [=, prepare = op.prepare] { return prepare(shape, setting); };
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace halftone::bench
