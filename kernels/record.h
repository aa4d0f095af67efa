#pragma once

#include <cstring>
#include <type_traits>

#include "halftone/engine/cuda_backend.h"
#include "halftone/engine/tensor.h"

// Small structs in the memory of a device, as tensors of bytes: numbers that kernels of a training step hand
// to each other and that the host reads only when somebody asks.
namespace halftone {

/// Memory for `bytes` bytes on `device`, not initialised.
inline Tensor empty_record(std::size_t bytes, Device device) {
  const MemoryCategoryGuard category(MemoryCategory::kTemporary);
  return empty({static_cast<std::int64_t>(bytes)}, TensorOptions(kByte).device(device));
}

/// Where a record lies, in the memory of its device.
template <class T>
T* record_data(const Tensor& record) {
  return record.defined() ? static_cast<T*>(record.data_ptr()) : nullptr;
}

/// Waits for the device, if that is not the host.
template <class T>
T read_record(const Tensor& record, std::size_t offset = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  const std::byte* from = record_data<std::byte>(record) + offset;
  if (record.is_cuda()) {
    cuda::backend()->read(&value, from, sizeof(T), record.device().index());
  } else {
    std::memcpy(&value, from, sizeof(T));
  }
  return value;
}

template <class T>
void write_record(const Tensor& record, const T& value, std::size_t offset = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::byte* to = record_data<std::byte>(record) + offset;
  if (record.is_cuda()) {
    cuda::backend()->write(to, &value, sizeof(T), record.device().index());
  } else {
    std::memcpy(to, &value, sizeof(T));
  }
}

template <class T>
Tensor make_record(const T& value, Device device) {
  Tensor record = empty_record(sizeof(T), device);
  write_record(record, value);
  return record;
}

}  // namespace halftone
