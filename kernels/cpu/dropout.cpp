#include "halftone/kernels/dropout.h"

#include "halftone/engine/philox.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"

namespace halftone::cpu {
namespace {

constexpr std::int64_t kChunk = 4096;  // a multiple of the four words in a block

/// Elements first .. first + n of the tensor, in scratch memory.
template <class T>
void drop(T* x, std::int64_t first, std::int64_t n, double p, T scale, PhiloxState state) {
  std::int64_t i = 0;
  while (i < n) {
    const auto word = static_cast<std::uint64_t>(first + i);
    const philox::Block block = philox::block(state.seed, state.offset + word / 4);
    for (std::uint64_t w = word % 4; w < 4 && i < n; ++w, ++i) {
      x[i] = static_cast<double>(philox::uniform(block.word[w])) < p ? T(0) : x[i] * scale;
    }
  }
}

template <class T>
void run_in(const Tensor& out, const Tensor& x, double p, PhiloxState state) {
  const T scale = static_cast<T>(1 / (1 - p));
  if (x.is_contiguous() && out.is_contiguous()) {
    const Loader<T> load = loader<T>(x.scalar_type());
    const Storer<T> store = storer<T>(out.scalar_type());
    const auto* from = static_cast<const std::byte*>(x.data_ptr());
    auto* to = static_cast<std::byte*>(out.data_ptr());
    parallel_for(x.numel(), kChunk, [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> chunk(static_cast<std::size_t>(kChunk));
      for (std::int64_t i = begin; i < end; i += kChunk) {
        const std::int64_t n = std::min(kChunk, end - i);
        load(chunk.data(), from + i * x.itemsize(), 1, n);
        drop(chunk.data(), i, n, p, scale, state);
        store(to + i * out.itemsize(), 1, chunk.data(), n);
      }
    });
    return;
  }
  const Rows<T> from(x, x.dim() - 1), to(out, out.dim() - 1);
  const std::int64_t length = from.length();
  parallel_for(from.count(), row_grain(length), [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> row(static_cast<std::size_t>(padded(length)));
    for (std::int64_t r = begin; r < end; ++r) {
      from.load(r, row.data(), T(0));
      drop(row.data(), r * length, length, p, scale, state);
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
