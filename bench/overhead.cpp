// What calling an operator costs besides its kernel: the smallest tensors, plain, recorded, under autocast,
// and traced. `overhead` prints nanoseconds per call, the fastest of many samples; two builds are compared by
// running both in turn (`for i in 1 2 3; do a/overhead; b/overhead; done`).

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "halftone/bench/support/measure.h"
#include "halftone/halftone.h"

using namespace halftone;

namespace {

template <class F>
double nanoseconds(F&& f) {
  double best = INFINITY;
  constexpr int kCalls = 2000, kSamples = 400;
  for (int sample = 0; sample < kSamples; ++sample) {
    const double start = bench::now();
    for (int i = 0; i < kCalls; ++i) f();
    best = std::min(best, (bench::now() - start) / kCalls);
  }
  return 1e9 * best;
}

/// The same while a trace records, a new one for every sample.
template <class F>
double traced_nanoseconds(const amp::TraceOptions& options, F&& f) {
  double best = INFINITY;
  constexpr int kCalls = 2000, kSamples = 40;
  for (int sample = 0; sample < kSamples; ++sample) {
    const amp::Trace trace(options);
    const double start = bench::now();
    for (int i = 0; i < kCalls; ++i) f();
    best = std::min(best, (bench::now() - start) / kCalls);
  }
  return 1e9 * best;
}

}  // namespace

int main() {
  const Tensor a = rand({4}), b = rand({4});
  const Tensor w = rand({4, 4}).requires_grad_(), x = rand({4, 4});
  {
    NoGradGuard no_grad;
    std::printf("add                    %8.1f ns\n", nanoseconds([&] { a + b; }));
    Tensor c = rand({4});
    std::printf("add_ in place          %8.1f ns\n", nanoseconds([&] { c.add_(b); }));
    std::printf("relu                   %8.1f ns\n", nanoseconds([&] { relu(a); }));
    std::printf("transpose              %8.1f ns\n", nanoseconds([&] { x.t(); }));
    std::printf("matmul 4x4             %8.1f ns\n", nanoseconds([&] { matmul(x, w); }));
  }
  std::printf("mul, recorded          %8.1f ns\n", nanoseconds([&] { x* w; }));
  std::printf("forward and backward   %8.1f ns\n", nanoseconds([&] { (x * w).sum().backward(); }));
  w.mutable_grad().reset();
  {
    const amp::Autocast autocast(kCPU, kBFloat16);
    std::printf("matmul 4x4, autocast   %8.1f ns\n", nanoseconds([&] { matmul(x, w); }));
    amp::TraceOptions options;
    std::printf("... traced             %8.1f ns\n", traced_nanoseconds(options, [&] { matmul(x, w); }));
    options.check_values = false;
    std::printf("... without the check  %8.1f ns\n", traced_nanoseconds(options, [&] { matmul(x, w); }));
  }
}
