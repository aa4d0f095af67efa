#pragma once

#include <bit>
#include <span>
#include <string_view>

#include "halftone/kernels/cpu/strided.h"
#include "halftone/kernels/reduce.h"

namespace halftone::cpu {

/// The loop over the kept dimensions of `in`, tensors in the order outputs, input. Every output has the kept
/// dimensions in order; the reduced ones are absent or have size 1. Throws Error naming `op` otherwise.
template <int kTensors>
StridedLoop<kTensors> kept_loop(std::string_view op, std::span<const Tensor* const> outs, const Tensor& in,
                                DimMask dims) {
  const std::int64_t rank = in.dim(), kept_rank = rank - std::popcount(dims);
  for (const Tensor* out : outs) {
    bool fits = out->dim() == rank || out->dim() == kept_rank;
    for (std::int64_t d = 0, k = 0; fits && d < rank; ++d) {
      const bool reduced = (dims >> d & 1) != 0;
      if (out->dim() == rank) {
        fits = out->sizes()[static_cast<std::size_t>(d)] ==
               (reduced ? 1 : in.sizes()[static_cast<std::size_t>(d)]);
      } else if (!reduced) {
        fits = out->sizes()[static_cast<std::size_t>(k++)] == in.sizes()[static_cast<std::size_t>(d)];
      }
    }
    if (!fits) fail(op, "the output ", *out, " has not the kept dimensions of ", in);
  }
  StridedLoop<kTensors> loop;
  loop.clear(static_cast<int>(outs.size()) + 1);
  std::size_t k = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    if ((dims >> d & 1) != 0) continue;
    std::array<std::int64_t, kTensors> strides{};
    for (std::size_t o = 0; o < outs.size(); ++o) {
      strides[o] = outs[o]->strides()[outs[o]->dim() == rank ? d : k];
    }
    strides[outs.size()] = in.strides()[d];
    loop.add(in.sizes()[d], strides);
    ++k;
  }
  loop.finish();
  return loop;
}

/// The loop over the reduced dimensions of `in`.
inline StridedLoop<1> reduced_loop(const Tensor& in, DimMask dims) {
  StridedLoop<1> loop;
  loop.clear(1);
  for (std::size_t d = 0; d < static_cast<std::size_t>(in.dim()); ++d) {
    if ((dims >> d & 1) != 0) loop.add(in.sizes()[d], {in.strides()[d]});
  }
  loop.finish();
  return loop;
}

/// The two loops of a reduction, and which of them runs along memory.
struct ReduceGeometry {
  ReduceGeometry(std::string_view op, const Tensor& out, const Tensor& in, DimMask dims)
      : ReduceGeometry(op, &out, in, dims) {}

  StridedLoop<2> kept;     // output, input
  StridedLoop<1> reduced;  // input
  bool columns;            // outputs that are neighbours have elements that are neighbours

 private:
  ReduceGeometry(std::string_view op, const Tensor* out, const Tensor& in, DimMask dims)
      : kept(kept_loop<2>(op, {&out, 1}, in, dims)), reduced(reduced_loop(in, dims)) {
    columns = kept.size() > 0 && kept.inner_size() >= 8 && kept.inner_stride(1) == 1 &&
              (reduced.size() <= 1 || reduced.inner_stride(0) != 1);
  }
};

}  // namespace halftone::cpu
