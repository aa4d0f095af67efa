#pragma once

// The public operators, one prototype each; Tensor's methods call them. Each is declared once in
// `ops/<family>.cpp`, where its precision policy, shape rule, kernel, gradient and samples stand together.
// Names, argument order and semantics are libtorch's. All of them throw Error on shapes, dtypes or devices
// they do not accept.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "halftone/engine/dims.h"
#include "halftone/engine/generator.h"
#include "halftone/engine/scalar.h"
#include "halftone/engine/tensor_options.h"

namespace halftone {

class Tensor;
class TensorList;
using OptionalDtype = std::optional<ScalarType>;

/// How a loss is reduced over its elements (at::Reduction's names).
namespace Reduction {
/// Not at all, to the mean, to the sum.
enum Reduction : std::int8_t { None, Mean, Sum };
}  // namespace Reduction

// --- Factories (ops/factories.cpp)
// -----------------------------------------------------------------------------
/// Uninitialised.
Tensor empty(IntArrayRef size, const TensorOptions& options = {});
/// Uninitialised, with these strides (in elements).
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {});
/// Every element 0.
Tensor zeros(IntArrayRef size, const TensorOptions& options = {});
/// Every element 1.
Tensor ones(IntArrayRef size, const TensorOptions& options = {});
/// The dtype defaults to the value's: float for numbers with a fraction, int64 for integers, bool for bool.
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options = {});
/// Uninitialised, with the shape of `self`, and its dtype and device unless others are named.
Tensor empty_like(const Tensor& self, const TensorOptions& options = {});
/// 0 in the shape of `self`, in its dtype and on its device unless others are named.
Tensor zeros_like(const Tensor& self, const TensorOptions& options = {});
/// 1 in the shape of `self`, in its dtype and on its device unless others are named.
Tensor ones_like(const Tensor& self, const TensorOptions& options = {});
/// One value in the shape of `self`, in its dtype and on its device unless others are named.
Tensor full_like(const Tensor& self, const Scalar& value, const TensorOptions& options = {});
/// A 0-d tensor, in the default dtype unless another is named.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});
/// int64 when all three are integers.
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options = {});
/// `steps` numbers from start to end inclusive, equally far apart.
Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps = 100,
                const TensorOptions& options = {});
/// (n, n) or (n, m): 1 on the diagonal, 0 elsewhere.
Tensor eye(std::int64_t n, const TensorOptions& options = {});
Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options = {});
/// Uniform on [0, 1).
Tensor rand(IntArrayRef size, const TensorOptions& options = {});
Tensor rand(IntArrayRef size, std::optional<Generator> generator, const TensorOptions& options = {});
/// Standard normal.
Tensor randn(IntArrayRef size, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, std::optional<Generator> generator, const TensorOptions& options = {});
/// Uniform on [0, 1), in the shape of `self`, in its dtype and on its device unless others are named.
Tensor rand_like(const Tensor& self, const TensorOptions& options = {});
/// Standard normal, in the shape of `self`, in its dtype and on its device unless others are named.
Tensor randn_like(const Tensor& self, const TensorOptions& options = {});
/// Integers in [low, high); int64 unless a dtype is named.
Tensor randint(std::int64_t high, IntArrayRef size, const TensorOptions& options = {});
Tensor randint(std::int64_t low, std::int64_t high, IntArrayRef size, const TensorOptions& options = {});
/// 0 .. n - 1 in random order; int64 unless a dtype is named.
Tensor randperm(std::int64_t n, const TensorOptions& options = {});
Tensor randperm(std::int64_t n, std::optional<Generator> generator, const TensorOptions& options = {});
/// A tensor over foreign memory, which must outlive it (or is freed by `deleter`).
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});

// --- Conversion and copies (ops/copy.cpp)
// ----------------------------------------------------------------------
/// A copy in another dtype: recorded, the gradient is cast back. `self` itself when nothing changes.
Tensor to_dtype(const Tensor& self, ScalarType dtype);
/// A copy on another device: recorded, the gradient is copied back. `self` itself when it is there already. A
/// copy to the host waits for the device; the others do not.
Tensor to_device(const Tensor& self, Device device, bool non_blocking = false);
/// A contiguous copy in host memory that a CUDA device copies from without waiting (`to(kCUDA, true)`);
/// `self` if it is there already. Throws Error without a CUDA device.
Tensor pin_memory(const Tensor& self);
Tensor clone(const Tensor& self);
/// The same elements in row-major order without gaps: `self` itself if they lie so already, else a copy.
Tensor contiguous(const Tensor& self);
/// Out of place: `src` in self's shape and dtype; `value` everywhere.
Tensor copy(const Tensor& self, const Tensor& src);
Tensor fill(const Tensor& self, const Scalar& value);
/// Writes `src`, broadcast and converted, into `self`.
Tensor& copy_(Tensor& self, const Tensor& src, bool non_blocking = false);
Tensor& fill_(Tensor& self, const Scalar& value);
Tensor& fill_(Tensor& self, const Tensor& value);
/// Writes 0 everywhere.
Tensor& zero_(Tensor& self);

// --- Arithmetic (ops/arithmetic.cpp): broadcasting, PyTorch's type promotion
// -----------------------------------
Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
/// other - alpha * self.
Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor mul(const Tensor& self, const Scalar& other);
/// True division; integers give floating results. rounding_mode "trunc" or "floor" as in PyTorch.
Tensor div(const Tensor& self, const Tensor& other);
Tensor div(const Tensor& self, const Scalar& other);
Tensor div(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode);
Tensor floor_divide(const Tensor& self, const Tensor& other);
Tensor floor_divide(const Tensor& self, const Scalar& other);
Tensor remainder(const Tensor& self, const Tensor& other);
Tensor remainder(const Tensor& self, const Scalar& other);
Tensor fmod(const Tensor& self, const Tensor& other);
Tensor fmod(const Tensor& self, const Scalar& other);
Tensor pow(const Tensor& self, const Tensor& exponent);
Tensor pow(const Tensor& self, const Scalar& exponent);
Tensor pow(const Scalar& self, const Tensor& exponent);
Tensor maximum(const Tensor& self, const Tensor& other);
Tensor minimum(const Tensor& self, const Tensor& other);
Tensor atan2(const Tensor& self, const Tensor& other);
/// The other operand where one is NaN.
Tensor fmax(const Tensor& self, const Tensor& other);
Tensor fmin(const Tensor& self, const Tensor& other);
Tensor hypot(const Tensor& self, const Tensor& other);
Tensor copysign(const Tensor& self, const Tensor& other);
/// log(exp(self) + exp(other)), and the same with powers of 2, without overflow.
Tensor logaddexp(const Tensor& self, const Tensor& other);
Tensor logaddexp2(const Tensor& self, const Tensor& other);
/// self * log(other), 0 where self is 0.
Tensor xlogy(const Tensor& self, const Tensor& other);
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight);
Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight);
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1);
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1);

// --- Comparison and logic (ops/comparison.cpp): bool results, no gradient
// --------------------------------------
Tensor eq(const Tensor& self, const Tensor& other);
Tensor eq(const Tensor& self, const Scalar& other);
Tensor ne(const Tensor& self, const Tensor& other);
Tensor ne(const Tensor& self, const Scalar& other);
Tensor lt(const Tensor& self, const Tensor& other);
Tensor lt(const Tensor& self, const Scalar& other);
Tensor le(const Tensor& self, const Tensor& other);
Tensor le(const Tensor& self, const Scalar& other);
Tensor gt(const Tensor& self, const Tensor& other);
Tensor gt(const Tensor& self, const Scalar& other);
Tensor ge(const Tensor& self, const Tensor& other);
Tensor ge(const Tensor& self, const Scalar& other);
Tensor logical_and(const Tensor& self, const Tensor& other);
Tensor logical_or(const Tensor& self, const Tensor& other);
Tensor logical_xor(const Tensor& self, const Tensor& other);
Tensor logical_not(const Tensor& self);
Tensor bitwise_and(const Tensor& self, const Tensor& other);
Tensor bitwise_or(const Tensor& self, const Tensor& other);
Tensor bitwise_xor(const Tensor& self, const Tensor& other);
Tensor bitwise_not(const Tensor& self);
/// Shifts by as many bits as the type has or more give 0 (for negative numbers shifted right -1).
Tensor bitwise_left_shift(const Tensor& self, const Tensor& other);
Tensor bitwise_right_shift(const Tensor& self, const Tensor& other);
Tensor signbit(const Tensor& self);
Tensor isnan(const Tensor& self);
Tensor isinf(const Tensor& self);
Tensor isfinite(const Tensor& self);
/// Whether shapes and all elements are the same; NaN is not equal to itself. Waits for the device.
bool equal(const Tensor& self, const Tensor& other);
/// Whether isclose() holds everywhere. Waits for the device.
bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
              bool equal_nan = false);
/// |self - other| <= atol + rtol |other|, element by element; with equal_nan NaN is close to NaN.
Tensor isclose(const Tensor& self, const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
               bool equal_nan = false);

// --- Unary math (ops/unary.cpp)
// --------------------------------------------------------------------------------
Tensor neg(const Tensor& self);
Tensor abs(const Tensor& self);
Tensor sign(const Tensor& self);
Tensor reciprocal(const Tensor& self);
Tensor square(const Tensor& self);
Tensor sqrt(const Tensor& self);
Tensor rsqrt(const Tensor& self);
Tensor exp(const Tensor& self);
Tensor exp2(const Tensor& self);
Tensor expm1(const Tensor& self);
Tensor log(const Tensor& self);
Tensor log2(const Tensor& self);
Tensor log10(const Tensor& self);
Tensor log1p(const Tensor& self);
Tensor sin(const Tensor& self);
Tensor cos(const Tensor& self);
Tensor tan(const Tensor& self);
Tensor asin(const Tensor& self);
Tensor acos(const Tensor& self);
Tensor atan(const Tensor& self);
Tensor sinh(const Tensor& self);
Tensor cosh(const Tensor& self);
Tensor erf(const Tensor& self);
Tensor erfc(const Tensor& self);
Tensor floor(const Tensor& self);
Tensor ceil(const Tensor& self);
Tensor round(const Tensor& self);
Tensor trunc(const Tensor& self);
Tensor frac(const Tensor& self);
Tensor acosh(const Tensor& self);
Tensor asinh(const Tensor& self);
Tensor atanh(const Tensor& self);
/// sin(pi x) / (pi x).
Tensor sinc(const Tensor& self);
Tensor erfinv(const Tensor& self);
/// log(x / (1 - x)), x clamped to [eps, 1 - eps] if given.
Tensor logit(const Tensor& self, std::optional<double> eps = std::nullopt);
/// The logarithm of the gamma function's magnitude, its derivative, and the n-th derivative of that.
Tensor lgamma(const Tensor& self);
Tensor digamma(const Tensor& self);
Tensor polygamma(std::int64_t n, const Tensor& self);
Tensor clamp(const Tensor& self, const std::optional<Scalar>& min = std::nullopt,
             const std::optional<Scalar>& max = std::nullopt);
/// The larger of each element and the bound; NaN stays.
Tensor clamp_min(const Tensor& self, const Scalar& min);
/// The smaller of each element and the bound; NaN stays.
Tensor clamp_max(const Tensor& self, const Scalar& max);
Tensor nan_to_num(const Tensor& self, std::optional<double> nan = std::nullopt,
                  std::optional<double> posinf = std::nullopt, std::optional<double> neginf = std::nullopt);

// --- Activations (ops/activation.cpp)
// --------------------------------------------------------------------------
Tensor relu(const Tensor& self);
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope = 0.01);
/// approximate: "none" (erf) or "tanh".
Tensor gelu(const Tensor& self, std::string_view approximate = "none");
Tensor silu(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor elu(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1,
           const Scalar& input_scale = 1);
Tensor hardtanh(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor relu6(const Tensor& self);
Tensor log_sigmoid(const Tensor& self);
Tensor mish(const Tensor& self);

// --- Reductions (ops/reduction.cpp)
// ----------------------------------------------------------------------------
Tensor sum(const Tensor& self, OptionalDtype dtype = std::nullopt);
Tensor sum(const Tensor& self, IntArrayRef dim, bool keepdim = false, OptionalDtype dtype = std::nullopt);
Tensor mean(const Tensor& self, OptionalDtype dtype = std::nullopt);
Tensor mean(const Tensor& self, IntArrayRef dim, bool keepdim = false, OptionalDtype dtype = std::nullopt);
Tensor prod(const Tensor& self, OptionalDtype dtype = std::nullopt);
Tensor prod(const Tensor& self, std::int64_t dim, bool keepdim = false, OptionalDtype dtype = std::nullopt);
Tensor var(const Tensor& self, bool unbiased = true);
Tensor var(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor std(const Tensor& self, bool unbiased = true);
Tensor std(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor norm(const Tensor& self, const Scalar& p = 2);
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false);
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t dim, bool keepdim = false);
Tensor max(const Tensor& self, const Tensor& other);
Tensor min(const Tensor& self, const Tensor& other);
/// Maximum over several dimensions; ties share the gradient equally.
Tensor amax(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false);
Tensor argmin(const Tensor& self, std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false);
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false);
Tensor cumsum(const Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt);
/// y[k] = self[k] + factors[k] * y[k - 1] along dim; with `reverse` from the end, with y[k + 1]. What decayed
/// sums, discounted returns and the gradients of running products are.
Tensor linear_recurrence(const Tensor& self, const Tensor& factors, std::int64_t dim, bool reverse = false);
/// The extreme so far along dim, and where it stood last.
std::tuple<Tensor, Tensor> cummax(const Tensor& self, std::int64_t dim);
std::tuple<Tensor, Tensor> cummin(const Tensor& self, std::int64_t dim);
Tensor logcumsumexp(const Tensor& self, std::int64_t dim);
Tensor cumprod(const Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt);
Tensor all(const Tensor& self);
Tensor all(const Tensor& self, std::int64_t dim, bool keepdim = false);
Tensor any(const Tensor& self);
Tensor any(const Tensor& self, std::int64_t dim, bool keepdim = false);
Tensor count_nonzero(const Tensor& self);
/// Sums `self` down to `size` (what broadcasting expanded), accumulating in fp32.
Tensor sum_to_size(const Tensor& self, IntArrayRef size);

// --- Matrix products (ops/matmul.cpp)
// --------------------------------------------------------------------------
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor matmul(const Tensor& self, const Tensor& other);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor dot(const Tensor& self, const Tensor& other);
Tensor outer(const Tensor& self, const Tensor& vec2);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
               const Scalar& alpha = 1);
/// input (..., in) times weight (out, in) transposed, plus bias (out).
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);
Tensor linear(const Tensor& input, const Tensor& weight);
/// relu(linear(input, weight, bias)) and gelu(linear(input, weight, bias), "tanh") as one product: the
/// activation is applied to the sums before they are rounded. `bias` may be undefined. Floating dtypes only.
/// PyTorch has these as _addmm_activation.
Tensor linear_relu(const Tensor& input, const Tensor& weight, const Tensor& bias);
Tensor linear_relu(const Tensor& input, const Tensor& weight);
Tensor linear_gelu(const Tensor& input, const Tensor& weight, const Tensor& bias);
Tensor linear_gelu(const Tensor& input, const Tensor& weight);

// --- Shape (ops/view.cpp: aliases; ops/shape.cpp: copies)
// -------------------------------------------------------
Tensor view(const Tensor& self, IntArrayRef size);
/// The same elements in another shape, of which one size may be -1: a view where strides allow, else a copy.
Tensor reshape(const Tensor& self, IntArrayRef shape);
Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                  std::optional<std::int64_t> storage_offset = std::nullopt);
Tensor transpose(const Tensor& self, std::int64_t dim0, std::int64_t dim1);
/// A view with rows and columns of a matrix exchanged, of fewer dimensions as it is. Throws Error above two.
Tensor t(const Tensor& self);
Tensor permute(const Tensor& self, IntArrayRef dims);
/// A view with one dimension (or several) moved to another place; the others keep their order.
Tensor movedim(const Tensor& self, std::int64_t source, std::int64_t destination);
Tensor expand(const Tensor& self, IntArrayRef size, bool implicit = false);
/// The same as expand(other.sizes()).
Tensor expand_as(const Tensor& self, const Tensor& other);
Tensor squeeze(const Tensor& self);
Tensor squeeze(const Tensor& self, std::int64_t dim);
Tensor unsqueeze(const Tensor& self, std::int64_t dim);
/// Dimensions start_dim .. end_dim joined into one: a view where strides allow, else a copy.
Tensor flatten(const Tensor& self, std::int64_t start_dim = 0, std::int64_t end_dim = -1);
/// A view with one dimension split into several sizes, of which one may be -1.
Tensor unflatten(const Tensor& self, std::int64_t dim, IntArrayRef sizes);
/// A view of `length` slices along dim, from `start` on. Throws Error when there are fewer.
Tensor narrow(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length);
Tensor select(const Tensor& self, std::int64_t dim, std::int64_t index);
Tensor slice(const Tensor& self, std::int64_t dim = 0, std::optional<std::int64_t> start = std::nullopt,
             std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1);
Tensor diagonal(const Tensor& self, std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1);
/// Views of pieces along dim, of split_size each (the last may be smaller), or of these sizes.
std::vector<Tensor> split(const Tensor& self, std::int64_t split_size, std::int64_t dim = 0);
std::vector<Tensor> split(const Tensor& self, IntArrayRef split_sizes, std::int64_t dim = 0);
/// Views of at most `chunks` pieces of equal size along dim (the last may be smaller).
std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim = 0);
/// Views of the slices along dim, without that dimension.
std::vector<Tensor> unbind(const Tensor& self, std::int64_t dim = 0);
/// A contiguous copy of `self` with the window (size, stride, storage_offset; counted in that copy) replaced
/// by `src`: the gradient of a write through a view. The window must not overlap itself.
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          std::int64_t storage_offset);
Tensor cat(const TensorList& tensors, std::int64_t dim = 0);
/// The same as cat().
Tensor concat(const TensorList& tensors, std::int64_t dim = 0);
Tensor stack(const TensorList& tensors, std::int64_t dim = 0);
Tensor flip(const Tensor& self, IntArrayRef dims);
Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {});
/// Copies side by side, as many in each dimension as `repeats` says; more repeats than dimensions add some in
/// front.
Tensor repeat(const Tensor& self, IntArrayRef repeats);
/// Each slice along dim `repeats` times in a row; without a dim, each element of the flattened tensor.
Tensor repeat_interleave(const Tensor& self, std::int64_t repeats,
                         std::optional<std::int64_t> dim = std::nullopt);
Tensor tril(const Tensor& self, std::int64_t diagonal = 0);
Tensor triu(const Tensor& self, std::int64_t diagonal = 0);

/// `pad`: before and after the last dimension, then the one before it, ...; negative numbers cut off.
Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value = 0);
/// Every output element is a weighted sum of a few input elements, dimension by dimension: the operator
/// behind the resampling and padding functions. `mode`: "nearest", "nearest-exact", "linear", "cubic",
/// "reflect", "replicate" or "circular". `input_size` and `output_size` name the one to three trailing
/// dimensions of the forward direction, `left` what padding puts in front of each, the scales are as above
/// (0: the sizes' ratio). `adjoint`: the transposed map, from the output's sizes back; the result is in
/// `dtype`.
Tensor resample(const Tensor& self, std::string_view mode, IntArrayRef input_size, IntArrayRef output_size,
                IntArrayRef left, double scale_d, double scale_h, double scale_w, bool align_corners,
                bool adjoint, ScalarType dtype);

// --- Indexing (ops/indexing.cpp)
// -------------------------------------------------------------------------------
Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index);
Tensor index_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha = 1);
Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& index);
Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value);
Tensor scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);
/// Advanced indexing with int64 index tensors (bool masks are turned into them); an undefined entry takes
/// all.
Tensor index(const Tensor& self, const TensorList& indices);
Tensor index_put(const Tensor& self, const TensorList& indices, const Tensor& values,
                 bool accumulate = false);
Tensor& index_put_(Tensor& self, const TensorList& indices, const Tensor& values, bool accumulate = false);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);
/// The elements where the mask, which broadcasts, is true: one dimension. Waits for the device.
Tensor masked_select(const Tensor& self, const Tensor& mask);
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other);
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other);
Tensor nonzero(const Tensor& self);
std::tuple<Tensor, Tensor> topk(const Tensor& self, std::int64_t k, std::int64_t dim = -1,
                                bool largest = true, bool sorted = true);
std::tuple<Tensor, Tensor> sort(const Tensor& self, std::int64_t dim = -1, bool descending = false);
/// Indices (int64) that sort along dim.
Tensor argsort(const Tensor& self, std::int64_t dim = -1, bool descending = false);
/// For each element, how many of the sorted sequence are smaller (with `right`: not larger). A sequence of
/// several dimensions is searched row by row. Results are int64 or int32.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32 = false,
                    bool right = false);
/// One more dimension: 1 at the class, 0 elsewhere (int64). num_classes -1: largest class plus one.
Tensor one_hot(const Tensor& self, std::int64_t num_classes = -1);

// --- Softmax, embedding, dropout
// -------------------------------------------------------------------------------
Tensor softmax(const Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt);
Tensor log_softmax(const Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt);
Tensor embedding(const Tensor& weight, const Tensor& indices, std::int64_t padding_idx = -1,
                 bool scale_grad_by_freq = false, bool sparse = false);
Tensor dropout(const Tensor& input, double p, bool train);

// --- Convolution and pooling (ops/conv.cpp, ops/pool.cpp)
// ------------------------------------------------------
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, std::int64_t groups = 1);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, std::int64_t groups = 1);
Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
/// The maxima and where in its plane (y * width + x) each stood; int64.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1, bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<std::int64_t> divisor_override = std::nullopt);
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size);
Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size);

// --- Normalisation (ops/norm.cpp): weight and bias may be undefined
// --------------------------------------------
/// In training the running statistics, where given, are updated in place: running += momentum * (batch -
/// running).
Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps,
                  bool cudnn_enabled = true);
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps = 1e-5, bool cudnn_enable = true);
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape);
Tensor group_norm(const Tensor& input, std::int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps = 1e-5, bool cudnn_enabled = true);
/// eps defaults to the machine epsilon of what is computed in: float32's for half inputs.
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                std::optional<double> eps = std::nullopt);

// --- Attention (ops/attention.cpp)
// -----------------------------------------------------------------------------
/// softmax(q k^T * scale + mask) v over (..., L, E), (..., S, E), (..., S, Ev). A bool mask keeps where true;
/// a fully masked row gives zeros (PyTorch gives NaN).
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p = 0.0, bool is_causal = false,
                                    std::optional<double> scale = std::nullopt);

// --- Losses (ops/loss.cpp)
// -------------------------------------------------------------------------------------
Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction = Reduction::Mean);
Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction = Reduction::Mean);
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target,
                      Reduction::Reduction reduction = Reduction::Mean, double beta = 1.0);
Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction = Reduction::Mean,
                  double delta = 1.0);
/// self (N, C, ...), target int64 (N, ...) class indices or probabilities shaped like self; weight (C) or
/// undefined.
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                          Reduction::Reduction reduction = Reduction::Mean, std::int64_t ignore_index = -100,
                          double label_smoothing = 0.0);
Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                Reduction::Reduction reduction = Reduction::Mean, std::int64_t ignore_index = -100);
Tensor nll_loss(const Tensor& self, const Tensor& target);
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            Reduction::Reduction reduction = Reduction::Mean);
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight,
                                        Reduction::Reduction reduction = Reduction::Mean);
Tensor kl_div(const Tensor& self, const Tensor& target, Reduction::Reduction reduction = Reduction::Mean,
              bool log_target = false);

// --- Backward operators (used by gradient rules)
// ---------------------------------------------------------------
/// Zeros of `input_sizes` with `grad` where select, slice or diagonal would read.
Tensor select_backward(const Tensor& grad, IntArrayRef input_sizes, std::int64_t dim, std::int64_t index);
Tensor slice_backward(const Tensor& grad, IntArrayRef input_sizes, std::int64_t dim, std::int64_t start,
                      std::int64_t end, std::int64_t step);
Tensor diagonal_backward(const Tensor& grad, IntArrayRef input_sizes, std::int64_t offset, std::int64_t dim1,
                         std::int64_t dim2);
/// The gradient of as_strided: `grad` added up over the memory that the window (size, stride, `offset` from
/// the input's first element) shares with the input.
Tensor as_strided_backward(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides,
                           IntArrayRef size, IntArrayRef stride, std::int64_t offset);
/// alpha * self @ other in `dtype`, the batch dimensions summed in fp32 or repeated to `size`; rounded once.
Tensor matmul_to_size(const Tensor& self, const Tensor& other, IntArrayRef size, ScalarType dtype,
                      double alpha = 1);
Tensor softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType dtype);
Tensor log_softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t dim, ScalarType dtype);
/// The gradients of conv2d, on (N, C, H, W) and (O, C / groups, kh, kw) only, in `dtype`.
Tensor conv2d_backward_input(const Tensor& grad, const Tensor& weight, IntArrayRef input_size,
                             IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                             std::int64_t groups, ScalarType dtype);
Tensor conv2d_backward_weight(const Tensor& grad, const Tensor& input, IntArrayRef weight_size,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                              std::int64_t groups, ScalarType dtype);
/// The gradients of pooling over (N, C, H, W) or (C, H, W), in `dtype`. `indices`: the maxima's places in
/// their planes.
Tensor max_pool2d_backward(const Tensor& grad, const Tensor& indices, IntArrayRef input_size,
                           IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                           IntArrayRef dilation, bool ceil_mode, ScalarType dtype);
Tensor avg_pool2d_backward(const Tensor& grad, IntArrayRef input_size, IntArrayRef kernel_size,
                           IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                           std::optional<std::int64_t> divisor_override, ScalarType dtype);
Tensor adaptive_avg_pool2d_backward(const Tensor& grad, IntArrayRef input_size, ScalarType dtype);
/// The gradients of linear with respect to weight and bias, from one product: grad (..., out) transposed
/// times input
/// (..., in), and the sums of grad's columns. `transposed`: the first is (in, out) instead of (out, in).
std::tuple<Tensor, Tensor> linear_weight_backward(const Tensor& grad, const Tensor& input, ScalarType dtype,
                                                  bool transposed = false);
/// The gradients of the normalisations with respect to input, weight and bias, in the dtypes of input and
/// weight; those of an undefined weight are empty. `mean` and `rstd` are the input's, as forward found them;
/// undefined: found again.
std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& grad, const Tensor& input,
                                                       IntArrayRef normalized_shape, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& rstd, double eps);
std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& input,
                                             IntArrayRef normalized_shape, const Tensor& weight,
                                             const Tensor& rstd, double eps);
std::tuple<Tensor, Tensor, Tensor> group_norm_backward(const Tensor& grad, const Tensor& input,
                                                       std::int64_t num_groups, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& rstd, double eps);
/// Without `training`, mean and rstd are constants.
std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& grad, const Tensor& input,
                                                       const Tensor& weight, const Tensor& mean,
                                                       const Tensor& rstd, bool training, double eps);
/// The gradients of attention with respect to query, key, value and, if `mask_grad`, attn_mask (else empty),
/// in the operands' dtypes and the full batch that they broadcast to. `seed`, `offset`: where dropout drew.
std::vector<Tensor> scaled_dot_product_attention_backward(const Tensor& grad, const Tensor& query,
                                                          const Tensor& key, const Tensor& value,
                                                          const Tensor& attn_mask, bool mask_grad,
                                                          double dropout_p, bool is_causal, double scale,
                                                          std::int64_t seed, std::int64_t offset);
Tensor cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                              const Tensor& weight, Reduction::Reduction reduction, std::int64_t ignore_index,
                              double label_smoothing);
Tensor nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                         Reduction::Reduction reduction, std::int64_t ignore_index);
/// For self, of the loss named `loss` ("mse_loss", ...; "kl_div_log_target" for kl_div of logarithms),
/// `parameter` being its beta or delta.
Tensor element_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                             const Tensor& weight, const Tensor& pos_weight, std::string_view loss,
                             Reduction::Reduction reduction, double parameter = 0);
/// Dropout with the mask at block `offset` of the stream `seed`: its own gradient.
Tensor philox_dropout(const Tensor& input, double p, std::int64_t seed, std::int64_t offset);
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t num_weights,
                          std::int64_t padding_idx, bool scale_grad_by_freq);

// --- Random numbers in place (ops/random.cpp)
// ------------------------------------------------------------------
/// Uniform on [from, to).
Tensor& uniform_(Tensor& self, double from = 0, double to = 1,
                 std::optional<Generator> generator = std::nullopt);
/// Normal, with this mean and standard deviation.
Tensor& normal_(Tensor& self, double mean = 0, double std = 1,
                std::optional<Generator> generator = std::nullopt);
/// 1 with probability p, 0 otherwise.
Tensor& bernoulli_(Tensor& self, double p = 0.5, std::optional<Generator> generator = std::nullopt);
/// 1 with the probability that the element says, 0 otherwise.
Tensor bernoulli(const Tensor& self, std::optional<Generator> generator = std::nullopt);
/// Integers in [from, to).
Tensor& random_(Tensor& self, std::int64_t from, std::int64_t to,
                std::optional<Generator> generator = std::nullopt);
/// Indices (int64) drawn with the weights in each row: (num_samples) or (N, num_samples). Throws Error when
/// there are too few to draw without replacement.
Tensor multinomial(const Tensor& self, std::int64_t num_samples, bool replacement = false,
                   std::optional<Generator> generator = std::nullopt);

// --- In place: `self` is overwritten with the operator's result
// ------------------------------------------------
Tensor& add_(Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor& add_(Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor& sub_(Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor& sub_(Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor& mul_(Tensor& self, const Tensor& other);
Tensor& mul_(Tensor& self, const Scalar& other);
Tensor& div_(Tensor& self, const Tensor& other);
Tensor& div_(Tensor& self, const Scalar& other);
Tensor& pow_(Tensor& self, const Tensor& exponent);
Tensor& pow_(Tensor& self, const Scalar& exponent);
Tensor& lerp_(Tensor& self, const Tensor& end, const Scalar& weight);
Tensor& addcmul_(Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1);
Tensor& addcdiv_(Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1);
Tensor& neg_(Tensor& self);
Tensor& abs_(Tensor& self);
Tensor& reciprocal_(Tensor& self);
Tensor& square_(Tensor& self);
Tensor& sqrt_(Tensor& self);
Tensor& rsqrt_(Tensor& self);
Tensor& exp_(Tensor& self);
Tensor& log_(Tensor& self);
Tensor& sin_(Tensor& self);
Tensor& cos_(Tensor& self);
Tensor& exp2_(Tensor& self);
Tensor& expm1_(Tensor& self);
Tensor& log2_(Tensor& self);
Tensor& log10_(Tensor& self);
Tensor& log1p_(Tensor& self);
Tensor& tan_(Tensor& self);
Tensor& asin_(Tensor& self);
Tensor& acos_(Tensor& self);
Tensor& atan_(Tensor& self);
Tensor& sinh_(Tensor& self);
Tensor& cosh_(Tensor& self);
Tensor& erf_(Tensor& self);
Tensor& erfc_(Tensor& self);
Tensor& sign_(Tensor& self);
Tensor& trunc_(Tensor& self);
Tensor& frac_(Tensor& self);
Tensor& silu_(Tensor& self);
Tensor& hardtanh_(Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor& elu_(Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1);
/// Another shape for the same data, held by the same tensor object. Throw Error on a tensor with a gradient
/// history.
Tensor& squeeze_(Tensor& self);
Tensor& squeeze_(Tensor& self, std::int64_t dim);
Tensor& unsqueeze_(Tensor& self, std::int64_t dim);
Tensor& transpose_(Tensor& self, std::int64_t dim0, std::int64_t dim1);
Tensor& t_(Tensor& self);
Tensor& floor_(Tensor& self);
Tensor& ceil_(Tensor& self);
Tensor& round_(Tensor& self);
Tensor& clamp_(Tensor& self, const std::optional<Scalar>& min = std::nullopt,
               const std::optional<Scalar>& max = std::nullopt);
Tensor& clamp_min_(Tensor& self, const Scalar& min);
Tensor& clamp_max_(Tensor& self, const Scalar& max);
Tensor& relu_(Tensor& self);
Tensor& leaky_relu_(Tensor& self, const Scalar& negative_slope = 0.01);
Tensor& sigmoid_(Tensor& self);
Tensor& tanh_(Tensor& self);
Tensor& masked_fill_(Tensor& self, const Tensor& mask, const Scalar& value);
Tensor& index_add_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha = 1);
Tensor& scatter_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);
Tensor& scatter_(Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value);
Tensor& scatter_add_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);
Tensor& dropout_(Tensor& self, double p, bool train);

}  // namespace halftone
