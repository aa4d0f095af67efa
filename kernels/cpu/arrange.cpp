// Sorting, reversing, triangles.

#include <algorithm>
#include <cmath>
#include <vector>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/walk.h"
#include "halftone/kernels/index.h"

namespace halftone {
namespace cpu {
namespace {

template <class T>
using SortKey = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class Key>
struct Entry {
  Key key;
  std::int64_t index;
};

/// NaN is the largest; equal keys keep their order. Total, so that any sorting algorithm is stable.
template <class Key>
struct Before {
  bool descending;
  static bool less(Key a, Key b) {
    if constexpr (std::is_floating_point_v<Key>) return a < b || (b != b && a == a);
    return a < b;
  }
  bool operator()(const Entry<Key>& a, const Entry<Key>& b) const {
    if (less(a.key, b.key)) return !descending;
    if (less(b.key, a.key)) return descending;
    return a.index < b.index;
  }
};

template <class T>
void sort_line(T* values, std::int64_t value_step, std::int64_t* indices, std::int64_t index_step,
               const T* self, std::int64_t self_step, std::int64_t n, std::int64_t wanted, bool descending,
               std::vector<Entry<SortKey<T>>>& entries) {
  entries.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    entries[static_cast<std::size_t>(i)] = {static_cast<SortKey<T>>(self[i * self_step]), i};
  }
  const Before<SortKey<T>> before{descending};
  if (wanted < n) {
    std::partial_sort(entries.begin(), entries.begin() + wanted, entries.end(), before);
  } else {
    std::sort(entries.begin(), entries.end(), before);
  }
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int64_t from = entries[static_cast<std::size_t>(i)].index;
    values[i * value_step] = self[from * self_step];
    indices[i * index_step] = from;
  }
}

void sort(const Tensor& values, const Tensor& indices, const Tensor& self, std::int64_t dim,
          bool descending) {
  if (values.numel() == 0) return;
  const bool scalar = self.dim() == 0;
  const auto size = [&](const Tensor& t) { return scalar ? 1 : t.size(dim); };
  const auto step = [&](const Tensor& t) { return scalar ? 1 : t.stride(dim); };
  Walk<3> lines;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) lines.add(self.size(d), {values.stride(d), indices.stride(d), self.stride(d)});
  }
  const std::int64_t n = size(self), wanted = size(values);
  dispatch_all(self.scalar_type(), [&]<class T>() {
    parallel_for(lines.count(), std::max<std::int64_t>(1, 4096 / n),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::vector<Entry<SortKey<T>>> entries;
                   for (std::int64_t line = begin; line < end; ++line) {
                     const auto at = lines.at(line);
                     sort_line(static_cast<T*>(values.data_ptr()) + at[0], step(values),
                               indices.data_ptr<std::int64_t>() + at[1], step(indices),
                               static_cast<const T*>(self.data_ptr()) + at[2], step(self), n, wanted,
                               descending, entries);
                   }
                 });
  });
}

void search(const Tensor& out, const Tensor& sorted, const Tensor& values, bool right) {
  if (values.numel() == 0) return;
  const std::int64_t n = sorted.size(-1);
  const std::int64_t per_row = sorted.dim() == 1 ? values.numel() : values.size(-1);
  dispatch_all(values.scalar_type(), [&]<class T>() {
    const T* const rows = static_cast<const T*>(sorted.data_ptr());
    const T* const wanted = static_cast<const T*>(values.data_ptr());
    const auto less = [](const T& a, const T& b) {
      return Before<SortKey<T>>::less(static_cast<SortKey<T>>(a), static_cast<SortKey<T>>(b));
    };
    const auto fill = [&](auto* places) {
      parallel_for(values.numel(), 4096, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T* const row = n > 0 ? rows + i / per_row * n : rows;
          const T* const found = right ? std::upper_bound(row, row + n, wanted[i], less)
                                       : std::lower_bound(row, row + n, wanted[i], less);
          places[i] = static_cast<std::remove_reference_t<decltype(*places)>>(found - row);
        }
      });
    };
    if (out.scalar_type() == kInt) {
      fill(out.data_ptr<std::int32_t>());
    } else {
      fill(out.data_ptr<std::int64_t>());
    }
  });
}

void flip(const Tensor& out, const Tensor& self, const Dims& dims) {
  Walk<2> walk;
  std::int64_t start = 0;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    const bool reversed = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (reversed && self.size(d) > 0) start += (self.size(d) - 1) * self.stride(d);
    walk.add(self.size(d), {out.stride(d), reversed ? -self.stride(d) : self.stride(d)});
  }
  by_element_size(self.element_size(), [&]<class T>() {
    T* to = static_cast<T*>(out.data_ptr());
    const T* from = static_cast<const T*>(self.data_ptr()) + start;
    parallel_for(out.numel(), kWalkGrain, [&](std::int64_t begin, std::int64_t end) {
      walk.runs(begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) to[offsets[0] + i * steps[0]] = from[offsets[1] + i * steps[1]];
      });
    });
  });
}

void triangle(const Tensor& out, const Tensor& self, std::int64_t diagonal, bool upper) {
  const std::int64_t rows = self.size(-2), columns = self.size(-1);
  if (self.numel() == 0) return;
  Walk<2> lines;  // one per row of a matrix
  for (std::int64_t d = 0; d + 1 < self.dim(); ++d) lines.add(self.size(d), {out.stride(d), self.stride(d)});
  by_element_size(self.element_size(), [&]<class T>() {
    const std::int64_t to_step = out.stride(-1), from_step = self.stride(-1);
    parallel_for(lines.count(), std::max<std::int64_t>(1, kWalkGrain / columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t line = begin; line < end; ++line) {
                     const auto at = lines.at(line);
                     T* to = static_cast<T*>(out.data_ptr()) + at[0];
                     const T* from = static_cast<const T*>(self.data_ptr()) + at[1];
                     // Columns below `split` lie under the diagonal (for upper) or on and under it (for
                     // lower).
                     const std::int64_t split = line % rows + diagonal + (upper ? 0 : 1);
                     for (std::int64_t c = 0; c < columns; ++c)
                       to[c * to_step] = (c >= split) == upper ? from[c * from_step] : T(0);
                   }
                 });
  });
}

}  // namespace
}  // namespace cpu

template <>
const ArrangeKernels& cpu_kernels<ArrangeKernels>() {
  static constexpr ArrangeKernels kernels{
      .sort = cpu::sort, .search = cpu::search, .flip = cpu::flip, .triangle = cpu::triangle};
  return kernels;
}

}  // namespace halftone
