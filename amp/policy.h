#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "halftone/engine/device.h"
#include "halftone/engine/dtype.h"

namespace halftone::ops {
class Observer;
}

namespace halftone::amp {

/// How an operator behaves inside an autocast region. Stated once, in the operator's declaration.
enum class Precision : std::uint8_t {
  kAny,         ///< runs on what it is given; the result has the input's dtype
  kLow,         ///< inputs are cast to the autocast dtype, the result has it too
  kFp32,        ///< reads inputs in their own dtype, computes in fp32, gives fp32
  kFp32Inside,  ///< computes in fp32, gives the input's dtype
  kPromote,     ///< the widest of the inputs
  kBanned,      ///< refused on half inputs: unsafe in half precision
};

/// Number of policies; `Precision` values are 0 .. kPrecisionCount - 1.
inline constexpr int kPrecisionCount = 6;

/// "low", "fp32", "fp32_inside", "promote", "any", "banned".
const char* precision_name(Precision precision);

namespace detail {

/// One link of the chain of PolicyOverride objects alive on this thread, innermost first.
struct OverrideLink {
  std::string_view op;
  Precision precision;
  const OverrideLink* outer;
};

struct ThreadState {
  std::array<bool, kDeviceTypes> enabled{};
  std::array<ScalarType, kDeviceTypes> dtype{kBFloat16,
                                             kHalf};  // PyTorch's defaults: bf16 on CPU, fp16 on CUDA
  const OverrideLink* overrides = nullptr;
  ops::Observer* observer = nullptr;  // who watches this thread, see ops/observer.h
  bool suppressed = false;            // regions opened now stay off: the run a tool compares with
  bool wide_results = false;          // operators give fp32 for half, see ops/wide.h
  int depth = 0;                      // nested Autocast objects; the cast cache lives until it returns to 0
  ScalarType last_used = kFloat;  // dtype of the region entered last, for hints; float32 when there was none
};

extern constinit thread_local ThreadState thread_state;

}  // namespace detail

/// True when an operator has more to do than to run and record: autocast is on, it is part of a function that
/// computes in fp32, or somebody watches. The one question that every call of an operator asks.
inline bool needs_attention() {
  const detail::ThreadState& state = detail::thread_state;
  return static_cast<bool>(static_cast<int>(state.enabled[0]) | static_cast<int>(state.enabled[1]) |
                           static_cast<int>(state.wide_results) |
                           static_cast<int>(state.observer != nullptr));
}

/// Whether autocast is on for tensors of that device, on this thread.
inline bool is_autocast_enabled(DeviceType device) {
  return detail::thread_state.enabled[static_cast<int>(device)];
}
/// The dtype in force there, or that of the next region that names none.
inline ScalarType get_autocast_dtype(DeviceType device) {
  return detail::thread_state.dtype[static_cast<int>(device)];
}

/// The policy in force for `op`: the innermost override on this thread, or else the declared one.
Precision effective_policy(std::string_view op, Precision declared);

}  // namespace halftone::amp
