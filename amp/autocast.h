#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/amp/policy.h"
#include "halftone/ops/autocast.h"

namespace halftone::amp {

/// Mixed precision while alive, on this thread: operators run in the dtype their policy says
/// (docs/operators.md). Regions nest; leaving one, also by an exception, restores what was. The casts of
/// weights made in a region are dropped when the outermost one closes.
///
///   {
///     amp::Autocast autocast(kCPU, kBFloat16);
///     loss = nn::functional::cross_entropy(model->forward(x), y);
///   }
class Autocast {
 public:
  /// `dtype` is float16 or bfloat16; float32 makes a region in which nothing is cast. Throws Error on any
  /// other.
  Autocast(DeviceType device, Dtype dtype, bool enabled = true);
  /// In the device's default dtype: bfloat16 on the CPU, float16 on CUDA.
  explicit Autocast(DeviceType device, bool enabled = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  std::size_t device_;
  bool previous_enabled_;
  ScalarType previous_dtype_;
};

/// The autocast state of a thread, to be continued on another (or later): enabled, dtypes and policy
/// overrides.
class AutocastState {
 public:
  /// What is in force on this thread now.
  static AutocastState capture();

  /// Puts a captured state in force on this thread while alive.
  class Guard {
   public:
    explicit Guard(const AutocastState& state);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::vector<detail::OverrideLink> links_;
    detail::ThreadState previous_;
  };

 private:
  std::array<bool, kDeviceTypes> enabled_{};
  std::array<ScalarType, kDeviceTypes> dtype_{};
  std::vector<std::pair<std::string_view, Precision>> overrides_;  // outermost first
};

/// While alive, `op` follows another policy on this thread; the innermost override of an operator counts. A
/// ban can be lifted this way. Throws Error when no operator has that name; functions composed of operators
/// (see docs/amp.md) have none.
class PolicyOverride {
 public:
  PolicyOverride(std::string_view op, Precision precision);
  ~PolicyOverride();
  PolicyOverride(const PolicyOverride&) = delete;
  PolicyOverride& operator=(const PolicyOverride&) = delete;

 private:
  detail::OverrideLink link_;
};

/// Weight casts held by this thread's region: `entries`, at most one per leaf weight and dtype, and their
/// `bytes`.
using CastCacheStats = ops::CastCacheStats;
/// Of this thread, now.
inline CastCacheStats cast_cache_stats() { return ops::cast_cache_stats(); }

}  // namespace halftone::amp
