#include "halftone/io/dlpack.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/cuda.h"

namespace halftone {
namespace {

DLDataType type_of(ScalarType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * element_size(dtype));
  switch (dtype) {
    case kByte:
      return {kDLUInt, bits, 1};
    case kBool:
      return {kDLBool, bits, 1};
    case kInt:
    case kLong:
      return {kDLInt, bits, 1};
    case kBFloat16:
      return {kDLBfloat, bits, 1};
    default:
      return {kDLFloat, bits, 1};
  }
}

ScalarType dtype_of_type(const DLDataType& type) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<ScalarType>(i);
    const DLDataType own = type_of(dtype);
    if (own.code == type.code && own.bits == type.bits && own.lanes == type.lanes) return dtype;
  }
  fail("fromDLPack", "type code ", static_cast<int>(type.code), " with ", static_cast<int>(type.bits),
       " bits and ", static_cast<int>(type.lanes),
       " lanes is not supported: float 16 32 64, bfloat 16, int 32 64, uint 8 and bool 8 are");
}

Device device_of(const DLDevice& device) {
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return kCPU;
  if (device.device_type != kDLCUDA) {
    fail("fromDLPack", "device type ", static_cast<int>(device.device_type),
         " is not supported: CPU (1), CUDA (2) and pinned host memory (3) are");
  }
  if (device.device_id < 0 || device.device_id >= static_cast<std::int64_t>(cuda::device_count())) {
    fail("fromDLPack", "there is no CUDA device ", device.device_id, " here (", cuda::device_count(),
         " devices)");
  }
  return Device(kCUDA, static_cast<std::int8_t>(device.device_id));
}

/// What stands behind an exported tensor: the tensor, and its shape and strides.
template <class Managed>
struct Export {
  Tensor tensor;
  std::array<std::int64_t, kMaxDims> shape{}, strides{};
  Managed managed{};
};

template <class Managed>
Managed* export_tensor(const char* op, const Tensor& tensor) {
  if (!tensor.defined()) fail(op, "the tensor is undefined");
  auto context = std::make_unique<Export<Managed>>();
  context->tensor = tensor.detach();
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    context->shape[i] = tensor.size(d);
    context->strides[i] = tensor.size(d) > 1 ? tensor.stride(d) : 1;  // others need not mean anything
  }
  DLTensor& view = context->managed.dl_tensor;
  view.data = tensor.numel() > 0 ? context->tensor.data_ptr() : nullptr;
  view.device = tensor.is_cuda() ? DLDevice{kDLCUDA, tensor.device().index()} : DLDevice{kDLCPU, 0};
  view.ndim = static_cast<std::int32_t>(tensor.dim());
  view.dtype = type_of(tensor.scalar_type());
  view.shape = context->shape.data();
  view.strides = context->strides.data();
  view.byte_offset = 0;
  context->managed.manager_ctx = context.get();
  context->managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->manager_ctx); };
  return &context.release()->managed;
}

/// Shape and strides, checked.
struct Layout {
  Dims shape, strides;
  std::size_t bytes = 0;  // from the first to the last element
};

Layout layout_of(const DLTensor& view, std::size_t item) {
  if (view.ndim < 0 || view.ndim > kMaxDims)
    fail("fromDLPack", "at most ", kMaxDims, " dimensions are supported, got ", view.ndim);
  if (view.ndim > 0 && !view.shape) fail("fromDLPack", "the shape is null");
  Layout layout;
  for (std::int32_t d = 0; d < view.ndim; ++d) {
    if (view.shape[d] < 0) fail("fromDLPack", "size ", view.shape[d], " of dimension ", d);
    layout.shape.push_back(view.shape[d]);
  }
  const std::int64_t elements = count_elements(layout.shape);
  layout.strides = Dims(layout.shape.size(), 1);
  std::int64_t contiguous = 1, last = 0;
  for (std::size_t d = layout.shape.size(); d-- > 0;) {
    const std::int64_t stride = view.strides ? view.strides[d] : contiguous;
    contiguous *= std::max<std::int64_t>(layout.shape[d], 1);
    if (layout.shape[d] <= 1 || elements == 0) {
      layout.strides[d] = contiguous / std::max<std::int64_t>(layout.shape[d], 1);
      continue;
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
    if (stride < 0) fail("fromDLPack", "negative strides are not supported; copy the tensor before");
    if (stride > (kMost - last) / (layout.shape[d] - 1)) fail("fromDLPack", "impossible stride ", stride);
    layout.strides[d] = stride;
    last += stride * (layout.shape[d] - 1);
  }
  layout.bytes = elements == 0 ? 0 : (static_cast<std::size_t>(last) + 1) * item;
  return layout;
}

template <class Managed>
Tensor import_tensor(Managed* managed) {
  const DLTensor& view = managed->dl_tensor;
  const ScalarType dtype = dtype_of_type(view.dtype);
  const Device device = device_of(view.device);
  const Layout layout = layout_of(view, element_size(dtype));
  std::byte* data = static_cast<std::byte*>(view.data);
  if (layout.bytes > 0 && !data) fail("fromDLPack", "the data is null");
  if (data) data += view.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(data) % element_size(dtype) != 0)
    fail("fromDLPack", "the data is not aligned to its elements of ", element_size(dtype), " bytes");
  const auto give_back = [managed](void*) {
    if (managed->deleter) managed->deleter(managed);
  };
  auto storage = make_intrusive<Storage>(data, layout.bytes, device, give_back);
  return Tensor(make_intrusive<TensorImpl>(std::move(storage), dtype, layout.shape, layout.strides, 0));
}

}  // namespace

DLManagedTensor* toDLPack(const Tensor& tensor) { return export_tensor<DLManagedTensor>("toDLPack", tensor); }

DLManagedTensorVersioned* toDLPackVersioned(const Tensor& tensor) {
  DLManagedTensorVersioned* managed = export_tensor<DLManagedTensorVersioned>("toDLPackVersioned", tensor);
  managed->version = {1, 0};
  return managed;
}

Tensor fromDLPack(DLManagedTensor* managed) {
  if (!managed) fail("fromDLPack", "the tensor is null");
  return import_tensor(managed);
}

Tensor fromDLPack(DLManagedTensorVersioned* managed) {
  if (!managed) fail("fromDLPack", "the tensor is null");
  if (managed->version.major != 1)
    fail("fromDLPack", "version ", managed->version.major, ".", managed->version.minor,
         " is not supported: 1.x is");
  const Tensor shared = import_tensor(managed);
  const NoGradGuard no_grad;
  return managed->flags & kDLPackReadOnly ? shared.clone() : shared;
}

}  // namespace halftone
