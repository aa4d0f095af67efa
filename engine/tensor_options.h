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

  /// With this dtype; nullopt: the default one.
  TensorOptions dtype(std::optional<ScalarType> dtype) const {
    TensorOptions copy = *this;
    copy.dtype_ = dtype;
    return copy;
  }
  /// On this device; nullopt: the default one.
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
  /// Throws Error unless it is kStrided.
  TensorOptions layout(Layout layout) const {
    check_layout("TensorOptions", layout);
    return *this;
  }
  /// Throws Error for the channels-last formats.
  TensorOptions memory_format(MemoryFormat format) const {
    check_memory_format("TensorOptions", format);
    return *this;
  }
  /// Whether the tensor takes gradients; off unless asked for.
  TensorOptions requires_grad(bool requires_grad) const {
    TensorOptions copy = *this;
    copy.requires_grad_ = requires_grad;
    return copy;
  }

  /// The dtype named, or the default one.
  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  /// The device named, or the default one.
  Device device() const { return device_ ? *device_ : get_default_device(); }
  /// Whether gradients are asked for.
  bool requires_grad() const { return requires_grad_; }
  /// Always kStrided.
  Layout layout() const { return kStrided; }
  /// Whether a dtype is named.
  bool has_dtype() const { return dtype_.has_value(); }
  /// Whether a device is named.
  bool has_device() const { return device_.has_value(); }
  /// The dtype named, if any.
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  /// The device named, if any.
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
