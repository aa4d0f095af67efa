// Every operator's gradient against central differences in float64, to second order, because it is
// registered.

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/autograd/gradcheck.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;

namespace {

// The operator as a function of its floating tensors alone.
autograd::TensorFunction as_function(const OpInfo& op, const Sample& sample) {
  return [&op, args = copy_args(sample.args, kDouble)](const std::vector<Tensor>& inputs) {
    std::size_t next = 0;
    // The same random numbers in every call, so that dropout is a function.
    manual_seed(3);
    return op.call(map_tensors(
        args, [&](const Tensor& tensor) { return tensor.is_floating_point() ? inputs[next++] : tensor; }));
  };
}

std::vector<Tensor> leaves(const Sample& sample) {
  std::vector<Tensor> inputs = floating_tensors(copy_args(sample.args, kDouble, true));
  return inputs;
}

/// Gradients of the sum of all results; undefined where nothing flows.
std::vector<Tensor> gradients(const autograd::TensorFunction& function, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& wanted) {
  Tensor total;
  for (const Tensor& result : function(inputs)) {
    if (!result.requires_grad()) continue;
    total = total.defined() ? total + result.sum() : result.sum();
  }
  if (!total.defined()) return std::vector<Tensor>(wanted.size());
  return autograd::grad({total}, wanted, {}, std::nullopt, /*create_graph=*/false, /*allow_unused=*/true);
}

bool is_zero(const Tensor& gradient) { return !gradient.defined() || gradient.eq(0).all().item<bool>(); }

}  // namespace

TEST_CASE("every gradient agrees with finite differences", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->differentiable) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!samples[i].smooth) continue;
      INFO(label(*op, i));
      try {
        CHECK(autograd::gradcheck(as_function(*op, samples[i]), leaves(samples[i])));
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
  }
}

TEST_CASE("an input's gradient is the same when no other is wanted", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->differentiable) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      INFO(label(*op, i));
      try {
        const autograd::TensorFunction function = as_function(*op, samples[i]);
        std::vector<Tensor> inputs = leaves(samples[i]);
        const std::vector<Tensor> together = gradients(function, inputs, inputs);
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          for (std::size_t other = 0; other < inputs.size(); ++other)
            inputs[other] = inputs[other].detach().set_requires_grad(other == k);
          const Tensor alone = gradients(function, inputs, {inputs[k]})[0];
          CAPTURE(k);
          if (is_zero(alone) || is_zero(together[k]))
            CHECK((is_zero(alone) && is_zero(together[k])));
          else
            CHECK(allclose(alone, together[k], 1e-12, 1e-12, /*equal_nan=*/true));
        }
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
  }
}

TEST_CASE("every second derivative agrees with finite differences", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->twice) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!samples[i].smooth) continue;
      INFO(label(*op, i));
      try {
        CHECK(autograd::gradgradcheck(as_function(*op, samples[i]), leaves(samples[i])));
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
  }
}

TEST_CASE("an operator that cannot be differentiated twice says so by name", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->differentiable || op->twice) continue;
    const std::vector<Sample> samples = op->samples();
    INFO(op->name);
    REQUIRE_FALSE(samples.empty());
    bool refused = false;
    for (const Sample& sample : samples) {
      try {
        autograd::gradgradcheck(as_function(*op, sample), leaves(sample));
      } catch (const Error& error) {
        refused = refused || std::string(error.what()).find("has no derivative") != std::string::npos;
      }
    }
    CHECK(refused);
  }
}
