#include "halftone/amp/policy.h"

namespace halftone::amp {

namespace detail {
constinit thread_local ThreadState thread_state;
}

const char* precision_name(Precision precision) {
  constexpr const char* names[kPrecisionCount] = {"any", "low", "fp32", "fp32_inside", "promote", "banned"};
  return names[static_cast<int>(precision)];
}

Precision effective_policy(std::string_view op, Precision declared) {
  for (const auto* link = detail::thread_state.overrides; link; link = link->outer) {
    if (link->op == op) return link->precision;
  }
  return declared;
}

}  // namespace halftone::amp
