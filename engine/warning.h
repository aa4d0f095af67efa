#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace halftone {

/// Where warnings go: one line of text each. The default writes to standard error.
using WarningHandler = std::function<void(const std::string&)>;

/// Replaces the handler, process-wide; an empty one restores the default. Returns the one before.
WarningHandler set_warning_handler(WarningHandler handler);

/// Tells the user something that is not an error: "op: message".
void warn(std::string_view op, std::string_view message);

}  // namespace halftone
