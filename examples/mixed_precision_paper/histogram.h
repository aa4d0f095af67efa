#pragma once

#include <string>
#include <vector>

#include <halftone/halftone.h>

/// How large the gradients of one model are.
struct GradientHistogram {
  std::string model;
  halftone::amp::ExponentHistogram counts;
};

/// The paper's histogram of gradients as a table: shares by magnitude, and what float16 would lose of them.
void print_histograms(const std::vector<GradientHistogram>& histograms);
/// The same as bars, an SVG file. Throws Error when it cannot be written.
void draw_histograms(const std::string& path, const std::vector<GradientHistogram>& histograms);
