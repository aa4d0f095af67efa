// Gradients of softmax and log_softmax. Teams as in softmax.cu; the two rows are read once where they stay in
// registers, up to 8192 elements, else once for the sum and once to write.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/softmax_backward.h"
#include "halftone/kernels/cuda/softmax_teams.h"

namespace halftone::cuda {
namespace {

template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    softmax_backward_kernel(void* out, const void* grad, const void* result, RowGeometry<3> geometry,
                            ScalarType out_dtype, ScalarType grad_dtype, ScalarType result_dtype,
                            bool logarithm) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const std::int64_t n = geometry.length;
  for (std::int64_t r = Team::first_row(); r < geometry.rows.numel; r += Team::row_step()) {
    const std::int64_t row = Team::row(r), readable = row < geometry.rows.numel ? n : 0;
    const auto offsets = geometry.rows.offsets(row);
    const Row<void*> to{out, out_dtype, offsets.at[0], geometry.stride[0]};
    const Row<const void*> from_g{grad, grad_dtype, offsets.at[1], geometry.stride[1]};
    const Row<const void*> from_y{result, result_dtype, offsets.at[2], geometry.stride[2]};

    C g[kValues], y[kValues];
    double dot = 0;
    for (std::int64_t piece = Team::first(); piece * kSize < n; piece += Team::step()) {
      const std::int64_t begin = piece * kSize;
      load_share(from_g, begin, readable, Team::slot(), C(0), g);
      load_share(from_y, begin, readable, Team::slot(), C(0), y);
      C sum = 0;
      if (logarithm) {
        for_share<kValues>(n - begin, Team::slot(), [&](int j, int) { sum += g[j]; });
      } else {
        for_share<kValues>(n - begin, Team::slot(), [&](int j, int) { sum = std::fma(g[j], y[j], sum); });
      }
      sum = Team::within(sum, Sum());
      if (Team::keeps(piece)) dot += static_cast<double>(sum);
    }
    const C total = static_cast<C>(sum_across<Team>(dot));

    for (std::int64_t piece = Team::first(); piece * kSize < n; piece += Team::step()) {
      const std::int64_t begin = piece * kSize;
      if (!keeps_row<Team, kValues>(n)) {
        load_share(from_g, begin, readable, Team::slot(), C(0), g);
        load_share(from_y, begin, readable, Team::slot(), C(0), y);
      }
      if (logarithm) {
        for_share<kValues>(n - begin, Team::slot(),
                           [&](int j, int) { g[j] = std::fma(-std::exp(y[j]), total, g[j]); });
      } else {
        for_share<kValues>(n - begin, Team::slot(), [&](int j, int) { g[j] = y[j] * (g[j] - total); });
      }
      store_share(to, begin, readable, Team::slot(), g);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void backward_in(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim,
                 bool logarithm) {
  const auto geometry = make_row_geometry<3>(
      out.sizes(), dim, {out.strides().dims(), grad.strides().dims(), result.strides().dims()});
  choose_team<C>(geometry, 2, [&]<class Team, int kValues>(unsigned grid, int threads) {
    launch<softmax_backward_kernel<C, Team, kValues>>(grid, threads, 0, out.data_ptr(), grad.data_ptr(),
                                                      result.data_ptr(), geometry, out.scalar_type(),
                                                      grad.scalar_type(), result.scalar_type(), logarithm);
  });
}

void backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim, bool logarithm) {
  const DeviceScope scope(out.device());
  const bool wide = any_double({&out, &grad, &result});
  (wide ? backward_in<double> : backward_in<float>)(out, as_floating(grad, wide), as_floating(result, wide),
                                                    dim, logarithm);
}

}  // namespace

void softmax_backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim) {
  backward(out, grad, result, dim, false);
}

void log_softmax_backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim) {
  backward(out, grad, result, dim, true);
}

}  // namespace halftone::cuda
