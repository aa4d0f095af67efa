#pragma once

#include <cstdio>
#include <string>

#include "halftone/engine/dims.h"

// What the lines that layers print have in common: they are libtorch's, with its names.
namespace halftone::nn {

inline constexpr const char* kLayerPrefix = "torch::nn::";

/// "3" for one number, "[3, 3]" for several.
inline std::string window_text(IntArrayRef sizes) {
  return sizes.size() == 1 ? std::to_string(sizes[0]) : concat(sizes);
}

/// As a stream writes it: six digits at most.
inline std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

}  // namespace halftone::nn
