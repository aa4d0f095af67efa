#pragma once

#include <cstdint>
#include <string>

namespace halftone {

/// The kinds of devices.
enum class DeviceType : std::int8_t { kCPU = 0, kCUDA = 1, CPU = kCPU, CUDA = kCUDA };

/// Number of kinds; their values are 0 .. kDeviceTypes - 1.
inline constexpr int kDeviceTypes = 2;
/// The kinds by libtorch's names.
/// @{
inline constexpr DeviceType kCPU = DeviceType::kCPU;
inline constexpr DeviceType kCUDA = DeviceType::kCUDA;
/// @}

/// Where a tensor lives: a kind of device and, for CUDA, its number (-1 means the current one).
class Device {
 public:
  Device(DeviceType type, std::int8_t index = -1) : type_(type), index_(index) {}

  /// From "cpu", "cuda" or "cuda:1". Throws Error otherwise.
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  /// Its kind.
  DeviceType type() const { return type_; }
  /// Its number, -1 for the current one.
  std::int8_t index() const { return index_; }
  /// Whether it names a number.
  bool has_index() const { return index_ >= 0; }
  /// Whether it is the host.
  bool is_cpu() const { return type_ == kCPU; }
  /// Whether it is a CUDA device.
  bool is_cuda() const { return type_ == kCUDA; }

  /// "cpu", "cuda" or "cuda:1".
  std::string str() const;

  /// Whether kind and number are the same; "cuda" is not "cuda:0".
  friend bool operator==(const Device&, const Device&) = default;

 private:
  DeviceType type_;
  std::int8_t index_;
};

}  // namespace halftone
