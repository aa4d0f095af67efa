#pragma once

#include "halftone/kernels/gemm.h"

namespace halftone::cpu {

/// Whether an epilogue asks for what the product's own kernels do not do.
bool takes_more_passes(const Epilogue& epilogue);

/// GemmKernels::run for such an epilogue: the product, with other families' kernels before and after it.
void run_in_passes(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, const MatrixRef& a,
                   const MatrixRef& b, const MutableMatrixRef& c, const Epilogue& epilogue);

}  // namespace halftone::cpu
