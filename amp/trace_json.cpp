// A trace as JSON: one object a line, which can be read again; trace events; and the data of the page.

#include "halftone/amp/trace_json.h"

#include <array>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "halftone/amp/trace_fields.h"

namespace halftone::amp {
namespace {

using Json = nlohmann::json;

// --- Values and back
// -------------------------------------------------------------------------------------------
template <class Enum, std::size_t N>
constexpr std::array<const char*, N> names_of(const char* (*name)(Enum)) {
  std::array<const char*, N> names{};
  for (std::size_t i = 0; i < N; ++i) names[i] = name(static_cast<Enum>(i));
  return names;
}

/// The names of an enumeration's values, in their order.
template <class Enum>
auto names() {
  if constexpr (std::is_same_v<Enum, ScalarType>) return names_of<Enum, kDtypeCount>(&dtype_name);
  if constexpr (std::is_same_v<Enum, Precision>) return names_of<Enum, kPrecisionCount>(&precision_name);
  if constexpr (std::is_same_v<Enum, TraceKind>) return names_of<Enum, 5>(&kind_name);
  if constexpr (std::is_same_v<Enum, TracePhase>) return names_of<Enum, 3>(&phase_name);
  if constexpr (std::is_same_v<Enum, TraceCast::Source>) return names_of<Enum, 3>(&source_name);
  if constexpr (std::is_same_v<Enum, TraceNonFinite::Origin>) return names_of<Enum, 3>(&origin_name);
}

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
Json write(const T& value);
template <class T>
T read(const Json& json);

/// Puts a record's fields into an object.
struct Writer {
  Json object = Json::object();

  template <class T>
  void operator()(const char* name, const T& value) {
    object[name] = write(value);
  }
  template <class Default, class T>
  void unless(const Default& usual, const char* name, const T& value) {
    if (!(value == usual)) object[name] = write(value);
  }
  template <class T>
  void derived(const char* name, const T& value) {
    object[name] = write(value);
  }
};

/// Takes them out again. Throws where one is missing or makes no sense.
struct Reader {
  const Json& object;

  template <class T>
  void operator()(const char* name, T& value) {
    value = read<T>(object.at(name));
  }
  template <class Default, class T>
  void unless(const Default& usual, const char* name, T& value) {
    value = object.contains(name) ? read<T>(object.at(name)) : T(usual);
  }
  template <class T>
  void derived(const char*, const T&) {}
};

/// JSON has no infinity and no NaN.
Json write_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? Json("nan") : Json(value > 0 ? "inf" : "-inf");
}
double read_number(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf" || text == "-inf") return text[0] == '-' ? -INFINITY : INFINITY;
  throw std::invalid_argument("'" + text + "' is no number");
}

template <class T>
Json write(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return names<T>()[static_cast<std::size_t>(value)];
  } else if constexpr (std::is_same_v<T, double>) {
    return write_number(value);
  } else if constexpr (std::is_same_v<T, Dims>) {
    return std::vector<std::int64_t>(value.begin(), value.end());
  } else if constexpr (IsOptional<T>::value) {
    return value ? write(*value) : Json();
  } else if constexpr (IsList<T>::value) {
    Json list = Json::array();
    for (const auto& element : value) list.push_back(write(element));
    return list;
  } else if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
    Writer writer;
    fields(writer, value);
    return std::move(writer.object);
  } else {
    return value;
  }
}

template <class T>
T read(const Json& json) {
  if constexpr (std::is_enum_v<T>) {
    const auto text = json.get<std::string>();
    const auto all = names<T>();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (text == all[i]) return static_cast<T>(i);
    }
    throw std::invalid_argument("unknown name '" + text + "'");
  } else if constexpr (std::is_same_v<T, double>) {
    return read_number(json);
  } else if constexpr (std::is_same_v<T, Dims>) {
    const auto values = json.get<std::vector<std::int64_t>>();
    return Dims(values.data(), values.size());
  } else if constexpr (IsOptional<T>::value) {
    if (json.is_null()) return std::nullopt;
    return read<typename T::value_type>(json);
  } else if constexpr (IsList<T>::value) {
    T list;
    for (const Json& element : json) list.push_back(read<typename T::value_type>(element));
    return list;
  } else if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
    T record;
    Reader reader{json};
    fields(reader, record);
    return record;
  } else {
    return json.get<T>();
  }
}

Json totals_json(const TraceLog& log) {
  Writer writer{{{"type", "trace"}, {"version", kTraceVersion}}};
  fields(writer, log);
  return std::move(writer.object);
}

void read_totals(const Json& json, TraceLog& log) {
  const int version = json.at("version").get<int>();
  if (version != kTraceVersion)
    throw std::invalid_argument(concat("version ", version, " is not known here"));
  Reader reader{json};
  fields(reader, log);
}

/// Adds a record to the list of its type. Throws where there is none.
void read_record(const Json& json, TraceLog& log) {
  const auto type = json.at("type").get<std::string>();
  bool known = false;
  each_list(log, [&](const char* name, const char*, auto& list) {
    if (type != name) return;
    known = true;
    list.push_back(read<typename std::remove_reference_t<decltype(list)>::value_type>(json));
  });
  if (!known) throw std::invalid_argument("unknown type '" + type + "'");
}

// --- Texts
// -----------------------------------------------------------------------------------------------------
/// Names come from programs: bytes that are not UTF-8 are replaced.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json arguments_of(const TraceOperator& op) {
  Json arguments = {
      {"phase", phase_name(op.phase)}, {"inputs", write(op.inputs)}, {"outputs", write(op.outputs)}};
  if (!op.module.empty()) arguments["module"] = op.module;
  if (op.autocast) arguments["policy"] = precision_name(op.policy);
  if (op.cast_to) arguments["cast_to"] = dtype_name(*op.cast_to);
  for (const TraceBytes& part : op.saved) arguments[concat("saved ", dtype_name(part.dtype))] = part.bytes;
  return arguments;
}

}  // namespace

std::string trace_json_lines(const TraceLog& log) {
  std::string text = text_of(totals_json(log)) + "\n";
  each_list(log, [&](const char* type, const char*, const auto& list) {
    for (const auto& record : list) {
      Json line = write(record);
      line["type"] = type;
      text += text_of(line) + "\n";
    }
  });
  return text;
}

TraceLog parse_trace_json_lines(const std::string& text) {
  TraceLog log;
  std::istringstream lines(text);
  std::string line;
  bool is_trace = false;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    try {
      const Json json = Json::parse(line);
      if (json.at("type") == "trace") {
        is_trace = true;
        read_totals(json, log);
      } else {
        read_record(json, log);
      }
    } catch (const std::exception& error) {
      fail("trace", "line ", number, " is no record of a trace: ", error.what());
    }
  }
  if (!is_trace) fail("trace", "this is no trace: the line with its totals is missing");
  return log;
}

std::string trace_chrome_json(const TraceLog& log) {
  Json events = Json::array();
  const auto event = [&](const char* kind, const std::string& name, double time) -> Json& {
    events.push_back({{"ph", kind}, {"name", name}, {"ts", time}, {"pid", 1}, {"tid", 1}});
    return events.back();
  };
  event("M", "process_name", 0)["args"] = {{"name", "halftone"}};
  double end_of_step = 0;
  std::size_t next_scale = 0;
  for (const TraceOperator& op : log.operators) {
    Json& span = event("X", op.module.empty() ? op.name : op.name + " " + op.module, op.start);
    span["dur"] = op.time;
    span["cat"] = concat(phase_name(op.phase), ",", kind_name(op.kind));
    span["args"] = arguments_of(op);
    if (op.kind != TraceKind::kStep || next_scale >= log.scales.size()) continue;
    end_of_step = op.start + op.time;
    const TraceScale& scale = log.scales[next_scale++];
    event("C", "loss scale", end_of_step)["args"] = {{"scale", scale.after}};
    if (scale.skipped) event("i", "step skipped", end_of_step)["s"] = "g";
  }
  for (const TraceNonFinite& found : log.nonfinite) {
    if (found.op < 0 || static_cast<std::size_t>(found.op) >= log.operators.size()) continue;
    const TraceOperator& op = log.operators[static_cast<std::size_t>(found.op)];
    Json& instant = event("i", "first non-finite value", op.start + op.time);
    instant["s"] = "g";
    instant["args"] = {{"what", found.str()}};
  }
  return text_of({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
}

std::string trace_page_json(const TraceLog& log) {
  Json page = {{"totals", totals_json(log)}};
  each_list(log, [&](const char*, const char* plural, const auto& list) { page[plural] = write(list); });
  std::string text;
  for (const char c : text_of(page)) {
    if (c == '<') {
      text += "\\u003c";  // "</script>" in a name would end the data
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace halftone::amp
