#pragma once

#include <vector>

#include "halftone/tests/support/samples.h"

namespace halftone::test {

/// What an operator gives in float64, and how far a result computed in fp32 and rounded once to `output` may
/// be from it. The bound has two terms:
///   (2 + L) * u(fp32) * sum_j |dy_i/dx_j * x_j|   inputs and intermediates rounded in fp32, sums of up to L
///   terms (0.5 + ulp) * 2 u(output) * |y_i|             the last rounding, plus what the declaration allows
/// The derivatives come from differences in float64, L is the number of elements of the largest input, and
/// values below the smallest normal number of `output` may be off by one of its subnormal steps.
struct Reference {
  Tensor value;
  std::vector<double> bound;
};

/// Computed on the CPU, whatever the device of the tests. One entry per result; integer and bool results have
/// empty bounds: they must be equal.
std::vector<Reference> reference(const OpInfo& op, const std::vector<Value>& args, ScalarType output);

}  // namespace halftone::test
