// Matrix products at the kernels' own entries: nothing but C = A B, row-major, every operand as it lies in
// memory.

#include <Eigen/Dense>
#include <cmath>
#include <memory>

#include "halftone/bench/peers/dnnl.h"
#include "halftone/bench/support/work.h"
#include "halftone/halftone.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"

#ifdef HALFTONE_PEER_OPENBLAS
#include <cblas.h>
#endif

namespace peers {
namespace {

using halftone::Dtype;
using halftone::Tensor;
using i64 = std::int64_t;

using Shape = bench::Product;

/// Those for which the targets ask 92 % of the ceiling, those of the table, and the small and skinny ones.
enum class Kind { kLarge, kTable, kSmall };
Kind kind_of(const Shape& s) {
  if (std::min({s.m, s.k, s.n}) >= 512) return Kind::kLarge;
  return std::max({s.m, s.k, s.n}) >= 64 && s.m > 16 ? Kind::kTable : Kind::kSmall;
}

Contender halftone_product(const Shape& s, const Tensor& a, const Tensor& b, const Tensor& c) {
  using namespace halftone;
  return contender("halftone", [=] {
    const MatrixRef left{a.data_ptr(), a.scalar_type(), s.k, 1, 0},
        right{b.data_ptr(), b.scalar_type(), s.n, 1, 0};
    cpu_kernels<GemmKernels>().run(1, s.m, s.n, s.k, left, right, {c.data_ptr(), c.scalar_type(), s.n, 1, 0},
                                   {});
  });
}

Contender eigen_product(const Shape& s, const Tensor& a, const Tensor& b) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using View = Eigen::Map<const Matrix>;
  auto c = std::make_shared<Matrix>(s.m, s.n);
  return contender("Eigen", [=] {
    c->noalias() = View(a.data_ptr<float>(), s.m, s.k) * View(b.data_ptr<float>(), s.k, s.n);
  });
}

#ifdef HALFTONE_PEER_OPENBLAS
Contender openblas_product(const Shape& s, const Tensor& a, const Tensor& b, const Tensor& c, int threads) {
  openblas_set_num_threads(threads);
  const auto m = static_cast<int>(s.m), k = static_cast<int>(s.k), n = static_cast<int>(s.n);
  return contender("OpenBLAS", [=] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.data_ptr<float>(), k,
                b.data_ptr<float>(), n, 0, c.data_ptr<float>(), n);
  });
}
#endif

/// Largest difference from the fp64 product of the same inputs, over a few rows, against the largest element.
double error_of(const Shape& s, const Tensor& a, const Tensor& b, const Tensor& c) {
  double worst = 0, largest = 0;
  for (i64 i = 0; i < s.m; i += std::max<i64>(1, s.m / 3)) {
    const Tensor exact = halftone::mv(b.to(halftone::kDouble).t(), a[i].to(halftone::kDouble));
    const Tensor difference = (c[i].to(halftone::kDouble) - exact).abs();
    worst = std::max(worst, difference.max().item<double>());
    largest = std::max(largest, exact.abs().max().item<double>());
  }
  return worst / largest;
}

Table table_of(Dtype dtype, int threads) {
  const bool bf16 = dtype == halftone::kBFloat16;
  Table table{
      halftone::concat("Products of ", halftone::dtype_name(dtype), ", ", threads, " thread",
                       threads > 1 ? "s" : ""),
      "Percent of the multiply-add ceiling of the same run; the result is float32. "
      "Target: 92 % (1 thread) or 88 % (2 threads; float16: 90 %) from 512 on, 0.97 of the best peer on the "
      "other large shapes, 0.95 on small and skinny ones.",
      {}};
  double log_ratio = 0;
  int counted = 0;
  for (const Shape& s : bench::kProducts) {
    const Tensor a = (halftone::rand({s.m, s.k}) * 2 - 1).to(dtype),
                 b = (halftone::rand({s.k, s.n}) * 2 - 1).to(dtype);
    const Tensor c = halftone::empty({s.m, s.n});
    std::vector<Contender> all{ceiling(bf16 ? bench::bf16_unit() : bench::fp32_unit(), s.flops()),
                               halftone_product(s, a, b, c)};
    if (dtype == halftone::kFloat) {
      all.push_back(eigen_product(s, a, b));
#ifdef HALFTONE_PEER_OPENBLAS
      all.push_back(openblas_product(s, a, b, halftone::empty({s.m, s.n}), threads));
#endif
    }
#ifdef HALFTONE_PEER_DNNL
    if (dtype != halftone::kHalf) {
      all.push_back(contender("oneDNN", dnnl_product(s.m, s.k, s.n, bf16, false, threads)));
      all.push_back(contender("oneDNN, packed B", dnnl_product(s.m, s.k, s.n, bf16, true, threads)));
    }
#endif
    const double error = error_of(s, a, b, c);
    if (!(error < 1e-5))
      halftone::fail("bench_peers", "the product ", s.m, "x", s.k, "x", s.n, " is wrong by ", error);

    const std::vector<double> seconds = median_times(all, threads);
    Table::Row row{{"m x k x n", halftone::concat(s.m, "x", s.k, "x", s.n)},
                   {"us", 1e6 * seconds[1]},
                   {"ceiling GFLOP/s", 1e-9 * s.flops() / seconds[0]}};
    double best = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      row[all[i].name + " %"] = 100 * seconds[0] / seconds[i];
      // Packing once is what a peer may do with weights; it is not the same work.
      if (i > 1 && all[i].name != "oneDNN, packed B") best = std::max(best, seconds[1] / seconds[i]);
    }
    const Kind kind = kind_of(s);
    const double of_ceiling = seconds[0] / seconds[1], against = best > 0 ? 1 / best : 0;
    const double wanted = threads > 1 ? 0.88 : dtype == halftone::kHalf ? 0.90 : 0.92;
    const bool fast = kind != Kind::kLarge || of_ceiling >= wanted;
    const bool ahead = best == 0 || against >= (kind == Kind::kSmall ? 0.95 : 0.97);
    row["against the best"] = best > 0 ? nlohmann::ordered_json(against) : nlohmann::ordered_json();
    const bool has_target = kind == Kind::kLarge || best > 0;
    row["met"] = has_target ? nlohmann::ordered_json(fast && ahead ? "yes" : "no") : nlohmann::ordered_json();
    if (best > 0 && kind != Kind::kSmall) log_ratio += std::log(against), ++counted;
    table.add(std::move(row));
  }
  if (counted > 0) {
    char text[64];
    std::snprintf(text, sizeof text, " Geometric mean of the large shapes: %.2f.",
                  std::exp(log_ratio / counted));
    table.note += text;
  }
  return table;
}

}  // namespace

std::vector<Table> gemm_tables(const Request& request) {
  std::vector<Table> tables;
  halftone::manual_seed(1);
  for (const int threads : request.threads) {
    halftone::set_num_threads(threads);
    for (const Dtype dtype : {halftone::kFloat, halftone::kBFloat16, halftone::kHalf})
      tables.push_back(table_of(dtype, threads));
  }
  return tables;
}

}  // namespace peers
