#include "halftone/kernels/norm.h"

#include <cmath>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/norm_rows.h"

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/norm.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {

template <class T>
const NormBlocks<T>& norm_blocks() {
  if constexpr (std::is_same_v<T, float>) {
    return *pick(&baseline::norm_blocks_float, &avx2::norm_blocks_float, &avx512::norm_blocks_float);
  } else {
    return *pick(&baseline::norm_blocks_double, &avx2::norm_blocks_double, &avx512::norm_blocks_double);
  }
}
template const NormBlocks<float>& norm_blocks<float>();
template const NormBlocks<double>& norm_blocks<double>();

namespace {

template <class T>
void forward_in(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var, const Tensor& x,
                const Tensor& weight, const Tensor& bias, const NormShape& s) {
  const Runs<T> from(x, s), to(out, s);
  const PerRow<T> means(mean), rstds(rstd), vars(var);
  const NormBlocks<T>& blocks = norm_blocks<T>();
  const CachedVector<T> all_weights = factors<T>(weight), all_biases = factors<T>(bias);
  parallel_for(s.rows, row_grain(s.row_size()), [&](i64 begin, i64 end) {
    Factors<T> weights(all_weights, s, T(1)), biases(all_biases, s, T(0));
    Block<T> block, written;
    for (i64 r = begin; r < end; ++r) {
      NormRow<T> row;
      if (s.frozen) {
        row.mean = means.get(r);
        row.rstd = rstds.get(r);
      } else {
        const Moments m = moments(from, s, r);
        row = normalizer<T>(m, s.eps);
        means.set(r, m.mean);
        rstds.set(r, static_cast<double>(row.rstd));
        vars.set(r, m.var);
      }
      for_each_block(s, r, [&](const Run& run) {
        const T* const values = from.load(run, block, row.mean);
        T* const result = to.target(run, written);
        blocks.apply(result, values, weights.block(run), biases.block(run), padded(run.count), row);
        to.store(run, result);
      });
    }
  });
}

void forward(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var, const Tensor& x,
             const Tensor& weight, const Tensor& bias, const NormShape& s) {
  if (s.row_size() == 0) return;
  const bool wide = any_double({&out, &x, &weight, &bias});
  (wide ? forward_in<double> : forward_in<float>)(out, mean, rstd, var, x, weight, bias, s);
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const NormKernels& cpu_kernels<NormKernels>() {
  static const NormKernels kernels{cpu::forward, cpu::norm_backward};
  return kernels;
}

}  // namespace halftone
