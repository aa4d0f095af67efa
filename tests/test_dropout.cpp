// Dropout: how often, by what factor, reproducibly, and the same mask in backward.

#include <cmath>

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/engine/philox.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/tests/support/kernel_tensors.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

TEST_CASE("dropout keeps 1 - p of the elements, scaled", "[dropout]") {
  manual_seed(12);
  const std::int64_t n = 100000;
  for (double p : {0.1, 0.5, 0.9}) {
    const Tensor y = dropout(ones({n}), p, true).cpu();
    std::int64_t kept = 0;
    const auto scale = static_cast<float>(1 / (1 - p));
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = value_at(y, i);
      kept += value != 0;
      if (value != 0 && value != scale) FAIL("element " << i << " is " << value);
    }
    // Five standard deviations.
    CHECK(std::abs(static_cast<double>(kept) - n * (1 - p)) < 5 * std::sqrt(n * p * (1 - p)));
  }
}

TEST_CASE("p = 0 and evaluation return the input, p = 1 zeros", "[dropout]") {
  const Tensor x = full({4}, std::nan(""));
  CHECK(dropout(x, 0, true).is_same(x));
  CHECK(dropout(x, 0.5, false).is_same(x));
  const Tensor none = dropout(x, 1, true);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(value_at(none, i) == 0);
  CHECK_THROWS_WITH(dropout(x, 1.5, true), Contains("[0, 1]"));
  CHECK_THROWS_WITH(dropout(x, -0.1, false), Contains("-0.1"));
  CHECK_THROWS_WITH(dropout(x, std::nan(""), false), Contains("[0, 1]"));
  CHECK_THROWS_WITH(dropout(ones({2}, kLong), 0.5, true), Contains("floating"));
}

TEST_CASE("the mask depends on the seed only: not on threads, strides or dtype", "[dropout]") {
  const int threads = get_num_threads();
  const auto draw = [](const Tensor& x) {
    manual_seed(13);
    return dropout(x, 0.5, true);
  };
  const Tensor one = draw(ones({50, 400}));
  for (int count : {1, 2, 4}) {
    set_num_threads(count);
    CHECK(same_bits(draw(ones({50, 400})), one));
    CHECK(same_bits(draw(ones({400, 50}).t()), one));
    CHECK(same_bits(draw(ones({50, 400}, kHalf)).to(kFloat), one));
    CHECK(same_bits(draw(ones({50, 400}, kDouble)).to(kFloat), one));
  }
  set_num_threads(threads);
  const Tensor next = dropout(ones({50, 400}), 0.5, true);  // the stream has moved on
  CHECK_FALSE(same_bits(next, one));
}

TEST_CASE("backward drops the same elements and keeps no mask", "[dropout]") {
  manual_seed(14);
  Tensor x = ones({1000});
  x.requires_grad_();
  const Tensor y = dropout(x, 0.3, true);
  CHECK(autograd::saved_tensors(y).empty());
  y.sum().backward();
  CHECK(same_bits(x.grad(), y.detach()));
}

TEST_CASE("element i is dropped by word i of the stream, on every ISA, also where the counter carries",
          "[dropout]") {
  const std::int64_t seed = 0x123456789abcdef, offset = (std::int64_t{1} << 32) - 40;
  const double p = 0.37;
  for (const cpu::Isa isa : testing::isa_levels()) {
    const testing::IsaGuard guard(isa);
    for (const Tensor& x : {ones({1003}), ones({1003}, kDouble), ones({17, 59}).t()}) {
      const Tensor y = philox_dropout(x, p, seed, offset).cpu();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        const float drawn = philox::uniform(philox::word(seed, offset, static_cast<std::uint64_t>(i)));
        wrong += (value_at(y, i) == 0) != (static_cast<double>(drawn) < p);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("dropout in place draws the same numbers", "[dropout]") {
  manual_seed(15);
  const Tensor y = dropout(ones({100}), 0.5, true);
  manual_seed(15);
  Tensor x = ones({100});
  dropout_(x, 0.5, true);
  CHECK(same_bits(x, y));
  Tensor base = ones({4, 6});
  Tensor view = base.narrow(1, 1, 3);
  dropout_(view, 1, true);
  CHECK(base.sum().item<float>() == 12);
}
