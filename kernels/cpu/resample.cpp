#include "halftone/kernels/resample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/convert.h"

namespace halftone {
namespace cpu {
namespace {

/// The taps of all results along one dimension, one after the other.
template <class Real>
struct Taps {
  std::vector<std::int64_t> starts{0}, columns;
  std::vector<Real> weights;
  std::int64_t from = 1;  // elements read from

  Taps(const ResampleDim& dim, bool adjoint) : from(adjoint ? dim.out : dim.in) {
    const auto add = [&](std::int64_t column, double weight) {
      columns.push_back(column);
      weights.push_back(static_cast<Real>(weight));
    };
    for (std::int64_t i = 0; i < (adjoint ? dim.in : dim.out); ++i) {
      if (adjoint) {
        dim.for_each_reader(i, add);
      } else {
        for (int k = 0; k < dim.taps(); ++k) add(dim.tap(i, k).column, dim.tap(i, k).weight);
      }
      starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
  }

  std::int64_t size() const { return static_cast<std::int64_t>(starts.size()) - 1; }
  template <class F>
  void visit(std::int64_t i, F&& f) const {
    for (auto k = static_cast<std::size_t>(starts[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(starts[static_cast<std::size_t>(i) + 1]); ++k) {
      f(columns[k], weights[k]);
    }
  }
};

/// Row by row of the result: the rows it is made of are added up first, then the taps along the row.
template <class Real>
void run_as(const Tensor& out, const Tensor& x, const ResampleShape& shape, bool adjoint) {
  const Taps<Real> depth(shape.dims[0], adjoint), rows(shape.dims[1], adjoint), along(shape.dims[2], adjoint);
  const Loader<Real> load = loader<Real>(x.scalar_type());
  const Storer<Real> store = storer<Real>(out.scalar_type());
  const auto* const from = static_cast<const std::byte*>(x.data_ptr());
  auto* const to = static_cast<std::byte*>(out.data_ptr());
  const std::int64_t width = along.from, row_bytes = width * x.itemsize();
  const std::int64_t lines = shape.planes * depth.size() * rows.size();
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (width + along.size()));
  parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> row(static_cast<std::size_t>(width)), sum(row.size());
    std::vector<Real> result(static_cast<std::size_t>(along.size()));
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t plane = line / (depth.size() * rows.size());
      std::fill(sum.begin(), sum.end(), Real(0));
      depth.visit(line / rows.size() % depth.size(), [&](std::int64_t z, Real by_depth) {
        rows.visit(line % rows.size(), [&](std::int64_t y, Real by_row) {
          load(row.data(), from + ((plane * depth.from + z) * rows.from + y) * row_bytes, 1, width);
          const Real weight = by_depth * by_row;
          for (std::size_t i = 0; i < row.size(); ++i) sum[i] += weight * row[i];
        });
      });
      for (std::int64_t i = 0; i < along.size(); ++i) {
        Real total = 0;
        along.visit(i, [&](std::int64_t c, Real w) { total += w * sum[static_cast<std::size_t>(c)]; });
        result[static_cast<std::size_t>(i)] = total;
      }
      store(to + line * along.size() * out.itemsize(), 1, result.data(), along.size());
    }
  });
}

void run(const Tensor& out, const Tensor& x, const ResampleShape& shape, bool adjoint) {
  if (out.scalar_type() == kDouble || x.scalar_type() == kDouble) {
    run_as<double>(out, x, shape, adjoint);
  } else {
    run_as<float>(out, x, shape, adjoint);
  }
}

}  // namespace
}  // namespace cpu

template <>
const ResampleKernels& cpu_kernels<ResampleKernels>() {
  static constexpr ResampleKernels kernels{&cpu::run};
  return kernels;
}

}  // namespace halftone
