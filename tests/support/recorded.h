#pragma once

// Values that another program made, in tests/recorded/ beside the script that made them.

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

namespace halftone::test {

/// Where the file of that name in tests/recorded/ is.
inline std::string recorded_path(const std::string& name) {
  const auto tests = std::filesystem::path(__FILE__).parent_path().parent_path();
  return (tests / "recorded" / name).string();
}

/// What a JSON file there holds.
inline nlohmann::json read_recorded(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(recorded_path(name)));
}

}  // namespace halftone::test
