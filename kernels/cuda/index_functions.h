#pragma once

#include "halftone/kernels/index.h"

// The functions of IndexKernels that have files of their own; kernels/index.h says what they do.
namespace halftone::cuda {

void take(const Tensor& out, const Tensor& self, const Tensor& positions, const Dims& dims);
void gather(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index);

void put(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values);
void scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);

void add(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values,
         const Scalar& alpha);
void scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);
void accumulate(const Tensor& self, const Tensor& src);

std::int64_t count_nonzero(const Tensor& self);
void nonzero(const Tensor& out, const Tensor& self);

}  // namespace halftone::cuda
