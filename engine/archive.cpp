#include "halftone/engine/archive.h"

#include <algorithm>

namespace halftone::serialize {
namespace {

IValue to_ivalue(const StateDict::Value& value) {
  return std::visit([](const auto& held) { return IValue(held); }, value);
}

StateDict::Value from_ivalue(const std::string& key, const IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isTensor()) return value.toTensor();
  fail("OutputArchive", "entry '", key, "': expected a tensor, a number, a bool or a text");
}

[[noreturn]] void missing(const std::string& key) { fail("InputArchive", "there is no entry '", key, "'"); }

}  // namespace

void OutputArchive::set(const std::string& key, StateDict::Value value) {
  if (state_.contains(key)) fail("OutputArchive", "entry '", key, "' was written already");
  state_.set(key, std::move(value));
}

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) {
  if (!tensor.defined()) fail("OutputArchive", "entry '", key, "': the tensor is undefined");
  set(key, tensor);
}

void OutputArchive::write(const std::string& key, const IValue& value) { set(key, from_ivalue(key, value)); }

void OutputArchive::write(const std::string& key, const OutputArchive& nested) {
  for (const auto& [name, value] : nested.state_) set(key + "." + name, value);
}

void OutputArchive::write(const StateDict& state) {
  for (const auto& [name, value] : state) set(name, value);
}

bool InputArchive::try_read(const std::string& key, IValue& value) {
  const StateDict::Value* found = state_.find(key);
  if (found) value = to_ivalue(*found);
  return found != nullptr;
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) {
  if (!state_.contains(key)) return false;
  const Tensor saved = state_.tensor(key);
  if (!tensor.defined()) {
    tensor = saved;
    return true;
  }
  if (saved.sizes() == tensor.sizes()) {
    tensor.detach().copy_(saved);
  } else {
    tensor.set_data(saved);
  }
  return true;
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) {
  StateDict inner = state_.under(key);
  if (inner.empty()) return false;
  nested.state_ = std::move(inner);
  return true;
}

void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) {
  if (!try_read(key, tensor, is_buffer)) missing(key);
}

void InputArchive::read(const std::string& key, IValue& value) {
  if (!try_read(key, value)) missing(key);
}

void InputArchive::read(const std::string& key, InputArchive& nested) {
  if (!try_read(key, nested)) missing(key);
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> keys;
  for (const auto& [name, value] : state_) {
    std::string first = name.substr(0, name.find('.'));
    if (std::find(keys.begin(), keys.end(), first) == keys.end()) keys.push_back(std::move(first));
  }
  return keys;
}

void InputArchive::take(StateDict state, std::optional<Device> device) {
  state_ = StateDict();
  for (const auto& [name, value] : state) {
    const Tensor* tensor = std::get_if<Tensor>(&value);
    state_.set(name, tensor && device ? StateDict::Value(tensor->to(*device)) : value);
  }
}

}  // namespace halftone::serialize
