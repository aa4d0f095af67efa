// Reductions, extremes with their places and running sums on the device, against the CPU's kernels.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "halftone/kernels/reduce.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

const ReduceKernels& host() { return cpu_kernels<ReduceKernels>(); }
const ReduceKernels& device() { return kernels_for<ReduceKernels>(kCUDA); }

constexpr ReduceOp kAllOps[] = {
    ReduceOp::kSum,   ReduceOp::kMean,         ReduceOp::kProd,      ReduceOp::kMax,   ReduceOp::kMin,
    ReduceOp::kAny,   ReduceOp::kAll,          ReduceOp::kNorm1,     ReduceOp::kNorm2, ReduceOp::kNormInf,
    ReduceOp::kNormP, ReduceOp::kCountNonzero, ReduceOp::kLogSumExp, ReduceOp::kVar};

double parameter(ReduceOp op) { return op == ReduceOp::kNormP ? 3 : op == ReduceOp::kVar ? 1 : 0; }

/// Whether the result is one of the elements, or a number that is exact.
bool is_exact(ReduceOp op) {
  return op == ReduceOp::kMax || op == ReduceOp::kMin || op == ReduceOp::kAny || op == ReduceOp::kAll ||
         op == ReduceOp::kNormInf || op == ReduceOp::kCountNonzero;
}

Tensor random_tensor(ScalarType dtype, const Dims& sizes, MemoryLayout layout, unsigned seed) {
  const Tensor t = laid_out(dtype, sizes, layout), memory = memory_of(t);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.1, 1.5);
  for (std::int64_t i = 0; i < memory.numel(); ++i) put(memory, i, normal(random));
  return t;
}

Dims kept_sizes(const Tensor& in, DimMask dims) {
  Dims kept;
  for (std::size_t d = 0; d < in.sizes().size(); ++d) {
    if ((dims >> d & 1) == 0) kept.push_back(in.sizes()[d]);
  }
  return kept;
}

Tensor reduce(const ReduceKernels& kernels, ReduceOp op, const Tensor& in, DimMask dims, ScalarType out_type,
              double p) {
  const Tensor out = halftone::empty(kept_sizes(in, dims), TensorOptions(out_type).device(in.device()));
  kernels.run(op, out, in, dims, Params{{p}});
  return out.cpu();
}

/// Both kernels combine at most 64 elements in fp32 before they go on in fp64: each is off by at most 64 u of
/// the sum of magnitudes, which the sum of norms bounds. Elements in fp64 or int64 leave the error of fp64
/// alone.
void check_parity(ReduceOp op, const Tensor& in, DimMask dims) {
  const double p = parameter(op);
  const Tensor want = reduce(host(), op, in, dims, kDouble, p);
  const Tensor got = reduce(device(), op, on_device(in), dims, kDouble, p);
  const Tensor sizes = reduce(host(), ReduceOp::kNorm1, in, dims, kDouble, 0);
  const double count =
      static_cast<double>(in.numel()) / static_cast<double>(std::max<std::int64_t>(1, want.numel()));
  const bool in_double = in.scalar_type() == kDouble || !is_floating_point(in.scalar_type());
  const double u = in_double ? 0x1p-53 * (64 + count) : 2 * 64 * 0x1p-24;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < want.numel(); ++i) {
    const double w = get(want, i), g = get(got, i);
    double scale = std::fabs(w) + 1e-3;
    if (op == ReduceOp::kSum) scale = get(sizes, i);
    if (op == ReduceOp::kMean) scale = get(sizes, i) / count;
    if (op == ReduceOp::kLogSumExp) scale = std::fabs(w) + 1;
    if (op == ReduceOp::kProd) scale = std::fabs(w) * count;
    const bool equal = w == g || (std::isnan(w) && std::isnan(g));
    wrong += is_exact(op) || !std::isfinite(w) ? !equal : !(std::fabs(g - w) <= u * scale);
  }
  CHECK(wrong == 0);
}

Tensor repeated(ScalarType dtype, std::int64_t n, double value) {
  const Tensor t = empty(dtype, {n});
  for (std::int64_t i = 0; i < n; ++i) put(t, i, value);
  return t;
}

double reduce_all(ReduceOp op, const Tensor& in, double p = 0, ScalarType out_type = kDouble) {
  return get(reduce(device(), op, on_device(in), (DimMask{1} << in.dim()) - 1, out_type, p), 0);
}

}  // namespace

TEST_CASE("device: reductions over any dimensions, in every dtype and layout", "[cuda]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (const Dims& sizes : {Dims{5, 17, 24}, Dims{3, 37, 9}}) {
        const Tensor in = random_tensor(dtype, sizes, layout, 5);
        for (DimMask dims = 0; dims < 8; ++dims) {
          for (const ReduceOp op : kAllOps) {
            const std::int64_t length =
                in.numel() / std::max<std::int64_t>(1, count_elements(kept_sizes(in, dims)));
            if (op == ReduceOp::kProd && length > 40) continue;  // out of every range
            if (op == ReduceOp::kVar && length == 1) continue;
            INFO("op " << static_cast<int>(op) << " " << dtype_name(dtype) << " " << name_of(layout)
                       << " dims " << dims);
            check_parity(op, in, dims);
          }
        }
      }
    }
  }
}

TEST_CASE("device: long and many reductions go through segments", "[cuda]") {
  const auto ops = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kNorm2, ReduceOp::kVar, ReduceOp::kLogSumExp};
  for (const ReduceOp op : ops) {
    INFO("op " << static_cast<int>(op));
    for (const ScalarType dtype : {kHalf, kFloat, kDouble, kInt}) {
      INFO(dtype_name(dtype));
      check_parity(op, random_tensor(dtype, {70001}, MemoryLayout::kDense, 1), 1);
      check_parity(op, random_tensor(dtype, {70001}, MemoryLayout::kMisaligned, 1), 1);
      check_parity(op, random_tensor(dtype, {3, 9000}, MemoryLayout::kDense, 2), 2);
      check_parity(op, random_tensor(dtype, {3001, 24}, MemoryLayout::kDense, 3), 1);
      check_parity(op, random_tensor(dtype, {700, 264}, MemoryLayout::kDense, 4), 1);
      check_parity(op, random_tensor(dtype, {2, 500, 40}, MemoryLayout::kDense, 5), 2);
      check_parity(op, random_tensor(dtype, {5000, 3}, MemoryLayout::kDense, 6), 2);
    }
  }
}

TEST_CASE("device: reductions are the same from run to run", "[cuda]") {
  for (const auto& [tensor, dims] :
       {std::pair{random_tensor(kHalf, {70001}, MemoryLayout::kDense, 1), DimMask{1}},
        std::pair{random_tensor(kFloat, {3001, 19}, MemoryLayout::kDense, 2), DimMask{1}}}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kVar}) {
      const Tensor there = on_device(tensor);
      const Tensor first = reduce(device(), op, there, dims, kDouble, 1);
      const Tensor second = reduce(device(), op, there, dims, kDouble, 1);
      CHECK(std::memcmp(first.data_ptr(), second.data_ptr(), first.nbytes()) == 0);
    }
  }
}

TEST_CASE("device: sums of halves do not stick, squares do not overflow, NaN gets through", "[cuda]") {
  CHECK(reduce_all(ReduceOp::kSum, repeated(kHalf, 4096, 1), 0, kHalf) == 4096);
  CHECK(reduce_all(ReduceOp::kMean, repeated(kHalf, 70000, 0.5), 0, kHalf) == 0.5);
  CHECK(reduce_all(ReduceOp::kSum, from(kHalf, {32000, 32000, 32000, 32000, -32000, -32000, -32000, -32000}),
                   0, kHalf) == 0);
  CHECK(reduce_all(ReduceOp::kNorm2, repeated(kFloat, 4, 1e20), 0, kFloat) == Approx(2e20).epsilon(1e-7));
  CHECK(reduce_all(ReduceOp::kNorm2, repeated(kFloat, 4, 1e-30), 0, kFloat) == Approx(2e-30).epsilon(1e-7));
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kSum, ReduceOp::kNorm2,
                            ReduceOp::kNormInf, ReduceOp::kVar, ReduceOp::kLogSumExp}) {
    for (const std::int64_t n : {1, 3, 16, 17, 100, 5000}) {
      for (const ScalarType dtype : {kFloat, kBFloat16, kDouble}) {
        for (const std::int64_t place : {std::int64_t{0}, n - 1}) {
          const Tensor t = repeated(dtype, n, 2);
          put(t, place, std::nan(""));
          INFO(static_cast<int>(op) << " " << n);
          CHECK(std::isnan(reduce_all(op, t, 1)));
        }
      }
    }
  }
  CHECK(reduce_all(ReduceOp::kLogSumExp, repeated(kFloat, 2, 1000)) == Approx(1000.6931471805599));
  CHECK(reduce_all(ReduceOp::kLogSumExp, repeated(kFloat, 3, -kInf)) == -kInf);
  CHECK(reduce_all(ReduceOp::kLogSumExp, from(kFloat, {0, kInf})) == kInf);
  CHECK(reduce_all(ReduceOp::kVar, from(kFloat, {16777216, 16777218, 16777220}), 1) == Approx(4));
  CHECK(reduce_all(ReduceOp::kVar, repeated(kFloat, 1000, 0.1), 1) < 1e-14);  // of the rounded mean, squared
  CHECK(reduce_all(ReduceOp::kMax, repeated(kFloat, 3, -kInf)) == -kInf);

  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  const Tensor t = empty(kLong, {2});
  put(t, 0, big);
  put(t, 1, std::int64_t{2});
  CHECK(reduce(device(), ReduceOp::kSum, on_device(t), 1, kLong, 0).data_ptr<std::int64_t>()[0] == big + 2);
}

TEST_CASE("device: results are rounded once to any dtype, into any layout", "[cuda]") {
  const Tensor in = filled(kInt, {6, 7, 8}, MemoryLayout::kDense, 1), there = on_device(in);
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      const Tensor want = filled(dtype, {6, 1, 8}, layout, 2), got = on_device(want);
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kAny}) {
        host().run(op, want, in, 2, {});
        device().run(op, got, there, 2, {});
        INFO(dtype_name(dtype) << " " << name_of(layout) << " " << static_cast<int>(op));
        CHECK(same_memory(want, got));
      }
    }
  }
}

TEST_CASE("device: reductions of nothing", "[cuda]") {
  const Tensor none = empty(kFloat, {0, 3});
  for (const ReduceOp op :
       {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kProd, ReduceOp::kAny, ReduceOp::kAll, ReduceOp::kNorm2,
        ReduceOp::kLogSumExp, ReduceOp::kVar, ReduceOp::kCountNonzero}) {
    INFO(static_cast<int>(op));
    check_parity(op, none, 1);
    check_parity(op, none, 2);
    check_parity(op, none, 3);
    check_parity(op, empty(kLong, {0, 20}), 1);
  }
  REQUIRE_THROWS_WITH(
      device().run(ReduceOp::kSum, on_device(empty(kFloat, {2})), on_device(empty(kFloat, {4, 3})), 1, {}),
      Catch::Contains("kept dimensions"));
}

TEST_CASE("device: argmax and argmin find the first, and NaN", "[cuda]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (const Dims& sizes : {Dims{4, 1, 6}, Dims{5, 23, 3}, Dims{2, 1500, 2}}) {
        const Tensor in = filled(dtype, sizes, layout, 1);
        if (is_floating_point(dtype)) put(in, in.numel() / 2, std::nan(""));
        const Tensor there = on_device(in);
        for (std::int64_t dim = 0; dim < 3; ++dim) {
          for (const bool largest : {true, false}) {
            Dims kept = sizes;
            kept[static_cast<std::size_t>(dim)] = 1;
            const Tensor index = empty(kLong, kept), value = filled(dtype, kept, layout, 2);
            const Tensor index_there = on_device(index), value_there = on_device(value);
            host().arg(largest, index, &value, in, dim);
            device().arg(largest, index_there, &value_there, there, dim);
            INFO(dtype_name(dtype) << " " << name_of(layout) << " dim " << dim);
            CHECK(same_memory(index, index_there));
            CHECK(same_memory(value, value_there));
            device().arg(largest, index_there, nullptr, there, dim);
            CHECK(same_memory(index, index_there));
          }
        }
      }
    }
  }
  const Tensor index = on_device(empty(kLong, {}));
  device().arg(false, index, nullptr, on_device(from(kFloat, {3, std::nan(""), 1, std::nan("")})), 0);
  CHECK(index.cpu().data_ptr<std::int64_t>()[0] == 1);
  REQUIRE_THROWS_WITH(device().arg(true, index, nullptr, on_device(empty(kFloat, {0})), 0),
                      Catch::Contains("empty"));
  REQUIRE_THROWS_WITH(device().arg(true, index, nullptr, index, 0), Catch::Contains("does not exist"));
}

TEST_CASE("device: running sums and products, forward and backward", "[cuda]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (const Dims& sizes : {Dims{4, 30, 3}, Dims{2, 1100, 2}, Dims{3, 0, 2}}) {
        for (const Cumulative op : {Cumulative::kSum, Cumulative::kProd}) {
          for (const bool reverse : {false, true}) {
            // Whole numbers: sums are exact. Products of +-1 and 2, which stay in range.
            Tensor in = laid_out(dtype, sizes, layout);
            std::mt19937 random(3);
            for (std::int64_t i = 0; i < memory_of(in).numel(); ++i) put(memory_of(in), i, 1);
            for (std::int64_t i = 0; i < in.numel(); ++i) {
              const int number = static_cast<int>(random() % 5);
              put(in, i,
                  op == Cumulative::kSum       ? number
                  : number == 0                ? -1
                  : number == 1 && i % 97 == 0 ? 2
                                               : 1);
            }
            const Tensor want = filled(dtype, sizes, layout, 2), got = on_device(want);
            host().cumulative(op, want, in, 1, reverse);
            device().cumulative(op, got, on_device(in), 1, reverse);
            INFO(dtype_name(dtype) << " " << name_of(layout) << " " << sizes[1] << " reverse " << reverse);
            CHECK(same_memory(want, got));
            const Tensor in_place = on_device(in);
            host().cumulative(op, in, in, 1, reverse);
            device().cumulative(op, in_place, in_place, 1, reverse);
            CHECK(same_memory(in, in_place));
          }
        }
      }
    }
  }
  const Tensor ones = repeated(kHalf, 5000, 1), sums = on_device(empty(kHalf, {5000}));
  device().cumulative(Cumulative::kSum, sums, on_device(ones), 0, false);
  CHECK(get(sums.cpu(), 4095) == 4096);
  REQUIRE_THROWS_WITH(device().cumulative(Cumulative::kSum, sums, on_device(empty(kHalf, {3})), 0, false),
                      Catch::Contains("sizes"));
}
