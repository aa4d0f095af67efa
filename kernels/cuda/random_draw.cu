// Draws of indices: permutations, and by weight. Running sums are formed one after the other, as on the CPU:
// which index is drawn hangs on their last bit.

#include "halftone/kernels/cuda/random_draw.h"

#include <cmath>
#include <limits>

#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/random_words.h"
#include "halftone/kernels/cuda/sort.h"
#include "halftone/kernels/index.h"

namespace halftone::cuda {
namespace {

__global__ void random_keys_kernel(PairView pairs, std::int64_t n, std::uint64_t seed, std::uint64_t offset,
                                   const std::uint64_t* base) {
  offset = stream_offset(offset, base);
  for (std::int64_t i = global_id(); i < n; i += global_size()) {
    const philox::Block block = philox::block(seed, offset + static_cast<std::uint64_t>(i / 2));
    pairs.set(i, word64(block, static_cast<int>(i % 2)), i);
  }
}

__global__ void write_sources_kernel(std::int64_t* out, PairView pairs, std::int64_t n) {
  for (std::int64_t i = global_id(); i < n; i += global_size()) out[i] = pairs.source(i);
}

/// One warp per row: it fetches what its first lane adds up.
__global__ void running_sums_kernel(double* running, const double* weights, std::int64_t rows,
                                    std::int64_t n) {
  const std::int64_t row = global_id() / 32;
  if (row >= rows) return;
  double sum = 0;
  for (std::int64_t first = 0; first < n; first += 32) {
    const std::int64_t i = first + lane_id();
    const double weight = i < n ? weights[row * n + i] : 0.0;
    double own = 0;
    for (int lane = 0; lane < 32; ++lane) {
      sum += __shfl_sync(kFullWarp, weight, lane);
      if (lane == lane_id()) own = sum;
    }
    if (i < n) running[row * n + i] = own;
  }
}

/// The number of running sums not above `at`.
__device__ inline std::int64_t sums_up_to(const double* running, std::int64_t n, double at) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (running[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// out (rows, draws). `blocks`: of the stream, per row.
__global__ void draw_kernel(std::int64_t* out, const double* running, std::int64_t rows, std::int64_t n,
                            std::int64_t draws, std::int64_t blocks, std::uint64_t seed, std::uint64_t offset,
                            const std::uint64_t* base) {
  offset = stream_offset(offset, base);
  for (std::int64_t i = global_id(); i < rows * draws; i += global_size()) {
    const std::int64_t row = i / draws, draw = i % draws;
    const philox::Block block =
        philox::block(seed, offset + static_cast<std::uint64_t>(row * blocks + draw / 2));
    const double total = running[row * n + n - 1];
    const double at = uniform64(block, static_cast<int>(draw % 2)) * total;
    // The first running sum above `at`: never an index of weight 0. Rounding may put `at` on the total.
    const double below = std::nextafter(total, 0.0);
    out[i] = sums_up_to(running + row * n, n, at < below ? at : below);
  }
}

/// Exponential waiting times (rows, n); indices of weight 0 wait forever.
__global__ void waiting_times_kernel(double* waiting, const double* weights, std::int64_t rows,
                                     std::int64_t n, std::int64_t blocks, std::uint64_t seed,
                                     std::uint64_t offset, const std::uint64_t* base) {
  offset = stream_offset(offset, base);
  for (std::int64_t i = global_id(); i < rows * n; i += global_size()) {
    const std::int64_t row = i / n, index = i % n;
    const philox::Block block =
        philox::block(seed, offset + static_cast<std::uint64_t>(row * blocks + index / 2));
    const double time = -std::log1p(-uniform64(block, static_cast<int>(index % 2)));
    waiting[i] = weights[i] > 0 ? time / weights[i] : std::numeric_limits<double>::infinity();
  }
}

}  // namespace

// --------------------------------------------------------------------------------------------------------

void permutation(const Tensor& out, PhiloxState state) {
  const DeviceScope scope(out.device());
  const std::int64_t n = out.numel();
  Pairs pairs(n, 64, out.device());
  launch<random_keys_kernel>(blocks_for(n), kThreads, 0, pairs.view(), n, state.seed, state.offset,
                             state.base);
  pairs.sort(64);
  launch<write_sources_kernel>(blocks_for(n), kThreads, 0, out.data_ptr<std::int64_t>(), pairs.view(), n);
}

void multinomial(const Tensor& out, const Tensor& weights, bool replacement, PhiloxState state) {
  if (out.numel() == 0) return;
  const DeviceScope scope(out.device());
  const std::int64_t rows = weights.size(0), n = weights.size(1), draws = out.size(1);
  const std::int64_t blocks = stream_blocks(replacement ? draws : n, 2);
  const double* weight = weights.data_ptr<double>();
  const Tensor scratch = empty({rows, n}, weights.options());
  double* data = scratch.data_ptr<double>();
  if (replacement) {
    launch<running_sums_kernel>(static_cast<unsigned>((rows + kThreads / 32 - 1) / (kThreads / 32)), kThreads,
                                0, data, weight, rows, n);
    launch<draw_kernel>(blocks_for(out.numel()), kThreads, 0, out.data_ptr<std::int64_t>(), data, rows, n,
                        draws, blocks, state.seed, state.offset, state.base);
  } else {
    launch<waiting_times_kernel>(blocks_for(rows * n), kThreads, 0, data, weight, rows, n, blocks, state.seed,
                                 state.offset, state.base);
    const Tensor times = empty(out.sizes(), weights.options());
    kernels_for<ArrangeKernels>(out.device()).sort(times, out, scratch, 1, false);
  }
}

}  // namespace halftone::cuda
