#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "halftone/engine/ivalue.h"
#include "halftone/engine/state_dict.h"

// libtorch's archives: named tensors, numbers and texts, in archives within archives. Their files are
// safetensors (io/state_file.h), whose reading and writing stands in io/archive_file.cpp.
namespace halftone::serialize {

/// Collects what is to be saved.
class OutputArchive {
 public:
  /// Throws Error when the key is there already or the tensor is undefined.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const IValue& value);
  /// What `nested` holds now.
  void write(const std::string& key, const OutputArchive& nested);
  /// Everything of a dictionary, under its own names.
  void write(const StateDict& state);
  /// What was written so far.
  const StateDict& state() const { return state_; }

  /// Writes it as safetensors to a file, a stream or a function that takes bytes and returns how many it
  /// took. Throws Error when that fails.
  void save_to(const std::string& path) const;
  void save_to(std::ostream& stream) const;
  void save_to(const std::function<std::size_t(const void*, std::size_t)>& writer) const;

 private:
  void set(const std::string& key, StateDict::Value value);
  StateDict state_;
};

/// Gives back what was saved. With a device, tensors are moved there.
class InputArchive {
 public:
  /// Each throws Error, changing nothing, when there is no such entry or it is of another kind. A tensor that
  /// is defined keeps its identity and takes the values, of another shape too; an undefined one becomes the
  /// entry.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  void read(const std::string& key, IValue& value);
  void read(const std::string& key, InputArchive& nested);
  /// The same, false when there is no such entry.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  bool try_read(const std::string& key, IValue& value);
  bool try_read(const std::string& key, InputArchive& nested);
  /// The names on this level, without those inside nested archives.
  std::vector<std::string> keys() const;
  /// All entries.
  const StateDict& state() const { return state_; }

  /// Reads a file, a stream or `bytes` bytes in memory. Throws Error when it is damaged.
  void load_from(const std::string& path, std::optional<Device> device = std::nullopt);
  void load_from(std::istream& stream, std::optional<Device> device = std::nullopt);
  void load_from(const char* data, std::size_t bytes, std::optional<Device> device = std::nullopt);

 private:
  void take(StateDict state, std::optional<Device> device);
  StateDict state_;
};

}  // namespace halftone::serialize
