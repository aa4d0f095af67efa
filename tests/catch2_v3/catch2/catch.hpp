#pragma once

// Catch2 2.x's header and names, for distributions that have Catch2 3 (Debian 13, Ubuntu 24.04).

#include <catch2/catch_all.hpp>
#include <concepts>
#include <string>

using Catch::Approx;

namespace Catch::Matchers {

template <std::convertible_to<std::string> Text>
StringContainsMatcher Contains(Text&& text) {
  return ContainsSubstring(text);
}

}  // namespace Catch::Matchers

namespace Catch {
using namespace Matchers;
}
