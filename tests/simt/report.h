#pragma once

#include <string>

namespace simt {

/// A bug was found: prints `text`, keeps it for control.h, and makes the process fail at its end unless a
/// test asked for the reports.
void report(const std::string& text);

/// Something the runtime refuses with an error code, explained: printed and kept like a report, but no
/// failure of the process.
void note(const std::string& text);

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace simt
