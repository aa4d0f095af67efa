// Index kernels: plain loops, since memory and not arithmetic is what they wait for. Work is split so that no
// two threads write one place and every place sees its sources in order.

#include "halftone/kernels/index.h"

#include <cmath>
#include <type_traits>
#include <vector>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/walk.h"

namespace halftone {
namespace cpu {
namespace {

template <class T>
T* data(const Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

std::int64_t grain_for(std::int64_t work_per_unit) {
  return std::max<std::int64_t>(1, kWalkGrain / std::max<std::int64_t>(1, work_per_unit));
}

/// All elements of tensors of one shape.
template <class... Tensors>
Walk<sizeof...(Tensors)> walk_all(const Tensor& shape, const Tensors&... tensors) {
  Walk<sizeof...(Tensors)> walk;
  for (std::size_t d = 0; d < shape.sizes().size(); ++d)
    walk.add(shape.sizes()[d], {tensors.strides()[d]...});
  return walk;
}

void check_range(const char* op, const Tensor& index, std::int64_t size, std::int64_t dim, bool negative) {
  const auto* indices = data<const std::int64_t>(index);
  const std::int64_t low = negative ? -size : 0;
  const auto walk = walk_all(index, index);
  walk.runs(0, index.numel(), [&](const auto& offsets, const auto& steps, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t value = indices[offsets[0] + i * steps[0]];
      if (value >= low && value < size) continue;
      fail(op, "index ", value, " is out of range for dimension ", dim, " of size ", size,
           negative || value >= 0 ? "" : "; negative indices are not accepted here");
    }
  });
}

void combine(const Tensor& positions, const Tensor& index, std::int64_t size) {
  Walk<2> walk;
  const std::size_t added = positions.sizes().size() - index.sizes().size();
  for (std::size_t d = 0; d < positions.sizes().size(); ++d) {
    const bool repeated = d < added || index.sizes()[d - added] == 1;
    walk.add(positions.sizes()[d], {positions.strides()[d], repeated ? 0 : index.strides()[d - added]});
  }
  auto* out = data<std::int64_t>(positions);
  const auto* in = data<const std::int64_t>(index);
  walk.runs(0, walk.count(), [&](const auto& offsets, const auto& steps, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t value = in[offsets[1] + i * steps[1]];
      std::int64_t& position = out[offsets[0] + i * steps[0]];
      position = position * size + (value < 0 ? value + size : value);
    }
  });
}

// --- Rows
// --------------------------------------------------------------------------------------------------------

/// Where the rows of `whole` lie, and those of `part`: whole is (before, dims, after), part is (before,
/// positions, after).
struct Rows {
  Walk<2> before, after;                  // offsets of whole and part
  std::vector<std::int64_t> whole, part;  // offset of each row

  Rows(const Tensor& whole_tensor, const Tensor& part_tensor, const Tensor& positions, const Dims& dims) {
    const Dims sizes = whole_tensor.sizes().dims(), strides = whole_tensor.strides().dims();
    const auto adjacent = [&] {
      for (std::size_t i = 1; i < dims.size(); ++i) {
        if (dims[i] != dims[i - 1] + 1) return false;
      }
      return true;
    };
    const std::int64_t front = adjacent() ? dims[0] : 0;
    const auto indexed = positions.sizes().size();
    std::size_t of_part = 0;
    for (std::int64_t d = 0; d < whole_tensor.dim(); ++d) {
      if (static_cast<std::int64_t>(of_part) == front) of_part += indexed;
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
      const auto size = sizes[static_cast<std::size_t>(d)], stride = strides[static_cast<std::size_t>(d)];
      (static_cast<std::int64_t>(of_part) < front ? before : after)
          .add(size, {stride, part_tensor.strides()[of_part]});
      ++of_part;
    }
    Walk<2> rows;  // offsets of positions and part
    for (std::size_t d = 0; d < indexed; ++d) {
      rows.add(positions.sizes()[d],
               {positions.strides()[d], part_tensor.strides()[static_cast<std::size_t>(front) + d]});
    }
    whole.reserve(static_cast<std::size_t>(rows.count()));
    part.reserve(static_cast<std::size_t>(rows.count()));
    const auto* position = data<const std::int64_t>(positions);
    rows.runs(0, rows.count(), [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t rest = position[offsets[0] + i * steps[0]], offset = 0;
        for (std::size_t d = dims.size(); d-- > 0;) {
          const auto dim = static_cast<std::size_t>(dims[d]);
          offset += rest % sizes[dim] * strides[dim];
          rest /= sizes[dim];
        }
        whole.push_back(offset);
        part.push_back(offsets[1] + i * steps[1]);
      }
    });
  }

  std::int64_t count() const { return static_cast<std::int64_t>(whole.size()); }
};

template <class T>
void move_run(T* to, std::int64_t to_step, const T* from, std::int64_t from_step, std::int64_t n) {
  if (to_step == 1 && from_step == 1) {
    std::copy_n(from, n, to);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

void take(const Tensor& out, const Tensor& self, const Tensor& positions, const Dims& dims) {
  if (out.numel() == 0) return;
  const Rows rows(self, out, positions, dims);
  by_element_size(self.element_size(), [&]<class T>() {
    parallel_for(rows.before.count() * rows.count(), grain_for(rows.after.count()),
                 [&](auto begin, auto end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const auto base = rows.before.at(r / rows.count());
                     const auto row = static_cast<std::size_t>(r % rows.count());
                     const T* from = data<const T>(self) + base[0] + rows.whole[row];
                     T* to = data<T>(out) + base[1] + rows.part[row];
                     rows.after.runs(0, rows.after.count(),
                                     [&](const auto& offsets, const auto& steps, std::int64_t n) {
                                       move_run(to + offsets[1], steps[1], from + offsets[0], steps[0], n);
                                     });
                   }
                 });
  });
}

/// Calls f(whole offset, part offset, steps, n) for all runs of all rows. Threads share out what lies before
/// and after the row, never the rows.
template <class F>
void for_each_row(const Rows& rows, F f) {
  const std::int64_t inner = rows.after.count();
  parallel_for(
      rows.before.count() * inner, grain_for(rows.count()), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin / inner; b * inner < end; ++b) {
          const auto base = rows.before.at(b);
          const std::int64_t first = std::max<std::int64_t>(begin - b * inner, 0);
          const std::int64_t last = std::min(end - b * inner, inner);
          for (std::size_t row = 0; row < rows.whole.size(); ++row) {
            rows.after.runs(first, last, [&](const auto& offsets, const auto& steps, std::int64_t n) {
              f(base[0] + rows.whole[row] + offsets[0], base[1] + rows.part[row] + offsets[1], steps, n);
            });
          }
        }
      });
}

void put(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values) {
  if (values.numel() == 0) return;
  const Rows rows(self, values, positions, dims);
  by_element_size(self.element_size(), [&]<class T>() {
    for_each_row(rows, [&](std::int64_t to, std::int64_t from, const auto& steps, std::int64_t n) {
      move_run(data<T>(self) + to, steps[0], data<const T>(values) + from, steps[1], n);
    });
  });
}

/// What sums of T are accumulated in.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
Sum<T> sum_of(Sum<T> a, Sum<T> b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {  // wraps around
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
Sum<T> scaled(T value, Sum<T> alpha) {
  if constexpr (std::is_same_v<T, bool>) {
    return value && alpha;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(static_cast<U>(value) * static_cast<U>(alpha));
  } else {
    return static_cast<Sum<T>>(value) * alpha;
  }
}

void add(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values,
         const Scalar& alpha) {
  if (values.numel() == 0) return;
  const Rows rows(self, values, positions, dims);
  dispatch_all(values.scalar_type(), [&]<class T>() {
    auto* sums = self.data_ptr<Sum<T>>();
    const auto* source = data<const T>(values);
    const auto factor = alpha.to<Sum<T>>();
    for_each_row(rows, [&](std::int64_t to, std::int64_t from, const auto& steps, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        auto& sum = sums[to + i * steps[0]];
        sum = sum_of<T>(sum, scaled<T>(source[from + i * steps[1]], factor));
      }
    });
  });
}

// --- Elements
// ----------------------------------------------------------------------------------------------------

/// Calls f(offset in self without dim, offset in other, offset in index) for every line along `dim`, on
/// several threads.
template <class F>
void for_each_line(const Tensor& self, const Tensor& other, const Tensor& index, std::int64_t dim, F f) {
  if (index.numel() == 0) return;
  if (index.dim() == 0) {
    f(std::int64_t{0}, std::int64_t{0}, std::int64_t{0});
    return;
  }
  Walk<3> lines;
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    if (d != dim) lines.add(index.size(d), {self.stride(d), other.stride(d), index.stride(d)});
  }
  parallel_for(lines.count(), grain_for(index.size(dim)), [&](std::int64_t begin, std::int64_t end) {
    lines.runs(begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        f(offsets[0] + i * steps[0], offsets[1] + i * steps[1], offsets[2] + i * steps[2]);
      }
    });
  });
}

/// Size and strides along `dim`; a 0-d tensor counts as one element.
struct Along {
  std::int64_t size = 1, self = 0, other = 0, index = 0;
  Along(const Tensor& self_tensor, const Tensor& other_tensor, const Tensor& index_tensor, std::int64_t dim) {
    if (index_tensor.dim() == 0) return;
    size = index_tensor.size(dim);
    self = self_tensor.stride(dim);
    other = other_tensor.stride(dim);
    index = index_tensor.stride(dim);
  }
};

void gather(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
  const Along along(self, out, index, dim);
  const auto* indices = data<const std::int64_t>(index);
  by_element_size(self.element_size(), [&]<class T>() {
    const T* from = data<const T>(self);
    T* to = data<T>(out);
    for_each_line(self, out, index, dim, [&](std::int64_t s, std::int64_t o, std::int64_t x) {
      for (std::int64_t i = 0; i < along.size; ++i) {
        to[o + i * along.other] = from[s + indices[x + i * along.index] * along.self];
      }
    });
  });
}

void scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  const Along along(self, src, index, dim);
  const auto* indices = data<const std::int64_t>(index);
  by_element_size(self.element_size(), [&]<class T>() {
    T* to = data<T>(self);
    const T* from = data<const T>(src);
    for_each_line(self, src, index, dim, [&](std::int64_t s, std::int64_t o, std::int64_t x) {
      for (std::int64_t i = 0; i < along.size; ++i) {
        to[s + indices[x + i * along.index] * along.self] = from[o + i * along.other];
      }
    });
  });
}

void scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  const Along along(self, src, index, dim);
  const auto* indices = data<const std::int64_t>(index);
  dispatch_all(src.scalar_type(), [&]<class T>() {
    auto* sums = self.data_ptr<Sum<T>>();
    const T* from = data<const T>(src);
    for_each_line(self, src, index, dim, [&](std::int64_t s, std::int64_t o, std::int64_t x) {
      for (std::int64_t i = 0; i < along.size; ++i) {
        auto& sum = sums[s + indices[x + i * along.index] * along.self];
        sum = sum_of<T>(sum, static_cast<Sum<T>>(from[o + i * along.other]));
      }
    });
  });
}

void accumulate(const Tensor& self, const Tensor& src) {
  const auto walk = walk_all(src, self, src);
  dispatch_all(src.scalar_type(), [&]<class T>() {
    auto* sums = self.data_ptr<Sum<T>>();
    const T* from = data<const T>(src);
    walk.runs(0, src.numel(), [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        auto& sum = sums[offsets[0] + i * steps[0]];
        sum = sum_of<T>(sum, static_cast<Sum<T>>(from[offsets[1] + i * steps[1]]));
      }
    });
  });
}

// --- Elements that are not zero
// ------------------------------------------------------------------------------------

/// Calls f(flat index) for every element that is not zero, in row-major order. NaN is not zero.
template <class F>
void for_each_nonzero(const Tensor& self, F f) {
  const auto walk = walk_all(self, self);
  dispatch_all(self.scalar_type(), [&]<class T>() {
    const T* values = data<const T>(self);
    std::int64_t flat = 0;
    walk.runs(0, self.numel(), [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i, ++flat) {
        if (static_cast<Sum<T>>(values[offsets[0] + i * steps[0]]) != 0) f(flat);
      }
    });
  });
}

std::int64_t count_nonzero(const Tensor& self) {
  std::int64_t count = 0;
  for_each_nonzero(self, [&](std::int64_t) { ++count; });
  return count;
}

void nonzero(const Tensor& out, const Tensor& self) {
  auto* row = data<std::int64_t>(out);
  const Dims& sizes = self.unsafe_impl()->sizes;
  for_each_nonzero(self, [&](std::int64_t flat) {
    for (std::size_t d = sizes.size(); d-- > 0;) {
      row[d] = flat % sizes[d];
      flat /= sizes[d];
    }
    row += sizes.size();
  });
}

}  // namespace
}  // namespace cpu

template <>
const IndexKernels& cpu_kernels<IndexKernels>() {
  static constexpr IndexKernels kernels{
      .check_range = cpu::check_range,
      .combine = cpu::combine,
      .take = cpu::take,
      .put = cpu::put,
      .add = cpu::add,
      .gather = cpu::gather,
      .scatter = cpu::scatter,
      .scatter_add = cpu::scatter_add,
      .accumulate = cpu::accumulate,
      .count_nonzero = cpu::count_nonzero,
      .nonzero = cpu::nonzero,
  };
  return kernels;
}

}  // namespace halftone
