#pragma once

#include <vector>

#include "halftone/kernels/optimizer.h"

namespace halftone::cuda {

// Pass 1 of an optimizer's step; see OptimizerKernels.
void scan_gradients(const std::vector<GradientEntry>& entries, double p, const Tensor& scan,
                    const Tensor& before);
void scale_gradients(const std::vector<GradientEntry>& entries, double p, const Tensor& scan,
                     const Tensor& before);
void clip_gradients(const std::vector<GradientEntry>& entries, const Tensor& scan, double max_norm);

}  // namespace halftone::cuda
