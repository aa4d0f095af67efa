#include "halftone/kernels/cuda/sort_scan.h"

#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

/// One block per row.
__global__ void exclusive_scan_kernel(std::int64_t* counts, std::int64_t* totals, std::int64_t n) {
  std::int64_t* row = counts + block_id() * n;
  std::int64_t before = 0;
  for (std::int64_t first = 0; first < n; first += block_size()) {
    const std::int64_t i = first + thread_id();
    const std::int64_t count = i < n ? row[i] : 0;
    std::int64_t total;
    const std::int64_t offset = block_exclusive_scan(count, total);
    if (i < n) row[i] = before + offset;
    before += total;
  }
  if (thread_id() == 0) totals[block_id()] = before;
}

}  // namespace

void exclusive_scan(const Tensor& counts, const Tensor& totals, std::int64_t rows, std::int64_t n) {
  // No more warps than the row fills.
  const std::int64_t warps = (n + 31) / 32;
  const unsigned threads = warps < kThreads / 32 ? static_cast<unsigned>(32 * warps) : kThreads;
  launch<exclusive_scan_kernel>(static_cast<unsigned>(rows), threads, 0, counts.data_ptr<std::int64_t>(),
                                totals.data_ptr<std::int64_t>(), n);
}

}  // namespace halftone::cuda
