#pragma once

#include <span>

#include "halftone/kernels/cuda/functors.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/pointwise_pack.h"
#include "halftone/kernels/cuda/pointwise_walk.h"
#include "halftone/kernels/pointwise.h"

// out[i] = f(in[0][i], in[1][i], ...): one kernel for any layout and dtype, instantiated per formula F and
// type V that it is computed in (float, double or I64). Float kernels move packs of W = 4 or 8 elements where
// all tensors allow it (every tensor contiguous, or repeated whole as a row, or one element for all), and
// single elements otherwise and at the end. An element's result is the same both ways.
//
// nvcc may contract a * b + c to a fused multiply-add, which the CPU's kernels do not; no formula relies on a
// rounded product.
namespace halftone::cuda {

/// A pointwise kernel's arguments, in whatever type it computes. Tensor 0 is the output.
struct PointwiseCall {
  Geometry<kMaxFnOperands + 1> walk;
  void* data[kMaxFnOperands + 1] = {};  // null: a number that the host knows
  ScalarType dtype[kMaxFnOperands + 1] = {};
  double real[kMaxFnOperands + 1] = {};  // the number, rounded to the type of the computation
  std::int64_t integer[kMaxFnOperands + 1] = {};
  int pack = 1;  // elements moved together: 8, 4 or 1
  Params params;
};

using PointwiseLaunch = void (*)(const PointwiseCall&);

/// A formula's kernels; null where it does not exist for the type.
struct PointwiseEntry {
  int operands;
  PointwiseLaunch in_float, in_double, in_integers;
};

// One table per list of functors, in its order; each in its own file, for the time nvcc takes.
std::span<const PointwiseEntry> arith_kernels();
std::span<const PointwiseEntry> unary_kernels();
std::span<const PointwiseEntry> unary_backward_kernels();
std::span<const PointwiseEntry> activation_kernels();
std::span<const PointwiseEntry> compare_kernels();
std::span<const PointwiseEntry> loss_kernels();
std::span<const PointwiseEntry> special_kernels();
std::span<const PointwiseEntry> recurrent_kernels();

namespace detail {

using math::I64;

/// How values of V stand in memory and in arguments.
template <class V>
using Plain = std::conditional_t<std::is_same_v<V, I64>, std::int64_t, V>;

template <class F, class V>
constexpr int operand_count() {
  if constexpr (requires(F f, V v) { f(v); }) {
    return 1;
  } else if constexpr (requires(F f, V v) { f(v, v); }) {
    return 2;
  } else if constexpr (requires(F f, V v) { f(v, v, v); }) {
    return 3;
  } else if constexpr (requires(F f, V v) { f(v, v, v, v); }) {
    return 4;
  } else {
    return 0;
  }
}

template <class F>
HALFTONE_HD F make_functor(const Params& params) {
  if constexpr (requires { F(params); }) {
    return F(params);
  } else {
    return F{};
  }
}

template <int K, class F, class V>
__device__ inline V apply(const F& f, const V (&x)[K]) {
  if constexpr (K == 1) {
    return f(x[0]);
  } else if constexpr (K == 2) {
    return f(x[0], x[1]);
  } else if constexpr (K == 3) {
    return f(x[0], x[1], x[2]);
  } else {
    return f(x[0], x[1], x[2], x[3]);
  }
}

__device__ inline double plain(double x) { return x; }
__device__ inline float plain(float x) { return x; }
__device__ inline std::int64_t plain(I64 x) { return x.v; }

/// What the kernel is told of its K + 1 tensors besides their addresses.
template <int K, class V>
struct Operands {
  Geometry<K + 1> walk;
  ScalarType dtype[K + 1];
  Plain<V> number[K + 1];
  Params params;
};

template <class F, class V, int W, int K = operand_count<F, V>()>
__global__ void pointwise_kernel(Operands<K, V> operands, std::int64_t packs, void* out, const void* a,
                                 const void* b, const void* c, const void* d) {
  const F f = make_functor<F>(operands.params);
  const void* const in[kMaxFnOperands] = {a, b, c, d};
  const Geometry<K + 1>& walk = operands.walk;

  if constexpr (W > 1) {
    for (std::int64_t p = global_id(); p < packs; p += global_size()) {
      const auto offsets = walk.offsets(p * W);
      RawPack raw[K];
      HT_UNROLL
      for (int k = 0; k < K; ++k) {
        if (in[k] == nullptr) continue;
        if (walk.strides[walk.rank - 1][k + 1] == 1) {
          raw[k] = load_raw<W>(in[k], operands.dtype[k + 1], offsets.at[k + 1]);
        } else {
          raw[k].value[0] =
              std::bit_cast<std::uint32_t>(read<float>(in[k], operands.dtype[k + 1], offsets.at[k + 1]));
        }
      }
      float x[K][W];
      HT_UNROLL
      for (int k = 0; k < K; ++k) {
        if (in[k] != nullptr && walk.strides[walk.rank - 1][k + 1] == 1) {
          unpack<W>(x[k], raw[k], operands.dtype[k + 1]);
        } else {
          const float same =
              in[k] == nullptr ? operands.number[k + 1] : std::bit_cast<float>(raw[k].value[0]);
          HT_UNROLL
          for (int j = 0; j < W; ++j) x[k][j] = same;
        }
      }
      float y[W];
      HT_UNROLL
      for (int j = 0; j < W; ++j) {
        float arguments[K];
        HT_UNROLL
        for (int k = 0; k < K; ++k) arguments[k] = x[k][j];
        y[j] = apply<K>(f, arguments);
      }
      store_raw<W>(out, operands.dtype[0], offsets.at[0], pack(y, operands.dtype[0]));
    }
  }

  for (std::int64_t i = packs * W + global_id(); i < walk.numel; i += global_size()) {
    const auto offsets = walk.offsets(i);
    V x[K];
    HT_UNROLL
    for (int k = 0; k < K; ++k) {
      x[k] = V(in[k] == nullptr ? operands.number[k + 1]
                                : read<Plain<V>>(in[k], operands.dtype[k + 1], offsets.at[k + 1]));
    }
    write(out, operands.dtype[0], offsets.at[0], plain(apply<K>(f, x)));
  }
}

// Host code ------------------------------------------------------------------------------------------------

template <int K, class V>
Operands<K, V> narrow(const PointwiseCall& call) {
  Operands<K, V> operands{};
  operands.walk.numel = call.walk.numel;
  operands.walk.rank = call.walk.rank;
  for (int d = 0; d < call.walk.rank; ++d) {
    operands.walk.sizes[d] = call.walk.sizes[d];
    std::copy_n(call.walk.strides[d], K + 1, operands.walk.strides[d]);
  }
  std::copy_n(call.dtype, K + 1, operands.dtype);
  for (int k = 0; k <= K; ++k) {
    if constexpr (std::is_same_v<V, I64>) {
      operands.number[k] = call.integer[k];
    } else {
      operands.number[k] = static_cast<V>(call.real[k]);
    }
  }
  operands.params = call.params;
  return operands;
}

template <class F, class V, int W>
void launch_pointwise(const PointwiseCall& call) {
  constexpr int K = operand_count<F, V>();
  const std::int64_t packs = W > 1 && call.pack == W ? call.walk.numel / W : 0;
  launch<pointwise_kernel<F, V, W>>(blocks_for(std::max(packs, call.walk.numel - packs * W)), kThreads, 0,
                                    narrow<K, V>(call), packs, call.data[0], call.data[1], call.data[2],
                                    call.data[3], call.data[4]);
}

template <class F>
void launch_pointwise_float(const PointwiseCall& call) {
  call.pack == 8 ? launch_pointwise<F, float, 8>(call) : launch_pointwise<F, float, 4>(call);
}

}  // namespace detail

template <class F>
constexpr PointwiseEntry pointwise_entry() {
  using detail::I64, detail::operand_count;
  PointwiseEntry entry{operand_count<F, I64>(), nullptr, nullptr, nullptr};
  if constexpr (operand_count<F, float>() != 0) {
    entry.operands = operand_count<F, float>();
    entry.in_float = &detail::launch_pointwise_float<F>;
    entry.in_double = &detail::launch_pointwise<F, double, 1>;
  }
  if constexpr (requires { F::kIntegers; }) entry.in_integers = &detail::launch_pointwise<F, I64, 1>;
  return entry;
}

}  // namespace halftone::cuda
