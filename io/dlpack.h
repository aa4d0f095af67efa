#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"

// DLPack (github.com/dmlc/dlpack): how tensors go from one library to another in one process, without a copy.
// The structs are the published ABI's, in this namespace so that they can stand beside the original header's.
namespace halftone {

/// Where memory lies.
enum DLDeviceType : std::int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 };

/// A device and its number.
struct DLDevice {
  DLDeviceType device_type;  ///< what kind
  std::int32_t device_id;    ///< which of them; 0 for the CPU
};

/// Kinds of numbers.
enum DLDataTypeCode : std::uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
};

/// An element type: a kind, bits, and lanes of a vector (1).
struct DLDataType {
  std::uint8_t code;    ///< a DLDataTypeCode
  std::uint8_t bits;    ///< of one element
  std::uint16_t lanes;  ///< 1: halftone takes no vectors
};

/// Memory and how it is laid out.
struct DLTensor {
  void* data;                 ///< where the memory begins, in its device's address space
  DLDevice device;            ///< where it lies
  std::int32_t ndim;          ///< number of dimensions
  DLDataType dtype;           ///< of its elements
  std::int64_t* shape;        ///< ndim sizes
  std::int64_t* strides;      ///< in elements; null: contiguous
  std::uint64_t byte_offset;  ///< of the first element from `data`
};

/// Of versions before 1.0.
struct DLManagedTensor {
  DLTensor dl_tensor;                      ///< the memory
  void* manager_ctx;                       ///< what keeps it alive; for `deleter`
  void (*deleter)(DLManagedTensor* self);  ///< gives it back; null: nothing to do
};

/// Versions with the same `major` understand each other.
struct DLPackVersion {
  std::uint32_t major;  ///< 1 here
  std::uint32_t minor;  ///< what was added since, without breaking
};

inline constexpr std::uint64_t kDLPackReadOnly = 1;  ///< a flag

/// Of version 1.0 and later.
struct DLManagedTensorVersioned {
  DLPackVersion version;                            ///< comes first in every version
  void* manager_ctx;                                ///< what keeps it alive; for `deleter`
  void (*deleter)(DLManagedTensorVersioned* self);  ///< gives it back; null: nothing to do
  std::uint64_t flags;                              ///< kDLPackReadOnly, or 0
  DLTensor dl_tensor;                               ///< the memory
};

/// The tensor for another library, which shares its memory and keeps it alive until it calls `deleter`.
/// Gradients do not follow. On a CUDA device, what is enqueued on its stream may still be running:
/// synchronize first.
/// @{
DLManagedTensor* toDLPack(const Tensor& tensor);
DLManagedTensorVersioned* toDLPackVersioned(const Tensor& tensor);
/// @}

/// A tensor on another library's memory, which is given back through `deleter` when the last tensor on it
/// goes. A read-only one is copied, and given back at once. Throws Error, and takes nothing, for a dtype,
/// device, layout or version that halftone does not have.
/// @{
Tensor fromDLPack(DLManagedTensor* managed);
Tensor fromDLPack(DLManagedTensorVersioned* managed);
/// @}

}  // namespace halftone
