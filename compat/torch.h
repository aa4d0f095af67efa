#pragma once

/// libtorch programs compile with this header in the place of <torch/torch.h>, for what halftone has. It is
/// the one header that defines macros without the HALFTONE_ prefix: libtorch's own, which such programs use.

// libtorch's header brings these in, and programs rely on it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "halftone/halftone.h"

namespace torch = halftone;
namespace at = halftone;
namespace c10 = halftone;

namespace halftone::compat {

/// The parts written one after the other, as c10::str does.
template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// Throws Error with the parts as its message, or what the macro expected if there are none.
template <class... Parts>
[[noreturn]] void check_failed(const char* macro, const char* condition, const Parts&... parts) {
  if constexpr (sizeof...(Parts) == 0)
    throw Error(macro, text_of("expected ", condition, " to be true"));
  else
    throw Error("", text_of(parts...));
}

}  // namespace halftone::compat

namespace halftone {
/// torch::str: the parts written one after the other.
template <class... Parts>
std::string str(const Parts&... parts) {
  return compat::text_of(parts...);
}
}  // namespace halftone

#define TORCH_MODULE(Name) HALFTONE_MODULE(Name)
#define TORCH_ARG(T, name) HALFTONE_ARG(T, name)
#define FORWARD_HAS_DEFAULT_ARGS(...) HALFTONE_FORWARD_HAS_DEFAULT_ARGS(__VA_ARGS__)

#define HALFTONE_COMPAT_CHECK(macro, condition, ...)                                                  \
  do {                                                                                                \
    if (!(condition)) ::halftone::compat::check_failed(macro, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#define TORCH_CHECK(condition, ...) HALFTONE_COMPAT_CHECK("TORCH_CHECK", condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), #a " == " #b ": ", (a), " and ", (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b), #a " != " #b ": ", (a), " and ", (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b), #a " < " #b ": ", (a), " and ", (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b), #a " <= " #b ": ", (a), " and ", (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b), #a " > " #b ": ", (a), " and ", (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b), #a " >= " #b ": ", (a), " and ", (b))
#define TORCH_INTERNAL_ASSERT(condition, ...) \
  HALFTONE_COMPAT_CHECK("TORCH_INTERNAL_ASSERT", condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERT(condition) TORCH_INTERNAL_ASSERT(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) ::halftone::compat::check_failed("AT_ERROR", "", __VA_ARGS__)
#define TORCH_WARN(...) ::halftone::warn("TORCH_WARN", ::halftone::compat::text_of(__VA_ARGS__))

// Calls a lambda in which `scalar_t` is the C++ type of the dtype; others are refused by name.
#define HALFTONE_COMPAT_CASE(dtype, type, ...) \
  case dtype: {                                \
    using scalar_t [[maybe_unused]] = type;    \
    return __VA_ARGS__();                      \
  }
#define HALFTONE_COMPAT_DISPATCH(dtype, name, cases)                                                        \
  [&] {                                                                                                     \
    const ::halftone::ScalarType halftone_dtype = dtype;                                                    \
    switch (halftone_dtype) { cases default : ::halftone::fail(name, "has no case for ", halftone_dtype); } \
  }()
#define HALFTONE_COMPAT_FLOATING(...)                          \
  HALFTONE_COMPAT_CASE(::halftone::kFloat, float, __VA_ARGS__) \
  HALFTONE_COMPAT_CASE(::halftone::kDouble, double, __VA_ARGS__)
#define HALFTONE_COMPAT_INTEGERS(...)                                \
  HALFTONE_COMPAT_CASE(::halftone::kByte, std::uint8_t, __VA_ARGS__) \
  HALFTONE_COMPAT_CASE(::halftone::kInt, std::int32_t, __VA_ARGS__)  \
  HALFTONE_COMPAT_CASE(::halftone::kLong, std::int64_t, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(dtype, name, ...) \
  HALFTONE_COMPAT_DISPATCH(dtype, name, HALFTONE_COMPAT_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(dtype, name, ...)    \
  HALFTONE_COMPAT_DISPATCH(dtype, name,                          \
                           HALFTONE_COMPAT_FLOATING(__VA_ARGS__) \
                               HALFTONE_COMPAT_CASE(::halftone::kHalf, ::halftone::Half, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(dtype, name, ...) \
  HALFTONE_COMPAT_DISPATCH(dtype, name, HALFTONE_COMPAT_INTEGERS(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(dtype, name, ...) \
  HALFTONE_COMPAT_DISPATCH(dtype, name,         \
                           HALFTONE_COMPAT_FLOATING(__VA_ARGS__) HALFTONE_COMPAT_INTEGERS(__VA_ARGS__))
