#include "halftone/engine/state_dict.h"

namespace halftone {
namespace {

template <class T>
const T& as(std::string_view name, const StateDict::Value& value, const char* kind) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  constexpr const char* kinds[] = {"a tensor", "an integer", "a number", "a bool", "a text"};
  fail("state_dict", "entry '", name, "': expected ", kind, ", got ", kinds[value.index()]);
}

}  // namespace

StateDict::StateDict() = default;
StateDict::~StateDict() = default;
StateDict::StateDict(const StateDict&) = default;
StateDict::StateDict(StateDict&&) noexcept = default;
StateDict& StateDict::operator=(const StateDict&) = default;
StateDict& StateDict::operator=(StateDict&&) noexcept = default;

void StateDict::set(std::string name, Value value) {
  for (Entry& entry : entries_) {
    if (entry.first != name) continue;
    entry.second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

const StateDict::Value* StateDict::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

const StateDict::Value& StateDict::at(std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  fail("state_dict", "there is no entry '", name, "'");
}

Tensor StateDict::tensor(std::string_view name) const { return as<Tensor>(name, at(name), "a tensor"); }

double StateDict::number(std::string_view name) const {
  const Value& value = at(name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return as<double>(name, value, "a number");
}

std::int64_t StateDict::integer(std::string_view name) const {
  return as<std::int64_t>(name, at(name), "an integer");
}

bool StateDict::boolean(std::string_view name) const { return as<bool>(name, at(name), "a bool"); }

std::string StateDict::text(std::string_view name) const { return as<std::string>(name, at(name), "a text"); }

void StateDict::add(const std::string& prefix, const StateDict& other) {
  for (const Entry& entry : other) entries_.emplace_back(prefix + "." + entry.first, entry.second);
}

StateDict StateDict::under(const std::string& prefix) const {
  StateDict inner;
  const std::string start = prefix + ".";
  for (const Entry& entry : entries_) {
    if (entry.first.starts_with(start))
      inner.entries_.emplace_back(entry.first.substr(start.size()), entry.second);
  }
  return inner;
}

}  // namespace halftone
