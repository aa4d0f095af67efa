#include "halftone/engine/tensor.h"

#include "halftone/engine/cuda.h"
#include "halftone/engine/cuda_backend.h"

namespace halftone {
namespace {

/// `options`, with the tensor's own dtype and device where it names none.
TensorOptions completed(const TensorOptions& options, const Tensor& tensor) {
  return options.dtype(options.dtype_opt().value_or(tensor.scalar_type()))
      .device(options.device_opt().value_or(tensor.device()));
}

}  // namespace

Scalar Tensor::item() const {
  if (numel() != 1) fail("item", "expected a tensor of one element, got ", *this);
  const void* element = data_ptr();
  alignas(double) std::byte copied[sizeof(double)];
  if (is_cuda()) {
    cuda::backend()->read(copied, element, element_size(), device().index());
    element = copied;
  }
  return dispatch_all(scalar_type(), [&]<class T>() { return Scalar(*static_cast<const T*>(element)); });
}

void Tensor::record_stream(const cuda::Stream& stream) const {
  if (!is_cuda()) fail("record_stream", "expected a tensor on a CUDA device, got ", *this, " on ", device());
  cuda::backend()->record_use(storage().data(), device().index(), stream.handle());
}

Tensor Tensor::T() const {
  Dims reversed;
  for (std::int64_t d = dim() - 1; d >= 0; --d) reversed.push_back(d);
  return permute(reversed);
}

Tensor Tensor::new_empty(IntArrayRef size, const TensorOptions& options) const {
  return empty(size, completed(options, *this));
}

Tensor Tensor::new_zeros(IntArrayRef size, const TensorOptions& options) const {
  return zeros(size, completed(options, *this));
}

Tensor Tensor::new_ones(IntArrayRef size, const TensorOptions& options) const {
  return ones(size, completed(options, *this));
}

Tensor Tensor::new_full(IntArrayRef size, const Scalar& value, const TensorOptions& options) const {
  return full(size, value, completed(options, *this));
}

}  // namespace halftone
