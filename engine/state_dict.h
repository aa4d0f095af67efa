#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone {

/// Named tensors and numbers in a fixed order: what optimizers, scalers and schedulers save and load. Names
/// are dotted paths ("state.0.exp_avg"), so one dictionary can hold another under a prefix.
class StateDict {
 public:
  /// What an entry can be.
  using Value = std::variant<Tensor, std::int64_t, double, bool, std::string>;
  /// Its name and value.
  using Entry = std::pair<std::string, Value>;

  StateDict();
  ~StateDict();
  StateDict(const StateDict&);
  StateDict(StateDict&&) noexcept;
  StateDict& operator=(const StateDict&);
  StateDict& operator=(StateDict&&) noexcept;

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  /// All of them, in the order in which they were set.
  const std::vector<Entry>& entries() const { return entries_; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  /// Sets an entry, replacing one of the same name.
  void set(std::string name, Value value);
  /// Null when there is no such entry.
  const Value* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// Each throws Error naming the entry when it is missing or of another kind. An integer reads as a number
  /// too.
  /// @{
  Tensor tensor(std::string_view name) const;
  double number(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;
  /// @}

  /// Adds every entry of `other` as "prefix.name".
  void add(const std::string& prefix, const StateDict& other);
  /// The entries under "prefix.", without it.
  StateDict under(const std::string& prefix) const;

 private:
  const Value& at(std::string_view name) const;
  std::vector<Entry> entries_;
};

}  // namespace halftone
