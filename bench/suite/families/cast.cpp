// Conversions between float32 and the setting's precision; in fp32 a plain copy, for comparison.

#include "halftone/bench/suite/families/operands.h"

namespace halftone::bench {
namespace {

Case conversion(const char* name, std::int64_t elements, Dtype from, Dtype to, const Setting& setting) {
  const auto bytes = [&](Dtype dtype) { return elements * static_cast<std::int64_t>(element_size(dtype)); };
  Case c;
  c.name = name;
  c.bound = Bound::kMemory;
  c.passes = {{{bytes(from)}, {}, {bytes(to)}}};
  c.prepare = [=] {
    manual_seed(1);
    const Tensor x = uniform({elements}, {Precision::kFp32, setting.device}).to(from);
    return work_of([=] { return from == to ? x.clone() : to_dtype(x, to); },
                   [=] {
                     return Reference{exactly(x), zeros({elements}, TensorOptions(kDouble).device(kCPU))};
                   });
  };
  return c;
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  return {conversion("from_fp32", shape[0], kFloat, setting.dtype(), setting),
          conversion("to_fp32", shape[0], setting.dtype(), kFloat, setting)};
}

}  // namespace

Family cast_family() {
  return {"cast",     "conversions between fp32 and the half types; in fp32 a copy",
          "elements", {{16384}, {262144}, {8388608}},
          {{65536}},  {{1048576}, {268435456}},
          {100},      cases};
}

}  // namespace halftone::bench
