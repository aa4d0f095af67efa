#pragma once

// Convolutions as the definition has them, in double.

#include <cmath>
#include <cstdint>
#include <vector>

#include "halftone/kernels/conv.h"

namespace halftone::testing {

using i64 = std::int64_t;

/// The exact result, the sum of the sizes of its terms and their number.
struct Exact {
  std::vector<double> value, size;
  std::vector<i64> terms;

  explicit Exact(i64 n)
      : value(static_cast<std::size_t>(n)),
        size(static_cast<std::size_t>(n)),
        terms(static_cast<std::size_t>(n)) {}
  void add(i64 i, double term) {
    value[static_cast<std::size_t>(i)] += term;
    size[static_cast<std::size_t>(i)] += std::fabs(term);
    ++terms[static_cast<std::size_t>(i)];
  }
};

/// Calls f(index in y, index in x, index in w) for every product that is not with padding.
template <class F>
void for_each_product(const ConvShape& s, F f) {
  const i64 c = s.c / s.groups, oc = s.oc / s.groups;
  i64 iy = 0;
  for (i64 n = 0; n < s.n; ++n)
    for (i64 o = 0; o < s.oc; ++o)
      for (i64 oy = 0; oy < s.oh(); ++oy)
        for (i64 ox = 0; ox < s.ow(); ++ox, ++iy) {
          i64 iw = o * c * s.kh * s.kw;
          for (i64 i = 0; i < c; ++i)
            for (i64 ky = 0; ky < s.kh; ++ky)
              for (i64 kx = 0; kx < s.kw; ++kx, ++iw) {
                const i64 y = oy * s.stride_h + ky * s.dil_h - s.pad_h,
                          x = ox * s.stride_w + kx * s.dil_w - s.pad_w;
                if (y < 0 || y >= s.h || x < 0 || x >= s.w) continue;
                f(iy, ((n * s.c + o / oc * c + i) * s.h + y) * s.w + x, iw);
              }
        }
}

}  // namespace halftone::testing
