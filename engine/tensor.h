#pragma once

#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/engine/accessor.h"
#include "halftone/engine/composed_functions.h"
#include "halftone/engine/indexing.h"
#include "halftone/engine/tensor_impl.h"

namespace halftone {

namespace autograd {
class Node;
}
namespace cuda {
class Stream;
}

/// A multi-dimensional array: a handle that shares its data when copied. Undefined when default-constructed.
/// Methods follow libtorch's `at::Tensor`; what an operator does is documented at its function in
/// functions.h.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::nullopt_t) {}
  explicit Tensor(IntrusivePtr<TensorImpl> impl) : impl_(std::move(impl)) {}

  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  /// A named tensor is rebound to the other's data...
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// ...but a temporary view is written into: `x[0] = y`, `x.select(1, 2) = 0.5`. Recorded for autograd.
  Tensor& operator=(const Tensor& value) && { return copy_(value); }
  Tensor& operator=(Tensor&& value) && { return copy_(value); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // --- What it is ---
  /// False for a handle of no tensor.
  bool defined() const { return static_cast<bool>(impl_); }
  /// The only element, not 0. Throws Error unless there is exactly one. Waits for the device.
  explicit operator bool() const { return item<bool>(); }
  /// Same underlying tensor object.
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  /// The tensor object behind the handle, or null.
  /// @{
  TensorImpl* unsafe_impl() const { return impl_.get(); }
  const IntrusivePtr<TensorImpl>& impl_ptr() const { return impl_; }
  /// @}
  /// Lets go of it: undefined afterwards.
  void reset() { impl_.reset(); }

  /// Number of dimensions, 0 for a number.
  /// @{
  std::int64_t dim() const { return static_cast<std::int64_t>(impl().sizes.size()); }
  std::int64_t ndimension() const { return dim(); }
  /// @}
  /// One size per dimension. It must not outlive the tensor.
  IntArrayRef sizes() const { return impl().sizes; }
  /// Distance of neighbours in each dimension, in elements.
  IntArrayRef strides() const { return impl().strides; }
  /// Of one dimension, counted from the end if negative. Throws Error when there is no such dimension: a 0-d
  /// tensor has none.
  /// @{
  std::int64_t size(std::int64_t d) const { return impl().sizes[own_dim("size", d)]; }
  std::int64_t stride(std::int64_t d) const { return impl().strides[own_dim("stride", d)]; }
  /// @}
  /// Number of elements.
  std::int64_t numel() const { return impl().numel; }
  /// Elements between the start of the memory and the tensor's first.
  std::int64_t storage_offset() const { return impl().offset; }
  /// Bytes of its elements, without gaps between them.
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * element_size(); }
  /// Bytes of one element.
  /// @{
  std::size_t element_size() const { return halftone::element_size(scalar_type()); }
  std::int64_t itemsize() const { return static_cast<std::int64_t>(element_size()); }
  /// @}
  /// The element type.
  /// @{
  ScalarType scalar_type() const { return impl().dtype; }
  ScalarType dtype() const { return impl().dtype; }
  /// @}
  /// Where its memory is.
  Device device() const { return impl().storage->device(); }
  /// In host memory.
  bool is_cpu() const { return device().is_cpu(); }
  /// In the memory of a CUDA device.
  bool is_cuda() const { return device().is_cuda(); }
  /// The elements lie in row-major order without gaps.
  bool is_contiguous() const { return impl().is_contiguous; }
  /// Throws Error for a channels-last format, which halftone does not have.
  bool is_contiguous(MemoryFormat format) const {
    check_memory_format("is_contiguous", format);
    return is_contiguous();
  }
  /// float16, bfloat16, float32 or float64.
  bool is_floating_point() const { return halftone::is_floating_point(scalar_type()); }
  /// Its dtype and device, for making others like it.
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  /// Always kStrided: halftone has no other.
  Layout layout() const { return kStrided; }
  /// The number of its CUDA device, -1 on the CPU.
  std::int64_t get_device() const { return is_cpu() ? -1 : device().index(); }
  /// For programs that ask: tensors are neither complex nor sparse, have no names, and storage where defined.
  /// @{
  bool is_complex() const { return false; }
  bool is_sparse() const { return false; }
  bool has_storage() const { return defined(); }
  bool has_names() const { return false; }
  /// @}
  /// Handles of this tensor, this one included.
  std::size_t use_count() const { return impl_ ? impl_->use_count() : 0; }
  /// Shares memory with `other`.
  bool is_alias_of(const Tensor& other) const { return &storage() == &other.storage(); }
  /// The memory, which views share.
  Storage& storage() const { return *impl().storage; }
  /// How often the memory was written in place.
  std::uint32_t _version() const { return storage().version(); }
  std::string toString() const;  ///< "CPUFloatType", "CUDAHalfType", ...
  void print() const;            ///< "[CPUFloatType [2, 3]]" to the standard error stream

  // --- Its data ---
  /// Pointer to the first element, in the memory of the tensor's device; strides say where the others are.
  void* data_ptr() const { return impl().data(); }
  /// Throws Error unless T is the element type.
  template <class T>
  T* data_ptr() const {
    if (dtype_of<T> != scalar_type())
      fail("data_ptr", "asked for ", dtype_of<T>, " of a tensor of ", scalar_type());
    return reinterpret_cast<T*>(impl().data());
  }
  /// The same for reading.
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  /// Element by element, fast: `auto a = x.accessor<float, 2>(); a[i][j]`. Throws Error unless T and N are
  /// the tensor's.
  template <class T, std::size_t N>
  TensorAccessor<T, N> accessor() const {
    if (dim() != static_cast<std::int64_t>(N)) fail("accessor", "asked for ", N, " dimensions of ", *this);
    if (is_cuda())
      fail("accessor", *this, " is on ", device(), ", where the host cannot read; call cpu() first");
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  /// The only element. Throws Error unless there is exactly one. Waits for the device.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().template to<T>();
  }

  // --- Autograd (autograd/tensor_autograd.cpp) ---
  /// A leaf that takes gradients, or a result that has a history.
  bool requires_grad() const;
  /// Throws Error on integers and on results of operators.
  const Tensor& requires_grad_(bool requires_grad = true) const;
  /// The same as requires_grad_().
  Tensor& set_requires_grad(bool requires_grad);
  /// Not made by a recorded operator.
  bool is_leaf() const;
  /// The recorded operator that made the tensor; null for leaves.
  IntrusivePtr<autograd::Node> grad_fn() const;
  /// The accumulated gradient; undefined before backward. mutable_grad() can be assigned to.
  /// @{
  Tensor& mutable_grad() const;
  const Tensor& grad() const;
  /// @}
  /// Accumulates the gradients of this tensor into the leaves it depends on; see autograd::backward.
  /// `gradient`: what to start from, 1 for a tensor of one element by default.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false) const;
  /// The same data, outside the graph.
  Tensor detach() const;
  /// Takes this tensor itself out of the graph.
  Tensor& detach_();
  /// The same as detach().
  /// @{
  Tensor data() const { return detach(); }
  Tensor tensor_data() const { return detach(); }
  Tensor variable_data() const { return detach(); }
  /// @}
  /// Which result of grad_fn() it is.
  std::uint32_t output_nr() const { return impl().output_nr; }
  /// Replaces what this tensor's data is (storage, sizes, dtype), keeping identity, gradient and hooks.
  void set_data(const Tensor& new_data) const;
  /// Makes this tensor a window on `source`'s memory.
  Tensor& set_(const Tensor& source) const {
    set_data(source);
    return const_cast<Tensor&>(*this);
  }
  /// Keeps the gradient of a result too, in grad(). Throws Error when it requires none.
  void retain_grad() const;
  /// Whether retain_grad() was called on a result.
  bool retains_grad() const;
  /// Made by an operator that shares its input's memory, and recorded as such.
  bool is_view() const { return static_cast<bool>(impl().view_base); }
  /// Runs on this tensor's gradient during backward; a defined result replaces it. Returns the hook's number.
  unsigned register_hook(std::function<Tensor(Tensor)> hook) const;
  template <class F>
  requires std::is_void_v<std::invoke_result_t<F, Tensor>>
  unsigned register_hook(F hook) const {
    return register_hook(std::function<Tensor(Tensor)>([hook = std::move(hook)](Tensor grad) mutable {
      hook(std::move(grad));
      return Tensor();
    }));
  }
  /// Takes the hook of that number off again.
  void remove_hook(unsigned number) const;

  // --- Indexing (ops/indexing.cpp) ---
  /// A view of row `index`. Throws Error when there is none.
  Tensor operator[](std::int64_t index) const { return select(0, index); }
  /// The rows that an index tensor names, or the elements that a mask holds: index({index}).
  Tensor operator[](const Tensor& index) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(const std::vector<indexing::TensorIndex>& indices) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value);
  Tensor& index_put_(const std::vector<indexing::TensorIndex>& indices, const Tensor& values);

  // --- Conversion ---
  /// In another dtype or on another device, recorded for autograd; the tensor itself when nothing changes and
  /// not `copy`. A copy to the host waits for the device; non_blocking: one from page-locked host memory lets
  /// the host go on.
  /// @{
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(DeviceType device) const { return to(Device(device)); }
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  Tensor to(const Tensor& other) const { return to(other.device(), other.scalar_type()); }
  Tensor toType(ScalarType dtype) const { return to(dtype); }
  Tensor type_as(const Tensor& other) const { return to(other); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  /// @}
  Tensor pin_memory() const { return halftone::pin_memory(*this); }
  /// In page-locked host memory, which a CUDA device copies from without waiting.
  bool is_pinned() const;
  /// The memory is in use on `stream` too: after this tensor is gone it is handed out again only when that
  /// stream has passed this point.
  void record_stream(const cuda::Stream& stream) const;

  // --- Operators as methods ---
  /// In float16: to(kHalf).
  Tensor half() const { return to(kHalf); }
  Tensor clone() const { return halftone::clone(*this); }
  Tensor clone(std::optional<MemoryFormat> format) const {
    check_memory_format("clone", format.value_or(MemoryFormat::Preserve));
    return clone();
  }
  Tensor contiguous() const { return halftone::contiguous(*this); }
  Tensor contiguous(MemoryFormat format) const {
    check_memory_format("contiguous", format);
    return contiguous();
  }
  Tensor& copy_(const Tensor& src, bool non_blocking = false) const {
    return halftone::copy_(const_cast<Tensor&>(*this), src, non_blocking);
  }
  Tensor& fill_(const Scalar& value) const { return halftone::fill_(const_cast<Tensor&>(*this), value); }
  Tensor& fill_(const Tensor& value) const { return halftone::fill_(const_cast<Tensor&>(*this), value); }
  Tensor& zero_() const { return halftone::zero_(const_cast<Tensor&>(*this)); }
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const {
    return halftone::add(*this, other, alpha);
  }
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const {
    return halftone::add(*this, other, alpha);
  }
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const {
    return halftone::sub(*this, other, alpha);
  }
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const {
    return halftone::sub(*this, other, alpha);
  }
  Tensor mul(const Tensor& other) const { return halftone::mul(*this, other); }
  Tensor mul(const Scalar& other) const { return halftone::mul(*this, other); }
  Tensor div(const Tensor& other) const { return halftone::div(*this, other); }
  Tensor div(const Scalar& other) const { return halftone::div(*this, other); }
  Tensor div(const Tensor& other, std::optional<std::string_view> rounding_mode) const {
    return halftone::div(*this, other, rounding_mode);
  }
  Tensor floor_divide(const Tensor& other) const { return halftone::floor_divide(*this, other); }
  Tensor floor_divide(const Scalar& other) const { return halftone::floor_divide(*this, other); }
  Tensor remainder(const Tensor& other) const { return halftone::remainder(*this, other); }
  Tensor remainder(const Scalar& other) const { return halftone::remainder(*this, other); }
  Tensor fmod(const Tensor& other) const { return halftone::fmod(*this, other); }
  Tensor fmod(const Scalar& other) const { return halftone::fmod(*this, other); }
  Tensor pow(const Tensor& exponent) const { return halftone::pow(*this, exponent); }
  Tensor pow(const Scalar& exponent) const { return halftone::pow(*this, exponent); }
  Tensor maximum(const Tensor& other) const { return halftone::maximum(*this, other); }
  Tensor minimum(const Tensor& other) const { return halftone::minimum(*this, other); }
  Tensor atan2(const Tensor& other) const { return halftone::atan2(*this, other); }
  Tensor lerp(const Tensor& end, const Scalar& weight) const { return halftone::lerp(*this, end, weight); }
  Tensor lerp(const Tensor& end, const Tensor& weight) const { return halftone::lerp(*this, end, weight); }
  Tensor addcmul(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const {
    return halftone::addcmul(*this, tensor1, tensor2, value);
  }
  Tensor addcdiv(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const {
    return halftone::addcdiv(*this, tensor1, tensor2, value);
  }
  Tensor eq(const Tensor& other) const { return halftone::eq(*this, other); }
  Tensor eq(const Scalar& other) const { return halftone::eq(*this, other); }
  Tensor ne(const Tensor& other) const { return halftone::ne(*this, other); }
  Tensor ne(const Scalar& other) const { return halftone::ne(*this, other); }
  Tensor lt(const Tensor& other) const { return halftone::lt(*this, other); }
  Tensor lt(const Scalar& other) const { return halftone::lt(*this, other); }
  Tensor le(const Tensor& other) const { return halftone::le(*this, other); }
  Tensor le(const Scalar& other) const { return halftone::le(*this, other); }
  Tensor gt(const Tensor& other) const { return halftone::gt(*this, other); }
  Tensor gt(const Scalar& other) const { return halftone::gt(*this, other); }
  Tensor ge(const Tensor& other) const { return halftone::ge(*this, other); }
  Tensor ge(const Scalar& other) const { return halftone::ge(*this, other); }
  Tensor logical_and(const Tensor& other) const { return halftone::logical_and(*this, other); }
  Tensor logical_or(const Tensor& other) const { return halftone::logical_or(*this, other); }
  Tensor logical_xor(const Tensor& other) const { return halftone::logical_xor(*this, other); }
  Tensor logical_not() const { return halftone::logical_not(*this); }
  Tensor bitwise_and(const Tensor& other) const { return halftone::bitwise_and(*this, other); }
  Tensor bitwise_or(const Tensor& other) const { return halftone::bitwise_or(*this, other); }
  Tensor bitwise_xor(const Tensor& other) const { return halftone::bitwise_xor(*this, other); }
  Tensor bitwise_not() const { return halftone::bitwise_not(*this); }
  Tensor isnan() const { return halftone::isnan(*this); }
  Tensor isinf() const { return halftone::isinf(*this); }
  Tensor isfinite() const { return halftone::isfinite(*this); }
  bool equal(const Tensor& other) const { return halftone::equal(*this, other); }
  bool allclose(const Tensor& other, double rtol = 1e-05, double atol = 1e-08, bool equal_nan = false) const {
    return halftone::allclose(*this, other, rtol, atol, equal_nan);
  }
  Tensor isclose(const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
                 bool equal_nan = false) const {
    return halftone::isclose(*this, other, rtol, atol, equal_nan);
  }
  Tensor neg() const { return halftone::neg(*this); }
  Tensor abs() const { return halftone::abs(*this); }
  Tensor sign() const { return halftone::sign(*this); }
  Tensor reciprocal() const { return halftone::reciprocal(*this); }
  Tensor square() const { return halftone::square(*this); }
  Tensor sqrt() const { return halftone::sqrt(*this); }
  Tensor rsqrt() const { return halftone::rsqrt(*this); }
  Tensor exp() const { return halftone::exp(*this); }
  Tensor exp2() const { return halftone::exp2(*this); }
  Tensor expm1() const { return halftone::expm1(*this); }
  Tensor log() const { return halftone::log(*this); }
  Tensor log2() const { return halftone::log2(*this); }
  Tensor log10() const { return halftone::log10(*this); }
  Tensor log1p() const { return halftone::log1p(*this); }
  Tensor sin() const { return halftone::sin(*this); }
  Tensor cos() const { return halftone::cos(*this); }
  Tensor tan() const { return halftone::tan(*this); }
  Tensor asin() const { return halftone::asin(*this); }
  Tensor acos() const { return halftone::acos(*this); }
  Tensor atan() const { return halftone::atan(*this); }
  Tensor sinh() const { return halftone::sinh(*this); }
  Tensor cosh() const { return halftone::cosh(*this); }
  Tensor erf() const { return halftone::erf(*this); }
  Tensor erfc() const { return halftone::erfc(*this); }
  Tensor floor() const { return halftone::floor(*this); }
  Tensor ceil() const { return halftone::ceil(*this); }
  Tensor round() const { return halftone::round(*this); }
  Tensor trunc() const { return halftone::trunc(*this); }
  Tensor frac() const { return halftone::frac(*this); }
  Tensor clamp(const std::optional<Scalar>& min = std::nullopt,
               const std::optional<Scalar>& max = std::nullopt) const {
    return halftone::clamp(*this, min, max);
  }
  Tensor clamp_min(const Scalar& min) const { return halftone::clamp_min(*this, min); }
  Tensor clamp_max(const Scalar& max) const { return halftone::clamp_max(*this, max); }
  Tensor nan_to_num(std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
                    std::optional<double> neginf = std::nullopt) const {
    return halftone::nan_to_num(*this, nan, posinf, neginf);
  }
  Tensor relu() const { return halftone::relu(*this); }
  Tensor leaky_relu(const Scalar& negative_slope = 0.01) const {
    return halftone::leaky_relu(*this, negative_slope);
  }
  Tensor sigmoid() const { return halftone::sigmoid(*this); }
  Tensor tanh() const { return halftone::tanh(*this); }
  Tensor hardtanh(const Scalar& min_val = -1, const Scalar& max_val = 1) const {
    return halftone::hardtanh(*this, min_val, max_val);
  }
  Tensor sum(OptionalDtype dtype = std::nullopt) const { return halftone::sum(*this, dtype); }
  Tensor sum(IntArrayRef dim, bool keepdim = false, OptionalDtype dtype = std::nullopt) const {
    return halftone::sum(*this, dim, keepdim, dtype);
  }
  Tensor mean(OptionalDtype dtype = std::nullopt) const { return halftone::mean(*this, dtype); }
  Tensor mean(IntArrayRef dim, bool keepdim = false, OptionalDtype dtype = std::nullopt) const {
    return halftone::mean(*this, dim, keepdim, dtype);
  }
  Tensor prod(OptionalDtype dtype = std::nullopt) const { return halftone::prod(*this, dtype); }
  Tensor prod(std::int64_t dim, bool keepdim = false, OptionalDtype dtype = std::nullopt) const {
    return halftone::prod(*this, dim, keepdim, dtype);
  }
  Tensor var(bool unbiased = true) const { return halftone::var(*this, unbiased); }
  Tensor var(IntArrayRef dim, bool unbiased = true, bool keepdim = false) const {
    return halftone::var(*this, dim, unbiased, keepdim);
  }
  Tensor std(bool unbiased = true) const { return halftone::std(*this, unbiased); }
  Tensor std(IntArrayRef dim, bool unbiased = true, bool keepdim = false) const {
    return halftone::std(*this, dim, unbiased, keepdim);
  }
  Tensor norm(const Scalar& p = 2) const { return halftone::norm(*this, p); }
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) const {
    return halftone::norm(*this, p, dim, keepdim);
  }
  Tensor max() const { return halftone::max(*this); }
  Tensor min() const { return halftone::min(*this); }
  std::tuple<Tensor, Tensor> max(std::int64_t dim, bool keepdim = false) const {
    return halftone::max(*this, dim, keepdim);
  }
  std::tuple<Tensor, Tensor> min(std::int64_t dim, bool keepdim = false) const {
    return halftone::min(*this, dim, keepdim);
  }
  Tensor max(const Tensor& other) const { return halftone::max(*this, other); }
  Tensor min(const Tensor& other) const { return halftone::min(*this, other); }
  Tensor amax(IntArrayRef dim = {}, bool keepdim = false) const {
    return halftone::amax(*this, dim, keepdim);
  }
  Tensor amin(IntArrayRef dim = {}, bool keepdim = false) const {
    return halftone::amin(*this, dim, keepdim);
  }
  Tensor argmax(std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false) const {
    return halftone::argmax(*this, dim, keepdim);
  }
  Tensor argmin(std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false) const {
    return halftone::argmin(*this, dim, keepdim);
  }
  Tensor logsumexp(IntArrayRef dim, bool keepdim = false) const {
    return halftone::logsumexp(*this, dim, keepdim);
  }
  Tensor cumsum(std::int64_t dim, OptionalDtype dtype = std::nullopt) const {
    return halftone::cumsum(*this, dim, dtype);
  }
  Tensor all() const { return halftone::all(*this); }
  Tensor all(std::int64_t dim, bool keepdim = false) const { return halftone::all(*this, dim, keepdim); }
  Tensor any() const { return halftone::any(*this); }
  Tensor any(std::int64_t dim, bool keepdim = false) const { return halftone::any(*this, dim, keepdim); }
  Tensor count_nonzero() const { return halftone::count_nonzero(*this); }
  Tensor sum_to_size(IntArrayRef size) const { return halftone::sum_to_size(*this, size); }
  Tensor mm(const Tensor& mat2) const { return halftone::mm(*this, mat2); }
  Tensor bmm(const Tensor& mat2) const { return halftone::bmm(*this, mat2); }
  Tensor matmul(const Tensor& other) const { return halftone::matmul(*this, other); }
  Tensor mv(const Tensor& vec) const { return halftone::mv(*this, vec); }
  Tensor dot(const Tensor& other) const { return halftone::dot(*this, other); }
  Tensor outer(const Tensor& vec2) const { return halftone::outer(*this, vec2); }
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
               const Scalar& alpha = 1) const {
    return halftone::addmm(*this, mat1, mat2, beta, alpha);
  }
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const {
    return halftone::baddbmm(*this, batch1, batch2, beta, alpha);
  }
  Tensor view(IntArrayRef size) const { return halftone::view(*this, size); }
  Tensor reshape(IntArrayRef shape) const { return halftone::reshape(*this, shape); }
  Tensor as_strided(IntArrayRef size, IntArrayRef stride,
                    std::optional<std::int64_t> storage_offset = std::nullopt) const {
    return halftone::as_strided(*this, size, stride, storage_offset);
  }
  Tensor transpose(std::int64_t dim0, std::int64_t dim1) const {
    return halftone::transpose(*this, dim0, dim1);
  }
  Tensor t() const { return halftone::t(*this); }
  /// All dimensions in reverse order.
  Tensor T() const;
  /// The last two dimensions exchanged. mH, H (of a matrix) and adjoint conjugate complex tensors too;
  /// halftone's are real.
  /// @{
  Tensor mT() const { return transpose(-2, -1); }
  Tensor mH() const { return mT(); }
  Tensor H() const { return t(); }
  Tensor adjoint() const { return mT(); }
  /// @}
  Tensor permute(IntArrayRef dims) const { return halftone::permute(*this, dims); }
  Tensor movedim(std::int64_t source, std::int64_t destination) const {
    return halftone::movedim(*this, source, destination);
  }
  Tensor expand(IntArrayRef size, bool implicit = false) const {
    return halftone::expand(*this, size, implicit);
  }
  Tensor expand_as(const Tensor& other) const { return halftone::expand_as(*this, other); }
  Tensor squeeze() const { return halftone::squeeze(*this); }
  Tensor squeeze(std::int64_t dim) const { return halftone::squeeze(*this, dim); }
  Tensor unsqueeze(std::int64_t dim) const { return halftone::unsqueeze(*this, dim); }
  Tensor flatten(std::int64_t start_dim = 0, std::int64_t end_dim = -1) const {
    return halftone::flatten(*this, start_dim, end_dim);
  }
  Tensor unflatten(std::int64_t dim, IntArrayRef sizes) const {
    return halftone::unflatten(*this, dim, sizes);
  }
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
    return halftone::narrow(*this, dim, start, length);
  }
  Tensor select(std::int64_t dim, std::int64_t index) const { return halftone::select(*this, dim, index); }
  Tensor slice(std::int64_t dim = 0, std::optional<std::int64_t> start = std::nullopt,
               std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1) const {
    return halftone::slice(*this, dim, start, end, step);
  }
  Tensor diagonal(std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1) const {
    return halftone::diagonal(*this, offset, dim1, dim2);
  }
  std::vector<Tensor> split(std::int64_t split_size, std::int64_t dim = 0) const {
    return halftone::split(*this, split_size, dim);
  }
  std::vector<Tensor> split(IntArrayRef split_sizes, std::int64_t dim = 0) const {
    return halftone::split(*this, split_sizes, dim);
  }
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t dim = 0) const {
    return halftone::chunk(*this, chunks, dim);
  }
  std::vector<Tensor> unbind(std::int64_t dim = 0) const { return halftone::unbind(*this, dim); }
  Tensor flip(IntArrayRef dims) const { return halftone::flip(*this, dims); }
  Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) const { return halftone::roll(*this, shifts, dims); }
  Tensor repeat(IntArrayRef repeats) const { return halftone::repeat(*this, repeats); }
  Tensor repeat_interleave(std::int64_t repeats, std::optional<std::int64_t> dim = std::nullopt) const {
    return halftone::repeat_interleave(*this, repeats, dim);
  }
  Tensor repeat_interleave(const Tensor& repeats, std::optional<std::int64_t> dim = std::nullopt) const {
    return halftone::repeat_interleave(*this, repeats, dim);
  }
  Tensor tril(std::int64_t diagonal = 0) const { return halftone::tril(*this, diagonal); }
  Tensor triu(std::int64_t diagonal = 0) const { return halftone::triu(*this, diagonal); }
  Tensor index_select(std::int64_t dim, const Tensor& index) const {
    return halftone::index_select(*this, dim, index);
  }
  Tensor index_add(std::int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha = 1) const {
    return halftone::index_add(*this, dim, index, source, alpha);
  }
  Tensor gather(std::int64_t dim, const Tensor& index) const { return halftone::gather(*this, dim, index); }
  Tensor scatter(std::int64_t dim, const Tensor& index, const Tensor& src) const {
    return halftone::scatter(*this, dim, index, src);
  }
  Tensor scatter(std::int64_t dim, const Tensor& index, const Scalar& value) const {
    return halftone::scatter(*this, dim, index, value);
  }
  Tensor scatter_add(std::int64_t dim, const Tensor& index, const Tensor& src) const {
    return halftone::scatter_add(*this, dim, index, src);
  }
  Tensor index(const TensorList& indices) const { return halftone::index(*this, indices); }
  Tensor index_put(const TensorList& indices, const Tensor& values, bool accumulate = false) const {
    return halftone::index_put(*this, indices, values, accumulate);
  }
  Tensor& index_put_(const TensorList& indices, const Tensor& values, bool accumulate = false) const {
    return halftone::index_put_(const_cast<Tensor&>(*this), indices, values, accumulate);
  }
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const {
    return halftone::masked_fill(*this, mask, value);
  }
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const {
    return halftone::masked_fill(*this, mask, value);
  }
  Tensor masked_select(const Tensor& mask) const { return halftone::masked_select(*this, mask); }
  Tensor nonzero() const { return halftone::nonzero(*this); }
  std::tuple<Tensor, Tensor> topk(std::int64_t k, std::int64_t dim = -1, bool largest = true,
                                  bool sorted = true) const {
    return halftone::topk(*this, k, dim, largest, sorted);
  }
  std::tuple<Tensor, Tensor> sort(std::int64_t dim = -1, bool descending = false) const {
    return halftone::sort(*this, dim, descending);
  }
  Tensor argsort(std::int64_t dim = -1, bool descending = false) const {
    return halftone::argsort(*this, dim, descending);
  }
  Tensor softmax(std::int64_t dim, OptionalDtype dtype = std::nullopt) const {
    return halftone::softmax(*this, dim, dtype);
  }
  Tensor log_softmax(std::int64_t dim, OptionalDtype dtype = std::nullopt) const {
    return halftone::log_softmax(*this, dim, dtype);
  }
  Tensor absolute() const { return halftone::absolute(*this); }
  Tensor negative() const { return halftone::negative(*this); }
  Tensor positive() const { return halftone::positive(*this); }
  Tensor sgn() const { return halftone::sgn(*this); }
  Tensor fix() const { return halftone::fix(*this); }
  Tensor arccos() const { return halftone::arccos(*this); }
  Tensor arcsin() const { return halftone::arcsin(*this); }
  Tensor arctan() const { return halftone::arctan(*this); }
  Tensor arctan2(const Tensor& other) const { return halftone::arctan2(*this, other); }
  Tensor clip(const std::optional<Scalar>& min = std::nullopt,
              const std::optional<Scalar>& max = std::nullopt) const {
    return halftone::clip(*this, min, max);
  }
  Tensor subtract(const Tensor& other, const Scalar& alpha = 1) const {
    return halftone::subtract(*this, other, alpha);
  }
  Tensor subtract(const Scalar& other, const Scalar& alpha = 1) const {
    return halftone::subtract(*this, other, alpha);
  }
  Tensor multiply(const Tensor& other) const { return halftone::multiply(*this, other); }
  Tensor multiply(const Scalar& other) const { return halftone::multiply(*this, other); }
  Tensor divide(const Tensor& other) const { return halftone::divide(*this, other); }
  Tensor divide(const Scalar& other) const { return halftone::divide(*this, other); }
  Tensor divide(const Tensor& other, std::optional<std::string_view> rounding_mode) const {
    return halftone::divide(*this, other, rounding_mode);
  }
  Tensor true_divide(const Tensor& other) const { return halftone::true_divide(*this, other); }
  Tensor true_divide(const Scalar& other) const { return halftone::true_divide(*this, other); }
  Tensor greater(const Tensor& other) const { return halftone::greater(*this, other); }
  Tensor greater(const Scalar& other) const { return halftone::greater(*this, other); }
  Tensor greater_equal(const Tensor& other) const { return halftone::greater_equal(*this, other); }
  Tensor greater_equal(const Scalar& other) const { return halftone::greater_equal(*this, other); }
  Tensor less(const Tensor& other) const { return halftone::less(*this, other); }
  Tensor less(const Scalar& other) const { return halftone::less(*this, other); }
  Tensor less_equal(const Tensor& other) const { return halftone::less_equal(*this, other); }
  Tensor less_equal(const Scalar& other) const { return halftone::less_equal(*this, other); }
  Tensor not_equal(const Tensor& other) const { return halftone::not_equal(*this, other); }
  Tensor not_equal(const Scalar& other) const { return halftone::not_equal(*this, other); }
  Tensor swapaxes(std::int64_t axis0, std::int64_t axis1) const {
    return halftone::swapaxes(*this, axis0, axis1);
  }
  Tensor swapdims(std::int64_t dim0, std::int64_t dim1) const {
    return halftone::swapdims(*this, dim0, dim1);
  }
  Tensor moveaxis(std::int64_t source, std::int64_t destination) const {
    return halftone::moveaxis(*this, source, destination);
  }
  Tensor ger(const Tensor& vec2) const { return halftone::ger(*this, vec2); }
  Tensor broadcast_to(IntArrayRef size) const { return halftone::broadcast_to(*this, size); }
  Tensor tile(IntArrayRef dims) const { return halftone::tile(*this, dims); }
  std::vector<Tensor> tensor_split(std::int64_t sections, std::int64_t dim = 0) const {
    return halftone::tensor_split(*this, sections, dim);
  }
  std::vector<Tensor> tensor_split(IntArrayRef indices, std::int64_t dim = 0) const {
    return halftone::tensor_split(*this, indices, dim);
  }
  std::vector<Tensor> hsplit(std::int64_t sections) const { return halftone::hsplit(*this, sections); }
  std::vector<Tensor> hsplit(IntArrayRef indices) const { return halftone::hsplit(*this, indices); }
  std::vector<Tensor> vsplit(std::int64_t sections) const { return halftone::vsplit(*this, sections); }
  std::vector<Tensor> vsplit(IntArrayRef indices) const { return halftone::vsplit(*this, indices); }
  std::vector<Tensor> dsplit(std::int64_t sections) const { return halftone::dsplit(*this, sections); }
  std::vector<Tensor> dsplit(IntArrayRef indices) const { return halftone::dsplit(*this, indices); }
  std::vector<Tensor> split_with_sizes(IntArrayRef split_sizes, std::int64_t dim = 0) const {
    return halftone::split_with_sizes(*this, split_sizes, dim);
  }
  Tensor movedim(IntArrayRef source, IntArrayRef destination) const {
    return halftone::movedim(*this, source, destination);
  }
  Tensor moveaxis(IntArrayRef source, IntArrayRef destination) const {
    return halftone::moveaxis(*this, source, destination);
  }
  Tensor ravel() const { return halftone::ravel(*this); }
  Tensor fliplr() const { return halftone::fliplr(*this); }
  Tensor flipud() const { return halftone::flipud(*this); }
  Tensor rot90(std::int64_t k = 1, IntArrayRef dims = {0, 1}) const {
    return halftone::rot90(*this, k, dims);
  }
  Tensor diag(std::int64_t diagonal = 0) const { return halftone::diag(*this, diagonal); }
  Tensor diag_embed(std::int64_t offset = 0, std::int64_t dim1 = -2, std::int64_t dim2 = -1) const {
    return halftone::diag_embed(*this, offset, dim1, dim2);
  }
  Tensor diagflat(std::int64_t offset = 0) const { return halftone::diagflat(*this, offset); }
  Tensor trace() const { return halftone::trace(*this); }
  Tensor unfold(std::int64_t dimension, std::int64_t size, std::int64_t step) const {
    return halftone::unfold(*this, dimension, size, step);
  }
  Tensor narrow_copy(std::int64_t dim, std::int64_t start, std::int64_t length) const {
    return halftone::narrow_copy(*this, dim, start, length);
  }
  Tensor select_scatter(const Tensor& src, std::int64_t dim, std::int64_t index) const {
    return halftone::select_scatter(*this, src, dim, index);
  }
  Tensor slice_scatter(const Tensor& src, std::int64_t dim = 0,
                       std::optional<std::int64_t> start = std::nullopt,
                       std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1) const {
    return halftone::slice_scatter(*this, src, dim, start, end, step);
  }
  Tensor diagonal_scatter(const Tensor& src, std::int64_t offset = 0, std::int64_t dim1 = 0,
                          std::int64_t dim2 = 1) const {
    return halftone::diagonal_scatter(*this, src, offset, dim1, dim2);
  }
  Tensor index_fill(std::int64_t dim, const Tensor& index, const Scalar& value) const {
    return halftone::index_fill(*this, dim, index, value);
  }
  Tensor index_fill(std::int64_t dim, const Tensor& index, const Tensor& value) const {
    return halftone::index_fill(*this, dim, index, value);
  }
  Tensor index_copy(std::int64_t dim, const Tensor& index, const Tensor& source) const {
    return halftone::index_copy(*this, dim, index, source);
  }
  Tensor take(const Tensor& index) const { return halftone::take(*this, index); }
  Tensor put(const Tensor& index, const Tensor& source, bool accumulate = false) const {
    return halftone::put(*this, index, source, accumulate);
  }
  Tensor take_along_dim(const Tensor& indices, std::optional<std::int64_t> dim = std::nullopt) const {
    return halftone::take_along_dim(*this, indices, dim);
  }
  Tensor masked_scatter(const Tensor& mask, const Tensor& source) const {
    return halftone::masked_scatter(*this, mask, source);
  }
  Tensor argwhere() const { return halftone::argwhere(*this); }
  std::vector<Tensor> nonzero_numpy() const { return halftone::nonzero_numpy(*this); }
  Tensor scatter(std::int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const {
    return halftone::scatter(*this, dim, index, src, reduce);
  }
  Tensor scatter_reduce(std::int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                        bool include_self = true) const {
    return halftone::scatter_reduce(*this, dim, index, src, reduce, include_self);
  }
  std::tuple<Tensor, Tensor> sort(std::optional<bool> stable, std::int64_t dim = -1,
                                  bool descending = false) const {
    return halftone::sort(*this, stable, dim, descending);
  }
  Tensor argsort(bool stable, std::int64_t dim, bool descending = false) const {
    return halftone::argsort(*this, stable, dim, descending);
  }
  Tensor msort() const { return halftone::msort(*this); }
  Tensor median() const { return halftone::median(*this); }
  std::tuple<Tensor, Tensor> median(std::int64_t dim, bool keepdim = false) const {
    return halftone::median(*this, dim, keepdim);
  }
  Tensor nanmedian() const { return halftone::nanmedian(*this); }
  std::tuple<Tensor, Tensor> nanmedian(std::int64_t dim, bool keepdim = false) const {
    return halftone::nanmedian(*this, dim, keepdim);
  }
  std::tuple<Tensor, Tensor> kthvalue(std::int64_t k, std::int64_t dim = -1, bool keepdim = false) const {
    return halftone::kthvalue(*this, k, dim, keepdim);
  }
  std::tuple<Tensor, Tensor> mode(std::int64_t dim = -1, bool keepdim = false) const {
    return halftone::mode(*this, dim, keepdim);
  }
  Tensor quantile(const Tensor& q, std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") const {
    return halftone::quantile(*this, q, dim, keepdim, interpolation);
  }
  Tensor quantile(double q, std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") const {
    return halftone::quantile(*this, q, dim, keepdim, interpolation);
  }
  Tensor nanquantile(const Tensor& q, std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false,
                     std::string_view interpolation = "linear") const {
    return halftone::nanquantile(*this, q, dim, keepdim, interpolation);
  }
  Tensor nanquantile(double q, std::optional<std::int64_t> dim = std::nullopt, bool keepdim = false,
                     std::string_view interpolation = "linear") const {
    return halftone::nanquantile(*this, q, dim, keepdim, interpolation);
  }
  Tensor bincount(const Tensor& weights = {}, std::int64_t minlength = 0) const {
    return halftone::bincount(*this, weights, minlength);
  }
  Tensor histc(std::int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) const {
    return halftone::histc(*this, bins, min, max);
  }
  std::tuple<Tensor, Tensor> aminmax(std::optional<std::int64_t> dim = std::nullopt,
                                     bool keepdim = false) const {
    return halftone::aminmax(*this, dim, keepdim);
  }
  Tensor nansum(IntArrayRef dim = {}, bool keepdim = false, OptionalDtype dtype = std::nullopt) const {
    return halftone::nansum(*this, dim, keepdim, dtype);
  }
  Tensor nanmean(IntArrayRef dim = {}, bool keepdim = false, OptionalDtype dtype = std::nullopt) const {
    return halftone::nanmean(*this, dim, keepdim, dtype);
  }
  Tensor count_nonzero(IntArrayRef dim) const { return halftone::count_nonzero(*this, dim); }
  Tensor norm(const std::optional<Scalar>& p, ScalarType dtype) const {
    return halftone::norm(*this, p, dtype);
  }
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) const {
    return halftone::norm(*this, p, dim, keepdim, dtype);
  }
  Tensor dist(const Tensor& other, const Scalar& p = 2) const { return halftone::dist(*this, other, p); }
  Tensor renorm(const Scalar& p, std::int64_t dim, const Scalar& maxnorm) const {
    return halftone::renorm(*this, p, dim, maxnorm);
  }
  Tensor cumprod(std::int64_t dim, OptionalDtype dtype = std::nullopt) const {
    return halftone::cumprod(*this, dim, dtype);
  }
  Tensor diff(std::int64_t n = 1, std::int64_t dim = -1, const Tensor& prepend = {},
              const Tensor& append = {}) const {
    return halftone::diff(*this, n, dim, prepend, append);
  }
  Tensor cov(std::int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) const {
    return halftone::cov(*this, correction, fweights, aweights);
  }
  Tensor corrcoef() const { return halftone::corrcoef(*this); }
  Tensor inner(const Tensor& other) const { return halftone::inner(*this, other); }
  Tensor vdot(const Tensor& other) const { return halftone::vdot(*this, other); }
  Tensor kron(const Tensor& other) const { return halftone::kron(*this, other); }
  Tensor addmv(const Tensor& mat, const Tensor& vec, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return halftone::addmv(*this, mat, vec, beta, alpha);
  }
  Tensor addr(const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return halftone::addr(*this, vec1, vec2, beta, alpha);
  }
  Tensor addbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                const Scalar& alpha = 1) const {
    return halftone::addbmm(*this, batch1, batch2, beta, alpha);
  }
  Tensor matrix_power(std::int64_t n) const { return halftone::matrix_power(*this, n); }
  Tensor cross(const Tensor& other, std::optional<std::int64_t> dim = std::nullopt) const {
    return halftone::cross(*this, other, dim);
  }
  Tensor signbit() const { return halftone::signbit(*this); }
  Tensor isposinf() const { return halftone::isposinf(*this); }
  Tensor isneginf() const { return halftone::isneginf(*this); }
  Tensor isreal() const { return halftone::isreal(*this); }
  Tensor deg2rad() const { return halftone::deg2rad(*this); }
  Tensor rad2deg() const { return halftone::rad2deg(*this); }
  Tensor float_power(const Tensor& exponent) const { return halftone::float_power(*this, exponent); }
  Tensor float_power(const Scalar& exponent) const { return halftone::float_power(*this, exponent); }
  Tensor ldexp(const Tensor& other) const { return halftone::ldexp(*this, other); }
  Tensor logit(std::optional<double> eps = std::nullopt) const { return halftone::logit(*this, eps); }
  Tensor heaviside(const Tensor& values) const { return halftone::heaviside(*this, values); }
  Tensor clamp(const Tensor& min, const Tensor& max) const { return halftone::clamp(*this, min, max); }
  Tensor clamp_min(const Tensor& min) const { return halftone::clamp_min(*this, min); }
  Tensor clamp_max(const Tensor& max) const { return halftone::clamp_max(*this, max); }
  Tensor div(const Scalar& other, std::optional<std::string_view> rounding_mode) const {
    return halftone::div(*this, other, rounding_mode);
  }
  Tensor bitwise_and(const Scalar& other) const { return halftone::bitwise_and(*this, other); }
  Tensor bitwise_or(const Scalar& other) const { return halftone::bitwise_or(*this, other); }
  Tensor bitwise_xor(const Scalar& other) const { return halftone::bitwise_xor(*this, other); }
  Tensor bernoulli(double p, std::optional<Generator> generator = std::nullopt) const {
    return halftone::bernoulli(*this, p, generator);
  }
  bool is_signed() const { return halftone::is_signed(*this); }
  bool is_nonzero() const { return halftone::is_nonzero(*this); }
  bool is_same_size(const Tensor& other) const { return halftone::is_same_size(*this, other); }
  Tensor arccosh() const { return halftone::arccosh(*this); }
  Tensor arcsinh() const { return halftone::arcsinh(*this); }
  Tensor arctanh() const { return halftone::arctanh(*this); }
  Tensor hypot(const Tensor& other) const { return halftone::hypot(*this, other); }
  Tensor copysign(const Tensor& other) const { return halftone::copysign(*this, other); }
  Tensor copysign(const Scalar& other) const { return halftone::copysign(*this, other); }
  Tensor xlogy(const Tensor& other) const { return halftone::xlogy(*this, other); }
  Tensor xlogy(const Scalar& other) const { return halftone::xlogy(*this, other); }
  Tensor acosh() const { return halftone::acosh(*this); }
  Tensor asinh() const { return halftone::asinh(*this); }
  Tensor atanh() const { return halftone::atanh(*this); }
  Tensor lgamma() const { return halftone::lgamma(*this); }
  Tensor digamma() const { return halftone::digamma(*this); }
  Tensor erfinv() const { return halftone::erfinv(*this); }
  Tensor sinc() const { return halftone::sinc(*this); }
  Tensor bitwise_left_shift(const Tensor& other) const { return halftone::bitwise_left_shift(*this, other); }
  Tensor bitwise_left_shift(const Scalar& other) const { return halftone::bitwise_left_shift(*this, other); }
  Tensor bitwise_right_shift(const Tensor& other) const {
    return halftone::bitwise_right_shift(*this, other);
  }
  Tensor bitwise_right_shift(const Scalar& other) const {
    return halftone::bitwise_right_shift(*this, other);
  }
  Tensor logaddexp(const Tensor& other) const { return halftone::logaddexp(*this, other); }
  Tensor logaddexp2(const Tensor& other) const { return halftone::logaddexp2(*this, other); }
  Tensor fmax(const Tensor& other) const { return halftone::fmax(*this, other); }
  Tensor fmin(const Tensor& other) const { return halftone::fmin(*this, other); }
  std::tuple<Tensor, Tensor> cummax(std::int64_t dim) const { return halftone::cummax(*this, dim); }
  std::tuple<Tensor, Tensor> cummin(std::int64_t dim) const { return halftone::cummin(*this, dim); }
  Tensor logcumsumexp(std::int64_t dim) const { return halftone::logcumsumexp(*this, dim); }
  Tensor& uniform_(double from = 0, double to = 1, std::optional<Generator> generator = std::nullopt) const {
    return halftone::uniform_(const_cast<Tensor&>(*this), from, to, generator);
  }
  Tensor& normal_(double mean = 0, double std = 1, std::optional<Generator> generator = std::nullopt) const {
    return halftone::normal_(const_cast<Tensor&>(*this), mean, std, generator);
  }
  Tensor& bernoulli_(double p = 0.5, std::optional<Generator> generator = std::nullopt) const {
    return halftone::bernoulli_(const_cast<Tensor&>(*this), p, generator);
  }
  Tensor bernoulli(std::optional<Generator> generator = std::nullopt) const {
    return halftone::bernoulli(*this, generator);
  }
  Tensor& random_(std::int64_t from, std::int64_t to,
                  std::optional<Generator> generator = std::nullopt) const {
    return halftone::random_(const_cast<Tensor&>(*this), from, to, generator);
  }
  Tensor multinomial(std::int64_t num_samples, bool replacement = false,
                     std::optional<Generator> generator = std::nullopt) const {
    return halftone::multinomial(*this, num_samples, replacement, generator);
  }
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const {
    return halftone::add_(const_cast<Tensor&>(*this), other, alpha);
  }
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const {
    return halftone::add_(const_cast<Tensor&>(*this), other, alpha);
  }
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const {
    return halftone::sub_(const_cast<Tensor&>(*this), other, alpha);
  }
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const {
    return halftone::sub_(const_cast<Tensor&>(*this), other, alpha);
  }
  Tensor& mul_(const Tensor& other) const { return halftone::mul_(const_cast<Tensor&>(*this), other); }
  Tensor& mul_(const Scalar& other) const { return halftone::mul_(const_cast<Tensor&>(*this), other); }
  Tensor& div_(const Tensor& other) const { return halftone::div_(const_cast<Tensor&>(*this), other); }
  Tensor& div_(const Scalar& other) const { return halftone::div_(const_cast<Tensor&>(*this), other); }
  Tensor& pow_(const Tensor& exponent) const { return halftone::pow_(const_cast<Tensor&>(*this), exponent); }
  Tensor& pow_(const Scalar& exponent) const { return halftone::pow_(const_cast<Tensor&>(*this), exponent); }
  Tensor& lerp_(const Tensor& end, const Scalar& weight) const {
    return halftone::lerp_(const_cast<Tensor&>(*this), end, weight);
  }
  Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const {
    return halftone::addcmul_(const_cast<Tensor&>(*this), tensor1, tensor2, value);
  }
  Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const {
    return halftone::addcdiv_(const_cast<Tensor&>(*this), tensor1, tensor2, value);
  }
  Tensor& neg_() const { return halftone::neg_(const_cast<Tensor&>(*this)); }
  Tensor& abs_() const { return halftone::abs_(const_cast<Tensor&>(*this)); }
  Tensor& reciprocal_() const { return halftone::reciprocal_(const_cast<Tensor&>(*this)); }
  Tensor& square_() const { return halftone::square_(const_cast<Tensor&>(*this)); }
  Tensor& sqrt_() const { return halftone::sqrt_(const_cast<Tensor&>(*this)); }
  Tensor& rsqrt_() const { return halftone::rsqrt_(const_cast<Tensor&>(*this)); }
  Tensor& exp_() const { return halftone::exp_(const_cast<Tensor&>(*this)); }
  Tensor& log_() const { return halftone::log_(const_cast<Tensor&>(*this)); }
  Tensor& sin_() const { return halftone::sin_(const_cast<Tensor&>(*this)); }
  Tensor& cos_() const { return halftone::cos_(const_cast<Tensor&>(*this)); }
  Tensor& exp2_() const { return halftone::exp2_(const_cast<Tensor&>(*this)); }
  Tensor& expm1_() const { return halftone::expm1_(const_cast<Tensor&>(*this)); }
  Tensor& log2_() const { return halftone::log2_(const_cast<Tensor&>(*this)); }
  Tensor& log10_() const { return halftone::log10_(const_cast<Tensor&>(*this)); }
  Tensor& log1p_() const { return halftone::log1p_(const_cast<Tensor&>(*this)); }
  Tensor& tan_() const { return halftone::tan_(const_cast<Tensor&>(*this)); }
  Tensor& asin_() const { return halftone::asin_(const_cast<Tensor&>(*this)); }
  Tensor& acos_() const { return halftone::acos_(const_cast<Tensor&>(*this)); }
  Tensor& atan_() const { return halftone::atan_(const_cast<Tensor&>(*this)); }
  Tensor& sinh_() const { return halftone::sinh_(const_cast<Tensor&>(*this)); }
  Tensor& cosh_() const { return halftone::cosh_(const_cast<Tensor&>(*this)); }
  Tensor& erf_() const { return halftone::erf_(const_cast<Tensor&>(*this)); }
  Tensor& erfc_() const { return halftone::erfc_(const_cast<Tensor&>(*this)); }
  Tensor& sign_() const { return halftone::sign_(const_cast<Tensor&>(*this)); }
  Tensor& trunc_() const { return halftone::trunc_(const_cast<Tensor&>(*this)); }
  Tensor& frac_() const { return halftone::frac_(const_cast<Tensor&>(*this)); }
  Tensor& squeeze_() const { return halftone::squeeze_(const_cast<Tensor&>(*this)); }
  Tensor& squeeze_(std::int64_t dim) const { return halftone::squeeze_(const_cast<Tensor&>(*this), dim); }
  Tensor& unsqueeze_(std::int64_t dim) const { return halftone::unsqueeze_(const_cast<Tensor&>(*this), dim); }
  Tensor& transpose_(std::int64_t dim0, std::int64_t dim1) const {
    return halftone::transpose_(const_cast<Tensor&>(*this), dim0, dim1);
  }
  Tensor& t_() const { return halftone::t_(const_cast<Tensor&>(*this)); }
  Tensor& floor_() const { return halftone::floor_(const_cast<Tensor&>(*this)); }
  Tensor& ceil_() const { return halftone::ceil_(const_cast<Tensor&>(*this)); }
  Tensor& round_() const { return halftone::round_(const_cast<Tensor&>(*this)); }
  Tensor& clamp_(const std::optional<Scalar>& min = std::nullopt,
                 const std::optional<Scalar>& max = std::nullopt) const {
    return halftone::clamp_(const_cast<Tensor&>(*this), min, max);
  }
  Tensor& clamp_min_(const Scalar& min) const {
    return halftone::clamp_min_(const_cast<Tensor&>(*this), min);
  }
  Tensor& clamp_max_(const Scalar& max) const {
    return halftone::clamp_max_(const_cast<Tensor&>(*this), max);
  }
  Tensor& relu_() const { return halftone::relu_(const_cast<Tensor&>(*this)); }
  Tensor& leaky_relu_(const Scalar& negative_slope = 0.01) const {
    return halftone::leaky_relu_(const_cast<Tensor&>(*this), negative_slope);
  }
  Tensor& sigmoid_() const { return halftone::sigmoid_(const_cast<Tensor&>(*this)); }
  Tensor& tanh_() const { return halftone::tanh_(const_cast<Tensor&>(*this)); }
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const {
    return halftone::masked_fill_(const_cast<Tensor&>(*this), mask, value);
  }
  Tensor& index_add_(std::int64_t dim, const Tensor& index, const Tensor& source,
                     const Scalar& alpha = 1) const {
    return halftone::index_add_(const_cast<Tensor&>(*this), dim, index, source, alpha);
  }
  Tensor& scatter_(std::int64_t dim, const Tensor& index, const Tensor& src) const {
    return halftone::scatter_(const_cast<Tensor&>(*this), dim, index, src);
  }
  Tensor& scatter_(std::int64_t dim, const Tensor& index, const Scalar& value) const {
    return halftone::scatter_(const_cast<Tensor&>(*this), dim, index, value);
  }
  Tensor& scatter_add_(std::int64_t dim, const Tensor& index, const Tensor& src) const {
    return halftone::scatter_add_(const_cast<Tensor&>(*this), dim, index, src);
  }
  Tensor& absolute_() const { return halftone::absolute_(const_cast<Tensor&>(*this)); }
  Tensor& negative_() const { return halftone::negative_(const_cast<Tensor&>(*this)); }
  Tensor& sgn_() const { return halftone::sgn_(const_cast<Tensor&>(*this)); }
  Tensor& fix_() const { return halftone::fix_(const_cast<Tensor&>(*this)); }
  Tensor& arccos_() const { return halftone::arccos_(const_cast<Tensor&>(*this)); }
  Tensor& arcsin_() const { return halftone::arcsin_(const_cast<Tensor&>(*this)); }
  Tensor& arctan_() const { return halftone::arctan_(const_cast<Tensor&>(*this)); }
  Tensor& clip_(const std::optional<Scalar>& min = std::nullopt,
                const std::optional<Scalar>& max = std::nullopt) const {
    return halftone::clip_(const_cast<Tensor&>(*this), min, max);
  }
  Tensor& subtract_(const Tensor& other, const Scalar& alpha = 1) const {
    return halftone::subtract_(const_cast<Tensor&>(*this), other, alpha);
  }
  Tensor& subtract_(const Scalar& other, const Scalar& alpha = 1) const {
    return halftone::subtract_(const_cast<Tensor&>(*this), other, alpha);
  }
  Tensor& multiply_(const Tensor& other) const {
    return halftone::multiply_(const_cast<Tensor&>(*this), other);
  }
  Tensor& multiply_(const Scalar& other) const {
    return halftone::multiply_(const_cast<Tensor&>(*this), other);
  }
  Tensor& divide_(const Tensor& other) const { return halftone::divide_(const_cast<Tensor&>(*this), other); }
  Tensor& divide_(const Scalar& other) const { return halftone::divide_(const_cast<Tensor&>(*this), other); }
  Tensor& true_divide_(const Tensor& other) const {
    return halftone::true_divide_(const_cast<Tensor&>(*this), other);
  }
  Tensor& true_divide_(const Scalar& other) const {
    return halftone::true_divide_(const_cast<Tensor&>(*this), other);
  }
  Tensor& greater_(const Tensor& other) const {
    return halftone::greater_(const_cast<Tensor&>(*this), other);
  }
  Tensor& greater_(const Scalar& other) const {
    return halftone::greater_(const_cast<Tensor&>(*this), other);
  }
  Tensor& greater_equal_(const Tensor& other) const {
    return halftone::greater_equal_(const_cast<Tensor&>(*this), other);
  }
  Tensor& greater_equal_(const Scalar& other) const {
    return halftone::greater_equal_(const_cast<Tensor&>(*this), other);
  }
  Tensor& less_(const Tensor& other) const { return halftone::less_(const_cast<Tensor&>(*this), other); }
  Tensor& less_(const Scalar& other) const { return halftone::less_(const_cast<Tensor&>(*this), other); }
  Tensor& less_equal_(const Tensor& other) const {
    return halftone::less_equal_(const_cast<Tensor&>(*this), other);
  }
  Tensor& less_equal_(const Scalar& other) const {
    return halftone::less_equal_(const_cast<Tensor&>(*this), other);
  }
  Tensor& not_equal_(const Tensor& other) const {
    return halftone::not_equal_(const_cast<Tensor&>(*this), other);
  }
  Tensor& not_equal_(const Scalar& other) const {
    return halftone::not_equal_(const_cast<Tensor&>(*this), other);
  }
  Tensor& swapaxes_(std::int64_t axis0, std::int64_t axis1) const {
    return halftone::swapaxes_(const_cast<Tensor&>(*this), axis0, axis1);
  }
  Tensor& swapdims_(std::int64_t dim0, std::int64_t dim1) const {
    return halftone::swapdims_(const_cast<Tensor&>(*this), dim0, dim1);
  }
  Tensor& fill_diagonal_(const Scalar& value, bool wrap = false) const {
    return halftone::fill_diagonal_(const_cast<Tensor&>(*this), value, wrap);
  }
  Tensor& index_fill_(std::int64_t dim, const Tensor& index, const Scalar& value) const {
    return halftone::index_fill_(const_cast<Tensor&>(*this), dim, index, value);
  }
  Tensor& index_fill_(std::int64_t dim, const Tensor& index, const Tensor& value) const {
    return halftone::index_fill_(const_cast<Tensor&>(*this), dim, index, value);
  }
  Tensor& index_copy_(std::int64_t dim, const Tensor& index, const Tensor& source) const {
    return halftone::index_copy_(const_cast<Tensor&>(*this), dim, index, source);
  }
  Tensor& put_(const Tensor& index, const Tensor& source, bool accumulate = false) const {
    return halftone::put_(const_cast<Tensor&>(*this), index, source, accumulate);
  }
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const {
    return halftone::masked_scatter_(const_cast<Tensor&>(*this), mask, source);
  }
  Tensor& scatter_(std::int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const {
    return halftone::scatter_(const_cast<Tensor&>(*this), dim, index, src, reduce);
  }
  Tensor& scatter_reduce_(std::int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                          bool include_self = true) const {
    return halftone::scatter_reduce_(const_cast<Tensor&>(*this), dim, index, src, reduce, include_self);
  }
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const {
    return halftone::masked_fill_(const_cast<Tensor&>(*this), mask, value);
  }
  Tensor& renorm_(const Scalar& p, std::int64_t dim, const Scalar& maxnorm) const {
    return halftone::renorm_(const_cast<Tensor&>(*this), p, dim, maxnorm);
  }
  Tensor& cumprod_(std::int64_t dim, OptionalDtype dtype = std::nullopt) const {
    return halftone::cumprod_(const_cast<Tensor&>(*this), dim, dtype);
  }
  Tensor& addmv_(const Tensor& mat, const Tensor& vec, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const {
    return halftone::addmv_(const_cast<Tensor&>(*this), mat, vec, beta, alpha);
  }
  Tensor& addr_(const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
                const Scalar& alpha = 1) const {
    return halftone::addr_(const_cast<Tensor&>(*this), vec1, vec2, beta, alpha);
  }
  Tensor& addbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                  const Scalar& alpha = 1) const {
    return halftone::addbmm_(const_cast<Tensor&>(*this), batch1, batch2, beta, alpha);
  }
  Tensor& deg2rad_() const { return halftone::deg2rad_(const_cast<Tensor&>(*this)); }
  Tensor& rad2deg_() const { return halftone::rad2deg_(const_cast<Tensor&>(*this)); }
  Tensor& ldexp_(const Tensor& other) const { return halftone::ldexp_(const_cast<Tensor&>(*this), other); }
  Tensor& logit_(std::optional<double> eps = std::nullopt) const {
    return halftone::logit_(const_cast<Tensor&>(*this), eps);
  }
  Tensor& heaviside_(const Tensor& values) const {
    return halftone::heaviside_(const_cast<Tensor&>(*this), values);
  }
  Tensor& clamp_(const Tensor& min, const Tensor& max) const {
    return halftone::clamp_(const_cast<Tensor&>(*this), min, max);
  }
  Tensor& clamp_min_(const Tensor& min) const {
    return halftone::clamp_min_(const_cast<Tensor&>(*this), min);
  }
  Tensor& clamp_max_(const Tensor& max) const {
    return halftone::clamp_max_(const_cast<Tensor&>(*this), max);
  }
  Tensor& bitwise_and_(const Scalar& other) const {
    return halftone::bitwise_and_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_or_(const Scalar& other) const {
    return halftone::bitwise_or_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_xor_(const Scalar& other) const {
    return halftone::bitwise_xor_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bernoulli_(const Tensor& p, std::optional<Generator> generator = std::nullopt) const {
    return halftone::bernoulli_(const_cast<Tensor&>(*this), p, generator);
  }
  Tensor& random_(std::optional<Generator> generator = std::nullopt) const {
    return halftone::random_(const_cast<Tensor&>(*this), generator);
  }
  Tensor& random_(std::int64_t to, std::optional<Generator> generator = std::nullopt) const {
    return halftone::random_(const_cast<Tensor&>(*this), to, generator);
  }
  Tensor& exponential_(double lambd = 1, std::optional<Generator> generator = std::nullopt) const {
    return halftone::exponential_(const_cast<Tensor&>(*this), lambd, generator);
  }
  Tensor& geometric_(double p, std::optional<Generator> generator = std::nullopt) const {
    return halftone::geometric_(const_cast<Tensor&>(*this), p, generator);
  }
  Tensor& log_normal_(double mean = 1, double std = 2,
                      std::optional<Generator> generator = std::nullopt) const {
    return halftone::log_normal_(const_cast<Tensor&>(*this), mean, std, generator);
  }
  Tensor& cauchy_(double median = 0, double sigma = 1,
                  std::optional<Generator> generator = std::nullopt) const {
    return halftone::cauchy_(const_cast<Tensor&>(*this), median, sigma, generator);
  }
  Tensor& atan2_(const Tensor& other) const { return halftone::atan2_(const_cast<Tensor&>(*this), other); }
  Tensor& remainder_(const Tensor& other) const {
    return halftone::remainder_(const_cast<Tensor&>(*this), other);
  }
  Tensor& remainder_(const Scalar& other) const {
    return halftone::remainder_(const_cast<Tensor&>(*this), other);
  }
  Tensor& fmod_(const Tensor& other) const { return halftone::fmod_(const_cast<Tensor&>(*this), other); }
  Tensor& fmod_(const Scalar& other) const { return halftone::fmod_(const_cast<Tensor&>(*this), other); }
  Tensor& floor_divide_(const Tensor& other) const {
    return halftone::floor_divide_(const_cast<Tensor&>(*this), other);
  }
  Tensor& floor_divide_(const Scalar& other) const {
    return halftone::floor_divide_(const_cast<Tensor&>(*this), other);
  }
  Tensor& div_(const Tensor& other, std::optional<std::string_view> rounding_mode) const {
    return halftone::div_(const_cast<Tensor&>(*this), other, rounding_mode);
  }
  Tensor& div_(const Scalar& other, std::optional<std::string_view> rounding_mode) const {
    return halftone::div_(const_cast<Tensor&>(*this), other, rounding_mode);
  }
  Tensor& lerp_(const Tensor& end, const Tensor& weight) const {
    return halftone::lerp_(const_cast<Tensor&>(*this), end, weight);
  }
  Tensor& eq_(const Tensor& other) const { return halftone::eq_(const_cast<Tensor&>(*this), other); }
  Tensor& eq_(const Scalar& other) const { return halftone::eq_(const_cast<Tensor&>(*this), other); }
  Tensor& ne_(const Tensor& other) const { return halftone::ne_(const_cast<Tensor&>(*this), other); }
  Tensor& ne_(const Scalar& other) const { return halftone::ne_(const_cast<Tensor&>(*this), other); }
  Tensor& lt_(const Tensor& other) const { return halftone::lt_(const_cast<Tensor&>(*this), other); }
  Tensor& lt_(const Scalar& other) const { return halftone::lt_(const_cast<Tensor&>(*this), other); }
  Tensor& le_(const Tensor& other) const { return halftone::le_(const_cast<Tensor&>(*this), other); }
  Tensor& le_(const Scalar& other) const { return halftone::le_(const_cast<Tensor&>(*this), other); }
  Tensor& gt_(const Tensor& other) const { return halftone::gt_(const_cast<Tensor&>(*this), other); }
  Tensor& gt_(const Scalar& other) const { return halftone::gt_(const_cast<Tensor&>(*this), other); }
  Tensor& ge_(const Tensor& other) const { return halftone::ge_(const_cast<Tensor&>(*this), other); }
  Tensor& ge_(const Scalar& other) const { return halftone::ge_(const_cast<Tensor&>(*this), other); }
  Tensor& logical_and_(const Tensor& other) const {
    return halftone::logical_and_(const_cast<Tensor&>(*this), other);
  }
  Tensor& logical_or_(const Tensor& other) const {
    return halftone::logical_or_(const_cast<Tensor&>(*this), other);
  }
  Tensor& logical_xor_(const Tensor& other) const {
    return halftone::logical_xor_(const_cast<Tensor&>(*this), other);
  }
  Tensor& logical_not_() const { return halftone::logical_not_(const_cast<Tensor&>(*this)); }
  Tensor& bitwise_and_(const Tensor& other) const {
    return halftone::bitwise_and_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_or_(const Tensor& other) const {
    return halftone::bitwise_or_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_xor_(const Tensor& other) const {
    return halftone::bitwise_xor_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_not_() const { return halftone::bitwise_not_(const_cast<Tensor&>(*this)); }
  Tensor& nan_to_num_(std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
                      std::optional<double> neginf = std::nullopt) const {
    return halftone::nan_to_num_(const_cast<Tensor&>(*this), nan, posinf, neginf);
  }
  Tensor& cumsum_(std::int64_t dim, OptionalDtype dtype = std::nullopt) const {
    return halftone::cumsum_(const_cast<Tensor&>(*this), dim, dtype);
  }
  Tensor& tril_(std::int64_t diagonal = 0) const {
    return halftone::tril_(const_cast<Tensor&>(*this), diagonal);
  }
  Tensor& triu_(std::int64_t diagonal = 0) const {
    return halftone::triu_(const_cast<Tensor&>(*this), diagonal);
  }
  Tensor& addmm_(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const {
    return halftone::addmm_(const_cast<Tensor&>(*this), mat1, mat2, beta, alpha);
  }
  Tensor& baddbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                   const Scalar& alpha = 1) const {
    return halftone::baddbmm_(const_cast<Tensor&>(*this), batch1, batch2, beta, alpha);
  }
  Tensor& arccosh_() const { return halftone::arccosh_(const_cast<Tensor&>(*this)); }
  Tensor& arcsinh_() const { return halftone::arcsinh_(const_cast<Tensor&>(*this)); }
  Tensor& arctanh_() const { return halftone::arctanh_(const_cast<Tensor&>(*this)); }
  Tensor& hypot_(const Tensor& other) const { return halftone::hypot_(const_cast<Tensor&>(*this), other); }
  Tensor& copysign_(const Tensor& other) const {
    return halftone::copysign_(const_cast<Tensor&>(*this), other);
  }
  Tensor& copysign_(const Scalar& other) const {
    return halftone::copysign_(const_cast<Tensor&>(*this), other);
  }
  Tensor& xlogy_(const Tensor& other) const { return halftone::xlogy_(const_cast<Tensor&>(*this), other); }
  Tensor& xlogy_(const Scalar& other) const { return halftone::xlogy_(const_cast<Tensor&>(*this), other); }
  Tensor& acosh_() const { return halftone::acosh_(const_cast<Tensor&>(*this)); }
  Tensor& asinh_() const { return halftone::asinh_(const_cast<Tensor&>(*this)); }
  Tensor& atanh_() const { return halftone::atanh_(const_cast<Tensor&>(*this)); }
  Tensor& lgamma_() const { return halftone::lgamma_(const_cast<Tensor&>(*this)); }
  Tensor& digamma_() const { return halftone::digamma_(const_cast<Tensor&>(*this)); }
  Tensor& erfinv_() const { return halftone::erfinv_(const_cast<Tensor&>(*this)); }
  Tensor& sinc_() const { return halftone::sinc_(const_cast<Tensor&>(*this)); }
  Tensor& bitwise_left_shift_(const Tensor& other) const {
    return halftone::bitwise_left_shift_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_left_shift_(const Scalar& other) const {
    return halftone::bitwise_left_shift_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_right_shift_(const Tensor& other) const {
    return halftone::bitwise_right_shift_(const_cast<Tensor&>(*this), other);
  }
  Tensor& bitwise_right_shift_(const Scalar& other) const {
    return halftone::bitwise_right_shift_(const_cast<Tensor&>(*this), other);
  }
  Tensor where(const Tensor& condition, const Tensor& other) const {
    return halftone::where(condition, *this, other);
  }
  Tensor where(const Tensor& condition, const Scalar& other) const {
    return halftone::where(condition, *this, other);
  }
  /// The same elements in the shape of `other`: reshape(other.sizes()).
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  /// The same memory in the shape of `other`: view(other.sizes()).
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  /// Another size for the same memory, or new memory (uninitialised) where that is too small. Throws Error on
  /// a tensor with a gradient history.
  Tensor& resize_(IntArrayRef size) const;
  /// The same as resize_(other.sizes()).
  Tensor& resize_as_(const Tensor& other) const { return resize_(other.sizes()); }
  /// New tensors of this one's dtype and device, as far as `options` name no others.
  /// @{
  Tensor new_empty(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_zeros(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_ones(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_full(IntArrayRef size, const Scalar& value, const TensorOptions& options = {}) const;
  /// @}
  /// In place, with broadcasting of the argument; the dtype stays.
  /// @{
  Tensor& operator+=(const Tensor& other) { return add_(other); }
  Tensor& operator-=(const Tensor& other) { return sub_(other); }
  Tensor& operator*=(const Tensor& other) { return mul_(other); }
  Tensor& operator/=(const Tensor& other) { return div_(other); }
  Tensor& operator+=(const Scalar& other) { return add_(other); }
  Tensor& operator-=(const Scalar& other) { return sub_(other); }
  Tensor& operator*=(const Scalar& other) { return mul_(other); }
  Tensor& operator/=(const Scalar& other) { return div_(other); }
  Tensor& operator&=(const Tensor& other) { return bitwise_and_(other); }
  Tensor& operator|=(const Tensor& other) { return bitwise_or_(other); }
  Tensor& operator^=(const Tensor& other) { return bitwise_xor_(other); }
  Tensor& operator&=(const Scalar& other) { return bitwise_and_(other); }
  Tensor& operator|=(const Scalar& other) { return bitwise_or_(other); }
  Tensor& operator^=(const Scalar& other) { return bitwise_xor_(other); }
  Tensor& operator<<=(const Tensor& other) { return bitwise_left_shift_(other); }
  Tensor& operator>>=(const Tensor& other) { return bitwise_right_shift_(other); }
  Tensor& operator<<=(const Scalar& other) { return bitwise_left_shift_(other); }
  Tensor& operator>>=(const Scalar& other) { return bitwise_right_shift_(other); }
  /// @}
  Tensor polygamma(std::int64_t n) const { return halftone::polygamma(n, *this); }

 private:
  TensorImpl& impl() const {
    if (!impl_) fail("Tensor", "the tensor is undefined (default-constructed or moved from)");
    return *impl_;
  }

  std::size_t own_dim(const char* op, std::int64_t d) const {
    if (dim() == 0) fail(op, "a 0-d tensor has no dimension ", d);
    return static_cast<std::size_t>(wrap_dim(op, d, dim()));
  }

  IntrusivePtr<TensorImpl> impl_;
};

/// A non-owning list of tensors: from `{a, b}`, std::vector or one tensor.
class TensorList {
 public:
  TensorList() = default;
  TensorList(const Tensor& one) : TensorList(&one, 1) {}
  TensorList(std::initializer_list<Tensor> tensors) : TensorList(tensors.begin(), tensors.size()) {}
  TensorList(const std::vector<Tensor>& tensors) : TensorList(tensors.data(), tensors.size()) {}
  TensorList(const Tensor* data, std::size_t size) : data_(data), size_(size) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Tensor* begin() const { return data_; }
  const Tensor* end() const { return data_ + size_; }
  /// The i-th, < size(); not checked.
  const Tensor& operator[](std::size_t i) const { return data_[i]; }
  const Tensor& front() const { return data_[0]; }
  const Tensor& back() const { return data_[size_ - 1]; }
  std::vector<Tensor> vec() const { return {begin(), end()}; }

 private:
  const Tensor* data_ = nullptr;
  std::size_t size_ = 0;
};

// --- Tensors that may be left out: default arguments that need the whole class ---
Tensor bincount(const Tensor& self, const Tensor& weights = {}, std::int64_t minlength);
Tensor diff(const Tensor& self, std::int64_t n = 1, std::int64_t dim = -1, const Tensor& prepend = {},
            const Tensor& append = {});
Tensor cov(const Tensor& self, std::int64_t correction = 1, const Tensor& fweights = {},
           const Tensor& aweights = {});
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                          Reduction::Reduction reduction, std::int64_t ignore_index, double label_smoothing);
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                            Reduction::Reduction reduction);
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, Reduction::Reduction reduction);
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, std::int64_t groups);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, std::int64_t groups);
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                  const Tensor& bias = {}, double eps, bool cudnn_enable);
Tensor group_norm(const Tensor& input, std::int64_t num_groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps, bool cudnn_enabled);
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight = {},
                std::optional<double> eps);
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p, bool is_causal,
                                    std::optional<double> scale);

/// Element by element, with broadcasting and type promotion; a comparison gives a bool tensor.
/// @{
inline Tensor operator+(const Tensor& a) { return a; }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }
inline Tensor operator!(const Tensor& a) { return logical_not(a); }
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return div(a, b); }
inline Tensor operator%(const Tensor& a, const Scalar& b) { return remainder(a, b); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return rsub(b, a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return mul(reciprocal(b), a); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, const Scalar& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Scalar& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Scalar& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Scalar& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Scalar& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Scalar& b) { return ge(a, b); }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return gt(b, a); }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return ge(b, a); }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return lt(b, a); }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return le(b, a); }
inline Tensor operator&(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }
inline Tensor operator&(const Tensor& a, const Scalar& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Tensor& a, const Scalar& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Tensor& a, const Scalar& b) { return bitwise_xor(a, b); }
inline Tensor operator&(const Scalar& a, const Tensor& b) { return bitwise_and(b, a); }
inline Tensor operator|(const Scalar& a, const Tensor& b) { return bitwise_or(b, a); }
inline Tensor operator^(const Scalar& a, const Tensor& b) { return bitwise_xor(b, a); }
inline Tensor operator==(const Scalar& a, const Tensor& b) { return eq(b, a); }
inline Tensor operator!=(const Scalar& a, const Tensor& b) { return ne(b, a); }
inline Tensor operator<<(const Tensor& a, const Tensor& b) { return bitwise_left_shift(a, b); }
inline Tensor operator>>(const Tensor& a, const Tensor& b) { return bitwise_right_shift(a, b); }
inline Tensor operator<<(const Tensor& a, const Scalar& b) { return bitwise_left_shift(a, b); }
inline Tensor operator>>(const Tensor& a, const Scalar& b) { return bitwise_right_shift(a, b); }
inline Tensor operator&&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator||(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
/// @}

}  // namespace halftone
