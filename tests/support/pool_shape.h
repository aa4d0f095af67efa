#pragma once

#include <cstdint>

#include "halftone/kernels/pool.h"

namespace halftone::testing {

/// Square windows.
inline PoolShape square_pool(std::int64_t planes, std::int64_t h, std::int64_t w, std::int64_t k,
                             std::int64_t stride, std::int64_t pad = 0, std::int64_t dil = 1,
                             bool ceil_mode = false) {
  PoolShape s;
  s.planes = planes;
  s.h = h;
  s.w = w;
  s.kh = s.kw = k;
  s.stride_h = s.stride_w = stride;
  s.pad_h = s.pad_w = pad;
  s.dil_h = s.dil_w = dil;
  s.ceil_mode = ceil_mode;
  return s;
}

}  // namespace halftone::testing
