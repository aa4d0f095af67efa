// Sums and extremes along rows, along columns, of short rows, and of everything.

#include "halftone/bench/suite/families/operands.h"

namespace halftone::bench {
namespace {

constexpr std::int64_t kShort = 16;

/// One operator: `call` is used on the operand and, in float64, on its values and on their magnitudes.
Case reduction(const char* name, const Shape& shape, const Setting& setting, std::int64_t results,
               double length, std::function<Tensor(const Tensor&)> call) {
  Case c;
  c.name = name;
  c.bound = Bound::kMemory;
  c.passes = {{{bytes_of(shape[0] * shape[1], setting)}, {}, {bytes_of(results, setting)}}};
  c.prepare = [=] {
    manual_seed(1);
    const Tensor x = uniform(shape, setting);
    return work_of([=] { return call(x); },
                   [=] {
                     return Reference{call(exactly(x)), call(exactly(x).abs()), length};
                   });
  };
  return c;
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  const std::int64_t rows = shape[0], columns = shape[1], n = rows * columns;
  const auto length = [](std::int64_t count) { return static_cast<double>(count); };
  std::vector<Case> all{
      reduction("sum_rows", shape, setting, rows, length(columns), [](const Tensor& x) { return x.sum(-1); }),
      reduction("sum_columns", shape, setting, columns, length(rows),
                [](const Tensor& x) { return x.sum(0); }),
      reduction("mean", shape, setting, 1, length(n), [](const Tensor& x) { return x.mean(); }),
      reduction("max_rows", shape, setting, rows, 0, [](const Tensor& x) { return amax(x, -1); }),
      reduction("norm", shape, setting, 1, length(n), [](const Tensor& x) { return norm(x); })};
  if (n % kShort == 0) {
    all.push_back(
        reduction("sum_rows_of_16", shape, setting, n / kShort, length(kShort), [](const Tensor& x) {
          return x.view({-1, kShort}).sum(-1);
        }));
    all.push_back(reduction("max_rows_of_16", shape, setting, n / kShort, 0, [](const Tensor& x) {
      return amax(x.view({-1, kShort}), -1);
    }));
  }
  return all;
}

}  // namespace

Family reduce_family() {
  return {"reduce",         "sums, means, norms and maxima",
          "rows x columns", {{256, 256}, {1024, 1024}, {8192, 1024}},
          {{256, 256}},     {{1024, 1024}, {65536, 4096}},
          {4, 16},          cases};
}

}  // namespace halftone::bench
