#pragma once

#include <optional>

#include "halftone/engine/device.h"
#include "halftone/engine/dtype.h"

namespace halftone {

/// The dtype tensors get when none is named (float32 unless changed).
ScalarType get_default_dtype();
/// Throws Error unless `dtype` is a floating type.
void set_default_dtype(ScalarType dtype);

/// The device tensors are made on when none is named (kCPU unless changed). Process-wide.
Device get_default_device();
/// Throws Error when there is no such device.
void set_default_device(Device device);

/// How elements lie in memory: always by strides. kSparse is there to be refused by name.
enum class Layout : std::int8_t { kStrided, kSparse };
/// The layouts by libtorch's names.
/// @{
inline constexpr Layout kStrided = Layout::kStrided;
inline constexpr Layout kSparse = Layout::kSparse;
/// @}

/// libtorch's memory formats. Contiguous and Preserve are accepted; halftone has no channels-last kernels.
enum class MemoryFormat : std::int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

/// Throws Error naming `op` and the alternative unless halftone has the layout.
void check_layout(const char* op, Layout layout);
/// Throws Error naming `op` and the alternative for the channels-last formats.
void check_memory_format(const char* op, MemoryFormat format);

/// What a factory makes: dtype, device, requires_grad. Built fluently as in libtorch:
/// `dtype(kHalf).device(kCUDA).requires_grad(true)`; a bare dtype or device converts.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(Device(device)) {}
  TensorOptions(Layout layout) { check_layout("TensorOptions", layout); }

  TensorOptions dtype(std::optional<ScalarType> dtype) const {
    TensorOptions copy = *this;
    copy.dtype_ = dtype;
    return copy;
  }
  TensorOptions device(std::optional<Device> device) const {
    TensorOptions copy = *this;
    copy.device_ = device;
    return copy;
  }
  TensorOptions device(DeviceType type, std::int8_t index = -1) const { return device(Device(type, index)); }
  /// `dtype<float>()`.
  template <class T>
  TensorOptions dtype() const {
    return dtype(dtype_of<T>);
  }
  TensorOptions layout(Layout layout) const {
    check_layout("TensorOptions", layout);
    return *this;
  }
  TensorOptions memory_format(MemoryFormat format) const {
    check_memory_format("TensorOptions", format);
    return *this;
  }
  TensorOptions requires_grad(bool requires_grad) const {
    TensorOptions copy = *this;
    copy.requires_grad_ = requires_grad;
    return copy;
  }

  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_ ? *device_ : get_default_device(); }
  bool requires_grad() const { return requires_grad_; }
  Layout layout() const { return kStrided; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};

/// Options with one of them set: `zeros({2, 3}, dtype(kHalf).requires_grad(true))`.
/// @{
inline TensorOptions dtype(ScalarType dtype) { return TensorOptions(dtype); }
template <class T>
TensorOptions dtype() {
  return TensorOptions(dtype_of<T>);
}
inline TensorOptions layout(Layout layout) { return TensorOptions(layout); }
inline TensorOptions memory_format(MemoryFormat format) { return TensorOptions().memory_format(format); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions requires_grad(bool requires_grad = true) {
  return TensorOptions().requires_grad(requires_grad);
}
/// @}

}  // namespace halftone
