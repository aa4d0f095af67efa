// Gradients of weights and biases that rows share, without atomics.
//
// Layer norm: a block sums 32 columns over a piece of the rows, at most 64 pieces; a second kernel adds the
// pieces up in order. Group norm: a block per channel. Sums of up to 32 numbers are formed in C, those of
// these in fp64.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/norm.h"

namespace halftone::cuda {
namespace {

constexpr int kWarps = 8;
constexpr std::int64_t kMostPieces = 64, kFewestRows = 64;
constexpr int kSumInC = 32;

/// The two sums of one thread.
template <class C>
struct WeightSums {
  C hx = 0, h = 0;
  double gw = 0, gb = 0;
  int count = 0;

  __device__ void add(C g, C x, C center, C rstd) {
    hx = std::fma(g, (x - center) * rstd, hx);
    h += g;
    if (++count == kSumInC) flush();
  }
  __device__ void flush() {
    gw += static_cast<double>(hx);
    gb += static_cast<double>(h);
    hx = h = 0;
    count = 0;
  }
};

struct WeightTypes {
  ScalarType gw, gb, g, x, mean, rstd;
};

template <class C>
__device__ inline C mean_of_row(const void* mean, ScalarType dtype, std::int64_t row) {
  return mean ? read<C>(mean, dtype, row) : C(0);
}

/// partial[piece] is n sums for the weights, then n for the biases. Blocks: columns / 32 by pieces.
template <class C>
__global__ void __launch_bounds__(32 * kWarps)
    norm_columns_kernel(double* partial, const void* g, const void* x, const void* mean, const void* rstd,
                        WeightTypes types, std::int64_t rows, std::int64_t rows_per_piece, std::int64_t n) {
  HT_SHARED(double, sums, [2][kWarps][32]);
  const std::int64_t column = block_id() * 32 + lane_id(), piece = static_cast<std::int64_t>(blockIdx.y);
  const std::int64_t begin = piece * rows_per_piece;
  const std::int64_t end = begin + rows_per_piece < rows ? begin + rows_per_piece : rows;
  WeightSums<C> own;
  if (column < n) {
    visit_floating<C>(types.g, [&]<class G>() {
      visit_floating<C>(types.x, [&]<class X>() {
        for (std::int64_t r = begin + warp_id(); r < end; r += kWarps) {
          own.add(to_compute<C>(static_cast<const G*>(g)[r * n + column]),
                  to_compute<C>(static_cast<const X*>(x)[r * n + column]),
                  mean_of_row<C>(mean, types.mean, r), read<C>(rstd, types.rstd, r));
        }
      });
    });
  }
  own.flush();
  sums[0][warp_id()][lane_id()] = own.gw;
  sums[1][warp_id()][lane_id()] = own.gb;
  __syncthreads();
  if (warp_id() < 2 && column < n) {
    double total = 0;
    for (int w = 0; w < kWarps; ++w) total += sums[warp_id()][w][lane_id()];
    partial[(piece * 2 + warp_id()) * n + column] = total;
  }
}

/// Without pieces, zeros.
__global__ void norm_columns_total_kernel(void* gw, void* gb, const double* partial, ScalarType gw_dtype,
                                          ScalarType gb_dtype, bool wide, std::int64_t pieces,
                                          std::int64_t n) {
  for (std::int64_t i = global_id(); i < 2 * n; i += global_size()) {
    double total = 0;
    for (std::int64_t piece = 0; piece < pieces; ++piece) total += partial[piece * 2 * n + i];
    void* to = i < n ? gw : gb;
    const ScalarType dtype = i < n ? gw_dtype : gb_dtype;
    if (!to) continue;
    if (wide) {
      write(to, dtype, i % n, total);
    } else {
      write(to, dtype, i % n, static_cast<float>(total));
    }
  }
}

/// A block per channel, which is one segment of every row of a group.
template <class C>
__global__ void norm_channels_kernel(void* gw, void* gb, const void* g, const void* x, const void* mean,
                                     const void* rstd, WeightTypes types, NormGeometry p,
                                     std::int64_t channels) {
  const NormShape& s = p.shape;
  const std::int64_t count = s.rows / s.groups * s.length;
  for (std::int64_t channel = block_id(); channel < channels; channel += grid_size()) {
    const std::int64_t group = divide(channel, s.segments);
    const std::int64_t base = (channel - group * s.segments) * s.segment_step;
    WeightSums<C> own;
    for (std::int64_t k = thread_id(); k < count; k += block_size()) {
      const RunWalk walk(k, s.length);
      const std::int64_t row = walk.run * s.groups + group, at = base + row * s.row_step + walk.at;
      own.add(read<C>(g, types.g, at), read<C>(x, types.x, at), mean_of_row<C>(mean, types.mean, row),
              read<C>(rstd, types.rstd, row));
    }
    own.flush();
    const double to_weight = block_sum(own.gw);
    const double to_bias = block_sum(own.gb);
    if (thread_id() != 0) continue;
    if (gw) write(gw, types.gw, channel, static_cast<C>(to_weight));
    if (gb) write(gb, types.gb, channel, static_cast<C>(to_bias));
  }
}

// ---------------------------------------------------------------------------------------------------------------

void total(const Tensor& gw, const Tensor& gb, const void* partial, bool wide, std::int64_t pieces,
           std::int64_t n) {
  if (!gw.defined() && !gb.defined()) return;
  const MaybeTensor to_w(gw), to_b(gb);
  launch<norm_columns_total_kernel>(blocks_for(2 * n), kThreads, 0, to_w.data, to_b.data, partial, to_w.dtype,
                                    to_b.dtype, wide, pieces, n);
}

template <class C>
void sums_in(const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x, const Tensor& mean,
             const Tensor& rstd, const NormShape& s) {
  const MaybeTensor to_w(gw), to_b(gb), from_g(g), from_x(x), m(mean), scale(rstd);
  const WeightTypes types{to_w.dtype, to_b.dtype, from_g.dtype, from_x.dtype, m.dtype, scale.dtype};
  if (s.affine == NormShape::Affine::kSegment) {
    launch<norm_channels_kernel<C>>(blocks_for(s.channels(), 1), kThreads, 0, to_w.data, to_b.data,
                                    from_g.data, from_x.data, m.data, scale.data, types, NormGeometry(s),
                                    s.channels());
    return;
  }
  const std::int64_t n = s.length;
  const std::int64_t per_piece = std::max(kFewestRows, (s.rows + kMostPieces - 1) / kMostPieces);
  const std::int64_t pieces = (s.rows + per_piece - 1) / per_piece;
  const Tensor partial = empty({pieces * 2 * n}, TensorOptions(kDouble).device(g.device()));
  const dim3 grid(static_cast<unsigned>((n + 31) / 32), static_cast<unsigned>(pieces));
  launch<norm_columns_kernel<C>>(grid, 32 * kWarps, 0, partial.data_ptr(), from_g.data, from_x.data, m.data,
                                 scale.data, types, s.rows, per_piece, n);
  total(gw, gb, partial.data_ptr(), std::is_same_v<C, double>, pieces, n);
}

}  // namespace

void norm_weight_gradients(const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                           const Tensor& mean, const Tensor& rstd, const NormShape& shape, bool wide) {
  (wide ? sums_in<double> : sums_in<float>)(gw, gb, g, x, mean, rstd, shape);
}

void zero_weight_gradients(const Tensor& gw, const Tensor& gb, std::int64_t channels) {
  total(gw, gb, nullptr, false, 0, channels);
}

}  // namespace halftone::cuda
