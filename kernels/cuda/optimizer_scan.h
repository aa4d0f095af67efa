#pragma once

#include <span>

#include "halftone/kernels/optimizer.h"

namespace halftone::cuda {

// Pass 1 of an optimizer's step; see OptimizerKernels.
void scan_gradients(std::span<const GradientEntry> entries, double p, const Tensor& scan,
                    const Tensor& before);
void scale_gradients(std::span<const GradientEntry> entries, double p, const Tensor& scan,
                     const Tensor& before);
void clip_gradients(std::span<const GradientEntry> entries, const Tensor& scan, double max_norm);

}  // namespace halftone::cuda
