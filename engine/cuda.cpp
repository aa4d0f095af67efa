#include "halftone/engine/cuda.h"

#include <utility>

#include "halftone/engine/cuda_backend.h"
#include "halftone/engine/error.h"
#include "halftone/engine/generator.h"

namespace halftone::cuda {
namespace {

Backend* registered = nullptr;

#if HALFTONE_WITH_CUDA
const bool linked =
    (link_backend(), true);  // also keeps the backend's objects in a statically linked program
#endif

int number_of(int device, const char* op) {
  return resolve(Device(kCUDA, static_cast<std::int8_t>(device)), op).index();
}

}  // namespace

Backend* backend() { return registered; }
void set_backend(Backend* backend) { registered = backend; }

Backend& require_backend(const char* op) {
  const std::string reason = why_unavailable();
  if (!reason.empty()) fail(op, "CUDA is not available: ", reason, "; use kCPU");
  return *registered;
}

Device resolve(Device device, const char* op) {
  if (device.is_cpu()) [[likely]]
    return device;
  Backend& cuda = require_backend(op);
  const int index = device.has_index() ? device.index() : cuda.current_device();
  if (index >= cuda.device_count()) {
    fail(op, "there is no ", device, ": this machine has ", cuda.device_count(), " CUDA device(s)");
  }
  return {kCUDA, static_cast<std::int8_t>(index)};
}

bool is_available() { return device_count() > 0; }

std::size_t device_count() { return registered ? static_cast<std::size_t>(registered->device_count()) : 0; }

std::string why_unavailable() {
  if (!registered) return "this halftone was built without its CUDA backend (HALFTONE_CUDA=ON builds it)";
  return registered->device_count() > 0 ? std::string() : registered->absence();
}

std::string device_name(int device) {
  return require_backend("device_name").device_name(number_of(device, "device_name"));
}

int current_device() { return require_backend("current_device").current_device(); }
void set_device(int device) {
  require_backend("set_device").set_current_device(number_of(device, "set_device"));
}
void synchronize(int device) { require_backend("synchronize").synchronize(number_of(device, "synchronize")); }

void manual_seed(std::uint64_t seed) { halftone::manual_seed(seed); }
void manual_seed_all(std::uint64_t seed) { halftone::manual_seed(seed); }

std::uint64_t host_reads() { return registered ? registered->host_reads() : 0; }

DeviceGuard::DeviceGuard(Device device) : previous_(current_device()) { set_device(device.index()); }
DeviceGuard::~DeviceGuard() { registered->set_current_device(previous_); }

Stream::Stream(Device device, bool high_priority) : device_(resolve(device, "Stream")) {
  Backend& cuda = *registered;
  handle_ = std::shared_ptr<void>(cuda.create_stream(device_.index(), high_priority),
                                  [&cuda](void* stream) { cuda.destroy_stream(stream); });
}

Stream Stream::current(Device device) {
  const Device resolved = resolve(device, "Stream");
  // Not owned: whoever made it current keeps it.
  return {resolved, std::shared_ptr<void>(registered->current_stream(resolved.index()), [](void*) {})};
}

bool Stream::query() const { return registered->is_idle(handle()); }
void Stream::synchronize() const { registered->synchronize_stream(handle()); }

StreamGuard::StreamGuard(const Stream& stream)
    : stream_(stream), previous_(registered->current_stream(stream.device().index())) {
  registered->set_current_stream(stream_.device().index(), stream_.handle());
}
StreamGuard::~StreamGuard() { registered->set_current_stream(stream_.device().index(), previous_); }

Event::Event(bool timing) {
  Backend& cuda = require_backend("Event");
  handle_ =
      std::shared_ptr<void>(cuda.create_event(timing), [&cuda](void* event) { cuda.destroy_event(event); });
}

void Event::record(const Stream& stream) { registered->record_event(handle_.get(), stream.handle()); }
void Event::block(const Stream& stream) const { registered->wait_event(stream.handle(), handle_.get()); }
bool Event::query() const { return registered->is_done(handle_.get()); }
void Event::synchronize() const { registered->synchronize_event(handle_.get()); }
float Event::elapsed_time(const Event& end) const {
  return registered->elapsed_milliseconds(handle_.get(), end.handle_.get());
}

}  // namespace halftone::cuda
