// Max pooling. One thread per output; backward one per input, which looks through the windows that may have
// taken it, in their order. An index outside its plane is reported and takes no gradient.

#include "halftone/kernels/cuda/pool_max.h"

#include <limits>

#include "halftone/kernels/cuda/fault.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/pool_windows.h"

namespace halftone::cuda {
namespace {

/// How places are written (kernels/pool.h): kBits 64, in the plane; 8 and 4, as the number in the window.
template <int kBits>
using IndexOf = std::conditional_t<kBits == 64, std::int64_t, std::uint8_t>;

/// The bits of a place, -1 for none.
template <int kBits>
__device__ IndexOf<kBits> pack_place(std::int64_t at, std::int64_t window_row, std::int64_t window_column,
                                     const Windows& rows, const Windows& columns) {
  if constexpr (kBits == 64) {
    return at;
  } else {
    if (at < 0) return (1 << kBits) - 1;
    const std::int64_t y = at / columns.size - (window_row * rows.stride - rows.pad);
    const std::int64_t x = at % columns.size - (window_column * columns.stride - columns.pad);
    return static_cast<std::uint8_t>(y / rows.dil * columns.k + x / columns.dil);
  }
}

/// Back to the place; -1 for none, -2 for one that is not in the plane.
template <int kBits>
__device__ std::int64_t unpack_place(std::int64_t index, std::int64_t window_row, std::int64_t window_column,
                                     const Windows& rows, const Windows& columns) {
  if constexpr (kBits == 64) {
    return index < -1 || index >= rows.size * columns.size ? -2 : index;
  } else {
    if (index == (1 << kBits) - 1) return -1;
    const std::int64_t y = window_row * rows.stride - rows.pad + index / columns.k * rows.dil;
    const std::int64_t x = window_column * columns.stride - columns.pad + index % columns.k * columns.dil;
    const bool inside = index < rows.k * columns.k && y >= 0 && y < rows.size && x >= 0 && x < columns.size;
    return inside ? y * columns.size + x : -2;
  }
}

/// x (planes, rows.size, columns.size), out (planes, rows.count, columns.count). A thread writes one element
/// of `indices`, and so one output, or two.
template <class Real, class T, int kBits>
__global__ void max_forward_kernel(void* out, ScalarType out_dtype, IndexOf<kBits>* indices, const void* x,
                                   ScalarType x_dtype, std::int64_t planes, Windows rows, Windows columns) {
  constexpr std::int64_t kPerIndex = kBits == 4 ? 2 : 1;
  const std::int64_t w = columns.size, line_size = (columns.count + kPerIndex - 1) / kPerIndex;
  for (std::int64_t i = global_id(); i < planes * rows.count * line_size; i += global_size()) {
    const std::int64_t line = i / line_size, plane = line / rows.count, start = plane * rows.size * w;
    const Range row = rows.covered(line % rows.count);
    IndexOf<kBits> packed = 0;
    for (std::int64_t k = 0; k < kPerIndex; ++k) {
      const std::int64_t c = i % line_size * kPerIndex + k;
      if (c >= columns.count) break;
      const Range column = columns.covered(c);
      Real best = -std::numeric_limits<Real>::infinity();
      std::int64_t at = row.begin < row.end && column.begin < column.end ? row.begin * w + column.begin : -1;
      for (std::int64_t y = row.begin; y < row.end; y += rows.dil) {
        for (std::int64_t j = y * w + column.begin; j < y * w + column.end; j += columns.dil) {
          const Real value = load<Real, T>(x, x_dtype, start + j);
          if (value > best || value != value) best = value, at = j;
        }
      }
      store<T>(out, out_dtype, line * columns.count + c, best);
      packed |= pack_place<kBits>(at, line % rows.count, c, rows, columns) << (k * 4);
    }
    indices[i] = packed;
  }
}

template <class Real, class T, int kBits>
__global__ void max_backward_kernel(void* gx, ScalarType gx_dtype, const void* gy, ScalarType gy_dtype,
                                    const IndexOf<kBits>* indices, std::int64_t planes, Windows rows,
                                    Windows columns, FaultSink sink) {
  const std::int64_t h = rows.size, w = columns.size;
  const std::int64_t line_size = kBits == 4 ? (columns.count + 1) / 2 : columns.count;
  for (std::int64_t i = global_id(); i < planes * h * w; i += global_size()) {
    const std::int64_t here = i % (h * w), first_line = i / (h * w) * rows.count;
    const Range row = rows.around(here / w), column = columns.around(here % w);
    Real sum = 0;
    for (std::int64_t y = row.begin; y < row.end; ++y) {
      for (std::int64_t c = column.begin; c < column.end; ++c) {
        std::int64_t index;
        if constexpr (kBits == 4) {
          index = indices[(first_line + y) * line_size + c / 2] >> (c % 2 * 4) & 15;
        } else {
          index = indices[(first_line + y) * line_size + c];
        }
        const std::int64_t place = unpack_place<kBits>(index, y, c, rows, columns);
        if (place == here) sum += load<Real, T>(gy, gy_dtype, (first_line + y) * columns.count + c);
        if (place < -1) report_fault(sink, Fault::kPlaceOutOfRange, index, h * w);
      }
    }
    store<T>(gx, gx_dtype, i, sum);
  }
}

}  // namespace

// --------------------------------------------------------------------------------------------------------

namespace {

/// Calls f.operator()<kBits>() for the way in which `indices` are written.
template <class F>
void dispatch_bits(const Tensor& indices, const PoolShape& shape, F&& f) {
  if (indices.scalar_type() == kLong) return f.template operator()<64>();
  if (number_bits(shape) == 4) return f.template operator()<4>();
  f.template operator()<8>();
}

}  // namespace

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& x, const PoolShape& shape) {
  const DeviceScope scope(out.device());
  dispatch_pool(out.scalar_type(), x.scalar_type(), [&]<class Real, class T>() {
    dispatch_bits(indices, shape, [&]<int kBits>() {
      launch<max_forward_kernel<Real, T, kBits>>(blocks_for(indices.numel()), kThreads, 0, out.data_ptr(),
                                                 out.scalar_type(), indices.data_ptr<IndexOf<kBits>>(),
                                                 x.data_ptr(), x.scalar_type(), shape.planes, rows_of(shape),
                                                 columns_of(shape));
    });
  });
}

void max_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const PoolShape& shape) {
  const DeviceScope scope(gx.device());
  dispatch_pool(gx.scalar_type(), gy.scalar_type(), [&]<class Real, class T>() {
    dispatch_bits(indices, shape, [&]<int kBits>() {
      launch<max_backward_kernel<Real, T, kBits>>(
          blocks_for(gx.numel()), kThreads, 0, gx.data_ptr(), gx.scalar_type(), gy.data_ptr(),
          gy.scalar_type(), indices.data_ptr<IndexOf<kBits>>(), shape.planes, rows_of(shape),
          columns_of(shape), fault_sink("max_pool2d_backward"));
    });
  });
}

}  // namespace halftone::cuda
