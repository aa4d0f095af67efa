#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "halftone/engine/device.h"

/// CUDA devices, streams and events. Everything here may be asked in any build and on any machine; what needs
/// a device throws Error, saying why there is none.
namespace halftone::cuda {

/// Whether this build has the CUDA backend and a device to run it on.
bool is_available();
/// libtorch's name; halftone's kernels are its own, cuDNN is never used.
inline bool cudnn_is_available() { return false; }
/// Number of CUDA devices that can be used; 0 without driver, device or backend.
std::size_t device_count();
/// Why is_available() is false: no backend in this build, no driver, no device. Empty when it is true.
std::string why_unavailable();
/// "NVIDIA H200". `device`: a number, -1 for the current one.
std::string device_name(int device = -1);

/// The device that kCUDA without a number means on this thread.
int current_device();
/// Makes a device current on this thread. Throws Error when there is none of that number.
void set_device(int device);

/// Waits until a device has done all its work. Throws Error for what kernels found wrong with the data since
/// the last wait, such as an index out of range.
void synchronize(int device = -1);

/// Seeds the process-wide random stream, which all devices share.
void manual_seed(std::uint64_t seed);
/// The same: there is one stream.
void manual_seed_all(std::uint64_t seed);

/// Number of copies from a device to the host since the program began: each one waited for the device.
std::uint64_t host_reads();

/// While alive, `device` is current on this thread.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_;
};

/// A queue of work on a device: what is enqueued on one stream runs in order, different streams run beside
/// each other. Copies are the same stream.
class Stream {
 public:
  /// A new stream on `device`.
  explicit Stream(Device device = Device(kCUDA), bool high_priority = false);
  /// The stream on which this thread enqueues work for `device`.
  static Stream current(Device device = Device(kCUDA));

  /// Where its work runs.
  Device device() const { return device_; }
  /// The cudaStream_t.
  void* handle() const { return handle_.get(); }
  /// Whether all its work is done.
  bool query() const;
  /// Waits until all its work is done.
  void synchronize() const;

  /// Whether both are the same queue.
  friend bool operator==(const Stream& a, const Stream& b) {
    return a.device_ == b.device_ && a.handle() == b.handle();
  }

 private:
  Stream(Device device, std::shared_ptr<void> handle) : device_(device), handle_(std::move(handle)) {}
  Device device_;
  std::shared_ptr<void> handle_;
};

/// While alive, `stream` is this thread's current stream on its device.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream stream_;
  void* previous_;
};

/// A mark in a stream that other streams and the host can wait for.
class Event {
 public:
  /// `timing`: elapsed_time can be asked.
  explicit Event(bool timing = false);

  /// Marks what `stream` holds now.
  void record(const Stream& stream = Stream::current());
  /// Work enqueued on `stream` from now on waits for the mark.
  void block(const Stream& stream) const;
  /// Whether the mark has passed; true before record().
  bool query() const;
  /// Waits until the mark has passed.
  void synchronize() const;
  /// Milliseconds from this mark to `end`; both must have been made with timing and have passed.
  float elapsed_time(const Event& end) const;

 private:
  std::shared_ptr<void> handle_;
};

}  // namespace halftone::cuda
