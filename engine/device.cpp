#include "halftone/engine/device.h"

#include <charconv>

#include "halftone/engine/error.h"

namespace halftone {

Device::Device(const std::string& text) : type_(kCPU), index_(-1) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  int index = -1;
  bool good = kind == "cpu" || kind == "cuda";
  if (colon != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, index);
    good = good && error == std::errc() && stop == end && index >= 0 && index < 128;
  }
  if (!good) fail("Device", "expected \"cpu\", \"cuda\" or \"cuda:N\", got \"", text, "\"");
  type_ = kind == "cuda" ? kCUDA : kCPU;
  index_ = static_cast<std::int8_t>(index);
}

std::string Device::str() const {
  std::string text = is_cpu() ? "cpu" : "cuda";
  if (has_index()) text += ":" + std::to_string(index_);
  return text;
}

}  // namespace halftone
