#include "halftone/data/worker_exception.h"

namespace halftone::data {
namespace {

std::string message_of(const std::exception_ptr& original) {
  try {
    std::rethrow_exception(original);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "(not a std::exception)";
  }
}

}  // namespace

WorkerException::WorkerException(std::exception_ptr original)
    : Error("DataLoader",
            "Caught exception in DataLoader worker thread. Original message: " + message_of(original)),
      original_exception(std::move(original)) {}

}  // namespace halftone::data
