#include "halftone/io/state_file.h"

#include <charconv>
#include <string_view>

#include "halftone/io/safetensors.h"

namespace halftone::io {

namespace {

template <class T>
std::string digits(T value) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value).ptr;  // shortest text that reads back exactly
  return {buffer, end};
}

std::string encode(const StateDict::Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return "int:" + digits(*integer);
  if (const auto* number = std::get_if<double>(&value)) return "number:" + digits(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "bool:true" : "bool:false";
  return "text:" + std::get<std::string>(value);
}

template <class T>
StateDict::Value number_from(const std::string& key, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail("load", "entry '", key, "': cannot read '", text, "'");
  }
  return value;
}

StateDict::Value decode(const std::string& key, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (kind == "int") return number_from<std::int64_t>(key, rest);
  if (kind == "number") return number_from<double>(key, rest);
  if (kind == "bool" && (rest == "true" || rest == "false")) return rest == "true";
  if (kind == "text") return std::string(rest);
  fail("load", "entry '", key, "': cannot read '", text, "'");
}

}  // namespace

void save_state(const Destination& to, const StateDict& state) {
  NamedTensors tensors("tensor");
  std::map<std::string, std::string> metadata;
  for (const auto& [name, value] : state) {
    if (const Tensor* tensor = std::get_if<Tensor>(&value)) {
      tensors.insert(name, *tensor);
    } else if (!metadata.emplace(name, encode(value)).second) {
      fail("save", "entry '", name, "' occurs twice");
    }
  }
  save_safetensors(to, tensors, metadata);
}

StateDict load_state(const Origin& from) {
  const SafeTensors file = load_safetensors(from);
  StateDict state;
  for (const auto& item : file.tensors) state.set(item.key(), item.value());
  naming_source(from.name(), [&] {
    for (const auto& [key, text] : file.metadata) {
      if (key == "format" && text == "pt") continue;  // written for Python; no value of ours looks like that
      if (state.contains(key)) fail("load", "entry '", key, "' occurs twice");
      state.set(key, decode(key, text));
    }
  });
  return state;
}

void naming_source(const std::string& source, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    fail(error.op(), source, ": ", std::string_view(error.what()).substr(error.op().size() + 2));
  }
}

}  // namespace halftone::io
