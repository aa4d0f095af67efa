#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "halftone/engine/error.h"

namespace halftone::io {

/// A file read from front to back. Every Error names the operation and the file.
class InputFile {
 public:
  /// Throws Error unless `path` is a regular file that can be read.
  InputFile(std::string op, std::string path);

  std::uint64_t size() const { return size_; }
  /// Bytes not read yet.
  std::uint64_t left() const { return left_; }
  /// Throws Error when fewer bytes are left, or the device is broken.
  void read(void* into, std::size_t bytes);
  /// The next bytes as a text.
  std::string read_text(std::size_t bytes);

  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(op_, path_, ": ", parts...);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string op_, path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t size_ = 0, left_ = 0;
};

}  // namespace halftone::io
