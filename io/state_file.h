#pragma once

#include <functional>
#include <string>

#include "halftone/engine/state_dict.h"
#include "halftone/io/endpoint.h"

namespace halftone::io {

/// Writes a state dictionary as safetensors: tensors as they are, everything else as metadata ("int:3",
/// "number:0.1", exactly). A file is written atomically. Throws Error on undefined tensors and when the file
/// cannot be written.
void save_state(const Destination& to, const StateDict& state);

/// Reads what save_state wrote. Throws Error on a damaged file.
StateDict load_state(const Origin& from);

/// Runs `action`; an Error it throws names `source` (a file, or a part of one), too.
void naming_source(const std::string& source, const std::function<void()>& action);

}  // namespace halftone::io
