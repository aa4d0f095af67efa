// Attention on the device against its definition in fp64, gradients included, with bounds derived from the
// number of roundings; and against the CPU where bits matter: dropout, infinities, rows that see nothing.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "halftone/engine/cuda.h"
#include "halftone/engine/functions.h"
#include "halftone/engine/philox.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/attention.h"

using namespace halftone;

namespace {

using i64 = std::int64_t;
using Numbers = std::vector<double>;

const AttentionKernels& device_kernels() { return kernels_for<AttentionKernels>(kCUDA); }
const AttentionKernels& host_kernels() { return cpu_kernels<AttentionKernels>(); }

/// The tests run with either device as the default one.
TensorOptions host(ScalarType dtype = kFloat) { return TensorOptions(dtype).device(kCPU); }

Numbers numbers(const Tensor& x) {
  const Tensor flat = x.cpu().to(kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

enum class Order { kContiguous, kHeadsInside, kColumns, kOdd, kRepeated };
enum class Mask { kNone, kBool, kFloat, kHalf, kBroadcast };

struct Case {
  i64 l, s, e, ev;
  ScalarType dtype = kFloat;
  bool causal = false;
  Mask mask = Mask::kNone;
  double dropout = 0;
  Order order = Order::kContiguous;
};

/// Random (2, 2, rows, cols), in memory as `order` says.
struct Operand {
  Tensor memory;  // on the CPU
  Order order;
  i64 rows, cols;

  Operand(i64 rows_, i64 cols_, ScalarType dtype, Order order_) : order(order_), rows(rows_), cols(cols_) {
    switch (order) {
      case Order::kContiguous:
        memory = randn({2, 2, rows, cols}, host());
        break;
      case Order::kHeadsInside:
        memory = randn({2, rows, 2, cols}, host());
        break;
      case Order::kColumns:
        memory = randn({2, 2, cols, rows}, host());
        break;
      case Order::kOdd:
        memory = randn({2, 2, rows, 2 * cols + 1}, host());
        break;
      case Order::kRepeated:
        memory = randn({2, rows, cols}, host());
        break;
    }
    memory = memory.to(dtype);
  }

  Tensor on(Device device) const {
    const Tensor x = memory.to(device);
    switch (order) {
      case Order::kContiguous:
        break;
      case Order::kHeadsInside:
        return x.permute({0, 2, 1, 3});
      case Order::kColumns:
        return x.transpose(2, 3);
      case Order::kOdd:
        return x.slice(3, 1, 2 * cols + 1, 2);
      case Order::kRepeated:
        return x.unsqueeze(0).expand({2, 2, rows, cols});
    }
    return x;
  }
};

/// (2, 2, l, s) on the CPU, or undefined. Some keys are hidden, and all keys of row 1.
Tensor make_mask(const Case& c) {
  if (c.mask == Mask::kNone) return {};
  const i64 batch = c.mask == Mask::kBroadcast ? 1 : 2;
  Tensor hidden = lt(rand({batch, batch, c.l, c.s}, host()), 0.2);
  if (c.l > 1) hidden.select(2, 1).fill_(true);
  if (c.mask == Mask::kBool) return logical_not(hidden);
  const Tensor added =
      masked_fill(randn({batch, batch, c.l, c.s}, host()), hidden, -std::numeric_limits<double>::infinity());
  return c.mask == Mask::kHalf ? added.to(kHalf) : added;
}

/// A result and how far from it fp32 (or fp64) arithmetic may end up.
struct Expected {
  Numbers value, bound;
  explicit Expected(i64 n) : value(static_cast<std::size_t>(n)), bound(static_cast<std::size_t>(n)) {}
  void add(i64 i, double term, double error) {
    value[static_cast<std::size_t>(i)] += term;
    bound[static_cast<std::size_t>(i)] += error;
  }
};

struct Reference {
  Expected out, gq, gk, gv, gmask;
};

/// The definition. Bounds: u is the unit roundoff; a sum of n products is off by at most (n + 1) u of the sum
/// of their absolute values; a weight, by the errors of its own and of the greatest score, of the
/// exponential's argument and of the sum of S weights; what follows from these to first order, times 1.01 for
/// the rest. Four more u for each exponential and for the splitting of weights on tensor cores.
Reference reference(const Case& c, const Tensor& q_, const Tensor& k_, const Tensor& v_, const Tensor& g_,
                    const Tensor& mask_, const AttentionOptions& options) {
  const double u = c.dtype == kDouble ? 0x1p-53 : 0x1p-24;
  const i64 batches = q_.size(0) * q_.size(1), l = c.l, s = c.s, e = c.e, ev = c.ev;
  const Numbers q = numbers(q_), k = numbers(k_), v = numbers(v_), g = numbers(g_);
  const Numbers mask = mask_.defined() ? numbers(mask_.expand({2, 2, l, s})) : Numbers();
  const auto at = [](const Numbers& x, i64 i) { return x[static_cast<std::size_t>(i)]; };
  Reference r{Expected(batches * l * ev), Expected(batches * l * e), Expected(batches * s * e),
              Expected(batches * s * ev), Expected(batches * l * s)};
  const auto threshold = static_cast<std::uint32_t>(std::ceil(options.dropout_p * 0x1p24));
  const auto su = static_cast<std::size_t>(s);
  Numbers p(su), kept(su), size(su), grad(su), grad_size(su);

  for (i64 row = 0; row < batches * l; ++row) {
    const i64 b = row / l, i = row % l;
    double top = -std::numeric_limits<double>::infinity(), score_error = 0, range = 0, total = 0;
    for (i64 j = 0; j < s; ++j) {
      double sum = 0, sizes = 0;
      for (i64 f = 0; f < e; ++f) {
        const double term = options.scale * at(q, row * e + f) * at(k, (b * s + j) * e + f);
        sum += term;
        sizes += std::abs(term);
      }
      if (mask_.defined() && c.mask != Mask::kBool) sum += at(mask, row * s + j);
      const bool hidden = (c.causal && j > i) || (c.mask == Mask::kBool && at(mask, row * s + j) == 0);
      auto& score = p[static_cast<std::size_t>(j)];
      score = hidden ? -std::numeric_limits<double>::infinity() : sum;
      if (!std::isinf(score)) {
        score_error = std::max(score_error, u * (static_cast<double>(e + 3) * sizes + 2 * std::abs(score)));
        range = std::max(range, std::abs(score));
      }
      top = std::max(top, score);
      const std::uint32_t word =
          philox::word(options.state.seed, options.state.offset, static_cast<std::uint64_t>(row * s + j));
      kept[static_cast<std::size_t>(j)] = (word >> 8) < threshold ? 0 : 1 / (1 - options.dropout_p);
    }
    for (double& x : p) {
      x = std::isinf(top) ? 0 : std::exp(x - top);
      total += x;
    }
    double dot = 0, dot_size = 0;
    for (std::size_t j = 0; j < su; ++j) {
      if (total > 0) p[j] /= total;
      grad[j] = grad_size[j] = 0;
      for (i64 f = 0; f < ev; ++f) {
        const double term = at(g, row * ev + f) * at(v, (b * s + static_cast<i64>(j)) * ev + f) * kept[j];
        grad[j] += term;
        grad_size[j] += std::abs(term);
      }
      dot += p[j] * grad[j];
      dot_size += p[j] * grad_size[j];
    }
    const double weight_error = 1.01 * (2 * score_error + 2 * u * range + static_cast<double>(s + 8) * u);
    const double grad_error = 3 * weight_error + 1.01 * static_cast<double>(ev + s + 8) * u;
    const double sum_s = static_cast<double>(s + 4) * u, sum_l = static_cast<double>(l + 4) * u;
    for (i64 j = 0; j < s; ++j) {
      const auto n = static_cast<std::size_t>(j);
      const double dropped = p[n] * kept[n], ds = p[n] * (grad[n] - dot);
      const double ds_error = p[n] * grad_error * (grad_size[n] + dot_size);
      r.gmask.add(row * s + j, ds, ds_error);
      for (i64 f = 0; f < ev; ++f) {
        const double value = at(v, (b * s + j) * ev + f), up = at(g, row * ev + f);
        r.out.add(row * ev + f, dropped * value, dropped * std::abs(value) * (weight_error + sum_s));
        r.gv.add((b * s + j) * ev + f, dropped * up, dropped * std::abs(up) * (weight_error + sum_l));
      }
      for (i64 f = 0; f < e; ++f) {
        const double key = options.scale * at(k, (b * s + j) * e + f),
                     query = options.scale * at(q, row * e + f);
        r.gq.add(row * e + f, ds * key, std::abs(key) * (ds_error + sum_s * std::abs(ds)));
        r.gk.add((b * s + j) * e + f, ds * query, std::abs(query) * (ds_error + sum_l * std::abs(ds)));
      }
    }
  }
  return r;
}

/// Within the bound and one rounding to its dtype.
void check_close(const char* name, const Tensor& result, const Expected& expected) {
  const Numbers values = numbers(result);
  const double u = unit_roundoff(result.scalar_type());
  const double tiny = result.scalar_type() == kHalf ? 0x1p-25 : std::numeric_limits<float>::min();
  REQUIRE(values.size() == expected.value.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double bound = expected.bound[i] + 1.01 * u * std::abs(expected.value[i]) + tiny;
    if (std::abs(values[i] - expected.value[i]) <= bound) continue;
    if (wrong++ == 0)
      UNSCOPED_INFO(name << "[" << i << "] = " << values[i] << ", expected " << expected.value[i]
                         << " within " << bound);
  }
  INFO(name);
  CHECK(wrong == 0);
}

AttentionOptions options_of(const Case& c) {
  return {1 / std::sqrt(static_cast<double>(c.e)), c.causal, c.dropout, {17, 5}};
}

void check_case(const Case& c) {
  CAPTURE(c.l, c.s, c.e, c.ev, c.dtype, c.causal, static_cast<int>(c.mask), c.dropout,
          static_cast<int>(c.order));
  manual_seed(static_cast<std::uint64_t>(c.l * 7 + c.s * 5 + c.e));
  const Operand q(c.l, c.e, c.dtype, c.order), k(c.s, c.e, c.dtype, c.order), v(c.s, c.ev, c.dtype, c.order);
  const Operand g(c.l, c.ev, c.dtype, c.order);
  const Tensor mask = make_mask(c);
  const AttentionOptions options = options_of(c);
  const Reference expected = reference(c, q.on(kCPU), k.on(kCPU), v.on(kCPU), g.on(kCPU), mask, options);

  // The CPU meets the same bounds, which shows that they are not too tight, and that both devices agree.
  const auto check_device = [&](const AttentionKernels& kernels, Device device) {
    CAPTURE(device);
    const auto made = [&](i64 rows, i64 cols, ScalarType dtype) {
      return empty({2, 2, rows, cols}, TensorOptions(dtype).device(device));
    };
    const Tensor x = q.on(device), y = k.on(device), z = v.on(device);
    const Tensor m = mask.defined() ? mask.to(device).expand({2, 2, c.l, c.s}) : Tensor();
    const Tensor out = made(c.l, c.ev, c.dtype);
    kernels.forward(out, x, y, z, m, options);
    check_close("out", out, expected.out);

    const Tensor gq = made(c.l, c.e, c.dtype), gk = made(c.s, c.e, c.dtype), gv = made(c.s, c.ev, c.dtype);
    const bool wants = mask.defined() && mask.is_floating_point();
    const Tensor gmask = wants ? made(c.l, c.s, mask.scalar_type()) : Tensor();
    kernels.backward(gq, gk, gv, gmask, g.on(device), x, y, z, m, options);
    check_close("gq", gq, expected.gq);
    check_close("gk", gk, expected.gk);
    check_close("gv", gv, expected.gv);
    if (wants) check_close("gmask", gmask, expected.gmask);
  };
  check_device(device_kernels(), kCUDA);
  check_device(host_kernels(), kCPU);
}

bool same(const Tensor& a, const Tensor& b) {
  const Numbers x = numbers(a), y = numbers(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("attention on the device: sizes around the tiles", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  for (const i64 l : {1, 5, 64, 65, 130}) {
    for (const i64 s : {1, 5, 64, 65, 130}) {
      check_case({l, s, 16, 16, l % 2 == 1 ? kBFloat16 : kHalf, (l + s) % 2 == 0});
      check_case({l, s, 3, 5, kFloat, (l + s) % 2 == 1});
    }
  }
}

TEST_CASE("attention on the device: features and dtypes", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  for (const ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    for (const i64 e : {3, 16, 32, 64, 72, 128, 200}) check_case({65, 70, e, e, dtype, e % 3 == 0});
    check_case({20, 33, 48, 128, dtype, true});
    check_case({33, 20, 128, 16, dtype});
  }
}

TEST_CASE("attention on the device: masks, dropout and layouts", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  for (const ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    for (const Mask mask : {Mask::kBool, Mask::kFloat, Mask::kHalf, Mask::kBroadcast}) {
      check_case({66, 71, 16, 32, dtype, false, mask});
      check_case({9, 67, 16, 16, dtype, false, mask, 0.3});
    }
    check_case({66, 69, 16, 16, dtype, true, Mask::kFloat, 0.5});
    for (const Order order : {Order::kHeadsInside, Order::kColumns, Order::kOdd, Order::kRepeated}) {
      check_case({68, 40, 32, 16, dtype, true, Mask::kNone, 0.25, order});
      check_case({7, 66, 16, 24, dtype, false, Mask::kBroadcast, 0, order});
    }
  }
}

TEST_CASE("attention on the device: operands and results of different dtypes", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  manual_seed(3);
  const Tensor q = randn({20, 16}, host()).to(kHalf), k = randn({30, 16}, host()).to(kBFloat16),
               v = randn({30, 16}, host());
  const Tensor g = randn({20, 16}, host()).to(kHalf);
  const Case c{20, 30, 16, 16};
  const auto whole = [](const Tensor& x) { return x.expand({1, 1, x.size(0), x.size(1)}); };
  const Reference expected = reference(c, whole(q), whole(k), whole(v), whole(g), Tensor(), options_of(c));
  const auto made = [](ScalarType dtype, i64 rows) {
    return empty({rows, 16}, TensorOptions(dtype).device(kCUDA));
  };
  const Tensor out = made(kBFloat16, 20), gq = made(kFloat, 20), gk = made(kHalf, 30), gv = made(kDouble, 30);
  device_kernels().forward(out, q.to(kCUDA), k.to(kCUDA), v.to(kCUDA), Tensor(), options_of(c));
  device_kernels().backward(gq, gk, gv, Tensor(), g.to(kCUDA), q.to(kCUDA), k.to(kCUDA), v.to(kCUDA),
                            Tensor(), options_of(c));
  check_close("out", out, expected.out);
  check_close("gq", gq, expected.gq);
  check_close("gk", gk, expected.gk);
  check_close("gv", gv, expected.gv);
}

TEST_CASE("attention on the device drops the weights that the CPU drops", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  // With equal scores and values that are powers of two, the results tell which weights are left, exactly.
  for (const ScalarType dtype : {kFloat, kHalf}) {
    const Tensor q = zeros({2, 67, 16}, host(dtype)), k = zeros({2, 8, 16}, host(dtype)),
                 out = empty({2, 67, 16}, host(dtype));
    Tensor v = zeros({2, 8, 16}, host(dtype));
    for (i64 j = 0; j < 8; ++j) v.select(1, j).fill_(std::ldexp(1.0, static_cast<int>(j)));
    const AttentionOptions options{1, false, 0.5, {99, (std::uint64_t{1} << 40) + 3}};
    host_kernels().forward(out, q, k, v, Tensor(), options);
    const Tensor result = empty({2, 67, 16}, TensorOptions(dtype).device(kCUDA));
    device_kernels().forward(result, q.to(kCUDA), k.to(kCUDA), v.to(kCUDA), Tensor(), options);
    CHECK(same(result, out));
    // The offset may lie in device memory.
    AttentionOptions moved = options;
    moved.state.offset = 3;
    const Tensor base = full({1}, std::int64_t{1} << 40, host(kLong)).to(kCUDA);
    moved.state.base = reinterpret_cast<const std::uint64_t*>(base.data_ptr<std::int64_t>());
    device_kernels().forward(result, q.to(kCUDA), k.to(kCUDA), v.to(kCUDA), Tensor(), moved);
    CHECK(same(result, out));
  }
}

TEST_CASE("attention on the device: infinities and NaN as on the CPU", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const ScalarType dtype : {kFloat, kHalf, kBFloat16}) {
    // 90 weights with their sum, summed; on both devices.
    const double bound = 2 * (200 * 0x1p-24 + unit_roundoff(dtype));
    for (const bool causal : {false, true}) {
      for (int bad = 0; bad < 5; ++bad) {
        CAPTURE(dtype, causal, bad);
        // Small integers, so that every number of both devices is exact or not finite; all weights of a row
        // are equal.
        Tensor q = zeros({70, 16}, host(dtype)), k = ones({90, 16}, host(dtype)),
               v = ones({90, 16}, host(dtype));
        if (bad == 0) q.select(0, 66).fill_(std::nan(""));
        if (bad == 1) k.select(0, 68).fill_(infinity);  // 0 * infinity
        if (bad == 2) v.select(0, 3).fill_(infinity);
        if (bad == 3) v.select(0, 67).fill_(std::nan(""));
        if (bad == 4) {
          q.fill_(1);
          k.select(0, 2).fill_(infinity);  // a score of infinity
        }
        const Tensor g = zeros({70, 16}, host(dtype));
        const AttentionOptions options{1, causal, 0, {}};
        const auto run = [&](const AttentionKernels& kernels, Device device) {
          std::vector<Tensor> results;
          for (const i64 rows : {70, 70, 90, 90})
            results.push_back(empty({rows, 16}, TensorOptions(dtype).device(device)));
          const Tensor x = q.to(device), y = k.to(device), z = v.to(device);
          kernels.forward(results[0], x, y, z, Tensor(), options);
          kernels.backward(results[1], results[2], results[3], Tensor(), g.to(device), x, y, z, Tensor(),
                           options);
          return results;
        };
        const std::vector<Tensor> here = run(device_kernels(), kCUDA), there = run(host_kernels(), kCPU);
        for (std::size_t i = 0; i < 4; ++i) {
          const Numbers a = numbers(here[i]), b = numbers(there[i]);
          std::size_t wrong = 0;
          for (std::size_t n = 0; n < a.size(); ++n) {
            const bool alike = std::isnan(b[n])   ? std::isnan(a[n])
                               : std::isinf(b[n]) ? a[n] == b[n]
                                                  : std::abs(a[n] - b[n]) <= bound;
            if (!alike && wrong++ == 0)
              UNSCOPED_INFO("result " << i << "[" << n << "]: " << a[n] << ", CPU " << b[n]);
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("attention on the device without queries, keys, features or batch", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  for (const ScalarType dtype : {kFloat, kHalf}) {
    const auto check = [&](i64 n, i64 l, i64 s, i64 e, i64 ev) {
      CAPTURE(dtype, n, l, s, e, ev);
      const auto run = [&](const AttentionKernels& kernels, Device device) {
        const auto make = [&](i64 rows, i64 cols) { return ones({n, rows, cols}, host(dtype)).to(device); };
        const Tensor q = make(l, e), k = make(s, e), v = make(s, ev), g = make(l, ev), mask = make(l, s);
        std::vector<Tensor> results = {make(l, ev), make(l, e), make(s, e), make(s, ev), make(l, s)};
        kernels.forward(results[0], q, k, v, mask, {});
        kernels.backward(results[1], results[2], results[3], results[4], g, q, k, v, mask, {});
        return results;
      };
      const std::vector<Tensor> here = run(device_kernels(), kCUDA), there = run(host_kernels(), kCPU);
      for (std::size_t i = 0; i < here.size(); ++i) CHECK(same(here[i], there[i]));
    };
    check(2, 0, 4, 16, 16);
    check(2, 4, 0, 16, 16);
    check(2, 4, 4, 0, 16);
    check(2, 4, 4, 16, 0);
    check(0, 4, 4, 16, 16);
  }
}

TEST_CASE("large fp16 gradients of attention do not overflow on the way", "[cuda][attention]") {
  if (!cuda::is_available()) return;
  // The gradient of a weight is 16 * 60000 here, beyond fp16; those of queries, keys and values are not.
  const Tensor q = zeros({2, 16}, host(kHalf)), v = ones({2, 16}, host(kHalf)),
               g = full({2, 16}, 30000, host(kHalf));
  Tensor k = zeros({2, 16}, host(kHalf)), second = v.select(0, 1);
  k.select(0, 1).fill_(0.0625);
  second.fill_(-1);
  const auto made = [] { return empty({2, 16}, TensorOptions(kHalf).device(kCUDA)); };
  const Tensor gq = made(), gk = made(), gv = made();
  device_kernels().backward(gq, gk, gv, Tensor(), g.to(kCUDA), q.to(kCUDA), k.to(kCUDA), v.to(kCUDA),
                            Tensor(), {1, false, 0, {}});
  for (const double x : numbers(gq)) CHECK(x == -15000);  // 1/2 (-480000 - 0) / 16
  for (const double x : numbers(gk)) CHECK(x == 0);
  for (const double x : numbers(gv)) CHECK(x == 30000);
}
