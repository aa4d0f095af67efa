#include "halftone/kernels/copy.h"

#include <optional>

#include "halftone/engine/cuda_backend.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/pointwise_pack.h"
#include "halftone/kernels/cuda/pointwise_walk.h"

// Elements are moved as they are where the dtypes agree: whole by the copy engine if both tensors are
// contiguous, through tiles in shared memory if it is a transposition, else element by element in units of up
// to 16 bytes. Conversions are a kernel of their own. Between host and device only contiguous blocks travel,
// in the dtype of the source.
namespace halftone::cuda {

namespace {

using Walk = Geometry<2>;  // destination, source

// Moving without conversion -------------------------------------------------------------------------------

/// S is an unsigned type of the elements' size, or a Pack of 16 bytes.
template <class S>
__global__ void move_kernel(Walk walk, S* to, const S* from) {
  for (std::int64_t i = global_id(); i < walk.numel; i += global_size()) {
    const auto offsets = walk.offsets(i);
    to[offsets.at[0]] = from[offsets.at[1]];
  }
}

constexpr int kTile = 32;
constexpr int kTileRows = 8;  // a block has kTile x kTileRows threads

/// batches x rows x columns, element (b, i, j) at b to_batch + i to_row + j of `to` and at b from_batch + j
/// from_column + i of `from`.
struct Transposition {
  std::int64_t batches, rows, columns;
  std::int64_t to_batch, from_batch, to_row, from_column;
};

template <class S>
__global__ void transpose_kernel(Transposition t, S* to, const S* from) {
  HT_SHARED(S, tile, [kTile][kTile + 1]);  // one more: a column's elements lie in different banks
  const int x = thread_id() % kTile, y = thread_id() / kTile;
  const std::int64_t tiles_down = (t.rows + kTile - 1) / kTile,
                     tiles_across = (t.columns + kTile - 1) / kTile;
  for (std::int64_t at = block_id(); at < t.batches * tiles_down * tiles_across; at += grid_size()) {
    const std::int64_t j0 = at % tiles_across * kTile, i0 = at / tiles_across % tiles_down * kTile;
    const std::int64_t batch = at / tiles_across / tiles_down;
    for (int k = y; k < kTile; k += kTileRows) {
      const std::int64_t i = i0 + x, j = j0 + k;
      if (i < t.rows && j < t.columns) tile[k][x] = from[batch * t.from_batch + j * t.from_column + i];
    }
    __syncthreads();
    for (int k = y; k < kTile; k += kTileRows) {
      const std::int64_t i = i0 + k, j = j0 + x;
      if (i < t.rows && j < t.columns) to[batch * t.to_batch + i * t.to_row + j] = tile[x][k];
    }
    __syncthreads();
  }
}

// Conversion ----------------------------------------------------------------------------------------------

/// Through C, which loses nothing that the result keeps. Packs of W elements first, where both tensors allow
/// it.
template <class C, int W>
__global__ void convert_kernel(Walk walk, std::int64_t packs, void* to, ScalarType to_dtype, const void* from,
                               ScalarType from_dtype) {
  if constexpr (W > 1) {
    for (std::int64_t p = global_id(); p < packs; p += global_size()) {
      const auto offsets = walk.offsets(p * W);
      float x[W];
      unpack<W>(x, load_raw<W>(from, from_dtype, offsets.at[1]), from_dtype);
      store_raw<W>(to, to_dtype, offsets.at[0], pack(x, to_dtype));
    }
  }
  for (std::int64_t i = packs * W + global_id(); i < walk.numel; i += global_size()) {
    const auto offsets = walk.offsets(i);
    write(to, to_dtype, offsets.at[0], read<C>(from, from_dtype, offsets.at[1]));
  }
}

// Filling -------------------------------------------------------------------------------------------------

template <class S>
__global__ void fill_kernel(Geometry<1> walk, S* to, S value) {
  for (std::int64_t i = global_id(); i < walk.numel; i += global_size()) to[walk.offsets(i).at[0]] = value;
}

// Host code -----------------------------------------------------------------------------------------------

using Chunk = Pack<std::uint64_t, 2>;

/// Calls f.operator()<S>() with the type that stands for elements of so many bytes.
template <class F>
void dispatch_size(std::int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    case 8:
      return f.template operator()<std::uint64_t>();
    default:
      return f.template operator()<Chunk>();
  }
}

/// Pairs of neighbours become elements of twice the size, as often as the walk and the addresses allow.
/// Returns the size in bytes that elements have then, at most 16.
template <int N>
std::int64_t widen(Geometry<N>& walk, std::int64_t bytes, const void* const (&data)[N]) {
  const int last = walk.rank - 1;
  const auto can_widen = [&] {
    if (last < 0 || walk.sizes[last] % 2 != 0) return false;
    for (int k = 0; k < N; ++k) {
      if (walk.strides[last][k] != 1 ||
          reinterpret_cast<std::uintptr_t>(data[k]) % static_cast<std::uintptr_t>(2 * bytes) != 0)
        return false;
      for (int d = 0; d < last; ++d) {
        if (walk.strides[d][k] % 2 != 0) return false;
      }
    }
    return true;
  };
  while (bytes < 16 && can_widen()) {
    bytes *= 2;
    walk.numel /= 2;
    walk.sizes[last] /= 2;
    for (int d = 0; d < last; ++d) {
      for (int k = 0; k < N; ++k) walk.strides[d][k] /= 2;
    }
  }
  return bytes;
}

std::optional<Transposition> transposition(const Walk& walk) {
  if (walk.rank < 2 || walk.rank > 3) return {};
  const int i = walk.rank - 2, j = walk.rank - 1;
  if (walk.strides[j][0] != 1 || walk.strides[i][1] != 1 || walk.sizes[i] < 8 || walk.sizes[j] < 8) return {};
  Transposition t{1, walk.sizes[i], walk.sizes[j], 0, 0, walk.strides[i][0], walk.strides[j][1]};
  if (walk.rank == 3) {
    t.batches = walk.sizes[0];
    t.to_batch = walk.strides[0][0];
    t.from_batch = walk.strides[0][1];
  }
  return t;
}

void move(const Tensor& dst, const Tensor& src, Walk walk) {
  void* const to = dst.data_ptr();
  const void* const from = src.data_ptr();
  if (walk.is_dense(0) && walk.is_dense(1)) {
    check(cudaMemcpyAsync(to, from, dst.nbytes(), cudaMemcpyDeviceToDevice, current_stream()),
          "cudaMemcpyAsync");
    return;
  }
  if (const auto t = transposition(walk)) {
    const std::int64_t tiles =
        t->batches * ((t->rows + kTile - 1) / kTile) * ((t->columns + kTile - 1) / kTile);
    dispatch_size(dst.itemsize(), [&]<class S>() {
      launch<transpose_kernel<S>>(blocks_for(tiles, 1), kTile * kTileRows, 0, *t, static_cast<S*>(to),
                                  static_cast<const S*>(from));
    });
    return;
  }
  const std::int64_t bytes = widen<2>(walk, dst.itemsize(), {to, from});
  dispatch_size(bytes, [&]<class S>() {
    launch<move_kernel<S>>(blocks_for(walk.numel), kThreads, 0, walk, static_cast<S*>(to),
                           static_cast<const S*>(from));
  });
}

/// float holds every value of this type.
bool fits_float(ScalarType dtype) {
  return dtype == kByte || dtype == kBool || dtype == kHalf || dtype == kBFloat16 || dtype == kFloat;
}

template <class C, int W>
void launch_convert(const Tensor& dst, const Tensor& src, const Walk& walk, bool packed) {
  const std::int64_t packs = packed ? walk.numel / W : 0;
  launch<convert_kernel<C, W>>(blocks_for(std::max(packs, walk.numel - packs * W)), kThreads, 0, walk, packs,
                               dst.data_ptr(), dst.scalar_type(), src.data_ptr(), src.scalar_type());
}

template <int W>
bool converts_in_packs(const Tensor& dst, const Tensor& src, const Walk& walk) {
  return has_packs<W>(dst.scalar_type()) && has_packs<W>(src.scalar_type()) &&
         is_pack_aligned(dst.data_ptr(), dst.scalar_type(), W) &&
         is_pack_aligned(src.data_ptr(), src.scalar_type(), W) && walks_in_packs(walk, 0, W) &&
         walks_in_packs(walk, 1, W);
}

void convert(const Tensor& dst, const Tensor& src, const Walk& walk) {
  const ScalarType from = src.scalar_type(), to = dst.scalar_type();
  if (!is_floating_point(from) && !(fits_float(from) && is_floating_point(to))) {
    // int64 holds every integer; the conversion to a floating type rounds once.
    launch_convert<std::int64_t, 1>(dst, src, walk, false);
  } else if (!fits_float(from)) {
    launch_convert<double, 1>(dst, src, walk, false);
  } else if (converts_in_packs<8>(dst, src, walk)) {
    launch_convert<float, 8>(dst, src, walk, true);
  } else {
    launch_convert<float, 4>(dst, src, walk, converts_in_packs<4>(dst, src, walk));
  }
}

// Copies between devices ----------------------------------------------------------------------------------

/// A contiguous tensor of src's sizes and dtype, on its device.
Tensor packed(const Tensor& src) {
  if (src.is_contiguous()) return src;
  const Tensor result = empty(src.sizes(), src.options());
  kernels_for<CopyKernels>(src.device()).copy(result, src);
  return result;
}

/// `dst` itself if a contiguous block of src's dtype can be put there, else a new tensor that is copied on
/// later.
Tensor landing(const Tensor& dst, const Tensor& src) {
  const bool direct =
      dst.is_contiguous() && dst.scalar_type() == src.scalar_type() && dst.sizes() == src.sizes();
  return direct ? dst : empty(src.sizes(), TensorOptions(src.scalar_type()).device(dst.device()));
}

/// What `then` does from now on waits for what `first` has been given so far. Each stream is named while its
/// device is current: every device has a default stream of its own, all with one name.
void wait_for(Device first, Device then) {
  Backend& cuda = require_backend("copy_");
  EventHandle event = nullptr;
  {
    const DeviceScope scope(first);
    event = cuda.create_event(false);
    cuda.record_event(event, current_stream());
  }
  const DeviceScope scope(then);
  cuda.wait_event(current_stream(), event);
  cuda.destroy_event(event);
}

/// Between two CUDA devices, on the source's stream. The destination's earlier work may still use the memory,
/// and its later work needs the copy.
void copy_to_peer(const Tensor& to, const Tensor& from) {
  wait_for(to.device(), from.device());
  {
    const DeviceScope scope(from.device());
    check(cudaMemcpyPeerAsync(to.data_ptr(), to.device().index(), from.data_ptr(), from.device().index(),
                              from.nbytes(), current_stream()),
          "cudaMemcpyPeerAsync");
  }
  wait_for(from.device(), to.device());
}

void copy_across(const Tensor& dst, const Tensor& src) {
  const Tensor from = packed(src);
  const Tensor to = landing(dst, src);
  if (to.is_cpu()) {
    require_backend("copy_").read(to.data_ptr(), from.data_ptr(), from.nbytes(), from.device().index());
  } else if (from.is_cpu()) {
    require_backend("copy_").write(to.data_ptr(), from.data_ptr(), from.nbytes(), to.device().index());
  } else {
    copy_to_peer(to, from);
  }
  if (!to.is_same(dst)) kernels_for<CopyKernels>(dst.device()).copy(dst, to);
}

// The family ----------------------------------------------------------------------------------------------

/// Called when either tensor is on a CUDA device.
void copy(const Tensor& dst, const Tensor& src) {
  const Tensor* const inputs[] = {&src};
  const Walk walk = memory_walk<2>("copy_", dst, inputs);
  if (walk.numel == 0) return;
  if (dst.device() != src.device()) return copy_across(dst, src);
  const DeviceScope scope(dst.device());
  if (dst.scalar_type() != src.scalar_type()) return convert(dst, src, walk);
  if (dst.data_ptr() == src.data_ptr() && dst.sizes() == src.sizes() && dst.strides() == src.strides())
    return;
  move(dst, src, walk);
}

void fill(const Tensor& dst, double value, std::int64_t integer) {
  const DeviceScope scope(dst.device());
  Geometry<1> walk = memory_walk<1>("fill_", dst, {});
  const std::int64_t bytes = dst.itemsize();
  std::byte pattern[16];
  dispatch_all(dst.scalar_type(), [&]<class T>() {
    const T element = std::is_integral_v<T> ? convert_value<T>(integer) : convert_value<T>(value);
    for (std::size_t i = 0; i < sizeof(pattern); i += sizeof(T))
      std::memcpy(pattern + i, &element, sizeof(T));
  });
  void* const to = dst.data_ptr();
  dispatch_size(widen<1>(walk, bytes, {to}), [&]<class S>() {
    S unit;
    std::memcpy(&unit, pattern, sizeof(S));
    launch<fill_kernel<S>>(blocks_for(walk.numel), kThreads, 0, walk, static_cast<S*>(to), unit);
  });
}

}  // namespace

}  // namespace halftone::cuda

namespace halftone {

template <>
const CopyKernels& cuda_kernels<CopyKernels>() {
  static constexpr CopyKernels kernels{&cuda::copy, &cuda::fill};
  return kernels;
}

}  // namespace halftone
