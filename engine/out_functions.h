#pragma once

// libtorch's functions that write into a tensor that is there. They refuse tensors that would need a
// gradient, as libtorch does; `out` is resized to the result and takes its values in its own dtype. Throw
// Error when the result's kind of number (floating, integer, bool) does not fit `out`.

#include "halftone/engine/tensor.h"

namespace halftone {

Tensor& abs_out(Tensor& out, const Tensor& self);
Tensor& neg_out(Tensor& out, const Tensor& self);
Tensor& exp_out(Tensor& out, const Tensor& self);
Tensor& log_out(Tensor& out, const Tensor& self);
Tensor& sqrt_out(Tensor& out, const Tensor& self);
Tensor& rsqrt_out(Tensor& out, const Tensor& self);
Tensor& sin_out(Tensor& out, const Tensor& self);
Tensor& cos_out(Tensor& out, const Tensor& self);
Tensor& tanh_out(Tensor& out, const Tensor& self);
Tensor& sigmoid_out(Tensor& out, const Tensor& self);
Tensor& floor_out(Tensor& out, const Tensor& self);
Tensor& ceil_out(Tensor& out, const Tensor& self);
Tensor& round_out(Tensor& out, const Tensor& self);
Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor& mul_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& div_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& pow_out(Tensor& out, const Tensor& self, const Tensor& exponent);
Tensor& maximum_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& minimum_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& eq_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& ne_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& lt_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& le_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& gt_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& ge_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& matmul_out(Tensor& out, const Tensor& self, const Tensor& other);
Tensor& mm_out(Tensor& out, const Tensor& self, const Tensor& mat2);
Tensor& bmm_out(Tensor& out, const Tensor& self, const Tensor& mat2);
Tensor& addmm_out(Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                  const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor& clamp_out(Tensor& out, const Tensor& self, const std::optional<Scalar>& min = std::nullopt,
                  const std::optional<Scalar>& max = std::nullopt);
Tensor& sum_out(Tensor& out, const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false,
                OptionalDtype dtype = std::nullopt);
Tensor& mean_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool keepdim = false);
Tensor& softmax_out(Tensor& out, const Tensor& self, std::int64_t dim);
Tensor& cumsum_out(Tensor& out, const Tensor& self, std::int64_t dim);
Tensor& index_select_out(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index);
Tensor& gather_out(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index);
Tensor& cat_out(Tensor& out, const TensorList& tensors, std::int64_t dim = 0);
Tensor& stack_out(Tensor& out, const TensorList& tensors, std::int64_t dim = 0);

}  // namespace halftone
