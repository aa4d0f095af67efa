// Convolutions straight from their definition, in fp32, or fp64 where a tensor is float64. Padding takes part
// as zeros.

#include "halftone/kernels/cuda/device.h"
//
#include <type_traits>

#include "halftone/kernels/cuda/block.h"
#include "halftone/kernels/cuda/conv_geometry.h"
#include "halftone/kernels/cuda/conv_kernels.h"
#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

using i64 = std::int64_t;

struct Dtypes {
  Dtype result, left, right, bias;
};

/// Element `i` of an operand whose elements are T; void: known at run time only.
template <class C, class T>
__device__ C fetch(const void* data, Dtype dtype, i64 i) {
  if constexpr (std::is_void_v<T>)
    return read<C>(data, dtype, i);
  else
    return to_compute<C>(static_cast<const T*>(data)[i]);
}

/// One thread per output.
template <class C, class T>
__global__ void conv_forward_kernel(void* out, const void* x, const void* w, const void* bias, Dtypes dtypes,
                                    ConvGeometry g) {
  const i64 count = g.n * g.oc * g.oh * g.ow, plane = g.h * g.w;
  for (i64 i = global_id(); i < count; i += global_size()) {
    const i64 ox = i % g.ow, oy = i / g.ow % g.oh, o = i / (g.ow * g.oh) % g.oc,
              image = i / (g.ow * g.oh * g.oc);
    const i64 first = image * g.c + o / g.group_oc * g.group_c;
    i64 tap = o * g.group_c * g.kh * g.kw;
    C sum(0);
    for (i64 c = 0; c < g.group_c; ++c) {
      for (i64 ky = 0; ky < g.kh; ++ky) {
        for (i64 kx = 0; kx < g.kw; ++kx, ++tap) {
          const i64 at = g.input_at(oy, ox, ky, kx);
          const C value = at >= 0 ? fetch<C, T>(x, dtypes.left, (first + c) * plane + at) : C(0);
          sum += value * fetch<C, T>(w, dtypes.right, tap);
        }
      }
    }
    if (bias) sum += read<C>(bias, dtypes.bias, o);
    write<C>(out, dtypes.result, i, sum);
  }
}

/// One thread per input.
template <class C, class T>
__global__ void conv_grad_input_kernel(void* gx, const void* gy, const void* w, Dtypes dtypes,
                                       ConvGeometry g) {
  const i64 count = g.n * g.c * g.h * g.w, plane = g.oh * g.ow, taps = g.kh * g.kw;
  for (i64 i = global_id(); i < count; i += global_size()) {
    const i64 x = i % g.w, y = i / g.w % g.h, c = i / (g.w * g.h) % g.c, image = i / (g.w * g.h * g.c);
    const i64 first = c / g.group_c * g.group_oc, in_group = c % g.group_c;
    C sum(0);
    for (i64 o = first; o < first + g.group_oc; ++o) {
      i64 tap = (o * g.group_c + in_group) * taps;
      for (i64 ky = 0; ky < g.kh; ++ky) {
        for (i64 kx = 0; kx < g.kw; ++kx, ++tap) {
          const i64 at = g.output_at(y, x, ky, kx);
          if (at < 0) continue;
          sum += fetch<C, T>(gy, dtypes.left, (image * g.oc + o) * plane + at) *
                 fetch<C, T>(w, dtypes.right, tap);
        }
      }
    }
    write<C>(gx, dtypes.result, i, sum);
  }
}

/// One block per weight. A thread's products lie kThreads positions apart; the threads' sums are added in
/// fp64.
template <class C, class T>
__global__ void conv_grad_weight_kernel(void* gw, const void* gy, const void* x, Dtypes dtypes,
                                        ConvGeometry g) {
  const i64 taps = g.kh * g.kw, count = g.oc * g.group_c * taps, positions = g.oh * g.ow;
  for (i64 i = block_id(); i < count; i += grid_size()) {
    const i64 kx = i % g.kw, ky = i / g.kw % g.kh, c = i / taps % g.group_c, o = i / (taps * g.group_c);
    const i64 channel = o / g.group_oc * g.group_c + c;
    C sum(0);
    for (i64 p = thread_id(); p < g.n * positions; p += block_size()) {
      const i64 image = p / positions, position = p % positions;
      const i64 at = g.input_at(position / g.ow, position % g.ow, ky, kx);
      const C value = at >= 0 ? fetch<C, T>(x, dtypes.right, (image * g.c + channel) * g.h * g.w + at) : C(0);
      sum += fetch<C, T>(gy, dtypes.left, (image * g.oc + o) * positions + position) * value;
    }
    const double total = block_sum(static_cast<double>(sum));
    if (thread_id() == 0) write<C>(gw, dtypes.result, i, static_cast<C>(total));
  }
}

/// Calls f<C, T>() with the type to compute in and the operands' element type.
template <class F>
void dispatch(const Dtypes& d, F f) {
  if (d.result == kDouble || d.left == kDouble || d.right == kDouble)
    return f.template operator()<double, void>();
  if (d.left != d.right) return f.template operator()<float, void>();
  switch (d.left) {
    case kHalf:
      return f.template operator()<float, Half>();
    case kBFloat16:
      return f.template operator()<float, BFloat16>();
    default:
      return f.template operator()<float, float>();
  }
}

}  // namespace

void conv_forward_direct(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias,
                         const ConvShape& shape) {
  const Dtypes dtypes{out.scalar_type(), x.scalar_type(), w.scalar_type(),
                      bias.defined() ? bias.scalar_type() : kFloat};
  const void* const bias_data = bias.defined() ? bias.data_ptr() : nullptr;
  dispatch(dtypes, [&]<class C, class T>() {
    launch<conv_forward_kernel<C, T>>(blocks_for(out.numel()), kThreads, 0, out.data_ptr(), x.data_ptr(),
                                      w.data_ptr(), bias_data, dtypes, ConvGeometry(shape));
  });
}

void conv_grad_input_direct(const Tensor& gx, const Tensor& gy, const Tensor& w, const ConvShape& shape) {
  const Dtypes dtypes{gx.scalar_type(), gy.scalar_type(), w.scalar_type(), kFloat};
  dispatch(dtypes, [&]<class C, class T>() {
    launch<conv_grad_input_kernel<C, T>>(blocks_for(gx.numel()), kThreads, 0, gx.data_ptr(), gy.data_ptr(),
                                         w.data_ptr(), dtypes, ConvGeometry(shape));
  });
}

void conv_grad_weight_direct(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& shape) {
  const Dtypes dtypes{gw.scalar_type(), gy.scalar_type(), x.scalar_type(), kFloat};
  dispatch(dtypes, [&]<class C, class T>() {
    launch<conv_grad_weight_kernel<C, T>>(blocks_for(gw.numel(), 1), kThreads, 0, gw.data_ptr(),
                                          gy.data_ptr(), x.data_ptr(), dtypes, ConvGeometry(shape));
  });
}

}  // namespace halftone::cuda
