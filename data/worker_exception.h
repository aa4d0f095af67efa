#pragma once

#include <exception>

#include "halftone/engine/error.h"

namespace halftone::data {

/// What comes out of a loader or a ChunkDataset when something throws in a thread that reads ahead. what()
/// holds the original message, `original_exception` the exception itself.
class WorkerException : public Error {
 public:
  explicit WorkerException(std::exception_ptr original);
  std::exception_ptr original_exception;
};

}  // namespace halftone::data
