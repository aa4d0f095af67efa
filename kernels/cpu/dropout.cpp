#include "halftone/kernels/dropout.h"

#include <cmath>

#include "halftone/engine/cached_containers.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/dropout.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

constexpr std::int64_t kChunk = 4096;  // a multiple of the four words in a block

template <class T>
using Drop = void (*)(T* x, std::int64_t first, std::int64_t n, std::uint32_t threshold, T scale,
                      std::uint64_t seed, std::uint64_t offset);

template <class T>
Drop<T> drop_function() {
  if constexpr (std::is_same_v<T, float>) {
    return pick(&baseline::drop_float, &avx2::drop_float, &avx512::drop_float);
  } else {
    return pick(&baseline::drop_double, &avx2::drop_double, &avx512::drop_double);
  }
}

template <class T>
void run_in(const Tensor& out, const Tensor& x, double p, PhiloxState state) {
  const T scale = static_cast<T>(1 / (1 - p));
  const auto threshold = static_cast<std::uint32_t>(std::ceil(p * 0x1p24));  // philox::uniform(word) < p
  const Drop<T> drop = drop_function<T>();
  if (x.is_contiguous() && out.is_contiguous()) {
    const Loader<T> load = loader<T>(x.scalar_type());
    const Storer<T> store = storer<T>(out.scalar_type());
    const auto* from = static_cast<const std::byte*>(x.data_ptr());
    auto* to = static_cast<std::byte*>(out.data_ptr());
    parallel_for(x.numel(), kChunk, [&](std::int64_t begin, std::int64_t end) {
      CachedVector<T> chunk(static_cast<std::size_t>(kChunk));
      for (std::int64_t i = begin; i < end; i += kChunk) {
        const std::int64_t n = std::min(kChunk, end - i);
        load(chunk.data(), from + i * x.itemsize(), 1, n);
        drop(chunk.data(), i, n, threshold, scale, state.seed, state.offset);
        store(to + i * out.itemsize(), 1, chunk.data(), n);
      }
    });
    return;
  }
  const Rows<T> from(x, x.dim() - 1), to(out, out.dim() - 1);
  const std::int64_t length = from.length();
  parallel_for(from.count(), row_grain(length), [&](std::int64_t begin, std::int64_t end) {
    CachedVector<T> row(static_cast<std::size_t>(padded(length)));
    for (std::int64_t r = begin; r < end; ++r) {
      from.load(r, row.data(), T(0));
      drop(row.data(), r * length, length, threshold, scale, state.seed, state.offset);
      to.store(r, row.data());
    }
  });
}

void run(const Tensor& out, const Tensor& x, double p, PhiloxState state) {
  (x.scalar_type() == kDouble ? run_in<double> : run_in<float>)(out, x, p, state);
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const DropoutKernels& cpu_kernels<DropoutKernels>() {
  static const DropoutKernels kernels{cpu::run};
  return kernels;
}

}  // namespace halftone
