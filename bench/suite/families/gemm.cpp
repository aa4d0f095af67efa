// Matrix products at the kernels' own entry: C = A B, row-major, the result float32. NT multiplies by a
// transposed matrix, as a linear layer does; linear_gelu is such a layer with bias and activation, through
// the operator.

#include <algorithm>

#include "halftone/bench/suite/families/operands.h"
#include "halftone/bench/support/work.h"
#include "halftone/engine/cuda_math.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"

namespace halftone::bench {
namespace {

/// While alive, float32 products may or may not use TF32.
class Tf32Guard {
 public:
  explicit Tf32Guard(const Setting& setting) : before_(cuda::allow_tf32()) {
    cuda::set_allow_tf32(setting.precision == Precision::kTf32);
  }
  ~Tf32Guard() { cuda::set_allow_tf32(before_); }
  Tf32Guard(const Tf32Guard&) = delete;
  Tf32Guard& operator=(const Tf32Guard&) = delete;

 private:
  bool before_;
};

double input_roundoff(const Setting& setting) {
  return setting.precision == Precision::kTf32 ? 2 * 0x1p-11 : 0;
}

/// A few rows of the result are checked.
Tensor checked_rows(std::int64_t m) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < m; i += std::max<std::int64_t>(1, m / 5)) rows.push_back(i);
  return from_blob(rows.data(), {static_cast<std::int64_t>(rows.size())}, TensorOptions(kLong).device(kCPU))
      .clone();
}

MatrixRef matrix(const Tensor& t) { return {t.data_ptr(), t.scalar_type(), t.stride(0), t.stride(1), 0}; }

Work product(const Product& s, const Setting& setting, bool transposed) {
  manual_seed(1);
  const Tensor a = uniform({s.m, s.k}, setting);
  const Tensor b = transposed ? uniform({s.n, s.k}, setting).t() : uniform({s.k, s.n}, setting);
  const Tensor c = empty({s.m, s.n}, TensorOptions(kFloat).device(setting.device));
  const GemmKernels& kernels = kernels_for<GemmKernels>(setting.device);
  Work work;
  work.run = [=, &kernels] {
    const Tf32Guard guard(setting);
    kernels.run(1, s.m, s.n, s.k, matrix(a), matrix(b), {c.data_ptr(), kFloat, s.n, 1, 0}, {});
  };
  work.results = [=, run = work.run] {
    run();
    return std::vector<Tensor>{c.to(kCPU).index_select(0, checked_rows(s.m))};
  };
  work.references = [=] {
    const Tensor rows = exactly(a).index_select(0, checked_rows(s.m)), columns = exactly(b);
    return std::vector<Reference>{{mm(rows, columns), mm(rows.abs(), columns.abs()), static_cast<double>(s.k),
                                   input_roundoff(setting)}};
  };
  return work;
}

Work linear_layer(const Product& s, const Setting& setting) {
  manual_seed(1);
  const Tensor x = uniform({s.m, s.k}, setting), w = uniform({s.n, s.k}, setting),
               bias = uniform({s.n}, setting);
  const auto call = [=] {
    const Tf32Guard guard(setting);
    return linear_gelu(x, w, bias);
  };
  Work work;
  work.run = [=] { call(); };
  work.results = [=] { return std::vector<Tensor>{call().to(kCPU).index_select(0, checked_rows(s.m))}; };
  work.references = [=] {
    const Tensor rows = exactly(x).index_select(0, checked_rows(s.m)), columns = exactly(w).t();
    const Tensor sum = mm(rows, columns) + exactly(bias);
    const Tensor terms = mm(rows.abs(), columns.abs()) + exactly(bias).abs();
    // The slope of gelu is at most 1.13.
    return std::vector<Reference>{
        {gelu(sum, "tanh"), terms * 1.13, static_cast<double>(s.k) + 8, input_roundoff(setting)}};
  };
  return work;
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  const Product s{shape[0], shape[1], shape[2]};
  const std::int64_t a = bytes_of(s.m * s.k, setting), b = bytes_of(s.k * s.n, setting);
  std::vector<Case> all;
  for (const bool transposed : {false, true}) {
    Case c;
    c.name = transposed ? "NT" : "NN";
    c.passes = {{{a, b}, {}, {4 * s.m * s.n}}};
    c.prepare = [=] { return product(s, setting, transposed); };
    all.push_back(std::move(c));
  }
  Case layer;
  layer.name = "linear_gelu";
  layer.passes = {{{a, b, bytes_of(s.n, setting)}, {}, {bytes_of(s.m * s.n, setting)}}};
  layer.prepare = [=] { return linear_layer(s, setting); };
  all.push_back(std::move(layer));
  for (Case& c : all) c.flops = s.flops(), c.bound = Bound::kArithmetic;
  return all;
}

}  // namespace

Family gemm_family() {
  std::vector<Shape> shapes;
  for (const Product& p : kProducts) shapes.push_back({p.m, p.k, p.n});
  return {"gemm",
          "matrix products",
          "m x k x n",
          shapes,
          {{64, 64, 64}, {256, 256, 256}, {128, 784, 512}},
          {{128, 128, 128},
           {512, 512, 512},
           {1024, 1024, 1024},
           {2048, 2048, 2048},
           {4096, 4096, 4096},
           {8192, 8192, 8192}},
          {4, 8, 4},
          cases};
}

}  // namespace halftone::bench
