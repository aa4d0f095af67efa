#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/bench/suite/case.h"
#include "halftone/bench/suite/timing.h"

namespace halftone::bench {

/// What a level of the memory gives, in bytes per second, to loops that only move data.
struct MemoryLevel {
  std::string name;        ///< "L1", "L2", "memory"
  std::int64_t bytes = 0;  ///< of the arrays it was measured with
  double read = 0, copy = 0, update = 0;

  double best() const;
};

/// The limits of this machine, as its own loops reach them: on a CPU chains of multiply-adds at the
/// instruction set in use, on a CUDA device its best matrix product.
struct Ceilings {
  Device device = kCPU;
  int threads = 1;
  double fp32 = 0, tf32 = 0, bf16 = 0, fp16 = 0;  ///< flops per second; 0: not measured
  std::vector<MemoryLevel> levels;

  /// Flops per second for operands of a precision.
  double flops(Precision precision) const;
};

/// Measures them, with the threads that kernels may use. `quick`: with fewer samples and smaller arrays.
Ceilings measure_ceilings(Device device, bool quick);

/// A function that samples the least seconds that the case could take here: its flops at the multiply-add
/// units' speed, or its memory traffic alone. Sampled in turns with the case, it meets the same machine.
/// Empty for a case that nothing measured bounds.
std::function<double()> limit_of(const Case& c, const Ceilings& ceilings, const TimingOptions& timing);

}  // namespace halftone::bench
