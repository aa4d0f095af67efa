#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "halftone/engine/error.h"
#include "halftone/io/endpoint.h"

namespace halftone::io {

/// A file, a stream or bytes in memory, read from front to back. Every Error names the operation and the
/// file.
class InputFile {
 public:
  /// Throws Error unless a file is a regular one that can be read, and a stream is in a good state.
  InputFile(std::string op, const Origin& from);

  /// All bytes from where reading started; very large where a stream does not know.
  std::uint64_t size() const { return size_; }
  /// Whether something else may follow: what is read from a stream need not be all of it.
  bool is_open_ended() const { return stream_ != nullptr; }
  /// Bytes not read yet.
  std::uint64_t left() const { return left_; }
  /// Throws Error when fewer bytes are left, or the device is broken.
  void read(void* into, std::size_t bytes);
  /// The next bytes as a text.
  std::string read_text(std::size_t bytes);
  /// All that is left.
  std::string read_rest();

  /// Throws Error with the operation's and the file's name.
  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(op_, path_, ": ", parts...);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void open_file();
  void measure_stream();

  std::string op_, path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::istream* stream_ = nullptr;
  const char* memory_ = nullptr;
  std::uint64_t size_ = 0, left_ = 0;
};

}  // namespace halftone::io
