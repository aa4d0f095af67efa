#pragma once

#include <string>

#include "halftone/amp/trace_log.h"

namespace halftone::amp {

/// The whole trace as one JSON object, for the page: {"operators": [...], "casts": [...], ...}, safe between
/// script tags.
std::string trace_page_json(const TraceLog& log);

}  // namespace halftone::amp
