#pragma once

#include <cstdio>
#include <string>

#include "halftone/io/endpoint.h"

namespace halftone::io {

/// A file that appears under its name complete or not at all: written beside it under another name, flushed
/// to the device, then renamed over it. Without commit() nothing is left behind. Through a symbolic link, the
/// file it points to is replaced.
class AtomicFile final : public Sink {
 public:
  /// Throws Error when the file cannot be made.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error when the device is full or broken.
  void write(const void* data, std::size_t bytes) override;
  void commit() override;

 private:
  [[noreturn]] void broken(const char* doing) const;
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
};

}  // namespace halftone::io
