#include "halftone/kernels/embedding.h"

#include <cmath>
#include <cstring>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"

namespace halftone::cpu {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

CachedVector<std::int64_t> read_indices(const Tensor& indices, std::int64_t rows) {
  CachedVector<std::int64_t> values = elements<std::int64_t>(indices);
  values.resize(at(indices.numel()));
  for (std::int64_t index : values) {
    if (index < 0 || index >= rows) {
      fail("embedding", "index ", index, " is out of range for a table of ", rows, " rows");
    }
  }
  return values;
}

void forward(const Tensor& out, const Tensor& table, const Tensor& indices) {
  const CachedVector<std::int64_t> rows = read_indices(indices, table.size(0));
  const std::int64_t features = table.size(1), size = table.itemsize();
  const std::int64_t row_step = table.stride(0) * size, step = table.stride(1) * size;
  const auto* from = static_cast<const std::byte*>(table.data_ptr());
  auto* to = static_cast<std::byte*>(out.data_ptr());
  if (features == 0) return;
  parallel_for(indices.numel(), row_grain(features), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::byte* row = from + rows[at(i)] * row_step;
      std::byte* target = to + i * features * size;
      if (step == size) {
        std::memcpy(target, row, at(features * size));
      } else {
        for (std::int64_t j = 0; j < features; ++j) std::memcpy(target + j * size, row + j * step, at(size));
      }
    }
  });
}

/// Positions grouped by row, each group in ascending order: group r is positions[starts[r]] .. [starts[r +
/// 1]].
struct Groups {
  CachedVector<std::int64_t> starts, positions;

  Groups(const CachedVector<std::int64_t>& rows, std::int64_t count)
      : starts(at(count + 1)), positions(rows.size()) {
    for (std::int64_t row : rows) ++starts[at(row + 1)];
    for (std::size_t r = 1; r < starts.size(); ++r) starts[r] += starts[r - 1];
    CachedVector<std::int64_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t i = 0; i < rows.size(); ++i)
      positions[at(next[at(rows[i])]++)] = static_cast<std::int64_t>(i);
  }
};

template <class T>
void backward_in(const Tensor& out, const Tensor& grad, const Tensor& indices, std::int64_t padding,
                 bool by_frequency) {
  const std::int64_t rows = out.size(0), features = out.size(1), n = padded(features);
  const Groups groups(read_indices(indices, rows), rows);
  const Rows<T> from(grad, grad.dim() - 1), to(out, 1);
  parallel_for(rows, row_grain(features), [&](std::int64_t begin, std::int64_t end) {
    CachedVector<T> sum(at(n)), term(at(n));
    for (std::int64_t r = begin; r < end; ++r) {
      std::fill(sum.begin(), sum.end(), T(0));
      const std::int64_t first = groups.starts[at(r)], last = groups.starts[at(r + 1)];
      for (std::int64_t i = first; i < last && r != padding; ++i) {
        from.load(groups.positions[at(i)], term.data(), T(0));
        for (std::int64_t j = 0; j < n; ++j) sum[at(j)] += term[at(j)];
      }
      if (by_frequency && last > first) {
        for (T& value : sum) value /= static_cast<T>(last - first);
      }
      to.store(r, sum.data());
    }
  });
}

void backward(const Tensor& out, const Tensor& grad, const Tensor& indices, std::int64_t padding,
              bool by_frequency) {
  const bool wide = grad.scalar_type() == kDouble || out.scalar_type() == kDouble;
  (wide ? backward_in<double> : backward_in<float>)(out, grad, indices, padding, by_frequency);
}

void factors(const Tensor& out, const Tensor& indices, std::int64_t rows, std::int64_t padding,
             bool by_frequency) {
  const CachedVector<std::int64_t> values = read_indices(indices, rows);
  CachedVector<std::int64_t> counts(at(rows));
  for (std::int64_t row : values) ++counts[at(row)];
  CachedVector<double> result;
  for (std::int64_t row : values) {
    result.push_back(row == padding ? 0.0 : by_frequency ? 1.0 / static_cast<double>(counts[at(row)]) : 1.0);
  }
  storer<double>(out.scalar_type())(out.data_ptr(), 1, result.data(), indices.numel());
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const EmbeddingKernels& cpu_kernels<EmbeddingKernels>() {
  static const EmbeddingKernels kernels{cpu::forward, cpu::backward, cpu::factors};
  return kernels;
}

}  // namespace halftone
