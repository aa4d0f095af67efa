// Convolutions in float64: plain loops over the definition. Right rather than fast; gradient checks run on
// them.

#include <cmath>
#include <cstdint>

#include "halftone/kernels/cpu/conv_plan.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;

double get(const Tensor& t, i64 index) {
  return dispatch_all(t.scalar_type(), [&]<class T>() {
    return static_cast<double>(static_cast<const T*>(t.data_ptr())[index]);
  });
}

void set(const Tensor& t, i64 index, double value) {
  dispatch_all(t.scalar_type(),
               [&]<class T>() { static_cast<T*>(t.data_ptr())[index] = static_cast<T>(value); });
}

/// Index of an element of x, or -1 in the padding.
i64 input_index(const ConvShape& s, i64 n, i64 c, i64 oy, i64 ox, i64 ky, i64 kx) {
  const i64 y = oy * s.stride_h - s.pad_h + ky * s.dil_h, x = ox * s.stride_w - s.pad_w + kx * s.dil_w;
  return y < 0 || y >= s.h || x < 0 || x >= s.w ? -1 : ((n * s.c + c) * s.h + y) * s.w + x;
}

/// Calls f(index in y, index in x, index in w) for every product of the convolution that is not with padding.
template <class F>
void for_each_product(const ConvShape& s, F f) {
  const i64 c = s.c / s.groups, oc = s.oc / s.groups, oh = s.oh(), ow = s.ow();
  for (i64 n = 0; n < s.n; ++n)
    for (i64 o = 0; o < s.oc; ++o)
      for (i64 oy = 0; oy < oh; ++oy)
        for (i64 ox = 0; ox < ow; ++ox)
          for (i64 i = 0; i < c; ++i)
            for (i64 ky = 0; ky < s.kh; ++ky)
              for (i64 kx = 0; kx < s.kw; ++kx) {
                const i64 x = input_index(s, n, o / oc * c + i, oy, ox, ky, kx);
                if (x >= 0) f(((n * s.oc + o) * oh + oy) * ow + ox, x, ((o * c + i) * s.kh + ky) * s.kw + kx);
              }
}

/// Runs `add(sums)` on zeros and writes the sums to `out`.
template <class Add>
void accumulate(const Tensor& out, Add add) {
  std::vector<double> sums(static_cast<std::size_t>(out.numel()), 0.0);
  add(sums);
  for (i64 i = 0; i < out.numel(); ++i) set(out, i, sums[static_cast<std::size_t>(i)]);
}

}  // namespace

void conv_forward_float64(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias,
                          const ConvShape& s) {
  accumulate(out, [&](std::vector<double>& sums) {
    for_each_product(
        s, [&](i64 iy, i64 ix, i64 iw) { sums[static_cast<std::size_t>(iy)] += get(x, ix) * get(w, iw); });
    if (!bias.defined()) return;
    const i64 plane = s.oh() * s.ow();
    for (i64 i = 0; i < out.numel(); ++i) sums[static_cast<std::size_t>(i)] += get(bias, i / plane % s.oc);
  });
}

void conv_grad_input_float64(const Tensor& gx, const Tensor& gy, const Tensor& w, const ConvShape& s) {
  accumulate(gx, [&](std::vector<double>& sums) {
    for_each_product(
        s, [&](i64 iy, i64 ix, i64 iw) { sums[static_cast<std::size_t>(ix)] += get(gy, iy) * get(w, iw); });
  });
}

void conv_grad_weight_float64(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& s) {
  accumulate(gw, [&](std::vector<double>& sums) {
    for_each_product(
        s, [&](i64 iy, i64 ix, i64 iw) { sums[static_cast<std::size_t>(iw)] += get(gy, iy) * get(x, ix); });
  });
}

}  // namespace halftone::cpu
