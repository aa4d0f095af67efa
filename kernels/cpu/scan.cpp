#include "halftone/kernels/cpu/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/convert.h"
#include "halftone/kernels/cpu/reduce_geometry.h"

namespace halftone::cpu {

namespace {

constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kGrain = 32768;

template <class T>
struct Winner {
  std::int64_t index = 0;
  T value{};
};

/// The first largest (or smallest) of `n` elements; a NaN beats everything.
template <class T>
Winner<T> find_extreme(bool largest, Loader<T> load, const std::byte* base, std::int64_t stride,
                       std::int64_t bytes, std::int64_t n) {
  Winner<T> best;
  load(&best.value, base, 0, 1);
  alignas(64) T block[kBlock];
  for (std::int64_t begin = 0; begin < n && best.value == best.value; begin += kBlock) {
    const std::int64_t length = std::min(kBlock, n - begin);
    load(block, base + begin * stride * bytes, stride, length);
    for (std::int64_t i = 0; i < length; ++i) {
      const T x = block[i];
      if ((largest ? x > best.value : x < best.value) || x != x) {
        best = {begin + i, x};
        if (x != x) break;
      }
    }
  }
  return best;
}

template <class T>
void arg_as(bool largest, const Tensor& out_index, const Tensor* out_value, const Tensor& in,
            std::int64_t dim) {
  const Tensor* const outs[] = {&out_index, out_value};
  const int count = out_value == nullptr ? 1 : 2;
  const StridedLoop<3> kept = kept_loop<3>(
      largest ? "argmax" : "argmin", std::span<const Tensor* const>(outs, static_cast<std::size_t>(count)),
      in, DimMask{1} << dim);
  const std::size_t d = static_cast<std::size_t>(dim);
  const std::int64_t n = in.sizes()[d], step = in.strides()[d], bytes = in.itemsize();
  const std::byte* const from = in.unsafe_impl()->data();
  const Loader<T> load = loader<T>(in.scalar_type());
  const Storer<std::int64_t> store_index = storer<std::int64_t>(out_index.scalar_type());
  const Storer<T> store_value = storer<T>(in.scalar_type());
  auto some = [&](std::int64_t begin, std::int64_t end) {
    kept.for_each_pair(begin, end - begin,
                       [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t run) {
                         for (std::int64_t i = 0; i < run; ++i) {
                           const std::byte* const base = from + (offset[count] + i * stride[count]) * bytes;
                           const Winner<T> winner = find_extreme<T>(largest, load, base, step, bytes, n);
                           const auto place = [&](const Tensor& out, int k) {
                             return out.unsafe_impl()->data() + (offset[k] + i * stride[k]) * out.itemsize();
                           };
                           store_index(place(out_index, 0), 1, &winner.index, 1);
                           if (out_value != nullptr) store_value(place(*out_value, 1), 1, &winner.value, 1);
                         }
                       });
  };
  parallel_for(kept.size(), std::max<std::int64_t>(1, kGrain / n), some);
}

/// log(e^a + e^b).
double log_add_exp(double a, double b) {
  const double larger = a > b || a != a ? a : b;
  return std::isinf(larger) ? larger : larger + std::log1p(std::exp(-std::fabs(a - b)));
}

/// Partial results in double, or in int64 for integers (which wraps around).
template <class T>
void cumulative_as(Cumulative op, const Tensor& out, const Tensor& in, std::int64_t dim, bool reverse) {
  StridedLoop<2> lines;
  lines.clear(2);
  for (std::size_t d = 0; d < static_cast<std::size_t>(in.dim()); ++d) {
    if (static_cast<std::int64_t>(d) != dim) lines.add(in.sizes()[d], {out.strides()[d], in.strides()[d]});
  }
  lines.finish();
  const std::size_t d = static_cast<std::size_t>(dim);
  const std::int64_t n = in.sizes()[d], sign = reverse ? -1 : 1;
  const std::int64_t out_step = sign * out.strides()[d], in_step = sign * in.strides()[d];
  const std::int64_t out_first = reverse ? (n - 1) * out.strides()[d] : 0;
  const std::int64_t in_first = reverse ? (n - 1) * in.strides()[d] : 0;
  const Loader<T> load = loader<T>(in.scalar_type());
  const Storer<T> store = storer<T>(out.scalar_type());
  using Unsigned = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  const auto combined = [op](Unsigned total, Unsigned x) -> Unsigned {
    if (op == Cumulative::kSum) return total + x;
    if constexpr (std::is_floating_point_v<T>) {
      if (op == Cumulative::kLogSumExp) return log_add_exp(total, x);
    }
    return total * x;
  };
  const auto one_line = [&](std::byte* to, const std::byte* from) {
    alignas(64) T block[kBlock];
    Unsigned total = op == Cumulative::kSum ? 0 : 1;
    if constexpr (std::is_floating_point_v<T>) {
      if (op == Cumulative::kLogSumExp) total = -std::numeric_limits<T>::infinity();
    }
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const std::int64_t length = std::min(kBlock, n - begin);
      load(block, from + begin * in_step * in.itemsize(), in_step, length);
      for (std::int64_t i = 0; i < length; ++i) {
        const Unsigned x = static_cast<Unsigned>(block[i]);
        total = combined(total, x);
        block[i] = static_cast<T>(total);
      }
      store(to + begin * out_step * out.itemsize(), out_step, block, length);
    }
  };
  std::byte* const to = out.unsafe_impl()->data() + out_first * out.itemsize();
  const std::byte* const from = in.unsafe_impl()->data() + in_first * in.itemsize();
  parallel_for(
      lines.size(), std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
        lines.for_each_pair(begin, end - begin,
                            [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t run) {
                              for (std::int64_t i = 0; i < run; ++i) {
                                one_line(to + (offset[0] + i * stride[0]) * out.itemsize(),
                                         from + (offset[1] + i * stride[1]) * in.itemsize());
                              }
                            });
      });
}

void check_dim(std::string_view op, const Tensor& in, std::int64_t dim) {
  if (dim < 0 || dim >= in.dim()) fail(op, "dimension ", dim, " of ", in, " does not exist");
}

template <class T>
void running_extreme_as(bool largest, const Tensor& values, const Tensor& indices, const Tensor& in,
                        std::int64_t dim) {
  StridedLoop<3> lines;
  lines.clear(3);
  for (std::int64_t d = 0; d < in.dim(); ++d) {
    if (d != dim) lines.add(in.size(d), {values.stride(d), indices.stride(d), in.stride(d)});
  }
  lines.finish();
  const std::int64_t n = in.size(dim);
  const auto one_line = [&](T* value, std::int64_t* index, const T* from) {
    double best = 0;  // halves and floats fit; integers are compared as they are
    std::int64_t place = 0;
    T kept{};
    for (std::int64_t i = 0; i < n; ++i) {
      const T x = from[i * in.stride(dim)];
      bool wins = i == 0;
      if constexpr (std::is_integral_v<T>) {
        wins = wins || (largest ? x >= kept : x <= kept);
      } else {
        const double y = static_cast<double>(x);
        wins = wins || y != y || (best == best && (largest ? y >= best : y <= best));
        if (wins) best = y;
      }
      if (wins) {
        kept = x;
        place = i;
      }
      value[i * values.stride(dim)] = kept;
      index[i * indices.stride(dim)] = place;
    }
  };
  T* const to = static_cast<T*>(values.data_ptr());
  auto* const places = indices.data_ptr<std::int64_t>();
  const T* const from = static_cast<const T*>(in.data_ptr());
  parallel_for(
      lines.size(), std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
        lines.for_each_pair(begin, end - begin,
                            [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t run) {
                              for (std::int64_t i = 0; i < run; ++i) {
                                one_line(to + offset[0] + i * stride[0], places + offset[1] + i * stride[1],
                                         from + offset[2] + i * stride[2]);
                              }
                            });
      });
}

}  // namespace

void recurrence(const Tensor& out, const Tensor& in, const Tensor& factors, std::int64_t dim, bool reverse) {
  check_dim("linear_recurrence", in, dim);
  if (in.numel() == 0) return;
  StridedLoop<3> lines;
  lines.clear(3);
  for (std::int64_t d = 0; d < in.dim(); ++d) {
    if (d != dim) lines.add(in.size(d), {out.stride(d), in.stride(d), factors.stride(d)});
  }
  lines.finish();
  const std::int64_t n = in.size(dim), sign = reverse ? -1 : 1, first = reverse ? n - 1 : 0;
  const Loader<double> load_in = loader<double>(in.scalar_type());
  const Loader<double> load_factors = loader<double>(factors.scalar_type());
  const Storer<double> store = storer<double>(out.scalar_type());
  const auto at = [&](const Tensor& tensor, std::int64_t offset, std::int64_t begin) {
    return tensor.unsafe_impl()->data() +
           (offset + (first + sign * begin) * tensor.stride(dim)) * tensor.itemsize();
  };
  const auto one_line = [&](std::int64_t to, std::int64_t from, std::int64_t factor) {
    alignas(64) double x[kBlock], f[kBlock];
    double total = 0;
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const std::int64_t length = std::min(kBlock, n - begin);
      load_in(x, at(in, from, begin), sign * in.stride(dim), length);
      load_factors(f, at(factors, factor, begin), sign * factors.stride(dim), length);
      for (std::int64_t i = 0; i < length; ++i) x[i] = total = begin + i == 0 ? x[i] : x[i] + f[i] * total;
      store(at(out, to, begin), sign * out.stride(dim), x, length);
    }
  };
  parallel_for(
      lines.size(), std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
        lines.for_each_pair(begin, end - begin,
                            [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t run) {
                              for (std::int64_t i = 0; i < run; ++i) {
                                one_line(offset[0] + i * stride[0], offset[1] + i * stride[1],
                                         offset[2] + i * stride[2]);
                              }
                            });
      });
}

void running_extreme(bool largest, const Tensor& values, const Tensor& indices, const Tensor& in,
                     std::int64_t dim) {
  check_dim(largest ? "cummax" : "cummin", in, dim);
  if (in.numel() == 0) return;
  dispatch_all(in.scalar_type(),
               [&]<class T>() { running_extreme_as<T>(largest, values, indices, in, dim); });
}

void arg_extreme(bool largest, const Tensor& out_index, const Tensor* out_value, const Tensor& in,
                 std::int64_t dim) {
  const char* const op = largest ? "argmax" : "argmin";
  check_dim(op, in, dim);
  if (out_index.numel() == 0) return;
  if (in.numel() == 0) fail(op, "dimension ", dim, " of ", in, " is empty");
  if (out_value != nullptr && out_value->scalar_type() != in.scalar_type()) {
    fail(op, "values of ", in, " do not go into ", *out_value);
  }
  switch (accumulate_type(in.scalar_type())) {
    case kDouble:
      return arg_as<double>(largest, out_index, out_value, in, dim);
    case kFloat:
      return arg_as<float>(largest, out_index, out_value, in, dim);
    default:
      return arg_as<std::int64_t>(largest, out_index, out_value, in, dim);
  }
}

void cumulative(Cumulative op, const Tensor& out, const Tensor& in, std::int64_t dim, bool reverse) {
  const char* const name = op == Cumulative::kSum    ? "cumsum"
                           : op == Cumulative::kProd ? "cumprod"
                                                     : "logcumsumexp";
  check_dim(name, in, dim);
  if (out.sizes() != in.sizes()) fail(name, "the output ", out, " has not the sizes of ", in);
  if (in.numel() == 0) return;
  if (is_floating_point(in.scalar_type()) || is_floating_point(out.scalar_type()) ||
      op == Cumulative::kLogSumExp) {
    cumulative_as<double>(op, out, in, dim, reverse);
  } else {
    cumulative_as<std::int64_t>(op, out, in, dim, reverse);
  }
}

}  // namespace halftone::cpu
