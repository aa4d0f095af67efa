#include "halftone/kernels/copy.h"

#include <cmath>
#include <cstring>

#include "halftone/engine/threads.h"
#include "halftone/kernels/convert_value.h"
#include "halftone/kernels/cpu/convert.h"
#include "halftone/kernels/cpu/strided.h"

namespace halftone::cpu {

namespace {

constexpr std::int64_t kGrain = 32768;

/// Moves `n` elements of type S, without converting them.
template <class S>
void move_run(std::byte* dst, std::int64_t dst_stride, const std::byte* src, std::int64_t src_stride,
              std::int64_t n) {
  S* const to = reinterpret_cast<S*>(dst);
  const S* const from = reinterpret_cast<const S*>(src);
  if (dst_stride == 1 && src_stride == 1) {
    std::memmove(to, from, static_cast<std::size_t>(n) * sizeof(S));
  } else if (dst_stride == 1 && src_stride == 0) {
    std::fill_n(to, n, *from);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * dst_stride] = from[i * src_stride];
  }
}

/// A matrix whose rows are dense in `dst` and whose columns are dense in `src`: by square tiles through a
/// buffer, so that both sides are touched in whole cache lines, once, also where the stride is a power of
/// two.
template <class S>
void transpose(std::byte* dst, std::int64_t dst_stride, const std::byte* src, std::int64_t src_stride,
               std::int64_t rows_begin, std::int64_t rows_end, std::int64_t columns) {
  constexpr std::int64_t kTile = 32;
  S* const to = reinterpret_cast<S*>(dst);
  const S* const from = reinterpret_cast<const S*>(src);
  alignas(64) S tile[kTile][kTile];
  for (std::int64_t i0 = rows_begin; i0 < rows_end; i0 += kTile) {
    const std::int64_t rows = std::min(kTile, rows_end - i0);
    for (std::int64_t j0 = 0; j0 < columns; j0 += kTile) {
      const std::int64_t width = std::min(kTile, columns - j0);
      for (std::int64_t j = 0; j < width; ++j) {
        const S* const column = from + (j0 + j) * src_stride + i0;
        for (std::int64_t i = 0; i < rows; ++i) tile[i][j] = column[i];
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        std::memcpy(to + (i0 + i) * dst_stride + j0, tile[i], static_cast<std::size_t>(width) * sizeof(S));
      }
    }
  }
}

template <class F>
decltype(auto) dispatch_size(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

using Loop = StridedLoop<2>;

void copy_same_dtype(const Tensor& dst, const Tensor& src, const Loop& loop) {
  std::byte* const to = dst.unsafe_impl()->data();
  const std::byte* const from = src.unsafe_impl()->data();
  const std::int64_t bytes = static_cast<std::int64_t>(dst.element_size());
  dispatch_size(dst.element_size(), [&]<class S>() {
    if (const auto matrix = loop.transposed_matrix()) {
      for (std::int64_t batch = 0; batch < matrix->batches; ++batch) {
        std::byte* const t = to + batch * matrix->batch_strides[0] * bytes;
        const std::byte* const f = from + batch * matrix->batch_strides[1] * bytes;
        const std::int64_t grain = std::max<std::int64_t>(32, kGrain / matrix->columns / 32 * 32);
        parallel_for(matrix->rows, grain, [&](std::int64_t begin, std::int64_t end) {
          transpose<S>(t, matrix->dst_stride, f, matrix->src_stride, begin, end, matrix->columns);
        });
      }
      return;
    }
    parallel_for(loop.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      loop.for_each_pair(
          begin, end - begin, [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t n) {
            move_run<S>(to + offset[0] * bytes, stride[0], from + offset[1] * bytes, stride[1], n);
          });
    });
  });
}

/// Through blocks of type T in L1, which loses nothing that the result keeps.
template <class T>
void copy_through(const Tensor& dst, const Tensor& src, const Loop& loop) {
  std::byte* const to = dst.unsafe_impl()->data();
  const std::byte* const from = src.unsafe_impl()->data();
  const std::int64_t to_bytes = static_cast<std::int64_t>(dst.element_size());
  const std::int64_t from_bytes = static_cast<std::int64_t>(src.element_size());
  const Loader<T> load = loader<T>(src.scalar_type());
  const Storer<T> store = storer<T>(dst.scalar_type());
  parallel_for(loop.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    loop.for_each_pair(begin, end - begin,
                       [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t n) {
                         constexpr std::int64_t kBlock = 512;
                         alignas(64) T block[kBlock];
                         for (std::int64_t i = 0; i < n; i += kBlock) {
                           const std::int64_t length = std::min(kBlock, n - i);
                           load(block, from + (offset[1] + i * stride[1]) * from_bytes, stride[1], length);
                           store(to + (offset[0] + i * stride[0]) * to_bytes, stride[0], block, length);
                         }
                       });
  });
}

/// float holds every value of this type.
bool fits_float(ScalarType dtype) {
  return dtype == kByte || dtype == kBool || dtype == kHalf || dtype == kBFloat16 || dtype == kFloat;
}

void copy(const Tensor& dst, const Tensor& src) {
  Loop loop;
  const Tensor* const inputs[] = {&src};
  loop.start("copy_", dst, inputs);
  if (loop.size() == 0) return;
  const ScalarType from = src.scalar_type(), to = dst.scalar_type();
  if (from == to) {
    if (dst.data_ptr() == src.data_ptr() && dst.sizes() == src.sizes() && dst.strides() == src.strides())
      return;
    copy_same_dtype(dst, src, loop);
  } else if (!is_floating_point(from)) {
    // int64 holds every integer; the conversion to a floating type rounds once.
    fits_float(from) && is_floating_point(to) ? copy_through<float>(dst, src, loop)
                                              : copy_through<std::int64_t>(dst, src, loop);
  } else {
    fits_float(from) ? copy_through<float>(dst, src, loop) : copy_through<double>(dst, src, loop);
  }
}

void fill(const Tensor& dst, double value, std::int64_t integer) {
  std::uint64_t bits = 0;
  dispatch_all(dst.scalar_type(), [&]<class S>() {
    const S element = std::is_integral_v<S> ? convert_value<S>(integer) : convert_value<S>(value);
    std::memcpy(&bits, &element, sizeof(S));
  });
  Loop loop;
  loop.start("fill_", dst, {});
  std::byte* const to = dst.unsafe_impl()->data();
  dispatch_size(dst.element_size(), [&]<class S>() {
    const S element = static_cast<S>(bits);
    parallel_for(loop.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      loop.for_each_run(0, begin, end - begin, [&](std::int64_t offset, std::int64_t stride, std::int64_t n) {
        S* const run = reinterpret_cast<S*>(to) + offset;
        if (stride == 1) {
          std::fill_n(run, n, element);
        } else {
          for (std::int64_t i = 0; i < n; ++i) run[i * stride] = element;
        }
      });
    });
  });
}

}  // namespace

}  // namespace halftone::cpu

namespace halftone {

template <>
const CopyKernels& cpu_kernels<CopyKernels>() {
  static constexpr CopyKernels kernels{&cpu::copy, &cpu::fill};
  return kernels;
}

}  // namespace halftone
