#pragma once

// For the programs of this folder: they are written for libtorch and compile against halftone unchanged, or,
// with PORTING_LIBTORCH defined, against libtorch itself. Both must pass.

#ifdef PORTING_LIBTORCH
#include <torch/torch.h>
#else
#include <halftone/compat/torch.h>
#endif

#include <cstdio>
#include <functional>
#include <string>

namespace porting {

inline int checks = 0, failures = 0;

inline void check(bool passed, const char* what, const char* file, int line) {
  ++checks;
  if (passed) return;
  ++failures;
  std::printf("%s:%d: failed: %s\n", file, line, what);
}

/// One dtype and shape, values within `tolerance` (relative and absolute), NaN equal to NaN.
inline bool close(const torch::Tensor& a, const torch::Tensor& b, double tolerance = 1e-5) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         torch::allclose(a.to(torch::kDouble), b.to(torch::kDouble), tolerance, tolerance,
                         /*equal_nan=*/true);
}

/// Whether `f` throws an exception derived from std::exception.
inline bool throws(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception&) {
    return true;
  }
  return false;
}

/// What `main` returns.
inline int result(const char* program) {
  std::printf("%s: %d checks, %d failed\n", program, checks, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace porting

#define PORTING_CHECK(...) porting::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define PORTING_CLOSE(...) porting::check(porting::close(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define PORTING_THROWS(...) \
  porting::check(porting::throws([&] { (void)(__VA_ARGS__); }), "throws: " #__VA_ARGS__, __FILE__, __LINE__)
