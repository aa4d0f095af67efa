// Elements that are not zero: each warp counts those of its tile of neighbouring elements, sums over the
// counts say where it writes. NaN is not zero.

#include "halftone/engine/cuda_backend.h"
#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/index_functions.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/sort_scan.h"

namespace halftone::cuda {
namespace {

constexpr int kItems = 16;  // elements of a lane
constexpr int kTile = 32 * kItems;
constexpr int kWarps = kThreads / 32;

/// Row-major sizes of the tensor whose coordinates are written.
struct Shape {
  std::int64_t sizes[kMaxDims];
  int rank;
};

__device__ inline bool is_nonzero(const void* data, ScalarType dtype, const Geometry<1>& geometry,
                                  std::int64_t i) {
  return i < geometry.numel && read<double>(data, dtype, geometry.offsets(i).at[0]) != 0;
}

__global__ void count_nonzero_kernel(const void* data, ScalarType dtype, Geometry<1> geometry,
                                     std::int64_t tiles, std::int64_t* counts) {
  const std::int64_t tile = block_id() * kWarps + warp_id();
  if (tile >= tiles) return;
  int count = 0;
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = tile * kTile + k * 32 + lane_id();
    count += __popc(__ballot_sync(kFullWarp, is_nonzero(data, dtype, geometry, i)));
  }
  if (lane_id() == 0) counts[tile] = count;
}

/// out (rows, rank); `before`: elements found in earlier tiles.
__global__ void write_nonzero_kernel(std::int64_t* out, std::int64_t rows, const void* data, ScalarType dtype,
                                     Geometry<1> geometry, std::int64_t tiles, const std::int64_t* before,
                                     Shape shape) {
  const std::int64_t tile = block_id() * kWarps + warp_id();
  if (tile >= tiles) return;
  std::int64_t next = before[tile];
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = tile * kTile + k * 32 + lane_id();
    const bool found = is_nonzero(data, dtype, geometry, i);
    const unsigned lanes = __ballot_sync(kFullWarp, found);
    const std::int64_t row = next + __popc(lanes & ((1u << lane_id()) - 1u));
    if (found && row < rows) {
      std::int64_t rest = i;
      for (int d = shape.rank - 1; d >= 0; --d) {
        out[row * shape.rank + d] = rest % shape.sizes[d];
        rest /= shape.sizes[d];
      }
    }
    next += __popc(lanes);
  }
}

std::int64_t tiles_of(const Tensor& self) { return (self.numel() + kTile - 1) / kTile; }
unsigned blocks_of(std::int64_t tiles) { return static_cast<unsigned>((tiles + kWarps - 1) / kWarps); }

/// How many are in earlier tiles, and how many in all.
struct Counts {
  Tensor before, total;

  explicit Counts(const Tensor& self) {
    const std::int64_t tiles = tiles_of(self);
    const TensorOptions options = TensorOptions(kLong).device(self.device());
    before = empty({tiles}, options);
    total = empty({1}, options);
    launch<count_nonzero_kernel>(blocks_of(tiles), kThreads, 0, self.data_ptr(), self.scalar_type(),
                                 make_geometry(self.sizes(), self), tiles, before.data_ptr<std::int64_t>());
    exclusive_scan(before, total, 1, tiles);
  }
};

}  // namespace

std::int64_t count_nonzero(const Tensor& self) {
  if (self.numel() == 0) return 0;
  const DeviceScope scope(self.device());
  const Counts counts(self);
  std::int64_t count = 0;
  backend()->read(&count, counts.total.data_ptr(), sizeof count, self.device().index());
  return count;
}

void nonzero(const Tensor& out, const Tensor& self) {
  if (out.numel() == 0 || self.numel() == 0) return;
  const DeviceScope scope(out.device());
  Shape shape{};
  for (const std::int64_t size : self.sizes()) shape.sizes[shape.rank++] = size;
  const Counts counts(self);
  const std::int64_t tiles = tiles_of(self);
  launch<write_nonzero_kernel>(blocks_of(tiles), kThreads, 0, out.data_ptr<std::int64_t>(), out.size(0),
                               self.data_ptr(), self.scalar_type(), make_geometry(self.sizes(), self), tiles,
                               counts.before.data_ptr<std::int64_t>(), shape);
}

}  // namespace halftone::cuda
