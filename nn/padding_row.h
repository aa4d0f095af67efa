#pragma once

#include <cstdint>
#include <optional>

#include "halftone/engine/error.h"

namespace halftone::nn {

/// The row of a table of `rows` that padding takes, which may be counted from the end; -1 for none. Throws
/// Error naming `op` when there is no such row.
inline std::int64_t padding_row(const char* op, const std::optional<std::int64_t>& padding,
                                std::int64_t rows) {
  if (!padding) return -1;
  if (*padding < -rows || *padding >= rows) {
    fail(op, "padding_idx ", *padding, " is out of range for ", rows, " embeddings");
  }
  return *padding < 0 ? *padding + rows : *padding;
}

}  // namespace halftone::nn
