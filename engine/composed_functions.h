#pragma once

// The rest of libtorch's functions: other names of the operators in functions.h, and what is composed of them
// without loss of speed or accuracy. They have no entry in the registry; gradients, autocast and devices come
// from the operators they call. Semantics are libtorch's.

#include "halftone/engine/functions.h"

namespace halftone {

// --- Aliases of other names (ops/aliases.cpp)
Tensor absolute(const Tensor& self);
Tensor negative(const Tensor& self);
Tensor positive(const Tensor& self);
Tensor sgn(const Tensor& self);
Tensor fix(const Tensor& self);
Tensor arccos(const Tensor& self);
Tensor arcsin(const Tensor& self);
Tensor arctan(const Tensor& self);
Tensor arctan2(const Tensor& self, const Tensor& other);
Tensor clip(const Tensor& self, const std::optional<Scalar>& min = std::nullopt,
            const std::optional<Scalar>& max = std::nullopt);
Tensor subtract(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor subtract(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor multiply(const Tensor& self, const Tensor& other);
Tensor multiply(const Tensor& self, const Scalar& other);
Tensor divide(const Tensor& self, const Tensor& other);
Tensor divide(const Tensor& self, const Scalar& other);
Tensor divide(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode);
Tensor true_divide(const Tensor& self, const Tensor& other);
Tensor true_divide(const Tensor& self, const Scalar& other);
Tensor greater(const Tensor& self, const Tensor& other);
Tensor greater(const Tensor& self, const Scalar& other);
Tensor greater_equal(const Tensor& self, const Tensor& other);
Tensor greater_equal(const Tensor& self, const Scalar& other);
Tensor less(const Tensor& self, const Tensor& other);
Tensor less(const Tensor& self, const Scalar& other);
Tensor less_equal(const Tensor& self, const Tensor& other);
Tensor less_equal(const Tensor& self, const Scalar& other);
Tensor not_equal(const Tensor& self, const Tensor& other);
Tensor not_equal(const Tensor& self, const Scalar& other);
Tensor swapaxes(const Tensor& self, std::int64_t axis0, std::int64_t axis1);
Tensor swapdims(const Tensor& self, std::int64_t dim0, std::int64_t dim1);
Tensor moveaxis(const Tensor& self, std::int64_t source, std::int64_t destination);
Tensor ger(const Tensor& self, const Tensor& vec2);
Tensor concatenate(const TensorList& tensors, std::int64_t dim = 0);
Tensor row_stack(const TensorList& tensors);
Tensor trapz(const Tensor& y, const Tensor& x, std::int64_t dim = -1);
Tensor trapz(const Tensor& y, double dx = 1, std::int64_t dim = -1);

// --- Joining and splitting (ops/joining.cpp)
/// Along rows; vectors become rows first.
Tensor vstack(const TensorList& tensors);
/// Along columns; vectors end to end.
Tensor hstack(const TensorList& tensors);
/// Along the third dimension, which fewer dimensions get.
Tensor dstack(const TensorList& tensors);
/// Vectors become columns.
Tensor column_stack(const TensorList& tensors);
/// A view with at least one dimension.
Tensor atleast_1d(const Tensor& self);
/// A view with at least two dimensions; a vector becomes a row.
Tensor atleast_2d(const Tensor& self);
/// A view with at least three dimensions; a matrix gets a last one of size 1.
Tensor atleast_3d(const Tensor& self);
/// The matrices along the diagonal of one, 0 elsewhere.
Tensor block_diag(const TensorList& tensors);
/// Views of all in the shape that they broadcast to.
std::vector<Tensor> broadcast_tensors(const TensorList& tensors);
/// The same as expand(size).
Tensor broadcast_to(const Tensor& self, IntArrayRef size);
/// repeat(), where missing dimensions of `dims` count as 1.
Tensor tile(const Tensor& self, IntArrayRef dims);
/// Views of the tensors that vary along one dimension each. indexing: "ij" (the first varies along rows) or
/// "xy".
std::vector<Tensor> meshgrid(const TensorList& tensors, std::string_view indexing = "ij");
/// (n1 * n2 * ..., k): all ways to take one element of each of k vectors, the last changing fastest.
Tensor cartesian_prod(const TensorList& tensors);
/// All choices of r elements of a vector, in order: (choices, r).
Tensor combinations(const Tensor& self, std::int64_t r = 2, bool with_replacement = false);
/// In `sections` parts of nearly equal size, or before each of `indices`.
std::vector<Tensor> tensor_split(const Tensor& self, std::int64_t sections, std::int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, std::int64_t dim = 0);
/// tensor_split() along columns (of vectors: along their only dimension), into equal parts or before each of
/// `indices`.
std::vector<Tensor> hsplit(const Tensor& self, std::int64_t sections);
std::vector<Tensor> hsplit(const Tensor& self, IntArrayRef indices);
/// tensor_split() along rows, into equal parts or before each of `indices`.
std::vector<Tensor> vsplit(const Tensor& self, std::int64_t sections);
std::vector<Tensor> vsplit(const Tensor& self, IntArrayRef indices);
/// tensor_split() along the third dimension, into equal parts or before each of `indices`.
std::vector<Tensor> dsplit(const Tensor& self, std::int64_t sections);
std::vector<Tensor> dsplit(const Tensor& self, IntArrayRef indices);
/// The same as split() into these sizes.
std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, std::int64_t dim = 0);

// --- Arrangement (ops/arrangement.cpp)
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination);
Tensor moveaxis(const Tensor& self, IntArrayRef source, IntArrayRef destination);
/// The elements in row-major order, in one dimension: a view where strides allow, else a copy.
Tensor ravel(const Tensor& self);
/// Columns of powers of a vector, the highest first unless `increasing`; N columns, as many as elements by
/// default.
Tensor vander(const Tensor& x, std::optional<std::int64_t> N = std::nullopt, bool increasing = false);
/// The columns in reverse order.
Tensor fliplr(const Tensor& self);
/// The rows in reverse order.
Tensor flipud(const Tensor& self);
/// By k quarter turns from the first of `dims` towards the second.
Tensor rot90(const Tensor& self, std::int64_t k = 1, IntArrayRef dims = {0, 1});
/// The matrix with `self` on a diagonal, or the diagonal of a matrix.
Tensor diag(const Tensor& self, std::int64_t diagonal = 0);
/// The last dimension on a diagonal of matrices, 0 elsewhere; dim1 and dim2 are the matrices' dimensions.
Tensor diag_embed(const Tensor& self, std::int64_t offset = 0, std::int64_t dim1 = -2,
                  std::int64_t dim2 = -1);
/// The matrix with the elements of `self` on a diagonal, 0 elsewhere.
Tensor diagflat(const Tensor& self, std::int64_t offset = 0);
/// The sum of a matrix's diagonal.
Tensor trace(const Tensor& self);
/// Sliding windows of `size` along a dimension, `step` apart, as a view; they become the last dimension.
Tensor unfold(const Tensor& self, std::int64_t dimension, std::int64_t size, std::int64_t step);
/// A copy of what narrow() gives.
Tensor narrow_copy(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length);
/// A copy of `self` with `src` in the place that select would read.
Tensor select_scatter(const Tensor& self, const Tensor& src, std::int64_t dim, std::int64_t index);
/// A copy of `self` with `src` in the place that slice would read.
Tensor slice_scatter(const Tensor& self, const Tensor& src, std::int64_t dim = 0,
                     std::optional<std::int64_t> start = std::nullopt,
                     std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1);
/// A copy of `self` with `src` in the place that diagonal would read.
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, std::int64_t offset = 0, std::int64_t dim1 = 0,
                        std::int64_t dim2 = 1);
/// Rows and columns (2, n) of a triangle of a (row, col) matrix; int64.
Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0,
                    const TensorOptions& options = kLong);
/// Rows and columns (2, n) of the other triangle of a (row, col) matrix; int64.
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0,
                    const TensorOptions& options = kLong);
/// With `wrap`, the diagonal starts again below the first square of a tall matrix.
Tensor& fill_diagonal_(Tensor& self, const Scalar& value, bool wrap = false);

// --- Windows, padding and resampling (ops/windows.cpp, ops/pad.cpp, ops/resample.cpp)
/// (N, C, H, W) to (N, C * kh * kw, windows): nn::Unfold.
Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride);
/// The windows of im2col added up again, (N, C, output_size): nn::Fold.
Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride);
/// mode: "constant", "reflect", "replicate" or "circular"; the last three pad one to three trailing
/// dimensions.
Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode = "constant",
           std::optional<double> value = std::nullopt);
/// Mirrored at the ends of the last dimension, without repeating the end; (left, right).
Tensor reflection_pad1d(const Tensor& self, IntArrayRef padding);
/// The same for the last two dimensions; (left, right, top, bottom).
Tensor reflection_pad2d(const Tensor& self, IntArrayRef padding);
/// The same for the last three dimensions; (left, right, top, bottom, front, back).
Tensor reflection_pad3d(const Tensor& self, IntArrayRef padding);
/// The ends of the last dimension repeated; (left, right).
Tensor replication_pad1d(const Tensor& self, IntArrayRef padding);
/// The same for the last two dimensions; (left, right, top, bottom).
Tensor replication_pad2d(const Tensor& self, IntArrayRef padding);
/// The same for the last three dimensions; (left, right, top, bottom, front, back).
Tensor replication_pad3d(const Tensor& self, IntArrayRef padding);
/// Resampling of (N, C, L), (N, C, H, W) or (N, C, D, H, W) to `output_size`. `scales`: output over input,
/// where they decide the places read, not the sizes' ratio.
/// @{
Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size,
                          std::optional<double> scales = std::nullopt);
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size,
                          std::optional<double> scales_h = std::nullopt,
                          std::optional<double> scales_w = std::nullopt);
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size,
                          std::optional<double> scales_d = std::nullopt,
                          std::optional<double> scales_h = std::nullopt,
                          std::optional<double> scales_w = std::nullopt);
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                         std::optional<double> scales = std::nullopt);
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                           std::optional<double> scales_h = std::nullopt,
                           std::optional<double> scales_w = std::nullopt);
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                            std::optional<double> scales_d = std::nullopt,
                            std::optional<double> scales_h = std::nullopt,
                            std::optional<double> scales_w = std::nullopt);
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                          std::optional<double> scales_h = std::nullopt,
                          std::optional<double> scales_w = std::nullopt);
/// @}

// --- More indexing (ops/index_forms.cpp)
/// `self` with `value` in the slices along dim that `index` (int64) names.
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value);
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value);
/// `self` with the slices of `source` in the places along dim that `index` (int64) names.
Tensor index_copy(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source);
/// Of the elements in row-major order.
Tensor take(const Tensor& self, const Tensor& index);
/// `self` with `source` in the places that `index` names, counted in row-major order; added with
/// `accumulate`.
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);
/// gather(), where the other dimensions broadcast; without a dim, of the flattened tensor.
Tensor take_along_dim(const Tensor& self, const Tensor& indices,
                      std::optional<std::int64_t> dim = std::nullopt);
/// `self` with the elements of `source`, in order, where the mask is true.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
/// Indices (n, dimensions) of the elements that are not 0; int64. Waits for the device.
Tensor argwhere(const Tensor& self);
/// The columns of argwhere(), one tensor per dimension. Waits for the device.
std::vector<Tensor> nonzero_numpy(const Tensor& self);
std::vector<Tensor> where(const Tensor& condition);
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other);
/// reduce: "add" or "multiply".
Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
               std::string_view reduce);
/// What stands at index[i] along dim combined with every src[i] that goes there: "sum", "prod", "mean",
/// "amax" or "amin". Without include_self, elements of self that get a src count for nothing.
Tensor scatter_reduce(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self = true);
/// Each slice along dim as often as `repeats` says.
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats,
                         std::optional<std::int64_t> dim = std::nullopt);
/// Whether each of `elements` is among test_elements, or is not if `invert`.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool assume_unique = false,
            bool invert = false);
Tensor& masked_fill_(Tensor& self, const Tensor& mask, const Tensor& value);

// --- Order (ops/order.cpp): sorts NaN last
std::tuple<Tensor, Tensor> sort(const Tensor& self, std::optional<bool> stable, std::int64_t dim = -1,
                                bool descending = false);
/// Indices (int64) that sort along dim; equal elements keep their order.
Tensor argsort(const Tensor& self, bool stable, std::int64_t dim, bool descending = false);
/// Sorted along the first dimension.
Tensor msort(const Tensor& self);
/// The lower of the two in the middle; NaN if there is one. nanmedian passes over NaN.
Tensor median(const Tensor& self);
std::tuple<Tensor, Tensor> median(const Tensor& self, std::int64_t dim, bool keepdim = false);
/// The lower of the two in the middle, of the elements that are not NaN.
Tensor nanmedian(const Tensor& self);
std::tuple<Tensor, Tensor> nanmedian(const Tensor& self, std::int64_t dim, bool keepdim = false);
/// The k-th smallest, counted from 1.
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, std::int64_t k, std::int64_t dim = -1,
                                    bool keepdim = false);
/// The most frequent value, the smallest of several, and where it last stands.
std::tuple<Tensor, Tensor> mode(const Tensor& self, std::int64_t dim = -1, bool keepdim = false);
/// interpolation: "linear", "lower", "higher", "nearest" or "midpoint". Several q become the first dimension.
Tensor quantile(const Tensor& self, const Tensor& q, std::optional<std::int64_t> dim = std::nullopt,
                bool keepdim = false, std::string_view interpolation = "linear");
Tensor quantile(const Tensor& self, double q, std::optional<std::int64_t> dim = std::nullopt,
                bool keepdim = false, std::string_view interpolation = "linear");
/// The quantiles of the elements that are not NaN; see quantile().
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<std::int64_t> dim = std::nullopt,
                   bool keepdim = false, std::string_view interpolation = "linear");
Tensor nanquantile(const Tensor& self, double q, std::optional<std::int64_t> dim = std::nullopt,
                   bool keepdim = false, std::string_view interpolation = "linear");
/// The distinct values, always in ascending order; where each element went; how often each occurs. What is
/// not asked for is empty.
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& self, bool sorted = true,
                                            bool return_inverse = false, bool return_counts = false);
/// The distinct values in ascending order, and where each element went if asked for.
std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool sorted = true, bool return_inverse = false);
/// The distinct slices along dim, in ascending order; where each went; how often each occurs.
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& self, std::int64_t dim, bool sorted = true,
                                              bool return_inverse = false, bool return_counts = false);
/// Runs of equal elements (or slices along dim) reduced to one; where each went; how long each run is.
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& self, bool return_inverse = false,
                                                      bool return_counts = false,
                                                      std::optional<std::int64_t> dim = std::nullopt);
/// Runs of equal slices along dim reduced to one; where each went; how long each run is.
std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& self, std::int64_t dim,
                                                          bool return_inverse = false,
                                                          bool return_counts = false);
/// How often each number 0, 1, 2, ... occurs, or the sums of the weights.
Tensor bincount(const Tensor& self, const Tensor& weights, std::int64_t minlength = 0);
/// Counts of `bins` equal parts of [min, max], by default of the range of `self`.
Tensor histc(const Tensor& self, std::int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);

// --- More reductions (ops/reduction_forms.cpp)
/// The smallest and the largest element, of all or along dim; NaN if there is one.
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<std::int64_t> dim = std::nullopt,
                                   bool keepdim = false);
/// Variance (divided by n - 1, or n unless `unbiased`) and mean, of all or along dim.
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, IntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
/// Standard deviation (see var_mean) and mean, of all or along dim.
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, IntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
/// The sum of the elements that are not NaN.
Tensor nansum(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false,
              OptionalDtype dtype = std::nullopt);
/// The mean of the elements that are not NaN; NaN where there are none.
Tensor nanmean(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false,
               OptionalDtype dtype = std::nullopt);
Tensor count_nonzero(const Tensor& self, IntArrayRef dim);
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype);
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
            ScalarType dtype);
/// The p-norm of self - other, all elements.
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p = 2);
/// Every slice along `dim` with a p-norm above maxnorm scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, std::int64_t dim, const Scalar& maxnorm);
/// The n-th difference of neighbours.
Tensor diff(const Tensor& self, std::int64_t n, std::int64_t dim, const Tensor& prepend,
            const Tensor& append);
/// The integral along dim by the trapezoidal rule, at places x or dx apart.
Tensor trapezoid(const Tensor& y, const Tensor& x, std::int64_t dim = -1);
Tensor trapezoid(const Tensor& y, double dx = 1, std::int64_t dim = -1);
/// Of variables in rows, observations in columns.
Tensor cov(const Tensor& self, std::int64_t correction, const Tensor& fweights, const Tensor& aweights);
/// Correlation coefficients of variables in rows, observations in columns.
Tensor corrcoef(const Tensor& self);

// --- More products and norms (ops/contraction.cpp, ops/linalg.cpp)
/// Over the last dimension of both.
Tensor inner(const Tensor& self, const Tensor& other);
/// The dot product of two vectors.
Tensor vdot(const Tensor& self, const Tensor& other);
/// Sums of products over dims_self of one and dims_other of the other; the remaining dimensions follow one
/// another.
Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other);
/// The Kronecker product: `other` times each element of `self`, in blocks.
Tensor kron(const Tensor& self, const Tensor& other);
/// Sums of products by Einstein's notation: letters, "..." and "->".
Tensor einsum(std::string_view equation, const TensorList& tensors);
/// beta * self + alpha * (mat @ vec).
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1,
             const Scalar& alpha = 1);
/// beta * self + alpha * the outer product of vec1 and vec2.
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
            const Scalar& alpha = 1);
/// beta * self + alpha * the sum of batch1 @ batch2 over the batch.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
              const Scalar& alpha = 1);
/// The product of n square matrices `self`; n = 0 gives the identity. Throws Error when n is negative.
Tensor matrix_power(const Tensor& self, std::int64_t n);
/// The product of matrices in the order of fewest multiplications.
Tensor chain_matmul(const TensorList& matrices);
/// The cross product along dim, whose size is 3; the first such dimension by default.
Tensor cross(const Tensor& self, const Tensor& other, std::optional<std::int64_t> dim = std::nullopt);
/// p-norms of the differences of all rows of x1 and x2.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2,
             std::optional<std::int64_t> compute_mode = std::nullopt);
/// p-norms of the differences of all pairs of rows of (N, D): (N (N - 1) / 2).
Tensor pdist(const Tensor& self, double p = 2);
/// The ord-norm of all elements or along dim; ord 0 counts those that are not 0, inf and -inf give the
/// largest and smallest magnitude.
Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord = 2, OptionalIntArrayRef dim = std::nullopt,
                          bool keepdim = false, OptionalDtype dtype = std::nullopt);
/// ord: "fro"; or 1, -1 (column sums), inf, -inf (row sums). Norms by singular values are not supported.
Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim = {-2, -1},
                          bool keepdim = false, OptionalDtype dtype = std::nullopt);
Tensor linalg_matrix_norm(const Tensor& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, OptionalDtype dtype = std::nullopt);
/// A vector norm of all elements or along one dimension, a matrix norm along two.
Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord = std::nullopt,
                   OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                   OptionalDtype dtype = std::nullopt);
Tensor linalg_norm(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim = std::nullopt,
                   bool keepdim = false, OptionalDtype dtype = std::nullopt);
/// In the order of fewest multiplications.
Tensor linalg_multi_dot(const TensorList& tensors);
/// The same as matmul().
Tensor linalg_matmul(const Tensor& self, const Tensor& other);
/// The cross product along dim, whose size is 3.
Tensor linalg_cross(const Tensor& self, const Tensor& other, std::int64_t dim = -1);
/// The same as matrix_power().
Tensor linalg_matrix_power(const Tensor& self, std::int64_t n);
/// Dot products along dim, of operands that broadcast.
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, std::int64_t dim = -1);
/// The same as diagonal(), of the last two dimensions by default.
Tensor linalg_diagonal(const Tensor& self, std::int64_t offset = 0, std::int64_t dim1 = -2,
                       std::int64_t dim2 = -1);

// --- More elementwise functions (ops/elementwise_forms.cpp)
/// Whether each element is infinity.
Tensor isposinf(const Tensor& self);
/// Whether each element is minus infinity.
Tensor isneginf(const Tensor& self);
/// True everywhere: there are no complex tensors.
Tensor isreal(const Tensor& self);
/// self * pi / 180.
Tensor deg2rad(const Tensor& self);
/// self * 180 / pi.
Tensor rad2deg(const Tensor& self);
/// self to the power of `exponent`, in float64.
Tensor float_power(const Tensor& self, const Tensor& exponent);
Tensor float_power(const Tensor& self, const Scalar& exponent);
/// self * 2^other.
Tensor ldexp(const Tensor& self, const Tensor& other);
/// 0 for negative elements, 1 for positive ones, `values` where they are 0.
Tensor heaviside(const Tensor& self, const Tensor& values);
/// Bounds that broadcast; either may be undefined.
Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max);
/// The larger of each element and its bound, which broadcasts; NaN stays.
Tensor clamp_min(const Tensor& self, const Tensor& min);
/// The smaller of each element and its bound, which broadcasts; NaN stays.
Tensor clamp_max(const Tensor& self, const Tensor& max);
Tensor div(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode);
Tensor bitwise_and(const Tensor& self, const Scalar& other);
Tensor bitwise_or(const Tensor& self, const Scalar& other);
Tensor bitwise_xor(const Tensor& self, const Scalar& other);

// --- More factories and random numbers (ops/factories.cpp, ops/random.cpp)
/// base^x for `steps` equally distant x from start to end inclusive.
Tensor logspace(const Scalar& start, const Scalar& end, std::int64_t steps = 100, double base = 10,
                const TensorOptions& options = {});
/// From start to end inclusive, floating unless a dtype is named (deprecated in PyTorch: use arange).
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options = {});
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
/// Integers in [0, high) or [low, high), in the shape of `self`, in its dtype and on its device unless others
/// are named.
Tensor randint_like(const Tensor& self, std::int64_t high, const TensorOptions& options = {});
Tensor randint_like(const Tensor& self, std::int64_t low, std::int64_t high,
                    const TensorOptions& options = {});
/// Integers in [0, high) or [low, high) from a stream of one's own; int64 unless a dtype is named.
Tensor randint(std::int64_t high, IntArrayRef size, std::optional<Generator> generator,
               const TensorOptions& options = {});
Tensor randint(std::int64_t low, std::int64_t high, IntArrayRef size, std::optional<Generator> generator,
               const TensorOptions& options = {});
/// Normal numbers with the given means and standard deviations.
Tensor normal(const Tensor& mean, double std = 1, std::optional<Generator> generator = std::nullopt);
Tensor normal(double mean, const Tensor& std, std::optional<Generator> generator = std::nullopt);
Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> generator = std::nullopt);
Tensor normal(double mean, double std, IntArrayRef size, std::optional<Generator> generator = std::nullopt,
              const TensorOptions& options = {});
/// 1 with probability p, 0 otherwise, in the shape of `self`.
Tensor bernoulli(const Tensor& self, double p, std::optional<Generator> generator = std::nullopt);
/// 1 with the probability that `p`, which broadcasts, says; 0 otherwise.
Tensor& bernoulli_(Tensor& self, const Tensor& p, std::optional<Generator> generator = std::nullopt);
/// From 0 up to the largest integer the dtype holds exactly.
Tensor& random_(Tensor& self, std::optional<Generator> generator = std::nullopt);
Tensor& random_(Tensor& self, std::int64_t to, std::optional<Generator> generator = std::nullopt);
/// Exponential, with density lambd exp(-lambd x).
Tensor& exponential_(Tensor& self, double lambd = 1, std::optional<Generator> generator = std::nullopt);
/// Trials up to the first success, at least 1.
Tensor& geometric_(Tensor& self, double p, std::optional<Generator> generator = std::nullopt);
/// exp of normal numbers with this mean and standard deviation.
Tensor& log_normal_(Tensor& self, double mean = 1, double std = 2,
                    std::optional<Generator> generator = std::nullopt);
/// Cauchy, with this median and half width at half maximum.
Tensor& cauchy_(Tensor& self, double median = 0, double sigma = 1,
                std::optional<Generator> generator = std::nullopt);

// --- Questions (ops/questions.cpp)
/// Whether its dtype is float16, bfloat16, float32 or float64.
bool is_floating_point(const Tensor& self);
/// False: there are no complex tensors.
bool is_complex(const Tensor& self);
/// Whether its dtype has negative numbers.
bool is_signed(const Tensor& self);
/// Of a tensor of one element.
bool is_nonzero(const Tensor& self);
/// Whether both have the same shape.
bool is_same_size(const Tensor& self, const Tensor& other);
/// Number of elements.
std::int64_t numel(const Tensor& self);
/// Size of one dimension, counted from the end if negative. Throws Error when there is none.
std::int64_t size(const Tensor& self, std::int64_t dim);
/// Distance of neighbours in one dimension, in elements. Throws Error when there is none.
std::int64_t stride(const Tensor& self, std::int64_t dim);
/// The dtype arithmetic on these gives.
ScalarType result_type(const Tensor& self, const Tensor& other);
ScalarType result_type(const Tensor& self, const Scalar& other);
ScalarType result_type(const Scalar& self, const Tensor& other);
ScalarType result_type(const Scalar& self, const Scalar& other);
/// Whether values of `from` may be written in place into `to`: not floats into integers, nor numbers into
/// bool.
bool can_cast(ScalarType from, ScalarType to);

// --- In place, of functions above (ops/inplace_forms.cpp)

// --- More names (ops/aliases.cpp)
Tensor arccosh(const Tensor& self);
Tensor arcsinh(const Tensor& self);
Tensor arctanh(const Tensor& self);
Tensor copysign(const Tensor& self, const Scalar& other);
Tensor xlogy(const Tensor& self, const Scalar& other);
Tensor xlogy(const Scalar& self, const Tensor& other);
Tensor bitwise_left_shift(const Tensor& self, const Scalar& other);
Tensor bitwise_right_shift(const Tensor& self, const Scalar& other);
/// Between which of the ascending boundaries each element lies: the index of the first that is not smaller
/// (with `right`: that is larger); int64, or int32 with out_int32.
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32 = false, bool right = false);
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32 = false, bool right = false);
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32 = false,
                    bool right = false);

// --- In place: `self` is overwritten with the function's result (ops/aliases.cpp, ops/inplace_forms.cpp)
Tensor& absolute_(Tensor& self);
Tensor& negative_(Tensor& self);
Tensor& sgn_(Tensor& self);
Tensor& fix_(Tensor& self);
Tensor& arccos_(Tensor& self);
Tensor& arcsin_(Tensor& self);
Tensor& arctan_(Tensor& self);
Tensor& clip_(Tensor& self, const std::optional<Scalar>& min = std::nullopt,
              const std::optional<Scalar>& max = std::nullopt);
Tensor& subtract_(Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor& subtract_(Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor& multiply_(Tensor& self, const Tensor& other);
Tensor& multiply_(Tensor& self, const Scalar& other);
Tensor& divide_(Tensor& self, const Tensor& other);
Tensor& divide_(Tensor& self, const Scalar& other);
Tensor& true_divide_(Tensor& self, const Tensor& other);
Tensor& true_divide_(Tensor& self, const Scalar& other);
Tensor& greater_(Tensor& self, const Tensor& other);
Tensor& greater_(Tensor& self, const Scalar& other);
Tensor& greater_equal_(Tensor& self, const Tensor& other);
Tensor& greater_equal_(Tensor& self, const Scalar& other);
Tensor& less_(Tensor& self, const Tensor& other);
Tensor& less_(Tensor& self, const Scalar& other);
Tensor& less_equal_(Tensor& self, const Tensor& other);
Tensor& less_equal_(Tensor& self, const Scalar& other);
Tensor& not_equal_(Tensor& self, const Tensor& other);
Tensor& not_equal_(Tensor& self, const Scalar& other);
Tensor& swapaxes_(Tensor& self, std::int64_t axis0, std::int64_t axis1);
Tensor& swapdims_(Tensor& self, std::int64_t dim0, std::int64_t dim1);
Tensor& index_fill_(Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value);
Tensor& index_fill_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value);
Tensor& index_copy_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source);
Tensor& put_(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);
Tensor& masked_scatter_(Tensor& self, const Tensor& mask, const Tensor& source);
Tensor& scatter_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                 std::string_view reduce);
Tensor& scatter_reduce_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self = true);
Tensor& renorm_(Tensor& self, const Scalar& p, std::int64_t dim, const Scalar& maxnorm);
Tensor& cumprod_(Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt);
Tensor& addmv_(Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1,
               const Scalar& alpha = 1);
Tensor& addr_(Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
              const Scalar& alpha = 1);
Tensor& addbmm_(Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                const Scalar& alpha = 1);
Tensor& deg2rad_(Tensor& self);
Tensor& rad2deg_(Tensor& self);
Tensor& ldexp_(Tensor& self, const Tensor& other);
Tensor& logit_(Tensor& self, std::optional<double> eps = std::nullopt);
Tensor& heaviside_(Tensor& self, const Tensor& values);
Tensor& clamp_(Tensor& self, const Tensor& min, const Tensor& max);
Tensor& clamp_min_(Tensor& self, const Tensor& min);
Tensor& clamp_max_(Tensor& self, const Tensor& max);
Tensor& bitwise_and_(Tensor& self, const Scalar& other);
Tensor& bitwise_or_(Tensor& self, const Scalar& other);
Tensor& bitwise_xor_(Tensor& self, const Scalar& other);
Tensor& atan2_(Tensor& self, const Tensor& other);
Tensor& remainder_(Tensor& self, const Tensor& other);
Tensor& remainder_(Tensor& self, const Scalar& other);
Tensor& fmod_(Tensor& self, const Tensor& other);
Tensor& fmod_(Tensor& self, const Scalar& other);
Tensor& floor_divide_(Tensor& self, const Tensor& other);
Tensor& floor_divide_(Tensor& self, const Scalar& other);
Tensor& div_(Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode);
Tensor& div_(Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode);
Tensor& lerp_(Tensor& self, const Tensor& end, const Tensor& weight);
Tensor& eq_(Tensor& self, const Tensor& other);
Tensor& eq_(Tensor& self, const Scalar& other);
Tensor& ne_(Tensor& self, const Tensor& other);
Tensor& ne_(Tensor& self, const Scalar& other);
Tensor& lt_(Tensor& self, const Tensor& other);
Tensor& lt_(Tensor& self, const Scalar& other);
Tensor& le_(Tensor& self, const Tensor& other);
Tensor& le_(Tensor& self, const Scalar& other);
Tensor& gt_(Tensor& self, const Tensor& other);
Tensor& gt_(Tensor& self, const Scalar& other);
Tensor& ge_(Tensor& self, const Tensor& other);
Tensor& ge_(Tensor& self, const Scalar& other);
Tensor& logical_and_(Tensor& self, const Tensor& other);
Tensor& logical_or_(Tensor& self, const Tensor& other);
Tensor& logical_xor_(Tensor& self, const Tensor& other);
Tensor& logical_not_(Tensor& self);
Tensor& bitwise_and_(Tensor& self, const Tensor& other);
Tensor& bitwise_or_(Tensor& self, const Tensor& other);
Tensor& bitwise_xor_(Tensor& self, const Tensor& other);
Tensor& bitwise_not_(Tensor& self);
Tensor& nan_to_num_(Tensor& self, std::optional<double> nan = std::nullopt,
                    std::optional<double> posinf = std::nullopt, std::optional<double> neginf = std::nullopt);
Tensor& cumsum_(Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt);
Tensor& tril_(Tensor& self, std::int64_t diagonal = 0);
Tensor& triu_(Tensor& self, std::int64_t diagonal = 0);
Tensor& addmm_(Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
               const Scalar& alpha = 1);
Tensor& baddbmm_(Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                 const Scalar& alpha = 1);
Tensor& arccosh_(Tensor& self);
Tensor& arcsinh_(Tensor& self);
Tensor& arctanh_(Tensor& self);
Tensor& hypot_(Tensor& self, const Tensor& other);
Tensor& copysign_(Tensor& self, const Tensor& other);
Tensor& copysign_(Tensor& self, const Scalar& other);
Tensor& xlogy_(Tensor& self, const Tensor& other);
Tensor& xlogy_(Tensor& self, const Scalar& other);
Tensor& acosh_(Tensor& self);
Tensor& asinh_(Tensor& self);
Tensor& atanh_(Tensor& self);
Tensor& lgamma_(Tensor& self);
Tensor& digamma_(Tensor& self);
Tensor& erfinv_(Tensor& self);
Tensor& sinc_(Tensor& self);
Tensor& bitwise_left_shift_(Tensor& self, const Tensor& other);
Tensor& bitwise_left_shift_(Tensor& self, const Scalar& other);
Tensor& bitwise_right_shift_(Tensor& self, const Tensor& other);
Tensor& bitwise_right_shift_(Tensor& self, const Scalar& other);

}  // namespace halftone
