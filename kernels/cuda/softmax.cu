// Softmax and its logarithm along a dimension. Backward: softmax_backward.cu.
//
// A warp per row of up to 512 elements, a block per longer row, a block per 16 rows where rows lie side by
// side (softmax_rows.h). The row is read once where it stays in registers, up to 8192 elements, else once for
// the maximum and the sum together and once to write. Dtypes are looked at once per piece, so they may be
// mixed freely.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/softmax_backward.h"
#include "halftone/kernels/cuda/softmax_teams.h"
#include "halftone/kernels/softmax.h"

namespace halftone::cuda {
namespace {

template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    softmax_kernel(void* out, const void* x, RowGeometry<2> geometry, ScalarType out_dtype,
                   ScalarType x_dtype, bool logarithm) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const std::int64_t n = geometry.length;
  for (std::int64_t r = Team::first_row(); r < geometry.rows.numel; r += Team::row_step()) {
    const std::int64_t row = Team::row(r), readable = row < geometry.rows.numel ? n : 0;
    const auto offsets = geometry.rows.offsets(row);
    const Row<void*> to{out, out_dtype, offsets.at[0], geometry.stride[0]};
    const Row<const void*> from{x, x_dtype, offsets.at[1], geometry.stride[1]};

    C values[kValues];
    const ExpSum<C> sums = sum_row_exponentials<Team>(from, n, readable, values);

    const C top = sums.top(), log_sum = sums.log(), inverse = C(1) / static_cast<C>(sums.total());
    for (std::int64_t piece = Team::first(); piece * kSize < n; piece += Team::step()) {
      const std::int64_t begin = piece * kSize;
      if (!keeps_row<Team, kValues>(n)) load_share(from, begin, readable, Team::slot(), C(0), values);
      if (logarithm) {
        for_share<kValues>(n - begin, Team::slot(),
                           [&](int j, int) { values[j] = (values[j] - top) - log_sum; });
      } else {
        for_share<kValues>(n - begin, Team::slot(),
                           [&](int j, int) { values[j] = std::exp(values[j] - top) * inverse; });
      }
      store_share(to, begin, readable, Team::slot(), values);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void forward_in(const Tensor& out, const Tensor& x, std::int64_t dim, bool logarithm) {
  const auto geometry = make_row_geometry<2>(out.sizes(), dim, {out.strides().dims(), x.strides().dims()});
  choose_team<C>(geometry, 1, [&]<class Team, int kValues>(unsigned grid, int threads) {
    launch<softmax_kernel<C, Team, kValues>>(grid, threads, 0, out.data_ptr(), x.data_ptr(), geometry,
                                             out.scalar_type(), x.scalar_type(), logarithm);
  });
}

void forward(const Tensor& out, const Tensor& x, std::int64_t dim, bool logarithm) {
  const DeviceScope scope(out.device());
  const bool wide = any_double({&out, &x});
  (wide ? forward_in<double> : forward_in<float>)(out, as_floating(x, wide), dim, logarithm);
}

void softmax(const Tensor& out, const Tensor& x, std::int64_t dim) { forward(out, x, dim, false); }
void log_softmax(const Tensor& out, const Tensor& x, std::int64_t dim) { forward(out, x, dim, true); }

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const SoftmaxKernels& cuda_kernels<SoftmaxKernels>() {
  static const SoftmaxKernels kernels{cuda::softmax, cuda::log_softmax, cuda::softmax_backward,
                                      cuda::log_softmax_backward};
  return kernels;
}

}  // namespace halftone
