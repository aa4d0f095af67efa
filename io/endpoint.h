#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

namespace halftone::io {

/// Takes bytes, front to back.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Throws Error when they cannot be taken.
  virtual void write(const void* data, std::size_t bytes) = 0;
  /// Everything was written. Throws Error when it did not arrive.
  virtual void commit() = 0;
};

/// Where something is saved: a file, which appears complete or not at all; a stream, from its present
/// position; or a function that takes bytes and returns how many it took.
class Destination {
 public:
  /// Takes bytes, and returns how many it took: fewer is a failure.
  using Writer = std::function<std::size_t(const void* data, std::size_t bytes)>;

  Destination(std::string path) : name_(std::move(path)), is_file_(true) {}
  Destination(const char* path) : Destination(std::string(path)) {}
  Destination(std::ostream& stream);
  Destination(Writer writer) : name_("the writer"), writer_(std::move(writer)) {}

  /// For messages: the path, or what it is.
  const std::string& name() const { return name_; }
  /// Begins to write. Throws Error when that cannot be done.
  std::unique_ptr<Sink> open() const;

 private:
  std::string name_;
  bool is_file_ = false;
  Writer writer_;
  std::function<bool()> flush_;
};

/// Where something is loaded from: a file; a stream, from its present position, where more may follow; or
/// bytes in memory. A stream and bytes are referred to, not copied.
class Origin {
 public:
  Origin(std::string path) : name_(std::move(path)) {}
  Origin(const char* path) : Origin(std::string(path)) {}
  Origin(std::istream& stream) : name_("the stream"), stream_(&stream) {}
  Origin(const char* data, std::size_t bytes) : name_("the bytes"), data_(data), bytes_(bytes) {}

  /// For messages: the path, or what it is.
  const std::string& name() const { return name_; }
  /// Null unless it is one.
  std::istream* stream() const { return stream_; }
  /// The bytes in memory; null unless it is those.
  const char* data() const { return data_; }
  /// How many bytes in memory there are.
  std::size_t bytes() const { return bytes_; }

 private:
  std::string name_;
  std::istream* stream_ = nullptr;
  const char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace halftone::io
