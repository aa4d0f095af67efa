// Every operator's gradient against central differences in float64, to second order, because it is
// registered.

#include <catch2/catch.hpp>

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
