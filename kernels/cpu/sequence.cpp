#include "halftone/kernels/sequence.h"

#include <cmath>

#include "halftone/engine/threads.h"
#include "halftone/kernels/convert_value.h"

namespace halftone {
namespace {

constexpr std::int64_t kGrain = 16384;

/// out[i] = value_at(i), converted once.
template <class F>
void generate(const Tensor& out, F value_at) {
  dispatch_all(out.scalar_type(), [&]<class T>() {
    T* data = out.data_ptr<T>();
    parallel_for(out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = convert_value<T>(value_at(i));
    });
  });
}

void arange(const Tensor& out, const Scalar& start, const Scalar& step) {
  if (start.is_floating_point() || step.is_floating_point()) {
    const double first = start.to_double(), by = step.to_double();
    generate(out, [=](std::int64_t i) { return first + static_cast<double>(i) * by; });
  } else {
    const std::int64_t first = start.to_long(), by = step.to_long();
    generate(out, [=](std::int64_t i) { return first + i * by; });
  }
}

void linspace(const Tensor& out, double start, double end) {
  const std::int64_t last = out.numel() - 1;
  const double step = last > 0 ? (end - start) / static_cast<double>(last) : 0.0;
  generate(out, [=](std::int64_t i) {
    return 2 * i <= last ? start + static_cast<double>(i) * step : end - static_cast<double>(last - i) * step;
  });
}

}  // namespace

template <>
const SequenceKernels& cpu_kernels<SequenceKernels>() {
  static constexpr SequenceKernels kernels{&arange, &linspace};
  return kernels;
}

}  // namespace halftone
