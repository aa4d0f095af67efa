#include "halftone/kernels/pool.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "halftone/engine/cached_containers.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/convert.h"
#include "halftone/kernels/kernels.h"

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/pool.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;

/// Reads the planes of a contiguous tensor as Real: in place where it already is.
template <class Real>
class PlaneReader {
 public:
  PlaneReader(const Tensor& t, i64 size)
      : data_(static_cast<const std::byte*>(t.data_ptr())),
        bytes_(size * static_cast<i64>(t.element_size())),
        size_(size),
        load_(t.scalar_type() == dtype_of<Real> ? nullptr : loader<Real>(t.scalar_type())),
        buffer_(load_ == nullptr ? 0 : static_cast<std::size_t>(size)) {}

  const Real* plane(i64 i) {
    const std::byte* src = data_ + i * bytes_;
    if (load_ == nullptr) return reinterpret_cast<const Real*>(src);
    load_(buffer_.data(), src, 1, size_);
    return buffer_.data();
  }

 private:
  const std::byte* data_;
  i64 bytes_, size_;
  Loader<Real> load_;
  CachedVector<Real> buffer_;
};

/// Writes planes that were computed in `plane(i)`: in place where the tensor is of Real.
template <class Real>
class PlaneWriter {
 public:
  PlaneWriter(const Tensor& t, i64 size)
      : data_(static_cast<std::byte*>(t.data_ptr())),
        bytes_(size * static_cast<i64>(t.element_size())),
        size_(size),
        store_(t.scalar_type() == dtype_of<Real> ? nullptr : storer<Real>(t.scalar_type())),
        buffer_(store_ == nullptr ? 0 : static_cast<std::size_t>(size)) {}

  Real* plane(i64 i) {
    return store_ == nullptr ? reinterpret_cast<Real*>(data_ + i * bytes_) : buffer_.data();
  }
  Real* zeroed(i64 i) {
    Real* const values = plane(i);
    std::fill_n(values, size_, Real(0));
    return values;
  }
  void write(i64 i) {
    if (store_ != nullptr) store_(data_ + i * bytes_, 1, buffer_.data(), size_);
  }

 private:
  std::byte* data_;
  i64 bytes_, size_;
  Storer<Real> store_;
  CachedVector<Real> buffer_;
};

/// Calls `f(Real{})` with double if either tensor is float64, else with float.
template <class F>
void in_accumulate_type(const Tensor& a, const Tensor& b, F f) {
  if (a.scalar_type() == kDouble || b.scalar_type() == kDouble)
    f(double{});
  else
    f(float{});
}

/// Planes that make a piece of work for one thread.
i64 plane_grain(i64 plane_size) { return std::max<i64>(1, 16384 / std::max<i64>(plane_size, 1)); }

/// What a window covers in one dimension: begin .. end in steps.
struct Span {
  i64 begin, end;
  i64 size;  // what it counts in a divisor
};

CachedVector<Span> avg_spans(i64 count, i64 stride, i64 pad, i64 k, i64 size, bool include_pad) {
  CachedVector<Span> spans;
  for (i64 i = 0; i < count; ++i) {
    const i64 begin = i * stride - pad, end = std::min(begin + k, size + pad);
    const i64 first = std::max<i64>(begin, 0), last = std::max(std::min(end, size), first);
    spans.push_back({first, last, include_pad ? end - begin : last - first});
  }
  return spans;
}

CachedVector<Span> adaptive_spans(i64 in, i64 out) {
  CachedVector<Span> spans;
  for (i64 i = 0; i < out; ++i) {
    const i64 begin = i / out * in + i % out * in / out, end = ((i + 1) * in + out - 1) / out;
    spans.push_back({begin, end, end - begin});
  }
  return spans;
}

/// Windows of which one element lies inside, in one dimension: begin .. end.
Span windows_reached(i64 windows, i64 stride, i64 offset, i64 size) {
  // Window i reaches element i * stride + offset.
  const i64 begin = offset < 0 ? (-offset + stride - 1) / stride : 0;
  const i64 end = size > offset ? (size - offset + stride - 1) / stride : 0;
  return {std::min(begin, windows), std::min(std::max(begin, end), windows), 0};
}

/// The maxima of one row of windows, found element by element of the window for all windows at once, so that
/// the loop has no branches. A NaN wins; of equal elements the first.
template <class Real>
class MaxRow {
 public:
  explicit MaxRow(const PoolShape& s)
      : shape_(s),
        best_(static_cast<std::size_t>(s.ow())),
        which_(static_cast<std::size_t>(s.ow() + kMostLanes - 1)) {
    for (i64 x = 0; x < s.kw; ++x) reached_.push_back(windows_reached(s.ow(), s.stride_w, at_column(x), s.w));
    for (i64 y = 0; y < s.kh; ++y)
      for (i64 x = 0; x < s.kw; ++x) offsets_.push_back((y * s.dil_h - s.pad_h) * s.w + at_column(x));
    is_whole_ = std::all_of(reached_.begin(), reached_.end(),
                            [&](const Span& span) { return span.begin == 0 && span.end == s.ow(); });
  }

  /// `src`: the plane. Windows without an element give -infinity.
  void find(const Real* src, i64 row, Real* dst) {
    if constexpr (std::is_same_v<Real, float>) {
      if (is_whole_ && shape_.stride_w <= 2) return find_whole(src, row, dst);
    }
    std::fill(best_.begin(), best_.end(), -std::numeric_limits<Real>::infinity());
    std::fill(which_.begin(), which_.end(), Which{-1});
    const i64 top = row * shape_.stride_h - shape_.pad_h;
    for (i64 ky = 0; ky < shape_.kh; ++ky) {
      const i64 y = top + ky * shape_.dil_h;
      if (y < 0 || y >= shape_.h) continue;
      for (i64 kx = 0; kx < shape_.kw; ++kx) {
        const Span& windows = reached_[static_cast<std::size_t>(kx)];
        const Real* first = src + y * shape_.w + at_column(kx) + windows.begin * shape_.stride_w;
        const auto tap = static_cast<Which>(ky * shape_.kw + kx);
        if (shape_.stride_w == 2)
          take_larger<2>(first, 2, windows, tap);
        else
          take_larger<0>(first, shape_.stride_w, windows, tap);
      }
    }
    std::copy(best_.begin(), best_.end(), dst);
  }

  /// Where the maxima found last stood: in the plane, -1 for none.
  void write_places(i64 row, i64* index) const {
    for (i64 j = 0; j < shape_.ow(); ++j) {
      const Which tap = which_[static_cast<std::size_t>(j)];
      index[j] = tap < 0 ? -1
                         : row * shape_.stride_h * shape_.w + j * shape_.stride_w +
                               offsets_[static_cast<std::size_t>(tap)];
    }
  }
  /// The same as their numbers in the windows, number_bits(shape) bits each.
  void write_numbers(std::uint8_t* to) const {
    const i64 n = shape_.ow();
    const auto number = [&](i64 j) {
      return static_cast<unsigned>(static_cast<int>(which_[static_cast<std::size_t>(j)]));
    };
    if (number_bits(shape_) == 8) {
      for (i64 j = 0; j < n; ++j) to[j] = static_cast<std::uint8_t>(number(j));
      return;
    }
    for (i64 j = 0; j + 1 < n; j += 2) {
      to[j / 2] = static_cast<std::uint8_t>((number(j) & 15u) | (number(j + 1) & 15u) << 4);
    }
    if (n % 2 != 0) to[n / 2] = static_cast<std::uint8_t>(number(n - 1) & 15u);
  }

 private:
  /// The number of an element of the window; a Real, so that both fit the same vectors.
  using Which = Real;

  /// find() where every column of every window lies in the plane.
  void find_whole(const float* src, i64 row, float* dst) {
    const Span rows =
        windows_reached(shape_.kh, shape_.dil_h, row * shape_.stride_h - shape_.pad_h, shape_.h);
    if (rows.begin >= rows.end) {
      std::fill_n(dst, shape_.ow(), -std::numeric_limits<float>::infinity());
      std::fill(which_.begin(), which_.end(), Which{-1});
      return;
    }
    const i64 first = rows.begin * shape_.kw;
    max_row_(src + row * shape_.stride_h * shape_.w, offsets_.data() + first, rows.end * shape_.kw - first,
             first, shape_.stride_w, shape_.ow(), dst, which_.data());
  }

  static constexpr i64 kMostLanes = 16;

  i64 at_column(i64 kx) const { return kx * shape_.dil_w - shape_.pad_w; }

  template <int kStep>
  void take_larger(const Real* src, i64 step, const Span& windows, Which tap) {
    if constexpr (kStep > 0) step = kStep;
    Real* best = best_.data() + windows.begin;
    Which* which = which_.data() + windows.begin;
    for (i64 j = 0; j < windows.end - windows.begin; ++j) {
      const Real value = src[j * step];
      const bool take = (value > best[j]) | (value != value) | (which[j] < 0);
      best[j] = take ? value : best[j];
      which[j] = take ? tap : which[j];
    }
  }

  const PoolShape& shape_;
  CachedVector<Real> best_;
  CachedVector<Which> which_;
  CachedVector<Span> reached_;
  CachedVector<i64> offsets_;  // of the window's elements, from the first element of an unpadded window
  decltype(&baseline::max_row) max_row_ = pick(&baseline::max_row, &avx2::max_row, &avx512::max_row);
  bool is_whole_ = false;  // every column of every window lies in the plane
};

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& x, const PoolShape& s) {
  const i64 oh = s.oh(), ow = s.ow();
  const bool packed = indices.scalar_type() == kByte;
  in_accumulate_type(out, x, [&]<class Real>(Real) {
    parallel_for(s.planes, plane_grain(s.h * s.w), [&](i64 first, i64 last) {
      PlaneReader<Real> in(x, s.h * s.w);
      PlaneWriter<Real> result(out, oh * ow);
      MaxRow<Real> maxima(s);
      for (i64 plane = first; plane < last; ++plane) {
        const Real* src = in.plane(plane);
        Real* const dst = result.plane(plane);
        for (i64 row = 0; row < oh; ++row) {
          maxima.find(src, row, dst + row * ow);
          const i64 line = plane * oh + row;
          if (packed) {
            maxima.write_numbers(indices.data_ptr<std::uint8_t>() + line * number_bytes(s));
          } else {
            maxima.write_places(row, indices.data_ptr<i64>() + line * ow);
          }
        }
        result.write(plane);
      }
    });
  });
}

/// Adds the gradients of packed maxima where they stood.
template <class Real, int kBits>
class NumberedScatter {
 public:
  explicit NumberedScatter(const PoolShape& s) : shape_(s), line_bytes_(number_bytes(s)) {
    for (i64 y = 0; y < s.kh; ++y)
      for (i64 x = 0; x < s.kw; ++x) offsets_.push_back(y * s.dil_h * s.w + x * s.dil_w);
  }

  /// Throws Error at a number whose element is not in the plane.
  void plane(const std::uint8_t* numbers, const Real* grad, Real* dst) const {
    constexpr unsigned kNone = (1u << kBits) - 1;
    const PoolShape& s = shape_;
    for (i64 oy = 0; oy < s.oh(); ++oy, numbers += line_bytes_) {
      const i64 top = oy * s.stride_h - s.pad_h;
      const bool is_whole_row = top >= 0 && top + (s.kh - 1) * s.dil_h < s.h;
      for (i64 ox = 0; ox < s.ow(); ++ox, ++grad) {
        const unsigned number = kBits == 8 ? numbers[ox] : numbers[ox / 2] >> (ox % 2 * 4) & 15u;
        if (number == kNone) continue;
        const i64 left = ox * s.stride_w - s.pad_w;
        const bool is_whole = is_whole_row && left >= 0 && left + (s.kw - 1) * s.dil_w < s.w;
        if (number >= offsets_.size() || (!is_whole && !is_inside(top, left, number))) {
          fail("max_pool2d_backward", "element ", number, " of window (", oy, ", ", ox,
               ") is not in a plane of ", s.h, " x ", s.w);
        }
        dst[top * s.w + left + offsets_[number]] += *grad;
      }
    }
  }

 private:
  bool is_inside(i64 top, i64 left, unsigned number) const {
    const i64 y = top + number / shape_.kw * shape_.dil_h, x = left + number % shape_.kw * shape_.dil_w;
    return y >= 0 && y < shape_.h && x >= 0 && x < shape_.w;
  }

  const PoolShape& shape_;
  i64 line_bytes_;
  CachedVector<i64> offsets_;  // of a window's elements from its first
};

/// Calls f(plane, gradients, zeroed result) for every plane.
template <class F>
void for_gradient_planes(const Tensor& gx, const Tensor& gy, const PoolShape& s, F f) {
  in_accumulate_type(gx, gy, [&]<class Real>(Real) {
    parallel_for(s.planes, plane_grain(s.h * s.w), [&](i64 first, i64 last) {
      PlaneReader<Real> gradient(gy, s.oh() * s.ow());
      PlaneWriter<Real> result(gx, s.h * s.w);
      for (i64 plane = first; plane < last; ++plane) {
        const Real* const g = gradient.plane(plane);
        f(plane, g, result.zeroed(plane));
        result.write(plane);
      }
    });
  });
}

template <int kBits>
void scatter_numbered(const Tensor& gx, const Tensor& gy, const Tensor& numbers, const PoolShape& s) {
  const auto* const from = numbers.data_ptr<std::uint8_t>();
  const i64 bytes = s.oh() * number_bytes(s);
  for_gradient_planes(gx, gy, s, [&]<class Real>(i64 plane, const Real* g, Real* dst) {
    NumberedScatter<Real, kBits>(s).plane(from + plane * bytes, g, dst);
  });
}

void max_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const PoolShape& s) {
  if (indices.scalar_type() == kByte) {
    return (number_bits(s) == 4 ? scatter_numbered<4> : scatter_numbered<8>)(gx, gy, indices, s);
  }
  const i64 windows = s.oh() * s.ow();
  for_gradient_planes(gx, gy, s, [&]<class Real>(i64 plane, const Real* g, Real* dst) {
    const i64* const index = indices.data_ptr<i64>() + plane * windows;
    for (i64 i = 0; i < windows; ++i)
      if (index[i] >= 0) dst[index[i]] += g[i];
  });
}

/// Means over all pairs of row and column spans.
void mean_forward(const Tensor& out, const Tensor& x, i64 planes, i64 h, i64 w,
                  const CachedVector<Span>& rows, const CachedVector<Span>& cols, i64 divisor) {
  in_accumulate_type(out, x, [&]<class Real>(Real) {
    parallel_for(planes, plane_grain(h * w), [&](i64 first, i64 last) {
      PlaneReader<Real> in(x, h * w);
      PlaneWriter<Real> result(out, static_cast<i64>(rows.size() * cols.size()));
      for (i64 plane = first; plane < last; ++plane) {
        const Real* src = in.plane(plane);
        Real* dst = result.plane(plane);
        for (const Span& row : rows) {
          for (const Span& col : cols) {
            Real sum = 0;
            for (i64 y = row.begin; y < row.end; ++y)
              for (i64 i = y * w + col.begin; i < y * w + col.end; ++i) sum += src[i];
            const bool empty = row.begin == row.end || col.begin == col.end;
            *dst++ = empty ? Real(0) : sum / static_cast<Real>(divisor != 0 ? divisor : row.size * col.size);
          }
        }
        result.write(plane);
      }
    });
  });
}

void mean_backward(const Tensor& gx, const Tensor& gy, i64 planes, i64 h, i64 w,
                   const CachedVector<Span>& rows, const CachedVector<Span>& cols, i64 divisor) {
  in_accumulate_type(gx, gy, [&]<class Real>(Real) {
    parallel_for(planes, plane_grain(h * w), [&](i64 first, i64 last) {
      PlaneReader<Real> gradient(gy, static_cast<i64>(rows.size() * cols.size()));
      PlaneWriter<Real> result(gx, h * w);
      for (i64 plane = first; plane < last; ++plane) {
        const Real* g = gradient.plane(plane);
        Real* dst = result.zeroed(plane);
        for (const Span& row : rows) {
          for (const Span& col : cols) {
            const Real share = *g++ / static_cast<Real>(divisor != 0 ? divisor : row.size * col.size);
            for (i64 y = row.begin; y < row.end; ++y)
              for (i64 i = y * w + col.begin; i < y * w + col.end; ++i) dst[i] += share;
          }
        }
        result.write(plane);
      }
    });
  });
}

void avg_forward(const Tensor& out, const Tensor& x, const PoolShape& s) {
  mean_forward(out, x, s.planes, s.h, s.w,
               avg_spans(s.oh(), s.stride_h, s.pad_h, s.kh, s.h, s.count_include_pad),
               avg_spans(s.ow(), s.stride_w, s.pad_w, s.kw, s.w, s.count_include_pad), s.divisor);
}

void avg_backward(const Tensor& gx, const Tensor& gy, const PoolShape& s) {
  mean_backward(gx, gy, s.planes, s.h, s.w,
                avg_spans(s.oh(), s.stride_h, s.pad_h, s.kh, s.h, s.count_include_pad),
                avg_spans(s.ow(), s.stride_w, s.pad_w, s.kw, s.w, s.count_include_pad), s.divisor);
}

void adaptive_avg_forward(const Tensor& out, const Tensor& x, const AdaptivePoolShape& s) {
  mean_forward(out, x, s.planes, s.h, s.w, adaptive_spans(s.h, s.oh), adaptive_spans(s.w, s.ow), 0);
}

void adaptive_avg_backward(const Tensor& gx, const Tensor& gy, const AdaptivePoolShape& s) {
  mean_backward(gx, gy, s.planes, s.h, s.w, adaptive_spans(s.h, s.oh), adaptive_spans(s.w, s.ow), 0);
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {
template <>
const PoolKernels& cpu_kernels<PoolKernels>() {
  static const PoolKernels kernels{cpu::max_forward,  cpu::max_backward,         cpu::avg_forward,
                                   cpu::avg_backward, cpu::adaptive_avg_forward, cpu::adaptive_avg_backward};
  return kernels;
}
}  // namespace halftone
