#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "halftone/engine/philox.h"

using namespace halftone;

TEST_CASE("Philox 4x32-10 gives the published known answers", "[philox]") {
  // The kat_vectors file of Random123 1.14.
  const auto check = [](philox::Block counter, std::uint32_t key0, std::uint32_t key1, philox::Block want) {
    const philox::Block got = philox::rounds10(counter, key0, key1);
    for (int i = 0; i < 4; ++i) CHECK(got.word[i] == want.word[i]);
  };
  check({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  check({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff,
        {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  check({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
        {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
  STATIC_REQUIRE(philox::block(0, 0).word[0] == 0x6627e8d5);
}

TEST_CASE("uniform and normal numbers have the moments and the range they should", "[philox]") {
  constexpr int n = 200000;
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0, cross = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const philox::Block block = philox::block(42, static_cast<std::uint64_t>(i));
    const float u = philox::uniform(block.word[0]);
    REQUIRE((u >= 0.0f && u < 1.0f));
    mean += u;
    square += static_cast<double>(u) * u;
    const philox::NormalPair pair = philox::normal(block.word[2], block.word[3]);
    normal_mean += pair.first + pair.second;
    normal_square += pair.first * pair.first + pair.second * pair.second;
    fourth += std::pow(pair.first, 4) + std::pow(pair.second, 4);
    cross += pair.first * pair.second;
  }
  // Five standard errors each.
  CHECK(std::fabs(mean / n - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  CHECK(std::fabs(square / n - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / n));
  CHECK(std::fabs(normal_mean / (2 * n)) < 5 / std::sqrt(2.0 * n));
  CHECK(std::fabs(normal_square / (2 * n) - 1) < 5 * std::sqrt(2.0 / (2 * n)));
  CHECK(std::fabs(fourth / (2 * n) - 3) < 5 * std::sqrt(96.0 / (2 * n)));
  CHECK(std::fabs(cross / n) < 5 / std::sqrt(1.0 * n));
  CHECK(philox::uniform(0xffffffffu) < 1.0f);
  CHECK(philox::uniform(0xffffffffu, 0xffffffffu) < 1.0);
  CHECK(std::isfinite(philox::normal(0, 0).first));
  CHECK(philox::normal(0xffffffffu, 7).first == 0);
}
