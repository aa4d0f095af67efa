// Gradients of the normalisations for their input. Teams and parts as in norm.cu. Where a row has its own
// weight and bias (batch norm), theirs come out on the way; norm_weights.cu sums the others.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/norm.h"

namespace halftone::cuda {
namespace {

struct BackwardTypes {
  ScalarType gx, gw, gb, g, x, weight, mean, rstd;
};

struct BackwardData {
  void* gx;
  const void *g, *x, *weight;
};

/// A thread's sums of h = g * weight and of h * xhat over pieces of a row, as a pair. A weight of the whole
/// row is left out, to be applied to the sums.
template <class Team, int kValues, class C>
__device__ inline Deviations add_products(const BackwardData& data, const BackwardTypes& types,
                                          const NormGeometry& p, std::int64_t r, Pieces pieces, C center,
                                          C scale, C (&grads)[kValues], C (&values)[kValues]) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const bool per_row = p.shape.affine == NormShape::Affine::kRow;
  Deviations sums;
  for (std::int64_t piece = pieces.begin + Team::first(); piece < pieces.end; piece += Team::step()) {
    const std::int64_t begin = piece * kSize, left = p.n - begin;
    C w[kValues], first = 0, second = 0;
    load_norm(data.g, types.g, p, r, begin, Team::slot(), grads);
    load_norm(data.x, types.x, p, r, begin, Team::slot(), values);
    load_factors(per_row ? nullptr : data.weight, types.weight, p, r, begin, Team::slot(), C(1), w);
    for_share<kValues>(left, Team::slot(), [&](int j, int i) {
      const C h = grads[j] * w[j], xhat = (values[j] - center) * scale;
      first += i < left ? h : C(0);
      second = i < left ? std::fma(h, xhat, second) : second;
    });
    sums.first += static_cast<double>(first);
    sums.second += static_cast<double>(second);
  }
  return sums;
}

/// Writes gx for pieces of a row whose sums are `sums`. `grads` and `values` hold the thread's piece if
/// `kept`.
template <class Team, int kValues, class C>
__device__ inline void write_gradients(const BackwardData& data, const BackwardTypes& types,
                                       const NormGeometry& p, std::int64_t r, Pieces pieces, bool kept,
                                       const Deviations& sums, C center, C scale, C (&grads)[kValues],
                                       C (&values)[kValues]) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const NormShape& s = p.shape;
  const bool weighted = s.affine == NormShape::Affine::kRow && data.weight;
  const C own_weight = weighted ? read<C>(data.weight, types.weight, r) : C(1);
  const double share = static_cast<double>(own_weight) / static_cast<double>(p.n);
  const C mean_h = s.centered && !s.frozen ? static_cast<C>(sums.first * share) : C(0);
  const C mean_hx = s.frozen ? C(0) : static_cast<C>(sums.second * share);
  for (std::int64_t piece = pieces.begin + Team::first(); piece < pieces.end; piece += Team::step()) {
    const std::int64_t begin = piece * kSize;
    C w[kValues];
    if (!kept) {
      load_norm(data.g, types.g, p, r, begin, Team::slot(), grads);
      load_norm(data.x, types.x, p, r, begin, Team::slot(), values);
    }
    load_factors(data.weight, types.weight, p, r, begin, Team::slot(), C(1), w);
    for_share<kValues>(p.n - begin, Team::slot(), [&](int j, int) {
      const C xhat = (values[j] - center) * scale;
      const C h = std::fma(grads[j], w[j], -mean_h);
      grads[j] = scale * std::fma(-xhat, mean_hx, h);
    });
    store_norm(data.gx, types.gx, p, r, begin, Team::slot(), grads);
  }
}

/// Everything but gx, g, x and rstd may be null.
template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    norm_backward_kernel(void* gx, void* gw, void* gb, const void* g, const void* x, const void* weight,
                         const void* mean, const void* rstd, NormGeometry p, BackwardTypes types) {
  const NormShape& s = p.shape;
  const bool per_row = s.affine == NormShape::Affine::kRow, kept = keeps_row<Team, kValues>(p.n);
  const BackwardData data{gx, g, x, weight};
  const Pieces all = all_pieces<kValues>(p);
  for (std::int64_t r = Team::first_row(); r < s.rows; r += Team::row_step()) {
    C grads[kValues], values[kValues];
    const C center = mean ? read<C>(mean, types.mean, r) : C(0), scale = read<C>(rstd, types.rstd, r);
    Deviations sums = add_products<Team>(data, types, p, r, all, center, scale, grads, values);
    sums = {team_sum<Team>(sums.first), team_sum<Team>(sums.second)};
    if (Team::leads()) {
      if (per_row && gw) write(gw, types.gw, r, static_cast<C>(sums.second));
      if (per_row && gb) write(gb, types.gb, r, static_cast<C>(sums.first));
    }
    write_gradients<Team>(data, types, p, r, all, kept, sums, center, scale, grads, values);
  }
}

// Rows over several blocks
// ------------------------------------------------------------------------------------

template <class C, int kValues>
__global__ void __launch_bounds__(BlockTeam::kThreads)
    part_products_kernel(Deviations* sums, const void* g, const void* x, const void* mean, const void* rstd,
                         NormGeometry p, BackwardTypes types, RowParts parts) {
  for (std::int64_t item = block_id(); item < p.shape.rows * parts.count; item += grid_size()) {
    const std::int64_t r = item / parts.count;
    C grads[kValues], values[kValues];
    const C center = mean ? read<C>(mean, types.mean, r) : C(0), scale = read<C>(rstd, types.rstd, r);
    Deviations own = add_products<BlockTeam>({nullptr, g, x, nullptr}, types, p, r,
                                             parts.pieces(item % parts.count), center, scale, grads, values);
    own = {block_sum(own.first), block_sum(own.second)};
    if (thread_id() == 0) sums[item] = own;
  }
}

/// Part 0 also writes the row's gradients of weight and bias.
template <class C, int kValues>
__global__ void __launch_bounds__(BlockTeam::kThreads)
    part_gradients_kernel(void* gx, void* gw, void* gb, const void* g, const void* x, const void* weight,
                          const void* mean, const void* rstd, const Deviations* sums, NormGeometry p,
                          BackwardTypes types, RowParts parts) {
  for (std::int64_t item = block_id(); item < p.shape.rows * parts.count; item += grid_size()) {
    const std::int64_t r = item / parts.count, part = item % parts.count;
    C grads[kValues], values[kValues];
    const C center = mean ? read<C>(mean, types.mean, r) : C(0), scale = read<C>(rstd, types.rstd, r);
    const Deviations total = sum_parts(sums, parts, r);
    if (part == 0 && thread_id() == 0) {
      if (gw) write(gw, types.gw, r, static_cast<C>(total.second));
      if (gb) write(gb, types.gb, r, static_cast<C>(total.first));
    }
    write_gradients<BlockTeam>({gx, g, x, weight}, types, p, r, parts.pieces(part), false, total, center,
                               scale, grads, values);
  }
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void backward_in(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                 const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& shape) {
  const MaybeTensor to(gx), to_w(gw), to_b(gb), from_g(g), from_x(x), w(weight), m(mean), s(rstd);
  const BackwardTypes types{to.dtype,     to_w.dtype, to_b.dtype, from_g.dtype,
                            from_x.dtype, w.dtype,    m.dtype,    s.dtype};
  if (const auto parts = RowParts::of<C>(shape)) {
    constexpr int kValues = kPieceValues<C>;
    const std::int64_t items = shape.rows * parts->count;
    const Tensor sums = empty({items, 2}, TensorOptions(kDouble).device(gx.device()));
    const unsigned grid = blocks_for(items, 1);
    launch<part_products_kernel<C, kValues>>(grid, kPartThreads, 0, sums.data_ptr(), from_g.data, from_x.data,
                                             m.data, s.data, NormGeometry(shape), types, *parts);
    launch<part_gradients_kernel<C, kValues>>(grid, kPartThreads, 0, to.data, to_w.data, to_b.data,
                                              from_g.data, from_x.data, w.data, m.data, s.data,
                                              sums.data_ptr(), NormGeometry(shape), types, *parts);
    return;
  }
  choose_norm_team<C>(shape.rows, shape.row_size(), [&]<class Team, int kValues>(unsigned grid, int threads) {
    launch<norm_backward_kernel<C, Team, kValues>>(grid, threads, 0, to.data, to_w.data, to_b.data,
                                                   from_g.data, from_x.data, w.data, m.data, s.data,
                                                   NormGeometry(shape), types);
  });
}

}  // namespace

void norm_backward(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                   const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& shape) {
  const DeviceScope scope(gx.device());
  if (shape.rows == 0 || shape.row_size() == 0) return zero_weight_gradients(gw, gb, shape.channels());
  const bool wide = any_double({&gx, &g, &x, &weight});
  Tensor center = shape.centered || shape.frozen ? mean : Tensor(), scale = rstd;
  if (!rstd.defined()) {
    const auto options = TensorOptions(wide ? kDouble : kFloat).device(gx.device());
    center = empty({shape.rows}, options);
    scale = empty({shape.rows}, options);
    norm_statistics(center, scale, x, shape);
  }
  (wide ? backward_in<double> : backward_in<float>)(gx, gw, gb, g, x, in_order(weight), center, scale, shape);
  if (shape.affine == NormShape::Affine::kRow || !(gw.defined() || gb.defined())) return;
  norm_weight_gradients(gw, gb, g, x, center, scale, shape, wide);
}

}  // namespace halftone::cuda
