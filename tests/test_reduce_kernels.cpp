#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "halftone/engine/threads.h"
#include "halftone/kernels/reduce.h"
#include "halftone/tests/support/kernel_tensors.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

const ReduceKernels& kernels() { return cpu_kernels<ReduceKernels>(); }

constexpr ReduceOp kAllOps[] = {
    ReduceOp::kSum,   ReduceOp::kMean,         ReduceOp::kProd,      ReduceOp::kMax,   ReduceOp::kMin,
    ReduceOp::kAny,   ReduceOp::kAll,          ReduceOp::kNorm1,     ReduceOp::kNorm2, ReduceOp::kNormInf,
    ReduceOp::kNormP, ReduceOp::kCountNonzero, ReduceOp::kLogSumExp, ReduceOp::kVar};

double parameter(ReduceOp op) { return op == ReduceOp::kNormP ? 3 : op == ReduceOp::kVar ? 1 : 0; }

/// The definition, in double.
double reference(ReduceOp op, const std::vector<double>& x) {
  const double n = static_cast<double>(x.size()), inf = std::numeric_limits<double>::infinity();
  double sum = 0, product = 1, largest = -inf, least = inf, abs_sum = 0, squares = 0, powers = 0, count = 0,
         exps = 0;
  for (const double v : x) {
    sum += v;
    product *= v;
    largest = std::isnan(v) || v > largest ? v : largest;
    least = std::isnan(v) || v < least ? v : least;
    abs_sum += std::fabs(v);
    squares += v * v;
    powers += std::pow(std::fabs(v), 3);
    count += v != 0;
    exps += std::exp(v);
  }
  double spread = 0;
  for (const double v : x) spread += (v - sum / n) * (v - sum / n);
  switch (op) {
    case ReduceOp::kSum:
      return sum;
    case ReduceOp::kMean:
      return sum / n;
    case ReduceOp::kProd:
      return product;
    case ReduceOp::kMax:
      return largest;
    case ReduceOp::kMin:
      return least;
    case ReduceOp::kAny:
      return count > 0;
    case ReduceOp::kAll:
      return count == n;
    case ReduceOp::kNorm1:
      return abs_sum;
    case ReduceOp::kNorm2:
      return std::sqrt(squares);
    case ReduceOp::kNormInf:
      return std::fmax(std::fabs(largest), std::fabs(least));
    case ReduceOp::kNormP:
      return std::cbrt(powers);
    case ReduceOp::kCountNonzero:
      return count;
    case ReduceOp::kLogSumExp:
      return std::log(exps);
    case ReduceOp::kVar:
      return spread / (n - 1);
  }
  return 0;
}

Tensor random_tensor(ScalarType dtype, const Dims& sizes, const Dims& strides, unsigned seed) {
  Tensor t = strided(dtype, sizes, strides, 0, count_elements(sizes));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.1, 1.5);
  for (std::int64_t i = 0; i < t.numel(); ++i) put(t, i, normal(random));
  return t;
}

double reduce_all(ReduceOp op, const Tensor& in, double p = 0, ScalarType out_dtype = kDouble) {
  const Tensor out = empty(out_dtype, {});
  kernels().run(op, out, in, (DimMask{1} << in.dim()) - 1, Params{{p}});
  return get(out, 0);
}

Tensor filled(ScalarType dtype, std::int64_t n, double value) {
  const Tensor t = empty(dtype, {n});
  for (std::int64_t i = 0; i < n; ++i) put(t, i, value);
  return t;
}

}  // namespace

TEST_CASE("reductions agree with their definition in every layout, dtype and ISA", "[reduce]") {
  const Dims sizes{6, 37, 21};
  const Dims layouts[] = {{777, 21, 1}, {1, 6, 222}, {21, 126, 1}};
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    for (const ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble, kInt, kBool, kByte}) {
      for (const Dims& layout : layouts) {
        const Tensor in = random_tensor(dtype, sizes, layout, 5);
        for (DimMask dims = 0; dims < 8; ++dims) {
          Dims kept;
          std::int64_t length = 1;
          for (std::size_t d = 0; d < 3; ++d) {
            if ((dims >> d & 1) != 0) {
              length *= sizes[d];
            } else {
              kept.push_back(sizes[d]);
            }
          }
          std::vector<std::vector<double>> groups(static_cast<std::size_t>(count_elements(kept)));
          for (std::int64_t i = 0; i < in.numel(); ++i) {
            const std::int64_t at[3] = {i / 777, i / 21 % 37, i % 21};
            std::int64_t o = 0;
            for (std::size_t d = 0; d < 3; ++d) {
              if ((dims >> d & 1) == 0) o = o * sizes[d] + at[d];
            }
            groups[static_cast<std::size_t>(o)].push_back(get(in, i));
          }
          for (const ReduceOp op : kAllOps) {
            if (op == ReduceOp::kProd && length > 40) continue;  // out of every range
            if (op == ReduceOp::kVar && length == 1) continue;
            const Tensor out = empty(kDouble, kept);
            kernels().run(op, out, in, dims, Params{{parameter(op)}});
            double worst = 0;
            for (std::size_t o = 0; o < groups.size(); ++o) {
              const double want = reference(op, groups[o]), got = get(out, static_cast<std::int64_t>(o));
              double scale = std::fabs(want) + 1e-3;
              if (op == ReduceOp::kSum) scale = reference(ReduceOp::kNorm1, groups[o]) + 1e-3;
              if (op == ReduceOp::kMean)
                scale = reference(ReduceOp::kNorm1, groups[o]) / static_cast<double>(length) + 1e-3;
              worst = std::max(worst, std::fabs(got - want) / scale);
            }
            INFO("op " << static_cast<int>(op) << " " << dtype_name(dtype) << " dims " << dims << " "
                       << cpu::isa_name(isa));
            CHECK(worst <= (dtype == kDouble ? 1e-12 : 1e-6));
          }
        }
      }
    }
  }
}

TEST_CASE("sums of halves do not stick, squares do not overflow, NaN gets through", "[reduce]") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    CHECK(reduce_all(ReduceOp::kSum, filled(kHalf, 4096, 1), 0, kHalf) == 4096);
    CHECK(reduce_all(ReduceOp::kMean, filled(kHalf, 70000, 0.5), 0, kHalf) == 0.5);
    CHECK(reduce_all(ReduceOp::kSum, filled(kFloat, 100000000 / 4, 1)) == 25000000);
    CHECK(reduce_all(ReduceOp::kSum,
                     from(kHalf, {32000, 32000, 32000, 32000, -32000, -32000, -32000, -32000}), 0,
                     kHalf) == 0);
    CHECK(reduce_all(ReduceOp::kNorm2, filled(kFloat, 4, 1e20), 0, kFloat) == Approx(2e20).epsilon(1e-7));
    CHECK(reduce_all(ReduceOp::kNorm2, filled(kFloat, 4, 1e-30), 0, kFloat) == Approx(2e-30).epsilon(1e-7));
    for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kSum, ReduceOp::kNorm2,
                              ReduceOp::kNormInf, ReduceOp::kVar, ReduceOp::kLogSumExp}) {
      for (const std::int64_t n : {1, 3, 16, 17, 100, 700}) {
        for (const ScalarType dtype : {kFloat, kBFloat16, kDouble}) {
          const Tensor t = filled(dtype, n, 2);
          put(t, n - 1, nan);
          INFO(static_cast<int>(op) << " " << n);
          CHECK(std::isnan(reduce_all(op, t, 1)));
        }
      }
    }
    CHECK(reduce_all(ReduceOp::kLogSumExp, filled(kFloat, 2, 1000)) == Approx(1000.6931471805599));
    CHECK(reduce_all(ReduceOp::kLogSumExp, filled(kFloat, 3, -inf)) == -inf);
    CHECK(reduce_all(ReduceOp::kLogSumExp, from(kFloat, {0, inf})) == inf);
    CHECK(reduce_all(ReduceOp::kVar, from(kFloat, {16777216, 16777218, 16777220}), 1) == Approx(4));
    CHECK(reduce_all(ReduceOp::kVar, filled(kFloat, 1000, 0.1), 1) < 1e-14);  // of the rounded mean, squared
  }
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  const Tensor t = empty(kLong, {2}), out = empty(kLong, {});
  put(t, 0, big);
  put(t, 1, std::int64_t{2});
  kernels().run(ReduceOp::kSum, out, t, 1, {});
  CHECK(out.data_ptr<std::int64_t>()[0] == big + 2);
}

TEST_CASE("reductions of nothing", "[reduce]") {
  const Tensor none = empty(kFloat, {0, 3});
  const Tensor out = empty(kFloat, {1, 3});
  kernels().run(ReduceOp::kSum, out, none, 1, {});
  CHECK(get(out, 2) == 0);
  kernels().run(ReduceOp::kProd, out, none, 1, {});
  CHECK(get(out, 2) == 1);
  kernels().run(ReduceOp::kMean, out, none, 1, {});
  CHECK(std::isnan(get(out, 2)));
  kernels().run(ReduceOp::kSum, empty(kFloat, {0}), none, 2, {});
  REQUIRE_THROWS_WITH(kernels().run(ReduceOp::kSum, empty(kFloat, {2}), empty(kFloat, {4, 3}), 1, {}),
                      Catch::Contains("kept dimensions"));
}

TEST_CASE("reductions are the same for any number of threads", "[reduce]") {
  const int before = get_num_threads();
  const Tensor line = random_tensor(kHalf, {300007}, {1}, 1);
  const Tensor tall = random_tensor(kFloat, {20011, 19}, {19, 1}, 2);
  const Tensor rows = random_tensor(kBFloat16, {301, 1000}, {1000, 1}, 3);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kNorm2, ReduceOp::kVar, ReduceOp::kLogSumExp}) {
    std::vector<std::vector<double>> results;
    for (const int threads : {1, 2, 7}) {
      set_num_threads(threads);
      std::vector<double> all;
      for (const auto& [tensor, dims, outputs] :
           {std::tuple(line, 1u, std::int64_t{1}), std::tuple(tall, 1u, std::int64_t{19}),
            std::tuple(rows, 2u, std::int64_t{301})}) {
        const Tensor out = empty(kDouble, tensor.dim() == 1 ? Dims{} : Dims{outputs});
        kernels().run(op, out, tensor, dims, {});
        for (std::int64_t i = 0; i < outputs; ++i) all.push_back(get(out, i));
      }
      results.push_back(all);
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
  set_num_threads(before);
}

TEST_CASE("argmax, argmin and running sums", "[reduce]") {
  const double nan = std::nan("");
  for (const ScalarType dtype : {kFloat, kHalf, kDouble, kInt}) {
    const Tensor in = from(dtype, {3, 9, 1, 9, -4, 2});
    const Tensor index = empty(kLong, {}), value = empty(dtype, {});
    kernels().arg(true, index, &value, in, 0);
    CHECK(get(index, 0) == 1);
    CHECK(get(value, 0) == 9);
    kernels().arg(false, index, &value, in, 0);
    CHECK(get(index, 0) == 4);
    const Tensor matrix = window(in, {2, 3}, {3, 1}, 0), columns = empty(kLong, {1, 3});
    kernels().arg(true, columns, nullptr, matrix, 0);
    CHECK(get(columns, 0) == 1);
    CHECK(get(columns, 1) == 0);
    CHECK(get(columns, 2) == 1);
    const Tensor sums = empty(dtype, {2, 3});
    kernels().cumulative(Cumulative::kSum, sums, matrix, 1, false);
    CHECK(get(sums, 2) == 13);
    CHECK(get(sums, 5) == 7);
    kernels().cumulative(Cumulative::kSum, sums, matrix, 1, true);
    CHECK(get(sums, 0) == 13);
    CHECK(get(sums, 4) == -2);
    kernels().cumulative(Cumulative::kProd, matrix, matrix, 0, false);
    CHECK(get(matrix, 3) == 27);
    CHECK(get(matrix, 4) == -36);
  }
  const Tensor index = empty(kLong, {});
  kernels().arg(false, index, nullptr, from(kFloat, {3, nan, 1, nan}), 0);
  CHECK(get(index, 0) == 1);
  REQUIRE_THROWS_WITH(kernels().arg(true, index, nullptr, empty(kFloat, {0}), 0), Catch::Contains("empty"));
  const Tensor ones = filled(kHalf, 5000, 1), sums = empty(kHalf, {5000});
  kernels().cumulative(Cumulative::kSum, sums, ones, 0, false);
  CHECK(get(sums, 4095) == 4096);
}
