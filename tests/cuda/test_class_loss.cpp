// Classification losses on the device against the CPU's kernels in fp64: dtypes, layouts, lengths,
// reductions, weights, smoothing, probabilities, log-probabilities; and labels that are no class.

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/engine/cuda.h"
#include "halftone/kernels/loss.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;
using Catch::Matchers::Contains;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLengths[] = {1, 31, 32, 33, 512, 513, 1000, 1025, 5000, 8200};

const ClassLossKernels& host() { return cpu_kernels<ClassLossKernels>(); }
const ClassLossKernels& device() { return kernels_for<ClassLossKernels>(kCUDA); }

Tensor as_double(const Tensor& t) {
  if (!t.defined() || !is_floating_point(t.scalar_type())) return t;
  const Tensor wide = empty(kDouble, t.sizes().dims());
  for (std::int64_t i = 0; i < t.numel(); ++i) put(wide, i, get(t, i));
  return wide;
}

Tensor upload(const Tensor& t) { return t.defined() ? on_device(t) : t; }

Tensor back(const Tensor& t) {
  const Tensor memory = memory_of(t).cpu();
  return window(memory, t.sizes().dims(), t.strides().dims(), t.storage_offset());
}

Dims row_sizes(Dims sizes) {
  sizes.erase(sizes.size() == 1 ? 0 : 1);
  return sizes;
}

/// The operands of a loss, on the CPU.
struct Case {
  Tensor x, target, weight;
  ClassLossOptions options{"cross_entropy_loss"};

  bool has_shares() const { return is_floating_point(target.scalar_type()); }
  Dims loss_sizes() const {
    return options.reduction == Reduction::None ? row_sizes(x.sizes().dims()) : Dims{};
  }
  std::int64_t classes() const { return x.size(x.dim() == 1 ? 0 : 1); }
};

Case make_case(ScalarType dtype, const Dims& sizes, MemoryLayout layout, ScalarType label_dtype = kLong) {
  Case c;
  c.x = numbers(dtype, sizes, layout, -4, 4, 1);
  c.target = random_indices(label_dtype, row_sizes(sizes), c.classes(), layout, 2);
  return c;
}

double smallest_step(ScalarType dtype) {
  return dtype == kHalf ? 0x1p-24 : dtype == kBFloat16 ? 0x1p-133 : dtype == kFloat ? 0x1p-149 : 0;
}

void check_close(const Tensor& result, const Tensor& exact, const std::vector<double>& bounds) {
  const ScalarType dtype = result.scalar_type();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const double got = get(result, i), expected = get(exact, i), bound = bounds[static_cast<std::size_t>(i)];
    const double allowed = bound + unit_roundoff(dtype) * (std::abs(expected) + bound) + smallest_step(dtype);
    const bool close =
        std::isnan(expected) ? std::isnan(got) : got == expected || std::abs(got - expected) <= allowed;
    if (close) continue;
    CAPTURE(i, got, expected, allowed);
    FAIL_CHECK("class loss differs");
    return;
  }
}

/// The scores lie in [-4, 4]: an exponential is off by 8 + 4 roundings, a sum of them by 32 more, products by
/// the masses by 8. All terms of a loss have one sign, so its error is relative; a gradient's is relative to
/// grad * (mass p + q).
constexpr double kRoundings = 64;

void check(const Case& c, ScalarType out_dtype, MemoryLayout layout) {
  CAPTURE(dtype_name(c.x.scalar_type()), dtype_name(out_dtype), c.x.sizes().vec(), name_of(layout),
          static_cast<int>(c.options.reduction), c.weight.defined(), c.has_shares(),
          c.options.label_smoothing, c.options.log_probabilities);
  const bool wide = c.x.scalar_type() == kDouble || out_dtype == kDouble ||
                    (c.weight.defined() && c.weight.scalar_type() == kDouble) ||
                    c.target.scalar_type() == kDouble;
  const double u = wide ? 0x1p-51 : 0x1p-24;
  const Tensor x = as_double(c.x), target = as_double(c.target), weight = as_double(c.weight);
  const Tensor x_device = on_device(c.x), target_device = on_device(c.target),
               weight_device = upload(c.weight);

  const Tensor exact = empty(kDouble, c.loss_sizes()), out = on_device(empty(out_dtype, c.loss_sizes()));
  host().forward(exact, x, target, weight, c.options);
  device().forward(out, x_device, target_device, weight_device, c.options);
  std::vector<double> bounds;
  for (std::int64_t i = 0; i < exact.numel(); ++i) bounds.push_back(kRoundings * u * std::abs(get(exact, i)));
  check_close(back(out), exact, bounds);

  // With the gradients 1 the sizes of its two terms are the gradient itself plus twice q.
  const Tensor grad = numbers(c.x.scalar_type(), c.loss_sizes(), layout, 1, 1, 3);
  const Tensor gx_exact = empty(kDouble, c.x.sizes().dims());
  const Tensor gx = on_device(numbers(out_dtype, c.x.sizes().dims(), layout, 0, 0, 4));
  host().backward(gx_exact, as_double(grad), x, target, weight, c.options);
  device().backward(gx, on_device(grad), x_device, target_device, weight_device, c.options);
  double largest_q = 0;
  for (std::int64_t i = 0; i < c.classes(); ++i) {
    largest_q = std::max(largest_q, c.weight.defined() ? get(c.weight, i) : 1.0);
  }
  // At an index target without smoothing the small difference p - 1 is exact to fp32's precision.
  const bool both_terms = c.has_shares() || c.options.label_smoothing != 0;
  if (both_terms && c.options.reduction == Reduction::Mean) {
    largest_q /= static_cast<double>(std::max<std::int64_t>(1, c.x.numel() / c.classes())) * 0.25;
  }
  bounds.clear();
  for (std::int64_t i = 0; i < gx_exact.numel(); ++i) {
    bounds.push_back(kRoundings * u * std::abs(get(gx_exact, i)) +
                     (both_terms ? kRoundings * u * largest_q : 0));
  }
  check_close(back(gx), gx_exact, bounds);
}

void check_reductions(Case c, ScalarType out_dtype, MemoryLayout layout) {
  for (const auto reduction : {Reduction::None, Reduction::Mean, Reduction::Sum}) {
    c.options.reduction = reduction;
    check(c, out_dtype, layout);
  }
}

}  // namespace

TEST_CASE("cross entropy over rows of every length and dtype") {
  for (const std::int64_t n : kLengths) {
    for (const ScalarType dtype : kFloatTypes) {
      check_reductions(make_case(dtype, {5, n}, MemoryLayout::kDense), dtype, MemoryLayout::kDense);
    }
  }
}

TEST_CASE("cross entropy in every layout") {
  for (const MemoryLayout layout : kLayouts) {
    for (const ScalarType dtype : kFloatTypes) {
      for (const Dims& sizes : {Dims{3, 40, 19}, Dims{7}, Dims{2, 5, 3, 4}, Dims{6, 33}}) {
        Case c = make_case(dtype, sizes, layout);
        check_reductions(c, kFloat, layout);
        c.weight = numbers(dtype, {c.classes()}, layout, 0.5, 2, 5);
        c.options.ignore_index = 1;
        check_reductions(c, dtype, layout);
        c.options.label_smoothing = 0.25;
        check_reductions(c, dtype, layout);
        c.options.ignore_index = -100;
        c.target = numbers(dtype, sizes, layout, 0, 1, 6);
        check_reductions(c, dtype, layout);
        c.weight = Tensor();
        c.options.label_smoothing = 0;
        check_reductions(c, dtype, layout);
      }
    }
  }
}

TEST_CASE("long rows with weights, smoothing and probabilities") {
  for (const std::int64_t n : {513, 9000}) {
    Case c = make_case(kHalf, {4, n}, MemoryLayout::kDense, kInt);
    c.weight = numbers(kFloat, {n}, MemoryLayout::kDense, 0.5, 2, 5);
    c.options.label_smoothing = 0.1;
    check_reductions(c, kFloat, MemoryLayout::kDense);
    c.target = numbers(kFloat, {4, n}, MemoryLayout::kDense, 0, 2 / static_cast<double>(n), 6);
    check_reductions(c, kFloat, MemoryLayout::kDense);
  }
}

TEST_CASE("the mean over more rows than one block sums") {
  Case c = make_case(kFloat, {9001, 3}, MemoryLayout::kDense, kByte);
  c.options.ignore_index = 2;
  check_reductions(c, kFloat, MemoryLayout::kDense);
}

TEST_CASE("nll_loss in every layout") {
  for (const MemoryLayout layout : kLayouts) {
    for (const ScalarType dtype : kFloatTypes) {
      for (const Dims& sizes : {Dims{3, 40, 19}, Dims{7}, Dims{600, 5}}) {
        Case c = make_case(dtype, sizes, layout);
        c.x = numbers(dtype, sizes, layout, -8, 0, 1);
        c.options = {"nll_loss", Reduction::Mean, 0, 0, true};
        check_reductions(c, dtype, layout);
        c.weight = numbers(dtype, {c.classes()}, layout, 0.5, 2, 5);
        check_reductions(c, kFloat, layout);
      }
    }
  }
}

TEST_CASE("losses of no rows, and of rows that are all ignored") {
  for (const bool nll : {false, true}) {
    Case c = make_case(kFloat, {0, 5}, MemoryLayout::kDense);
    c.options.log_probabilities = nll;
    check_reductions(c, kFloat, MemoryLayout::kDense);
    c = make_case(kFloat, {3, 1}, MemoryLayout::kDense);
    c.options.log_probabilities = nll;
    c.options.ignore_index = 0;
    check_reductions(c, kFloat, MemoryLayout::kDense);
  }
}

TEST_CASE(
    "extreme scores: NaN where no maximum is finite, nothing lost in confident rows, ignored rows not read") {
  for (const std::int64_t n : {3, 700, 1200}) {
    Case c = make_case(kFloat, {6, n}, MemoryLayout::kDense);
    c.options.ignore_index = 2;
    for (std::int64_t r = 0; r < 6; ++r) put(c.target, r, std::int64_t{0});
    for (std::int64_t i = 0; i < n; ++i) put(c.x, i, -kInf);
    put(c.x, n + 1, kInf);
    put(c.x, 2 * n, std::nan(""));
    put(c.x, 3 * n, 20.0);           // confident
    put(c.x, 4 * n + n - 1, -kInf);  // a masked class
    for (std::int64_t i = 0; i < n; ++i) put(c.x, 5 * n + i, std::nan(""));
    put(c.target, 5, std::int64_t{2});
    check_reductions(c, kFloat, MemoryLayout::kDense);
  }
}

TEST_CASE("a label that is no class: NaN, no gradient, and an error at the next wait") {
  for (const bool nll : {false, true}) {
    for (const std::int64_t wrong :
         {std::int64_t{-7}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max()}) {
      for (const Dims& sizes : {Dims{2, 3}, Dims{2, 3, 5}, Dims{2, 600}}) {
        Case c = make_case(kFloat, sizes, MemoryLayout::kDense);
        const std::int64_t label = wrong == 3 ? c.classes() : wrong;
        put(c.target, 0, label);
        c.options = {nll ? "nll_loss" : "cross_entropy_loss", Reduction::None, -100, 0, nll};
        const Tensor x = on_device(c.x), target = on_device(c.target);
        const auto throws = [&](const char* op) {
          CHECK_THROWS_WITH(cuda::synchronize(), Contains(op) && Contains(std::to_string(label)));
        };
        const Tensor out = on_device(empty(kFloat, c.loss_sizes()));
        device().forward(out, x, target, {}, c.options);
        throws(c.options.op);
        CHECK(std::isnan(get(back(out), 0)));
        CHECK(std::isfinite(get(back(out), 1)));

        const Tensor gx = on_device(empty(kFloat, sizes)),
                     grad = on_device(numbers(kFloat, c.loss_sizes(), MemoryLayout::kDense, 1, 1, 1));
        device().backward(gx, grad, x, target, {}, c.options);
        throws(c.options.op);
        const Tensor gradient = back(gx);
        std::int64_t inner = 1;
        for (std::int64_t d = 2; d < c.x.dim(); ++d) inner *= c.x.size(d);
        for (std::int64_t i = 0; i < c.classes(); ++i) CHECK(get(gradient, i * inner) == 0);

        c.options.op = "one_hot";
        device().one_hot(gx, target, c.options);
        throws("one_hot");
        for (std::int64_t i = 0; i < c.classes(); ++i) CHECK(get(back(gx), i * inner) == 0);
      }
    }
  }
}

TEST_CASE("one-hot tensors of every dtype") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (const Dims& sizes : {Dims{4, 3, 5}, Dims{6}, Dims{0, 3}, Dims{70, 9}}) {
        Case c = make_case(kFloat, sizes, layout, kInt);
        c.options = {"one_hot", Reduction::None, 1};
        const Tensor exact = empty(dtype, sizes), out = on_device(empty(dtype, sizes));
        host().one_hot(exact, c.target, c.options);
        device().one_hot(out, on_device(c.target), c.options);
        CHECK(same_memory(exact, out));
      }
    }
  }
}

TEST_CASE("losses and gradients have the same bits in every layout, and every time") {
  for (const ScalarType dtype : {kFloat, kBFloat16}) {
    for (const std::int64_t n : {6, 45, 1300}) {
      Tensor first_loss, first_gradient;
      for (const MemoryLayout layout :
           {MemoryLayout::kDense, MemoryLayout::kReversed, MemoryLayout::kGaps, MemoryLayout::kMisaligned}) {
        Case c = make_case(dtype, {2, n, 9}, layout);
        c.options.label_smoothing = 0.1;
        const Tensor x = on_device(c.x), target = on_device(c.target);
        const Tensor loss = on_device(empty(kFloat, {})), grad = on_device(from(kFloat, {1}));
        const Tensor gradient = on_device(laid_out(dtype, c.x.sizes().dims(), layout));
        device().forward(loss, x, target, {}, c.options);
        device().backward(gradient, grad, x, target, {}, c.options);
        const Tensor a = back(loss), b = back(gradient);
        if (!first_loss.defined()) first_loss = a, first_gradient = b;
        std::int64_t different = !same_bits(a, 0, first_loss, 0);
        for (std::int64_t i = 0; i < b.numel(); ++i) different += !same_bits(b, i, first_gradient, i);
        CAPTURE(dtype_name(dtype), n, name_of(layout));
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("class losses never read the device") {
  Case c = make_case(kFloat, {50, 10}, MemoryLayout::kDense);
  c.weight = numbers(kFloat, {10}, MemoryLayout::kDense, 0.5, 2, 5);
  c.options.label_smoothing = 0.1;
  const Tensor x = on_device(c.x), target = on_device(c.target), weight = on_device(c.weight);
  const Tensor loss = on_device(empty(kFloat, {})), gx = on_device(empty(kFloat, {50, 10}));
  const auto reads = cuda::host_reads();
  device().forward(loss, x, target, weight, c.options);
  device().backward(gx, loss, x, target, weight, c.options);
  CHECK(cuda::host_reads() == reads);
}
