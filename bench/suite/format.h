#pragma once

#include <string>
#include <vector>

#include "halftone/bench/suite/report.h"

// Numbers as the table and the page print them.
namespace halftone::bench {

/// printf of one number.
std::string format_number(const char* pattern, double value);
/// "12.3 ns", "4.56 us", "7.89 ms", "1.23 s".
std::string format_time(double seconds);
/// Whether a result's rate is counted in flops rather than in bytes.
bool counts_flops(const Result& result);
/// "123.4 GFLOP/s" or "56.7 GB/s"; "-" where neither is declared.
std::string format_rate(const Result& result);
/// Percent of the ceiling; "-" where there is none.
std::string format_share(const Result& result);
/// The ceilings, a line each.
std::vector<std::string> ceiling_lines(const Ceilings& ceilings);

}  // namespace halftone::bench
