// How near the memory-bound operators come to the bandwidth that this machine gives to the same reads and
// writes, which is measured in the same run for every pattern of traffic.
//
//   bench_memory_bound [threads] [part of a name]
//
// One line per operator and size: time in fp32, percent of the ceiling in fp32, bf16 and fp16, and the time
// in the two halves relative to fp32. "cache": operands of 64 K elements, which stay in the second-level
// cache; "memory": of 8 M elements. Bytes are those of the operator's arguments and results, each moved once;
// what an operator reads twice because it must know a row's statistics first is not counted. No results are
// checked here: the tests do.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "halftone/autograd/grad_mode.h"
#include "halftone/bench/support/measure.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/pointwise.h"

namespace {

using namespace halftone;
using i64 = std::int64_t;

struct Case {
  std::string name;
  std::function<Tensor()> run;
  bench::Traffic traffic;
};

i64 bytes(const Tensor& t) { return static_cast<i64>(t.nbytes()); }

/// A backward formula of kernels/math.
Tensor gradient(Fn fn, const Tensor& grad, const Tensor& x) {
  Tensor out = empty_like(x);
  const std::array<const Tensor*, 2> in{&grad, &x};
  cpu_kernels<PointwiseKernels>().run(fn, out, in, Params{});
  return out;
}

/// Every operator on `rows` x `columns` elements.
std::vector<Case> cases(i64 rows, i64 columns, Dtype dtype) {
  manual_seed(1);
  const Tensor x = randn({rows, columns}).to(dtype), y = randn({rows, columns}).to(dtype);
  const Tensor across = randn({columns, rows}).to(dtype).t();
  const Tensor weight = randn({columns}).to(dtype), bias = randn({columns}).to(dtype);
  const Tensor labels = randint(0, columns, {rows}, TensorOptions(kLong)), one = ones({});
  const Tensor table = randn({1000, columns}).to(dtype);
  const Tensor tokens = randint(0, 1000, {rows}, TensorOptions(kLong));
  const Tensor probabilities = softmax(x, -1), logs = log_softmax(x, -1);
  const Tensor images = x.view({rows / 4, 4, columns / 16, 16}), image_grad = y.view(images.sizes());
  const Tensor channel_weight = randn({4}), channel_bias = randn({4});
  const auto [mean, rstd] =
      std::pair(x.to(kFloat).mean(-1, true), x.to(kFloat).square().mean(-1, true).rsqrt());
  const Tensor short_rows = x.view({-1, 16});
  const auto [pooled, places] = max_pool2d_with_indices(images, 2);

  const i64 n = bytes(x), statistic = 4 * rows;
  const bench::Traffic one_in{{n}, {}, {n}}, two_in{{n, n}, {}, {n}}, read{{n}, {}, {}};
  return {
      {"add", [=] { return x + y; }, two_in},
      {"add, one transposed", [=] { return x + across; }, two_in},
      {"relu", [=] { return relu(x); }, one_in},
      {"relu gradient", [=] { return gradient(Fn::kReluBackward, y, x); }, two_in},
      {"exp", [=] { return exp(x); }, one_in},
      {"tanh", [=] { return tanh(x); }, one_in},
      {"silu", [=] { return silu(x); }, one_in},
      {"gelu", [=] { return gelu(x); }, one_in},
      {"gelu gradient", [=] { return gradient(Fn::kGeluBackward, y, x); }, two_in},
      {"gelu, tanh form", [=] { return gelu(x, "tanh"); }, one_in},
      {"dropout", [=] { return philox_dropout(x, 0.1, 1, 0); }, one_in},
      {"sum, rows", [=] { return x.sum(-1); }, read},
      {"sum, columns", [=] { return x.sum(0); }, read},
      {"sum, rows of 16", [=] { return short_rows.sum(-1); }, {{n}, {}, {n / 16}}},
      {"max, rows of 16", [=] { return amax(short_rows, -1); }, {{n}, {}, {n / 16}}},
      {"softmax", [=] { return softmax(x, -1); }, one_in},
      {"softmax, columns", [=] { return softmax(x, 0); }, one_in},
      {"softmax gradient", [=] { return softmax_backward(y, probabilities, -1, dtype); }, two_in},
      {"log_softmax", [=] { return log_softmax(x, -1); }, one_in},
      {"log_softmax gradient", [=] { return log_softmax_backward(y, logs, -1, dtype); }, two_in},
      {"cross entropy", [=] { return cross_entropy_loss(x, labels, {}); }, read},
      {"cross entropy gradient",
       [=] { return cross_entropy_backward(one, x, labels, {}, Reduction::Mean, -100, 0); }, one_in},
      {"layer_norm", [=] { return layer_norm(x, {columns}, weight, bias); }, one_in},
      {"layer_norm gradient",
       [=] { return std::get<0>(layer_norm_backward(y, x, {columns}, weight, mean, rstd, 1e-5)); },
       {{n, n, statistic, statistic}, {}, {n}}},
      {"rms_norm", [=] { return rms_norm(x, {columns}, weight); }, one_in},
      {"rms_norm gradient",
       [=] { return std::get<0>(rms_norm_backward(y, x, {columns}, weight, rstd, 1e-5)); },
       {{n, n, statistic}, {}, {n}}},
      {"batch_norm",
       [=] { return batch_norm(images, channel_weight, channel_bias, {}, {}, true, 0.1, 1e-5); }, one_in},
      {"batch_norm gradient",
       [=] {
         return std::get<0>(batch_norm_backward(image_grad, images, channel_weight, channel_weight,
                                                channel_weight.abs(), true, 1e-5));
       },
       two_in},
      {"embedding", [=] { return embedding(table, tokens); }, one_in},
      {"max_pool2d", [=] { return max_pool2d(images, 2); }, {{n}, {}, {n / 4}}},
      {"max_pool2d gradient",
       [=] { return max_pool2d_backward(pooled, places, images.sizes(), {2}, {}, {0}, {1}, false, dtype); },
       {{n / 4}, {}, {n}}},
  };
}

/// The ceiling of a pattern, measured when it is first met and again, since it moves on a shared host.
double limit_of(const bench::Traffic& traffic) {
  static std::map<std::vector<std::vector<i64>>, double> known;
  const std::vector<std::vector<i64>> key{traffic.read, traffic.update, traffic.write};
  const auto [place, is_new] = known.try_emplace(key, 0);
  if (is_new) place->second = std::min(bench::ceiling_seconds({traffic}), bench::ceiling_seconds({traffic}));
  return place->second;
}

void measure_size(const char* name, i64 rows, i64 columns, const char* filter) {
  constexpr Dtype kDtypes[] = {kFloat, kBFloat16, kHalf};
  std::vector<Case> of[3];
  for (int d = 0; d < 3; ++d) of[d] = cases(rows, columns, kDtypes[d]);
  for (std::size_t c = 0; c < of[0].size(); ++c) {
    if (of[0][c].name.find(filter) == std::string::npos) continue;
    double seconds[3], share[3];
    bool quiet = true;
    for (int d = 0; d < 3; ++d) {
      const bench::Timing t = bench::measure(of[d][c].run);
      seconds[d] = t.median;
      quiet = quiet && t.quiet;
      share[d] = 100 * limit_of(of[d][c].traffic) / t.median;
    }
    std::printf("%-24s %-7s %10.1f %8.1f %6.0f %6.0f %6.0f %8.2f %6.2f%s\n", of[0][c].name.c_str(), name,
                1e6 * seconds[0], 1e-9 * static_cast<double>(of[0][c].traffic.bytes()) / seconds[0], share[0],
                share[1], share[2], seconds[1] / seconds[0], seconds[2] / seconds[0],
                quiet ? "" : "  (machine busy)");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::max(1, std::atoi(argv[1])));
  const char* const filter = argc > 2 ? argv[2] : "";
  const NoGradGuard no_grad;
  std::printf("%s, %d thread(s)\n", cpu::isa_name(cpu::current_isa()), get_num_threads());
  std::printf("                                 time, us     GB/s    %% of the ceiling    time / fp32's\n");
  std::printf("operator                 data        fp32     fp32   fp32   bf16   fp16     bf16   fp16\n");
  measure_size("cache", 256, 256, filter);
  measure_size("memory", 8192, 1024, filter);
}
