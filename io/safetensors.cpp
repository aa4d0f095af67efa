#include "halftone/io/safetensors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "halftone/autograd/grad_mode.h"
#include "halftone/io/input_file.h"

namespace halftone::io {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestHeader = 100'000'000;  // the format's own limit

const char* type_name(ScalarType dtype) {
  switch (dtype) {
    case kByte:
      return "U8";
    case kBool:
      return "BOOL";
    case kInt:
      return "I32";
    case kLong:
      return "I64";
    case kHalf:
      return "F16";
    case kBFloat16:
      return "BF16";
    case kFloat:
      return "F32";
    case kDouble:
      break;
  }
  return "F64";
}

std::optional<ScalarType> type_of(const std::string& name) {
  for (int i = 0; i < kDtypeCount; ++i) {
    if (name == type_name(static_cast<ScalarType>(i))) return static_cast<ScalarType>(i);
  }
  return std::nullopt;
}

/// One entry of the header.
struct Entry {
  std::string name;
  ScalarType dtype;
  Dims shape;
  std::uint64_t begin, end;
};

/// The beginning of a piece of the header, for messages.
std::string shown(const Json& value) {
  std::string text = value.dump();
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return text;
}

class Reader {
 public:
  explicit Reader(const Origin& from) : file_("load", from) {}

  SafeTensors read() {
    SafeTensors result;
    const std::vector<Entry> entries = read_header(result);
    // The data has no gaps: one pass, straight into the tensors.
    for (const Entry& entry : entries) {
      Tensor tensor = empty(entry.shape, TensorOptions(entry.dtype).device(kCPU));
      if (entry.end > entry.begin)
        file_.read(tensor.data_ptr(), static_cast<std::size_t>(entry.end - entry.begin));
      if (entry.dtype == kBool) check_bools(entry, tensor);
      result.tensors.insert(entry.name, tensor);
    }
    return result;
  }

 private:
  /// The tensors in the order of their data; everything is checked before the first byte of data is read.
  std::vector<Entry> read_header(SafeTensors& result) {
    const Json header = parse_header();
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(value, result);
      } else {
        entries.push_back(read_entry(name, value));
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    check_coverage(entries);
    return entries;
  }

  Json parse_header() {
    if (file_.size() < 8) file_.bad("too short for a safetensors file (", file_.size(), " bytes)");
    unsigned char bytes[8];
    file_.read(bytes, 8);
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
    if (length > kLargestHeader || length > file_.left()) {
      file_.bad("not a safetensors file, or truncated: a header of ", std::to_string(length),
                " bytes in a file of ", file_.size());
    }
    const std::string text = file_.read_text(static_cast<std::size_t>(length));
    if (text.empty() || text[0] != '{') file_.bad("the header is not a JSON object");
    std::vector<std::set<std::string>> names;
    const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > 3) file_.bad("the header is nested too deeply");
      if (event == Json::parse_event_t::object_start) names.emplace_back();
      if (event == Json::parse_event_t::object_end) names.pop_back();
      if (event == Json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second)
        file_.bad("the name '", value.get<std::string>(), "' occurs twice");
      return true;
    };
    try {
      return Json::parse(text, check);
    } catch (const Json::exception& error) {
      file_.bad("damaged header: ", error.what());
    }
  }

  void read_metadata(const Json& value, SafeTensors& result) const {
    if (!value.is_object()) file_.bad("__metadata__ is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) file_.bad("__metadata__ entry '", key, "' is not a text");
      result.metadata[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const Json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
      file_.bad("tensor '", name, "' needs dtype, shape and data_offsets");
    const Json &type = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    const auto dtype = type.is_string() ? type_of(type.get<std::string>()) : std::nullopt;
    if (!dtype) file_.bad("tensor '", name, "' has dtype ", shown(type), ", which is not supported");
    if (!shape.is_array() || shape.size() > kMaxDims)
      file_.bad("tensor '", name, "' has shape ", shown(shape), "; at most ", kMaxDims,
                " dimensions are supported");
    Entry entry{name, *dtype, {}, 0, 0};
    for (const Json& size : shape) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX)
        file_.bad("tensor '", name, "' has shape ", shown(shape));
      entry.shape.push_back(size.get<std::int64_t>());
    }
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      file_.bad("tensor '", name, "' has data_offsets ", shown(offsets));
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    if (entry.begin > entry.end || entry.end > file_.left())
      file_.bad("tensor '", name, "' lies outside the file, or the file is truncated: data_offsets ",
                shown(offsets), " of ", file_.left(), " bytes of data");
    check_size(entry);
    return entry;
  }

  void check_size(const Entry& entry) const {
    std::uint64_t elements = 0;
    try {
      elements = static_cast<std::uint64_t>(count_elements(entry.shape));
    } catch (const Error& error) {
      file_.bad("tensor '", entry.name, "': ", error.what());
    }
    const std::uint64_t bytes = entry.end - entry.begin, item = element_size(entry.dtype);
    if (bytes % item != 0 || bytes / item != elements)
      file_.bad("tensor '", entry.name, "' of shape ", entry.shape, " and dtype ", entry.dtype, " has ",
                bytes, " bytes");
  }

  void check_coverage(const std::vector<Entry>& entries) const {
    std::uint64_t at = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != at)
        file_.bad("tensor '", entry.name, "' starts at byte ", entry.begin, " of the data, expected ", at,
                  entry.begin < at ? ": it overlaps another one" : ": there is a gap");
      at = entry.end;
    }
    if (at != file_.left() && !file_.is_open_ended())
      file_.bad(file_.left(), " bytes of data, the header describes ", at);
  }

  void check_bools(const Entry& entry, const Tensor& tensor) const {
    const auto* bytes = static_cast<const unsigned char*>(tensor.data_ptr());
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      if (bytes[i] > 1)
        file_.bad("tensor '", entry.name, "' of bools holds the byte ", static_cast<int>(bytes[i]));
    }
  }

  InputFile file_;
};

}  // namespace

void save_safetensors(const Destination& to, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t at = 0;
  for (const auto& item : tensors) {
    if (!item.value().defined()) fail("save", "tensor '", item.key(), "' is undefined");
    if (item.key() == "__metadata__") fail("save", "a tensor cannot be called '__metadata__'");
    const std::size_t bytes = item.value().nbytes();
    header[item.key()] = {{"dtype", type_name(item.value().scalar_type())},
                          {"shape", item.value().sizes().vec()},
                          {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception& error) {
    fail("save", "a name or a metadata text is not UTF-8: ", error.what());
  }
  text.append((8 - text.size() % 8) % 8, ' ');  // the data starts aligned
  if (text.size() > kLargestHeader) fail("save", "a header of ", text.size(), " bytes is too large");

  const std::unique_ptr<Sink> file = to.open();
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  file->write(length.data(), length.size());
  file->write(text.data(), text.size());
  NoGradGuard no_grad;
  for (const auto& item : tensors) {
    const Tensor data = item.value().detach().cpu().contiguous();
    if (data.nbytes() > 0) file->write(data.data_ptr(), data.nbytes());
  }
  file->commit();
}

SafeTensors load_safetensors(const Origin& from) { return Reader(from).read(); }

}  // namespace halftone::io
