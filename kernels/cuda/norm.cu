// Layer, group, batch and rms normalisation, forward. A warp per row of up to 512 elements, else a block per
// row; the row is read once where it stays in registers, up to 8192 elements, else three times. Where rows
// are few and long (batch norm), several blocks share one: see RowParts.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/norm.h"

namespace halftone::cuda {
namespace {

struct ForwardTypes {
  ScalarType out, mean, rstd, var, x, weight, bias;
};

struct ForwardData {
  void* out;  // null: only statistics are wanted
  const void *x, *weight, *bias;
};

/// Normalises pieces of a row. `values` holds the thread's piece if `kept`.
template <class Team, int kValues, class C>
__device__ inline void normalise(const ForwardData& data, const ForwardTypes& types, const NormGeometry& p,
                                 std::int64_t r, Pieces pieces, bool kept, const NormRow<C>& row,
                                 C (&values)[kValues]) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const C rest = -row.mean_rest * row.rstd;
  for (std::int64_t piece = pieces.begin + Team::first(); piece < pieces.end; piece += Team::step()) {
    const std::int64_t begin = piece * kSize;
    C w[kValues], b[kValues];
    if (!kept) load_norm(data.x, types.x, p, r, begin, Team::slot(), values);
    load_factors(data.weight, types.weight, p, r, begin, Team::slot(), C(1), w);
    load_factors(data.bias, types.bias, p, r, begin, Team::slot(), C(0), b);
    for_share<kValues>(p.n - begin, Team::slot(), [&](int j, int) {
      const C xhat = std::fma(values[j] - row.mean, row.rstd, rest);
      values[j] = std::fma(xhat, w[j], b[j]);
    });
    store_norm(data.out, types.out, p, r, begin, Team::slot(), values);
  }
}

/// `out` may be null.
template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    norm_kernel(void* out, void* mean, void* rstd, void* var, const void* x, const void* weight,
                const void* bias, NormGeometry p, ForwardTypes types) {
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
    normalise<Team>({out, x, weight, bias}, types, p, r, all_pieces<kValues>(p), kept, row, values);
  }
}

// Rows over several blocks
// ------------------------------------------------------------------------------------

/// Sums of x - center and its square over each part of each row. The center is the row's first element, or
/// the mean that `before`, the sums about that element, gives.
template <class C, int kValues>
__global__ void __launch_bounds__(BlockTeam::kThreads)
    part_deviations_kernel(Deviations* sums, const Deviations* before, const void* x, ScalarType dtype,
                           NormGeometry p, RowParts parts) {
  for (std::int64_t item = block_id(); item < p.shape.rows * parts.count; item += grid_size()) {
    const std::int64_t r = item / parts.count;
    C values[kValues];
    const C shift = read<C>(x, dtype, p.row_begin(r));
    const C center = before ? static_cast<C>(mean_of_parts(before, parts, r, shift, p.n)) : shift;
    Deviations own;
    own.add<BlockTeam>(x, dtype, p, r, parts.pieces(item % parts.count), false, center, values);
    own = {block_sum(own.first), block_sum(own.second)};
    if (thread_id() == 0) sums[item] = own;
  }
}

/// The rest of the work on each part; part 0 also writes the row's statistics.
template <class C, int kValues>
__global__ void __launch_bounds__(BlockTeam::kThreads)
    normalise_parts_kernel(void* out, void* mean, void* rstd, void* var, const void* x, const void* weight,
                           const void* bias, const Deviations* first, const Deviations* second,
                           NormGeometry p, ForwardTypes types, RowParts parts) {
  for (std::int64_t item = block_id(); item < p.shape.rows * parts.count; item += grid_size()) {
    const std::int64_t r = item / parts.count, part = item % parts.count;
    NormRow<C> row;
    if (p.shape.frozen) {
      row.mean = mean ? read<C>(mean, types.mean, r) : C(0);
      row.rstd = read<C>(rstd, types.rstd, r);
    } else {
      const double n = static_cast<double>(p.n);
      const double center = mean_of_parts(first, parts, r, read<C>(x, types.x, p.row_begin(r)), p.n);
      Moments m;
      if (!moments_of<C>(sum_parts(second, parts, r), center, n, true, m))
        m = exact_moments<BlockTeam>(x, types.x, p, r);
      row = NormRow<C>::of(m, p.shape.eps);
      if (part == 0 && thread_id() == 0) {
        if (mean) write(mean, types.mean, r, static_cast<C>(m.mean));
        if (rstd) write(rstd, types.rstd, r, row.rstd);
        if (var) write(var, types.var, r, static_cast<C>(m.var));
      }
    }
    C values[kValues];
    if (out)
      normalise<BlockTeam>({out, x, weight, bias}, types, p, r, parts.pieces(part), false, row, values);
  }
}

template <class C>
void forward_in_parts(const RowParts& parts, const MaybeTensor& y, const MaybeTensor& m, const MaybeTensor& s,
                      const MaybeTensor& v, const MaybeTensor& x, const MaybeTensor& w, const MaybeTensor& b,
                      const NormShape& shape, const ForwardTypes& types, Device device) {
  constexpr int kValues = kPieceValues<C>;
  const NormGeometry geometry(shape);
  const std::int64_t items = shape.rows * parts.count;
  const unsigned grid = blocks_for(items, 1);
  Tensor memory;
  Deviations *first = nullptr, *second = nullptr;
  if (!shape.frozen) {
    memory = empty({2, items, 2}, TensorOptions(kDouble).device(device));
    first = static_cast<Deviations*>(memory.data_ptr());
    second = first + items;
    launch<part_deviations_kernel<C, kValues>>(grid, kPartThreads, 0, first, nullptr, x.data, types.x,
                                               geometry, parts);
    launch<part_deviations_kernel<C, kValues>>(grid, kPartThreads, 0, second, first, x.data, types.x,
                                               geometry, parts);
  }
  launch<normalise_parts_kernel<C, kValues>>(grid, kPartThreads, 0, y.data, m.data, s.data, v.data, x.data,
                                             w.data, b.data, first, second, geometry, types, parts);
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void forward_in(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var, const Tensor& x,
                const Tensor& weight, const Tensor& bias, const NormShape& shape) {
  const MaybeTensor y(out), m(mean), s(rstd), v(var), from(x), w(weight), b(bias);
  const ForwardTypes types{y.dtype, m.dtype, s.dtype, v.dtype, from.dtype, w.dtype, b.dtype};
  if (const auto parts = RowParts::of<C>(shape))
    return forward_in_parts<C>(*parts, y, m, s, v, from, w, b, shape, types, x.device());
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
