#pragma once

#include <cstddef>
#include <string>

#include "halftone/amp/trace_log.h"

namespace halftone::tool {

/// What changed from one trace to another, as aligned text: totals, operators by the change of their own time
/// (the first `most_rows`), operators that ran in other types, and the steps that were skipped.
std::string trace_comparison(const amp::TraceLog& before, const amp::TraceLog& after, std::size_t most_rows);

}  // namespace halftone::tool
