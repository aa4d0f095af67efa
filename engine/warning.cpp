#include "halftone/engine/warning.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace halftone {
namespace {

std::mutex mutex;
WarningHandler current;

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  const std::lock_guard lock(mutex);
  return std::exchange(current, std::move(handler));
}

void warn(std::string_view op, std::string_view message) {
  std::string text(op);
  text.append(": ").append(message);
  WarningHandler handler;
  {
    const std::lock_guard lock(mutex);
    handler = current;
  }
  if (handler) {
    handler(text);
  } else {
    std::fprintf(stderr, "halftone warning: %s\n", text.c_str());
  }
}

}  // namespace halftone
