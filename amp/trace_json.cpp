// A trace as JSON: one object a line, which can be read again; trace events; and the data of the page.

#include "halftone/amp/trace_json.h"

#include <array>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

namespace halftone::amp {
namespace {

using Json = nlohmann::json;

// --- Names and back
// --------------------------------------------------------------------------------------------
template <class Enum, std::size_t N>
Enum parse_enum(const Json& json, const std::array<const char*, N>& names) {
  const auto text = json.get<std::string>();
  for (std::size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  throw std::invalid_argument("unknown name '" + text + "'");
}

template <class Enum, std::size_t N>
constexpr std::array<const char*, N> names_of(const char* (*name)(Enum)) {
  std::array<const char*, N> names{};
  for (std::size_t i = 0; i < N; ++i) names[i] = name(static_cast<Enum>(i));
  return names;
}

ScalarType parse_dtype(const Json& json) {
  return parse_enum<ScalarType>(json, names_of<ScalarType, kDtypeCount>(&dtype_name));
}
Precision parse_precision(const Json& json) {
  return parse_enum<Precision>(json, names_of<Precision, kPrecisionCount>(&precision_name));
}

/// JSON has no infinity and no NaN.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? Json("nan") : Json(value > 0 ? "inf" : "-inf");
}
double parse_number(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf" || text == "-inf") return text[0] == '-' ? -INFINITY : INFINITY;
  throw std::invalid_argument("'" + text + "' is no number");
}

Json sizes_json(const Dims& sizes) { return std::vector<std::int64_t>(sizes.begin(), sizes.end()); }
Dims parse_sizes(const Json& json) {
  const auto values = json.get<std::vector<std::int64_t>>();
  return Dims(values.data(), values.size());
}

// --- Records
// ---------------------------------------------------------------------------------------------------
Json tensors_json(const std::vector<TraceTensor>& tensors) {
  Json list = Json::array();
  for (const TraceTensor& tensor : tensors) {
    Json one = {{"dtype", dtype_name(tensor.dtype)}, {"sizes", sizes_json(tensor.sizes)}};
    if (!tensor.name.empty()) one["name"] = tensor.name;
    if (tensor.made_by >= 0) one["made_by"] = tensor.made_by;
    list.push_back(std::move(one));
  }
  return list;
}
std::vector<TraceTensor> parse_tensors(const Json& json) {
  std::vector<TraceTensor> tensors;
  for (const Json& one : json) {
    tensors.push_back({one.value("name", ""), parse_dtype(one.at("dtype")), parse_sizes(one.at("sizes")),
                       one.value("made_by", std::int64_t{-1})});
  }
  return tensors;
}

Json to_json(const TraceOperator& op) {
  Json saved = Json::array();
  for (const TraceBytes& part : op.saved)
    saved.push_back({{"dtype", dtype_name(part.dtype)}, {"bytes", part.bytes}});
  return {{"type", "operator"},
          {"name", op.name},
          {"kind", kind_name(op.kind)},
          {"phase", phase_name(op.phase)},
          {"module", op.module},
          {"declared", precision_name(op.declared)},
          {"policy", precision_name(op.policy)},
          {"autocast", op.autocast},
          {"cast_to", op.cast_to ? Json(dtype_name(*op.cast_to)) : Json()},
          {"inputs", tensors_json(op.inputs)},
          {"outputs", tensors_json(op.outputs)},
          {"start_us", op.start},
          {"time_us", op.time},
          {"self_us", op.self},
          {"parent", op.parent},
          {"depth", op.depth},
          {"step", op.step},
          {"failed", op.failed},
          {"number", op.number ? number(*op.number) : Json()},
          {"wrote_scaled_gradient", op.wrote_scaled_gradient},
          {"saved", std::move(saved)}};
}
void parse(const Json& json, TraceOperator& op) {
  op.name = json.at("name");
  op.kind = parse_enum<TraceKind>(json.at("kind"), names_of<TraceKind, 5>(&kind_name));
  op.phase = parse_enum<TracePhase>(json.at("phase"), names_of<TracePhase, 3>(&phase_name));
  op.module = json.at("module");
  op.declared = parse_precision(json.at("declared"));
  op.policy = parse_precision(json.at("policy"));
  op.autocast = json.at("autocast");
  if (!json.at("cast_to").is_null()) op.cast_to = parse_dtype(json.at("cast_to"));
  op.inputs = parse_tensors(json.at("inputs"));
  op.outputs = parse_tensors(json.at("outputs"));
  op.start = json.at("start_us");
  op.time = json.at("time_us");
  op.self = json.at("self_us");
  op.parent = json.at("parent");
  op.depth = json.at("depth");
  op.step = json.at("step");
  op.failed = json.at("failed");
  if (!json.at("number").is_null()) op.number = parse_number(json.at("number"));
  op.wrote_scaled_gradient = json.at("wrote_scaled_gradient");
  for (const Json& part : json.at("saved")) {
    op.saved.push_back({parse_dtype(part.at("dtype")), part.at("bytes").get<std::int64_t>()});
  }
}

Json to_json(const TraceCast& cast) {
  return {{"type", "cast"},
          {"op", cast.op},
          {"step", cast.step},
          {"tensor", cast.tensor},
          {"from", dtype_name(cast.from)},
          {"to", dtype_name(cast.to)},
          {"source", source_name(cast.source)},
          {"bytes_read", cast.bytes_read},
          {"bytes_written", cast.bytes_written},
          {"time_us", cast.time}};
}
void parse(const Json& json, TraceCast& cast) {
  cast.op = json.at("op");
  cast.step = json.at("step");
  cast.tensor = json.at("tensor");
  cast.from = parse_dtype(json.at("from"));
  cast.to = parse_dtype(json.at("to"));
  cast.source =
      parse_enum<TraceCast::Source>(json.at("source"), names_of<TraceCast::Source, 3>(&source_name));
  cast.bytes_read = json.at("bytes_read");
  cast.bytes_written = json.at("bytes_written");
  cast.time = json.at("time_us");
}

Json to_json(const TraceLoss& loss) {
  return {{"type", "loss"},
          {"step", loss.step},
          {"dtype", dtype_name(loss.dtype)},
          {"scale", number(loss.scale)}};
}
void parse(const Json& json, TraceLoss& loss) {
  loss.step = json.at("step");
  loss.dtype = parse_dtype(json.at("dtype"));
  loss.scale = parse_number(json.at("scale"));
}

Json to_json(const TraceScale& event) {
  return {{"type", "scale"},
          {"step", event.step},
          {"before", number(event.before)},
          {"after", number(event.after)},
          {"skipped", event.skipped},
          {"loss_nonfinite", event.loss_nonfinite},
          {"grew", event.grew},
          {"backed_off", event.backed_off},
          {"stalled", event.stalled}};
}
void parse(const Json& json, TraceScale& event) {
  event.step = json.at("step");
  event.before = parse_number(json.at("before"));
  event.after = parse_number(json.at("after"));
  event.skipped = json.at("skipped");
  event.loss_nonfinite = json.at("loss_nonfinite");
  event.grew = json.at("grew");
  event.backed_off = json.at("backed_off");
  event.stalled = json.at("stalled");
}

Json to_json(const TraceStep& step) {
  return {{"type", "step"},
          {"step", step.step},
          {"optimizer", step.optimizer},
          {"applied", step.applied},
          {"skipped_nonfinite", step.skipped_nonfinite},
          {"no_gradients", step.no_gradients},
          {"stalled", step.stalled},
          {"grad_norm", number(step.grad_norm)},
          {"overflowed", step.overflowed}};
}
void parse(const Json& json, TraceStep& step) {
  step.step = json.at("step");
  step.optimizer = json.at("optimizer");
  step.applied = json.at("applied");
  step.skipped_nonfinite = json.at("skipped_nonfinite");
  step.no_gradients = json.at("no_gradients");
  step.stalled = json.at("stalled");
  step.grad_norm = parse_number(json.at("grad_norm"));
  step.overflowed = json.at("overflowed").get<std::vector<std::string>>();
}

Json to_json(const ExponentHistogram& h) {
  return {{"type", "histogram"},
          {"name", h.name},
          {"gradient", h.is_gradient},
          {"step", h.step},
          {"dtype", dtype_name(h.dtype)},
          {"scale", number(h.scale)},
          {"elements", h.elements},
          {"zeros", h.zeros},
          {"infinite", h.infinite},
          {"nan", h.nan},
          {"flushed", h.flushed},
          {"subnormal", h.subnormal},
          {"overflow", h.overflow},
          {"smallest", h.smallest},
          {"largest", h.largest},
          {"suggested_scale", h.suggested_scale()},
          {"first_exponent", h.first_exponent},
          {"counts", h.counts}};
}
void parse(const Json& json, ExponentHistogram& h) {
  h.name = json.at("name");
  h.is_gradient = json.at("gradient");
  h.step = json.at("step");
  h.dtype = parse_dtype(json.at("dtype"));
  h.scale = parse_number(json.at("scale"));
  h.elements = json.at("elements");
  h.zeros = json.at("zeros");
  h.infinite = json.at("infinite");
  h.nan = json.at("nan");
  h.flushed = json.at("flushed");
  h.subnormal = json.at("subnormal");
  h.overflow = json.at("overflow");
  h.smallest = json.at("smallest");
  h.largest = json.at("largest");
  h.first_exponent = json.at("first_exponent");
  h.counts = json.at("counts").get<std::vector<std::int64_t>>();
}

Json to_json(const TraceNonFinite& found) {
  return {{"type", "nonfinite"},
          {"step", found.step},
          {"op", found.op},
          {"name", found.name},
          {"phase", phase_name(found.phase)},
          {"node", found.node},
          {"module", found.module},
          {"after", found.after},
          {"origin", origin_name(found.origin)},
          {"input", found.input},
          {"dtype", dtype_name(found.dtype)},
          {"sizes", sizes_json(found.sizes)},
          {"nan", found.nan},
          {"infinite", found.infinite},
          {"largest_input", number(found.largest_input)},
          {"scale", number(found.scale)},
          {"fp32_too", found.fp32_too ? Json(*found.fp32_too) : Json()},
          {"text", found.str()}};
}
void parse(const Json& json, TraceNonFinite& found) {
  found.step = json.at("step");
  found.op = json.at("op");
  found.name = json.at("name");
  found.phase = parse_enum<TracePhase>(json.at("phase"), names_of<TracePhase, 3>(&phase_name));
  found.node = json.at("node");
  found.module = json.at("module");
  found.after = json.at("after");
  found.origin = parse_enum<TraceNonFinite::Origin>(json.at("origin"),
                                                    names_of<TraceNonFinite::Origin, 3>(&origin_name));
  found.input = json.at("input");
  found.dtype = parse_dtype(json.at("dtype"));
  found.sizes = parse_sizes(json.at("sizes"));
  found.nan = json.at("nan");
  found.infinite = json.at("infinite");
  found.largest_input = parse_number(json.at("largest_input"));
  found.scale = parse_number(json.at("scale"));
  if (!json.at("fp32_too").is_null()) found.fp32_too = json.at("fp32_too").get<bool>();
}

Json totals_json(const TraceLog& log) {
  return {{"type", "trace"},
          {"version", 1},
          {"time_us", log.time},
          {"own_time_us", log.own_time},
          {"dropped", log.dropped}};
}

// --- Texts
// -----------------------------------------------------------------------------------------------------
/// Names come from programs: bytes that are not UTF-8 are replaced.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <class Records>
void append_lines(std::string& text, const Records& records) {
  for (const auto& record : records) text += text_of(to_json(record)) + "\n";
}

template <class Records>
Json list_of(const Records& records) {
  Json list = Json::array();
  for (const auto& record : records) list.push_back(to_json(record));
  return list;
}

Json arguments_of(const TraceOperator& op) {
  Json arguments = {{"phase", phase_name(op.phase)},
                    {"inputs", tensors_json(op.inputs)},
                    {"outputs", tensors_json(op.outputs)}};
  if (!op.module.empty()) arguments["module"] = op.module;
  if (op.autocast) arguments["policy"] = precision_name(op.policy);
  if (op.cast_to) arguments["cast_to"] = dtype_name(*op.cast_to);
  for (const TraceBytes& part : op.saved) arguments[concat("saved ", dtype_name(part.dtype))] = part.bytes;
  return arguments;
}

}  // namespace

std::string trace_json_lines(const TraceLog& log) {
  std::string text = text_of(totals_json(log)) + "\n";
  append_lines(text, log.operators);
  append_lines(text, log.casts);
  append_lines(text, log.losses);
  append_lines(text, log.scales);
  append_lines(text, log.steps);
  append_lines(text, log.histograms);
  append_lines(text, log.nonfinite);
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
      const auto type = json.at("type").get<std::string>();
      if (type == "trace") {
        is_trace = true;
        log.time = json.at("time_us");
        log.own_time = json.at("own_time_us");
        log.dropped = json.at("dropped");
      } else if (type == "operator") {
        parse(json, log.operators.emplace_back());
      } else if (type == "cast") {
        parse(json, log.casts.emplace_back());
      } else if (type == "loss") {
        parse(json, log.losses.emplace_back());
      } else if (type == "scale") {
        parse(json, log.scales.emplace_back());
      } else if (type == "step") {
        parse(json, log.steps.emplace_back());
      } else if (type == "histogram") {
        parse(json, log.histograms.emplace_back());
      } else if (type == "nonfinite") {
        parse(json, log.nonfinite.emplace_back());
      } else {
        throw std::invalid_argument("unknown type '" + type + "'");
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
  const Json page = {{"totals", totals_json(log)},         {"operators", list_of(log.operators)},
                     {"casts", list_of(log.casts)},        {"scales", list_of(log.scales)},
                     {"steps", list_of(log.steps)},        {"histograms", list_of(log.histograms)},
                     {"nonfinite", list_of(log.nonfinite)}};
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
