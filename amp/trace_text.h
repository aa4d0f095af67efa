#pragma once

#include <string>

#include "halftone/amp/trace_log.h"

// Numbers and names as the table and the page print them.
namespace halftone::amp {

/// printf of one number.
std::string format_number(const char* pattern, double value);
/// "12 B", "3.4 KiB", "1.2 MiB".
std::string format_bytes(std::int64_t bytes);
/// "12.3 us", "4.56 ms", "1.23 s" of microseconds.
std::string format_time(double microseconds);
/// "float32 1.2 MiB, float16 3 KiB"; "none" of nothing.
std::string format_bytes(const std::vector<TraceBytes>& bytes);

}  // namespace halftone::amp
