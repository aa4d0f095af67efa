// Archives as files and streams.

#include "halftone/engine/archive.h"
#include "halftone/io/state_file.h"

namespace halftone::serialize {

void OutputArchive::save_to(const std::string& path) const { io::save_state(path, state_); }
void OutputArchive::save_to(std::ostream& stream) const { io::save_state(stream, state_); }
void OutputArchive::save_to(const std::function<std::size_t(const void*, std::size_t)>& writer) const {
  io::save_state(io::Destination(writer), state_);
}

void InputArchive::load_from(const std::string& path, std::optional<Device> device) {
  take(io::load_state(path), device);
}
void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  take(io::load_state(stream), device);
}
void InputArchive::load_from(const char* data, std::size_t bytes, std::optional<Device> device) {
  take(io::load_state(io::Origin(data, bytes)), device);
}

}  // namespace halftone::serialize
