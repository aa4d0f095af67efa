// How fast softmax, log_softmax and their gradients are, in GB/s and in percent of what this machine's memory
// gives to the same reads and writes, which is measured for every size. Results are checked against fp64
// first.
//
//   bench_softmax [threads]
//
// Bytes are those of the operator's arguments and result, each moved once. Sizes: a batch of class scores and
// of attention rows that stay in the cache, a large batch, and a language model's vocabulary.
// The ceiling is measured before and after each case. On a shared host it moves by itself: a case above 100 %
// says that its neighbours were louder during both, and is to be run again.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "halftone/autograd/grad_mode.h"
#include "halftone/bench/support/measure.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/cpu/isa.h"

namespace {

using namespace halftone;
using i64 = std::int64_t;

struct Shape {
  i64 rows, columns;
};

/// One row in fp64.
std::vector<double> row_of(const Tensor& t, i64 row) {
  const Tensor values = t[row].to(kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

/// Largest deviation of `got` from `exact` in units of what is allowed: one rounding to the result's type and
/// 4e-6 of the terms that were added up.
double excess(const std::vector<double>& got, const std::vector<double>& exact,
              const std::vector<double>& terms, Dtype dtype) {
  const double unit = unit_roundoff(dtype), smallest = dtype == kHalf ? 0x1p-25 : 0x1p-140;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double allowed = unit * std::fabs(exact[i]) + 4e-6 * terms[i] + smallest;
    const double error = std::fabs(got[i] - exact[i]);
    worst = std::max(worst, std::isnan(error) ? INFINITY : error / allowed);
  }
  return worst;
}

struct Bench {
  const char* name;
  std::function<Tensor()> run;
  /// Row of the exact result, and the size of the terms in it.
  std::function<void(i64, std::vector<double>&, std::vector<double>&)> exact;
  bench::Traffic traffic;
};

bool measure_one(const Bench& b, Dtype dtype, const Shape& s) {
  const Tensor result = b.run();
  double worst = 0;
  for (const i64 row : {i64{0}, s.rows / 2, s.rows - 1}) {
    std::vector<double> exact, terms;
    b.exact(row, exact, terms);
    worst = std::max(worst, excess(row_of(result, row), exact, terms, dtype));
  }
  if (!(worst <= 1)) {
    std::printf("%-20s %-9s WRONG: error is %.3g times what is allowed\n", b.name, dtype_name(dtype), worst);
    return false;
  }
  const double earlier = bench::ceiling_seconds({b.traffic});
  const bench::Timing t = bench::measure(b.run);
  const double limit = std::min(earlier, bench::ceiling_seconds({b.traffic}));
  const double gb = 1e-9 * static_cast<double>(b.traffic.bytes());
  std::printf("%-20s %-9s %5ld x %-6ld %8.1f %10.1f %7.1f .. %-7.1f %9.1f %6.0f %%%s\n", b.name,
              dtype_name(dtype), long(s.rows), long(s.columns), 1e-6 * static_cast<double>(b.traffic.bytes()),
              gb / t.median, gb / t.high, gb / t.low, gb / limit, 100 * limit / t.median,
              t.quiet ? "" : "  (machine busy)");
  std::fflush(stdout);
  return true;
}

bool measure_shape(Dtype dtype, const Shape& s) {
  manual_seed(1);
  const Tensor x = (randn({s.rows, s.columns}) * 3).to(dtype), grad = randn({s.rows, s.columns}).to(dtype);
  const Tensor y = softmax(x, -1), log_y = log_softmax(x, -1);
  const i64 bytes = static_cast<i64>(x.nbytes());

  using Row = std::vector<double>;
  const auto softmax_row = [&](i64 row, Row& p, Row& terms) {
    p = row_of(x, row);
    const double largest = *std::max_element(p.begin(), p.end());
    double total = 0;
    for (double& v : p) total += v = std::exp(v - largest);
    for (double& v : p) v /= total;
    terms = p;
  };
  const auto log_softmax_row = [&](i64 row, Row& logs, Row& terms) {
    logs = row_of(x, row);
    const double largest = *std::max_element(logs.begin(), logs.end());
    double total = 0;
    for (const double v : logs) total += std::exp(v - largest);
    for (double& v : logs) v -= largest + std::log(total);
    terms = logs;
    for (double& v : terms) v = std::fabs(v) + 1;
  };
  const auto softmax_backward_row = [&](i64 row, Row& out, Row& terms) {
    const Row g = row_of(grad, row), p = row_of(y, row);
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < g.size(); ++i) sum += g[i] * p[i], size += std::fabs(g[i] * p[i]);
    out = terms = g;
    for (std::size_t i = 0; i < g.size(); ++i) {
      out[i] = p[i] * (g[i] - sum);
      terms[i] = p[i] * (std::fabs(g[i]) + size);
    }
  };
  const auto log_softmax_backward_row = [&](i64 row, Row& out, Row& terms) {
    const Row g = row_of(grad, row), logs = row_of(log_y, row);
    double sum = 0, size = 0;
    for (const double v : g) sum += v, size += std::fabs(v);
    out = terms = g;
    for (std::size_t i = 0; i < g.size(); ++i) {
      out[i] = g[i] - std::exp(logs[i]) * sum;
      terms[i] = std::fabs(g[i]) + std::exp(logs[i]) * size * (1 + std::fabs(logs[i]));
    }
  };

  const bench::Traffic forward{{bytes}, {}, {bytes}}, backward{{bytes, bytes}, {}, {bytes}};
  const Bench benches[] = {
      {"softmax", [&] { return softmax(x, -1); }, softmax_row, forward},
      {"log_softmax", [&] { return log_softmax(x, -1); }, log_softmax_row, forward},
      {"softmax gradient", [&] { return softmax_backward(grad, y, -1, dtype); }, softmax_backward_row,
       backward},
      {"log_softmax gradient", [&] { return log_softmax_backward(grad, log_y, -1, dtype); },
       log_softmax_backward_row, backward},
  };
  bool right = true;
  for (const Bench& b : benches) right &= measure_one(b, dtype, s);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::max(1, std::atoi(argv[1])));
  const NoGradGuard no_grad;
  std::printf("%s, %d thread(s)\n", cpu::isa_name(cpu::current_isa()), get_num_threads());
  std::printf(
      "operator             dtype      rows x columns     MB      GB/s     low .. high       ceiling\n");
  bool right = true;
  for (const Shape& shape : {Shape{512, 512}, Shape{8192, 1024}, Shape{64, 50257}}) {
    for (const Dtype dtype : {kFloat, kBFloat16, kHalf}) right &= measure_shape(dtype, shape);
  }
  return right ? 0 : 1;
}
