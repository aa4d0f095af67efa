// Rows of a table by index. The gradient sorts positions by row; one thread per row and feature adds in their
// order, so the sums are those of the CPU. An index out of range is reported and left out: its row reads as
// NaN.

#include "halftone/kernels/embedding.h"

#include "halftone/kernels/copy.h"
#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/fault.h"
#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/index_move.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/sort.h"

namespace halftone::cuda {
namespace {

/// Index tensors of any integer dtype and layout, read in row-major order.
struct Indices {
  ScalarType dtype;
  Geometry<1> geometry;

  explicit Indices(const Tensor& indices)
      : dtype(indices.scalar_type()), geometry(make_geometry(indices.sizes(), indices)) {}
  __device__ std::int64_t at(const void* data, std::int64_t i) const {
    return read<std::int64_t>(data, dtype, geometry.offsets(i).at[0]);
  }
};

__device__ inline bool check_row(const FaultSink& sink, std::int64_t row, std::int64_t rows) {
  if (row >= 0 && row < rows) return true;
  report_fault(sink, Fault::kRowOutOfRange, row, rows);
  return false;
}

/// out (positions, features), table (rows, features) with strides.
template <class T>
__global__ void look_up_kernel(T* out, const T* table, const void* indices, Indices walk, std::int64_t rows,
                               std::int64_t features, std::int64_t row_step, std::int64_t step,
                               FaultSink sink) {
  for (std::int64_t i = global_id(); i < walk.geometry.numel * features; i += global_size()) {
    const std::int64_t row = walk.at(indices, i / features);
    out[i] = check_row(sink, row, rows) ? table[row * row_step + i % features * step] : missing<T>(true);
  }
}

/// Keys are rows; `rows` for positions that count nowhere.
__global__ void row_keys_kernel(PairView pairs, const void* indices, Indices walk, std::int64_t rows,
                                std::int64_t padding, FaultSink sink) {
  for (std::int64_t i = global_id(); i < walk.geometry.numel; i += global_size()) {
    const std::int64_t row = walk.at(indices, i);
    const bool counts = check_row(sink, row, rows) && row != padding;
    pairs.set(i, static_cast<std::uint64_t>(counts ? row : rows), i);
  }
}

/// Elements of T, of the given dtype if T is void.
template <class Real, class T>
__device__ inline Real load(const void* data, ScalarType dtype, std::int64_t i) {
  if constexpr (std::is_void_v<T>) {
    return read<Real>(data, dtype, i);
  } else {
    return to_compute<Real>(static_cast<const T*>(data)[i]);
  }
}

/// Rows that have gradients; the others were set to zero before. `positions`: where the rows of grad lie.
template <class Real, class T>
__global__ void sum_rows_kernel(void* out, ScalarType out_dtype, std::int64_t row_step, std::int64_t step,
                                const void* grad, ScalarType grad_dtype, Geometry<1> positions,
                                std::int64_t grad_step, PairView pairs, std::int64_t rows,
                                std::int64_t features, bool by_frequency) {
  const std::int64_t count = positions.numel;
  for (std::int64_t i = global_id(); i < count * features; i += global_size()) {
    const std::int64_t first = i / features, feature = i % features;
    const auto row = static_cast<std::int64_t>(pairs.key(first));
    if (row >= rows || !begins_group(pairs, first)) continue;
    const std::int64_t end = group_end(pairs, first, count);
    Real sum = 0;
    for (std::int64_t pair = first; pair < end; ++pair) {
      const std::int64_t from = positions.offsets(pairs.source(pair)).at[0] + feature * grad_step;
      sum += load<Real, T>(grad, grad_dtype, from);
    }
    if (by_frequency) sum /= static_cast<Real>(end - first);
    write(out, out_dtype, row * row_step + feature * step, sum);
  }
}

__global__ void count_rows_kernel(unsigned long long* counts, const void* indices, Indices walk,
                                  std::int64_t rows) {
  for (std::int64_t i = global_id(); i < walk.geometry.numel; i += global_size()) {
    const std::int64_t row = walk.at(indices, i);
    if (row >= 0 && row < rows) atomicAdd(&counts[row], 1ull);
  }
}

/// `counts`: null unless by frequency.
__global__ void factors_kernel(void* out, ScalarType dtype, const void* indices, Indices walk,
                               std::int64_t rows, std::int64_t padding, const unsigned long long* counts,
                               FaultSink sink) {
  for (std::int64_t i = global_id(); i < walk.geometry.numel; i += global_size()) {
    const std::int64_t row = walk.at(indices, i);
    double factor = 0;
    if (check_row(sink, row, rows) && row != padding) {
      factor = counts != nullptr ? 1.0 / static_cast<double>(counts[row]) : 1.0;
    }
    write(out, dtype, i, factor);
  }
}

// --------------------------------------------------------------------------------------------------------

void zero(const Tensor& tensor) { kernels_for<CopyKernels>(tensor.device()).fill(tensor, 0, 0); }

void forward(const Tensor& out, const Tensor& table, const Tensor& indices) {
  if (out.numel() == 0) return;
  const DeviceScope scope(out.device());
  const std::int64_t rows = table.size(0), features = table.size(1);
  const auto run = [&]<class T>(std::int64_t per_element) {
    launch<look_up_kernel<T>>(blocks_for(out.numel() / per_element), kThreads, 0,
                              static_cast<T*>(out.data_ptr()), static_cast<const T*>(table.data_ptr()),
                              indices.data_ptr(), Indices(indices), rows, features / per_element,
                              table.stride(0) / per_element, table.stride(1), fault_sink("embedding"));
  };
  const std::int64_t per_chunk = 16 / out.itemsize();
  const bool chunks = features % per_chunk == 0 && table.stride(0) % per_chunk == 0 && table.stride(1) == 1 &&
                      is_pack_aligned(table.data_ptr()) && is_pack_aligned(out.data_ptr());
  if (chunks) {
    run.template operator()<Chunk>(per_chunk);
  } else {
    by_element_size(out.element_size(), [&]<class T>() { run.template operator()<T>(1); });
  }
}

void backward(const Tensor& out, const Tensor& grad, const Tensor& indices, std::int64_t padding,
              bool by_frequency) {
  if (out.numel() == 0) return;
  const DeviceScope scope(out.device());
  zero(out);
  const std::int64_t rows = out.size(0), features = out.size(1), count = indices.numel();
  if (count == 0) return;
  Pairs pairs(count, bits_for(rows), out.device());
  launch<row_keys_kernel>(blocks_for(count), kThreads, 0, pairs.view(), indices.data_ptr(), Indices(indices),
                          rows, padding, fault_sink("embedding"));
  pairs.sort(bits_for(rows));
  Geometry<1> positions;
  for (std::int64_t d = 0; d < indices.dim(); ++d) positions.add(grad.size(d), {grad.stride(d)});
  const auto run = [&]<class Real, class T>() {
    launch<sum_rows_kernel<Real, T>>(blocks_for(count * features), kThreads, 0, out.data_ptr(),
                                     out.scalar_type(), out.stride(0), out.stride(1), grad.data_ptr(),
                                     grad.scalar_type(), positions, grad.stride(-1), pairs.view(), rows,
                                     features, by_frequency);
  };
  const bool wide = grad.scalar_type() == kDouble || out.scalar_type() == kDouble;
  if (wide) return run.template operator()<double, void>();
  switch (grad.scalar_type()) {
    case kFloat:
      return run.template operator()<float, float>();
    case kHalf:
      return run.template operator()<float, Half>();
    default:
      return run.template operator()<float, BFloat16>();
  }
}

void factors(const Tensor& out, const Tensor& indices, std::int64_t rows, std::int64_t padding,
             bool by_frequency) {
  if (out.numel() == 0) return;
  const DeviceScope scope(out.device());
  const unsigned blocks = blocks_for(indices.numel());
  Tensor counts;
  const auto data = [&] {
    return counts.defined() ? static_cast<unsigned long long*>(counts.data_ptr()) : nullptr;
  };
  if (by_frequency) {
    counts = empty({rows}, TensorOptions(kLong).device(out.device()));
    zero(counts);
    launch<count_rows_kernel>(blocks, kThreads, 0, data(), indices.data_ptr(), Indices(indices), rows);
  }
  launch<factors_kernel>(blocks, kThreads, 0, out.data_ptr(), out.scalar_type(), indices.data_ptr(),
                         Indices(indices), rows, padding, data(), fault_sink("embedding"));
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const EmbeddingKernels& cuda_kernels<EmbeddingKernels>() {
  static constexpr EmbeddingKernels kernels{cuda::forward, cuda::backward, cuda::factors};
  return kernels;
}

}  // namespace halftone
