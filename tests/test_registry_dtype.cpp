// Every operator in fp32, fp16 and bf16 against itself in float64 on the same (rounded) inputs, and its
// gradients likewise. The tolerances are derived, see support/tolerance.h.

#include <cmath>

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/tests/support/tolerance.h"

using namespace halftone;
using namespace halftone::test;

namespace {

bool is_close(double got, double expected, double bound, ScalarType dtype) {
  if (std::isnan(expected)) return std::isnan(got);
  // Above the type's range the right result is infinite; within half a step of it either is.
  if (std::abs(expected) > max_value(dtype))
    return std::isinf(got) || std::abs(got) >= 0.99 * max_value(dtype);
  if (std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= bound;
}

void check_forward(const OpInfo& op, std::size_t index, const Sample& sample, ScalarType dtype) {
  const auto args = copy_args(sample.args, dtype);
  if (floating_tensors(args).empty()) return;
  INFO(label(op, index) << " in " << dtype_name(dtype));
  const auto rounded = copy_args(args, kDouble);
  const std::vector<Reference> expected = reference(op, rounded, dtype);
  manual_seed(3);
  const std::vector<Tensor> got = op.call(args);
  REQUIRE(got.size() == expected.size());
  for (std::size_t r = 0; r < got.size(); ++r) {
    REQUIRE(got[r].sizes() == expected[r].value.sizes());
    for (std::int64_t i = 0; i < got[r].numel(); ++i) {
      const double y = value_at(got[r], i), exact = value_at(expected[r].value, i);
      INFO("result " << r << " element " << i << ": " << y << ", in float64 " << exact);
      if (expected[r].bound.empty()) {
        CHECK(y == exact);
        continue;
      }
      const double bound = expected[r].bound[static_cast<std::size_t>(i)];
      INFO("bound " << bound);
      CHECK(is_close(y, exact, bound, got[r].scalar_type()));
    }
  }
}

std::vector<Tensor> gradients(const OpInfo& op, const std::vector<Value>& args) {
  manual_seed(3);
  Tensor loss;
  for (const Tensor& result : op.call(args)) {
    if (!result.is_floating_point() || !result.requires_grad()) continue;
    const Tensor part = result.to(kDouble).sum();
    loss = loss.defined() ? loss + part : part;
  }
  if (!loss.defined()) return {};
  loss.backward();
  std::vector<Tensor> found;
  for (const Tensor& tensor : floating_tensors(args)) found.push_back(tensor.grad());
  return found;
}

void check_gradient(const OpInfo& op, std::size_t index, const Sample& sample, ScalarType dtype) {
  INFO(label(op, index) << " gradient in " << dtype_name(dtype));
  const auto args = copy_args(sample.args, dtype, true);
  const auto rounded = copy_args(copy_args(sample.args, dtype), kDouble, true, kCPU);
  const std::vector<Tensor> expected = gradients(op, rounded);
  const std::vector<Tensor> got = gradients(op, args);
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].defined() == expected[k].defined());
    if (!got[k].defined()) continue;
    CHECK(got[k].scalar_type() == dtype);
    double largest = 0;
    for (std::int64_t i = 0; i < expected[k].numel(); ++i) {
      const double g = std::abs(value_at(expected[k], i));
      if (std::isfinite(g)) largest = std::max(largest, g);
    }
    // A gradient is rounded where forward kept a rounded result, where it enters the operator, and where it
    // leaves; each rounding is relative to values no larger than the largest gradient times the operator's
    // condition.
    const double bound = 16 * unit_roundoff(dtype) * std::max(largest, 1.0);
    for (std::int64_t i = 0; i < got[k].numel(); ++i) {
      const double g = value_at(got[k], i), exact = value_at(expected[k], i);
      INFO("input " << k << " element " << i << ": " << g << ", in float64 " << exact << ", bound " << bound);
      CHECK(is_close(g, exact, bound, dtype));
    }
  }
}

}  // namespace

TEST_CASE("every operator computes in fp32 inside and rounds once", "[registry]") {
  for (const OpInfo* op : registry()) {
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (ScalarType dtype : {kFloat, kHalf, kBFloat16}) check_forward(*op, i, samples[i], dtype);
    }
  }
}

TEST_CASE("every gradient in low precision is the float64 gradient, rounded", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->differentiable) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (ScalarType dtype : {kFloat, kHalf, kBFloat16}) check_gradient(*op, i, samples[i], dtype);
    }
  }
}
