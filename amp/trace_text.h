#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/amp/trace_log.h"

// Numbers, names and tables as traces and the command line tool print them.
namespace halftone::amp {

/// Rows of equal length as text, each column as wide as its widest entry; those from `first_number` on stand
/// to the right. At least one row: the heading.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    std::size_t first_number = static_cast<std::size_t>(-1));

/// printf of one number.
std::string format_number(const char* pattern, double value);
/// "12 B", "3.4 KiB", "1.2 MiB".
std::string format_bytes(std::int64_t bytes);
/// "12.3 us", "4.56 ms", "1.23 s" of microseconds.
std::string format_time(double microseconds);
/// "float32 1.2 MiB, float16 3 KiB"; "none" of nothing.
std::string format_bytes(const std::vector<TraceBytes>& bytes);

}  // namespace halftone::amp
