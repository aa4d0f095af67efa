// Layer, group, batch and rms normalisation, forward. A warp per row of up to 512 elements, else a block per
// row; the row is read once where it stays in registers, up to 8192 elements, else three times.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/norm.h"

namespace halftone::cuda {
namespace {

struct ForwardTypes {
  ScalarType out, mean, rstd, var, x, weight, bias;
};

/// `out` may be null: only statistics are wanted.
template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    norm_kernel(void* out, void* mean, void* rstd, void* var, const void* x, const void* weight,
                const void* bias, NormGeometry p, ForwardTypes types) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  for (std::int64_t r = Team::first_row(); r < p.shape.rows; r += Team::row_step()) {
    C values[kValues];
    NormRow<C> row;
    const bool kept = keeps_row<Team, kValues>(p.n) && !p.shape.frozen;
    if (p.shape.frozen) {
      row.mean = mean ? read<C>(mean, types.mean, r) : C(0);
      row.rstd = read<C>(rstd, types.rstd, r);
    } else {
      const Moments m = row_moments<Team>(x, types.x, p, r, values);
      row = NormRow<C>::of(m, p.shape.eps);
      if (Team::leads()) {
        if (mean) write(mean, types.mean, r, static_cast<C>(m.mean));
        if (rstd) write(rstd, types.rstd, r, row.rstd);
        if (var) write(var, types.var, r, static_cast<C>(m.var));
      }
    }

    if (!out) continue;
    const C rest = -row.mean_rest * row.rstd;
    for (std::int64_t piece = Team::first(); piece * kSize < p.n; piece += Team::step()) {
      const std::int64_t begin = piece * kSize;
      C w[kValues], b[kValues];
      if (!kept) load_norm(x, types.x, p, r, begin, Team::slot(), values);
      load_factors(weight, types.weight, p, r, begin, Team::slot(), C(1), w);
      load_factors(bias, types.bias, p, r, begin, Team::slot(), C(0), b);
      for_share<kValues>(p.n - begin, Team::slot(), [&](int j, int) {
        const C xhat = std::fma(values[j] - row.mean, row.rstd, rest);
        values[j] = std::fma(xhat, w[j], b[j]);
      });
      store_norm(out, types.out, p, r, begin, Team::slot(), values);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void forward_in(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var, const Tensor& x,
                const Tensor& weight, const Tensor& bias, const NormShape& shape) {
  const MaybeTensor y(out), m(mean), s(rstd), v(var), from(x), w(weight), b(bias);
  const ForwardTypes types{y.dtype, m.dtype, s.dtype, v.dtype, from.dtype, w.dtype, b.dtype};
  choose_norm_team<C>(shape.rows, shape.row_size(), [&]<class Team, int kValues>(unsigned grid, int threads) {
    launch<norm_kernel<C, Team, kValues>>(grid, threads, 0, y.data, m.data, s.data, v.data, from.data, w.data,
                                          b.data, NormGeometry(shape), types);
  });
}

void forward(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var, const Tensor& x,
             const Tensor& weight, const Tensor& bias, const NormShape& shape) {
  if (shape.row_size() == 0) return;
  const DeviceScope scope(out.device());
  const bool wide = any_double({&out, &x, &weight, &bias});
  (wide ? forward_in<double> : forward_in<float>)(out, mean, rstd, var, x, in_order(weight), in_order(bias),
                                                  shape);
}

}  // namespace

void norm_statistics(const Tensor& mean, const Tensor& rstd, const Tensor& x, const NormShape& shape) {
  (mean.scalar_type() == kDouble ? forward_in<double> : forward_in<float>)({}, mean, rstd, {}, x, {}, {},
                                                                           shape);
}

}  // namespace halftone::cuda

namespace halftone {

template <>
const NormKernels& cuda_kernels<NormKernels>() {
  static const NormKernels kernels{cuda::forward, cuda::norm_backward};
  return kernels;
}

}  // namespace halftone
