// interpolate, Upsample, Fold and Unfold.

#include <catch2/catch.hpp>

#include "halftone/engine/tensor_factory.h"
#include "halftone/nn/fold.h"
#include "halftone/nn/upsampling.h"
#include "halftone/tests/support/values.h"

using namespace halftone;
using Catch::Matchers::Contains;
using halftone::test::error_of;
using halftone::test::List;
using halftone::test::values;

namespace F = halftone::nn::functional;

namespace {

Tensor ramp() { return arange(4).to(kFloat).view({1, 1, 2, 2}); }  // 0 1 / 2 3

}  // namespace

TEST_CASE("interpolate: each mode", "[nn]") {
  const auto twice = F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2});
  CHECK(values(F::interpolate(ramp(), twice)) == List{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3});
  const auto bilinear = F::InterpolateFuncOptions().size(std::vector<std::int64_t>{3, 3}).mode(kBilinear);
  CHECK(values(F::interpolate(ramp(), F::InterpolateFuncOptions(bilinear).align_corners(true))) ==
        List{0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3});
  // Without corners the outer places lie outside the input's centres: they take the edge's value.
  CHECK(values(F::interpolate(ramp(), bilinear)) == List{0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3});
  const auto area = F::InterpolateFuncOptions().size(std::vector<std::int64_t>{1}).mode(kArea);
  CHECK(values(F::interpolate(ramp(), area)) == List{1.5});
  const auto linear = F::InterpolateFuncOptions().size(std::vector<std::int64_t>{4}).mode(kLinear);
  CHECK(values(F::interpolate(ramp().view({1, 2, 2}), linear)) == List{0, 0.25, 0.75, 1, 2, 2.25, 2.75, 3});
}

TEST_CASE("interpolate: what it refuses", "[nn]") {
  const auto refusal = [](const Tensor& x, const F::InterpolateFuncOptions& options) {
    return error_of([&] { F::interpolate(x, options); });
  };
  const F::InterpolateFuncOptions none;
  CHECK_THAT(refusal(ramp(), none), Contains("either size or scale_factor"));
  CHECK_THAT(refusal(ramp(), F::InterpolateFuncOptions().size(std::vector<std::int64_t>{4}).mode(kLinear)),
             Contains("kLinear does not fit"));
  CHECK_THAT(refusal(ramp(), F::InterpolateFuncOptions().size(std::vector<std::int64_t>{1, 2, 3})),
             Contains("expected 1 or 2 values"));
  CHECK_THAT(refusal(ramp(), F::InterpolateFuncOptions().scale_factor(std::vector<double>{0.1})),
             Contains("leaves nothing"));
  CHECK_THAT(
      refusal(ramp(), F::InterpolateFuncOptions().scale_factor(std::vector<double>{2}).align_corners(true)),
      Contains("align_corners"));
  CHECK_THAT(refusal(ramp().view({2, 2}), F::InterpolateFuncOptions().scale_factor(std::vector<double>{2})),
             Contains("(N, C, L)"));
}

TEST_CASE("Upsample, Unfold and Fold", "[nn]") {
  nn::Upsample upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2}));
  CHECK(upsample->forward(ramp()).sizes() == IntArrayRef({1, 1, 4, 4}));

  nn::Unfold unfold(nn::UnfoldOptions({2, 2}));
  const Tensor x = arange(9).to(kFloat).view({1, 1, 3, 3});
  CHECK(values(unfold->forward(x)) == List{0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8});
  nn::Fold fold(nn::FoldOptions({3, 3}, {2, 2}));  // each element as often as it lies in a window
  CHECK(values(fold->forward(unfold->forward(ones({1, 1, 3, 3})))) == List{1, 2, 1, 2, 4, 2, 1, 2, 1});
}
