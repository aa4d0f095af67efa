#pragma once

#include <string>

// The figures of the book, each as the text of an SVG file. They are the same on every machine: what they
// show is computed in float64, or from bits.

std::string spacing_figure();
std::string gradients_figure();
std::string controller_figure();
std::string scale_history_figure();
std::string stalled_figure();
std::string accumulation_figure();
std::string tape_figure();
std::string gemm_figure();
