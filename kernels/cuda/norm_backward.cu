// Gradients of the normalisations for their input. Teams as in norm.cu. Where a row has its own weight and
// bias (batch norm), theirs come out on the way; norm_weights.cu sums the others.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/norm.h"

namespace halftone::cuda {
namespace {

struct BackwardTypes {
  ScalarType gx, gw, gb, g, x, weight, mean, rstd;
};

/// Everything but gx, g, x and rstd may be null.
template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    norm_backward_kernel(void* gx, void* gw, void* gb, const void* g, const void* x, const void* weight,
                         const void* mean, const void* rstd, NormGeometry p, BackwardTypes types) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const NormShape& s = p.shape;
  const bool per_row = s.affine == NormShape::Affine::kRow, kept = keeps_row<Team, kValues>(p.n);
  const double n = static_cast<double>(p.n);
  for (std::int64_t r = Team::first_row(); r < s.rows; r += Team::row_step()) {
    C grads[kValues], values[kValues];
    const C center = mean ? read<C>(mean, types.mean, r) : C(0), scale = read<C>(rstd, types.rstd, r);

    // Sums of h = g * weight and h * xhat. A weight of the whole row is applied to the sums.
    double sum_h = 0, sum_hx = 0;
    const C own_weight = per_row && weight ? read<C>(weight, types.weight, r) : C(1);
    for (std::int64_t piece = Team::first(); piece * kSize < p.n; piece += Team::step()) {
      const std::int64_t begin = piece * kSize, left = p.n - begin;
      C w[kValues], first = 0, second = 0;
      load_norm(g, types.g, p, r, begin, Team::slot(), grads);
      load_norm(x, types.x, p, r, begin, Team::slot(), values);
      load_factors(per_row ? nullptr : weight, types.weight, p, r, begin, Team::slot(), C(1), w);
      for_share<kValues>(left, Team::slot(), [&](int j, int i) {
        const C h = grads[j] * w[j], xhat = (values[j] - center) * scale;
        first += i < left ? h : C(0);
        second = i < left ? std::fma(h, xhat, second) : second;
      });
      sum_h += static_cast<double>(first);
      sum_hx += static_cast<double>(second);
    }
    sum_h = team_sum<Team>(sum_h);
    sum_hx = team_sum<Team>(sum_hx);
    if (Team::leads()) {
      if (per_row && gw) write(gw, types.gw, r, static_cast<C>(sum_hx));
      if (per_row && gb) write(gb, types.gb, r, static_cast<C>(sum_h));
    }

    const double share = static_cast<double>(own_weight) / n;
    const C mean_h = s.centered && !s.frozen ? static_cast<C>(sum_h * share) : C(0);
    const C mean_hx = s.frozen ? C(0) : static_cast<C>(sum_hx * share);
    for (std::int64_t piece = Team::first(); piece * kSize < p.n; piece += Team::step()) {
      const std::int64_t begin = piece * kSize;
      C w[kValues];
      if (!kept) {
        load_norm(g, types.g, p, r, begin, Team::slot(), grads);
        load_norm(x, types.x, p, r, begin, Team::slot(), values);
      }
      load_factors(weight, types.weight, p, r, begin, Team::slot(), C(1), w);
      for_share<kValues>(p.n - begin, Team::slot(), [&](int j, int) {
        const C xhat = (values[j] - center) * scale;
        const C h = std::fma(grads[j], w[j], -mean_h);
        grads[j] = scale * std::fma(-xhat, mean_hx, h);
      });
      store_norm(gx, types.gx, p, r, begin, Team::slot(), grads);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void backward_in(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                 const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& shape) {
  const MaybeTensor to(gx), to_w(gw), to_b(gb), from_g(g), from_x(x), w(weight), m(mean), s(rstd);
  const BackwardTypes types{to.dtype,     to_w.dtype, to_b.dtype, from_g.dtype,
                            from_x.dtype, w.dtype,    m.dtype,    s.dtype};
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
