// How often an optimizer's step starts a kernel: not once per parameter.

#include <catch2/catch.hpp>

#include "halftone/engine/cuda.h"
#include "halftone/tests/simt/control.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;

namespace {

/// Launches of one AMP step, clipping included, of a model of so many parameters.
std::uint64_t launches_of(int count) {
  const Device device(kCUDA);
  std::vector<Tensor> parameters;
  for (int i = 0; i < count; ++i) parameters.push_back(ones({100}).to(device).requires_grad_());
  optim::AdamW optimizer(parameters, optim::AdamWOptions(0.01));
  optimizer.use_loss_scaling(amp::LossScaling::fixed(8));
  std::uint64_t launches = 0;
  for (int step = 0; step < 2; ++step) {  // the first makes the moments
    for (const Tensor& parameter : parameters) parameter.mutable_grad() = ones({100}).to(device);
    cuda::synchronize();
    simt::control::reset_counters();
    optimizer.clip_grad_norm_(1.0);
    optimizer.step();
    launches = simt::control::counters().launches;
  }
  CHECK(simt::control::counters().copies_to_host == 0);
  CHECK(simt::control::counters().synchronizations == 0);
  return launches;
}

}  // namespace

TEST_CASE("launches of a step do not grow with the parameters, but by whole tables") {
  const std::uint64_t few = launches_of(1);
  CHECK(few <= 8);
  CHECK(launches_of(38) == few);
  // 300 parameters: five tables for the look, two for the counters, eight for the update.
  CHECK(launches_of(300) == few + 4 + 1 + 7);
}
