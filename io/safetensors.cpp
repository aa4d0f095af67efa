#include "halftone/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "halftone/autograd/grad_mode.h"
#include "halftone/io/atomic_file.h"

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
  std::size_t begin, end;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(read_file("load", path)) {}

  SafeTensors read() {
    const Json header = parse_header();
    SafeTensors result;
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(value, result);
      } else {
        entries.push_back(read_entry(name, value));
      }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    check_coverage(entries);
    for (const Entry& entry : entries) {
      Tensor tensor = empty(entry.shape, entry.dtype);
      copy_data(entry, tensor);
      result.tensors.insert(entry.name, tensor);
    }
    return result;
  }

 private:
  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail("load", path_, ": ", parts...);
  }

  Json parse_header() {
    if (file_.size() < 8) bad("too short for a safetensors file (", file_.size(), " bytes)");
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
      length = length << 8 | static_cast<unsigned char>(file_[static_cast<std::size_t>(i)]);
    if (length > kLargestHeader || length > file_.size() - 8)
      bad("not a safetensors file, or truncated: a header of ", concat(static_cast<double>(length)),
          " bytes in a file of ", file_.size());
    data_ = 8 + static_cast<std::size_t>(length);
    if (length == 0 || file_[8] != '{') bad("the header is not a JSON object");
    std::vector<std::set<std::string>> names;
    const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > 3) bad("the header is nested too deeply");
      if (event == Json::parse_event_t::object_start) names.emplace_back();
      if (event == Json::parse_event_t::object_end) names.pop_back();
      if (event == Json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second)
        bad("the name '", value.get<std::string>(), "' occurs twice");
      return true;
    };
    try {
      return Json::parse(file_.begin() + 8, file_.begin() + static_cast<std::ptrdiff_t>(data_), check);
    } catch (const Json::exception& error) {
      bad("damaged header: ", error.what());
    }
  }

  void read_metadata(const Json& value, SafeTensors& result) const {
    if (!value.is_object()) bad("__metadata__ is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) bad("__metadata__ entry '", key, "' is not a text");
      result.metadata[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const Json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
      bad("tensor '", name, "' needs dtype, shape and data_offsets");
    const Json &type = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    const auto dtype = type.is_string() ? type_of(type.get<std::string>()) : std::nullopt;
    if (!dtype) bad("tensor '", name, "' has dtype ", type.dump(), ", which is not supported");
    if (!shape.is_array() || shape.size() > kMaxDims) bad("tensor '", name, "' has shape ", shape.dump());
    Entry entry{name, *dtype, {}, 0, 0};
    for (const Json& size : shape) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX)
        bad("tensor '", name, "' has shape ", shape.dump());
      entry.shape.push_back(size.get<std::int64_t>());
    }
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      bad("tensor '", name, "' has data_offsets ", offsets.dump());
    entry.begin = offsets[0].get<std::size_t>();
    entry.end = offsets[1].get<std::size_t>();
    if (entry.begin > entry.end || entry.end > file_.size() - data_)
      bad("tensor '", name, "' lies outside the file: bytes ", entry.begin, " to ", entry.end, " of ",
          file_.size() - data_);
    const std::size_t bytes = entry.end - entry.begin;
    const auto elements = static_cast<std::size_t>(count_elements(entry.shape));
    if (bytes % element_size(*dtype) != 0 || bytes / element_size(*dtype) != elements)
      bad("tensor '", name, "' of shape ", entry.shape, " and dtype ", *dtype, " has ", bytes, " bytes");
    return entry;
  }

  void check_coverage(const std::vector<Entry>& entries) const {
    std::size_t at = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != at) bad("tensor '", entry.name, "' starts at byte ", entry.begin, ", expected ", at);
      at = entry.end;
    }
    if (at != file_.size() - data_) bad(file_.size() - data_, " bytes of data, the header describes ", at);
  }

  void copy_data(const Entry& entry, Tensor& tensor) const {
    const char* from = file_.data() + data_ + entry.begin;
    if (entry.dtype == kBool) {
      for (std::int64_t i = 0; i < tensor.numel(); ++i) {
        if (from[i] != 0 && from[i] != 1)
          bad("tensor '", entry.name, "' of bools holds ", static_cast<int>(from[i]));
      }
    }
    if (entry.end > entry.begin) std::memcpy(tensor.data_ptr(), from, entry.end - entry.begin);
  }

  std::string path_;
  std::string file_;
  std::size_t data_ = 0;
};

}  // namespace

void save_safetensors(const std::string& path, const NamedTensors& tensors,
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

  AtomicFile file(path);
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  file.write(length.data(), length.size());
  file.write(text.data(), text.size());
  NoGradGuard no_grad;
  for (const auto& item : tensors) {
    const Tensor data = item.value().detach().cpu().contiguous();
    file.write(data.data_ptr(), data.nbytes());
  }
  file.commit();
}

SafeTensors load_safetensors(const std::string& path) { return Reader(path).read(); }

}  // namespace halftone::io
