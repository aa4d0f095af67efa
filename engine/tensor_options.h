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

/// What a factory makes: dtype, device, requires_grad. Built fluently as in libtorch:
/// `dtype(kHalf).device(kCUDA).requires_grad(true)`; a bare dtype or device converts.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(Device(device)) {}

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
  TensorOptions requires_grad(bool requires_grad) const {
    TensorOptions copy = *this;
    copy.requires_grad_ = requires_grad;
    return copy;
  }

  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_ ? *device_ : get_default_device(); }
  bool requires_grad() const { return requires_grad_; }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};

inline TensorOptions dtype(ScalarType dtype) { return TensorOptions(dtype); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions requires_grad(bool requires_grad = true) {
  return TensorOptions().requires_grad(requires_grad);
}

}  // namespace halftone
