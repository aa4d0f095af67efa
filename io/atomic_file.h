#pragma once

#include <cstdio>
#include <string>

namespace halftone::io {

/// A file that appears under its name complete or not at all: written beside it under another name, flushed
/// to the device, then renamed over it. Without commit() nothing is left behind.
class AtomicFile {
 public:
  /// Throws Error when the file cannot be made.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error when the device is full or broken.
  void write(const void* data, std::size_t bytes);
  void commit();

 private:
  [[noreturn]] void broken(const char* doing) const;
  std::string path_, temporary_;
  std::FILE* file_;
};

/// The whole file as bytes. Throws Error naming `op` when it cannot be read.
std::string read_file(const char* op, const std::string& path);

}  // namespace halftone::io
