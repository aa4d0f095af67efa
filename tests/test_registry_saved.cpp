// What backward needs is protected: after an input was written in place, backward gives the right gradient
// still, or says that it cannot.

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;

namespace {

// Sum of all floating results, or undefined.
Tensor total(const std::vector<Tensor>& results) {
  Tensor sum;
  for (const Tensor& result : results) {
    if (!result.is_floating_point() || !result.requires_grad()) continue;
    const Tensor part = result.sum();
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

std::vector<Tensor> gradients(const OpInfo& op, const Sample& sample, bool overwrite) {
  manual_seed(3);
  const auto args = copy_args(sample.args, kDouble, true);
  const Tensor loss = total(op.call(args));
  if (!loss.defined()) return {};
  if (overwrite) {
    NoGradGuard no_grad;
    for (Tensor tensor : floating_tensors(args)) tensor.add_(1.0);
  }
  loss.backward();
  std::vector<Tensor> found;
  for (const Tensor& tensor : floating_tensors(args)) found.push_back(tensor.grad());
  return found;
}

}  // namespace

TEST_CASE("a tensor written after it was kept for backward is noticed", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->differentiable) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      INFO(label(*op, i));
      const std::vector<Tensor> expected = gradients(*op, samples[i], false);
      try {
        const std::vector<Tensor> got = gradients(*op, samples[i], true);
        for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_bits(got[k], expected[k]));
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find("written in place") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a second backward is refused unless the graph is retained", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->differentiable) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      INFO(label(*op, i));
      manual_seed(3);
      const auto args = copy_args(samples[i].args, kDouble, true);
      const Tensor loss = total(op->call(args));
      if (!loss.defined()) continue;
      loss.backward({}, /*retain_graph=*/true);
      std::vector<Tensor> once;
      for (const Tensor& tensor : floating_tensors(args)) {
        once.push_back(tensor.grad().defined() ? tensor.grad().clone() : Tensor());
      }
      loss.backward({}, /*retain_graph=*/true);
      const std::vector<Tensor> leaves = floating_tensors(args);
      for (std::size_t k = 0; k < leaves.size(); ++k) {
        if (once[k].defined()) CHECK(same_bits(leaves[k].grad(), once[k] * 2));
      }
      loss.backward();
      CHECK_THROWS_AS(loss.backward(), Error);
    }
  }
}
