#include "halftone/io/npy.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "halftone/autograd/grad_mode.h"
#include "halftone/io/input_file.h"

namespace halftone::io {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLargestHeader = 1'000'000;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 48;

/// NumPy's name of a dtype; empty when it has none.
std::string_view descr_of(ScalarType dtype) {
  switch (dtype) {
    case kByte:
      return "|u1";
    case kBool:
      return "|b1";
    case kInt:
      return "<i4";
    case kLong:
      return "<i8";
    case kHalf:
      return "<f2";
    case kFloat:
      return "<f4";
    case kDouble:
      return "<f8";
    case kBFloat16:
      break;
  }
  return "";
}

std::optional<ScalarType> dtype_of_descr(std::string_view descr) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const std::string_view name = descr_of(static_cast<ScalarType>(i));
    if (!name.empty() && name == descr) return static_cast<ScalarType>(i);
  }
  return std::nullopt;
}

/// Reads the header: a Python dictionary of exactly three entries, in any order.
class HeaderParser {
 public:
  HeaderParser(const InputFile& file, std::string_view text) : file_(file), text_(text) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !dtype) {
        const std::string_view descr = quoted();
        dtype = dtype_of_descr(descr);
        if (!dtype)
          file_.bad("dtype '", descr, "' is not supported: little-endian f2 f4 f8 i4 i8, u1 and b1 are");
      } else if (key == "fortran_order" && !fortran) {
        fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        file_.bad("damaged header: '", key, "' is unknown or occurs twice");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!next_is_end()) file_.bad("damaged header: something follows the dictionary");
    if (!dtype || !fortran || !shape) file_.bad("the header needs descr, fortran_order and shape");
  }

  std::optional<ScalarType> dtype;
  std::optional<bool> fortran;
  std::optional<Dims> shape;

 private:
  bool next_is_end() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
    return text_.empty();
  }
  bool accept(char c) {
    if (next_is_end() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      file_.bad("damaged header: expected '", std::string_view(&c, 1), "' before \"", text_.substr(0, 20),
                "\"");
  }
  std::string_view quoted() {
    const char mark = accept('"') ? '"' : '\'';
    if (mark == '\'' && !accept('\''))
      file_.bad("damaged header, or a structured dtype: expected a text before \"", text_.substr(0, 20),
                "\"");
    const std::size_t close = text_.find(mark);
    if (close == std::string_view::npos) file_.bad("damaged header: a text without an end");
    const std::string_view inside = text_.substr(0, close);
    text_.remove_prefix(close + 1);
    return inside;
  }
  bool boolean() {
    next_is_end();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    file_.bad("damaged header: fortran_order is neither True nor False");
  }
  std::int64_t size() {
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
      value = value * 10 + (text_[digits] - '0');
      if (value > kLargestSize) file_.bad("impossible shape: a size above 2^48");
    }
    if (digits == 0) file_.bad("damaged header: not a size: \"", text_.substr(0, 20), "\"");
    text_.remove_prefix(digits);
    return value;
  }
  Dims tuple() {
    Dims sizes;
    bool comma = true;
    expect('(');
    while (!accept(')')) {
      if (!comma) file_.bad("damaged header: expected ',' or ')' before \"", text_.substr(0, 20), "\"");
      if (sizes.size() == kMaxDims) file_.bad("at most ", kMaxDims, " dimensions are supported");
      sizes.push_back(size());
      comma = accept(',');
    }
    if (sizes.size() == 1 && !comma) file_.bad("damaged header: the shape is not a tuple");
    return sizes;
  }

  const InputFile& file_;
  std::string_view text_;
};

std::string read_header(InputFile& file) {
  if (file.size() < kMagic.size() + 2 || file.read_text(kMagic.size()) != kMagic) file.bad("not a .npy file");
  const std::string version = file.read_text(2);
  if (version[0] < 1 || version[0] > 3 || version[1] != 0)
    file.bad("version ", static_cast<int>(version[0]), ".", static_cast<int>(version[1]),
             " is not supported");
  std::size_t length = 0;
  const std::string bytes = file.read_text(version[0] == 1 ? 2 : 4);
  for (std::size_t i = bytes.size(); i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kLargestHeader) file.bad("a header of ", length, " bytes");
  return file.read_text(length);
}

}  // namespace

void save_npy(const Destination& to, const Tensor& tensor) {
  const std::string_view descr = descr_of(tensor.scalar_type());
  if (descr.empty())
    fail("save_npy", "NumPy has no ", tensor.scalar_type(), ": convert with .to(kFloat) first");
  std::string shape;
  for (const std::int64_t size : tensor.sizes()) shape += std::to_string(size) + ", ";
  if (tensor.dim() > 1) shape.resize(shape.size() - 2);
  std::string header = concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  // The data starts at a multiple of 64.
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  NoGradGuard no_grad;
  const Tensor data = tensor.detach().cpu().contiguous();
  const std::unique_ptr<Sink> file = to.open();
  file->write(kMagic.data(), kMagic.size());
  const char prefix[4] = {1, 0, static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  file->write(prefix, 4);
  file->write(header.data(), header.size());
  if (data.nbytes() > 0) file->write(data.data_ptr(), data.nbytes());
  file->commit();
}

Tensor load_npy(const Origin& from) {
  InputFile file("load_npy", from);
  const std::string text = read_header(file);
  HeaderParser header(file, text);
  header.parse();
  const ScalarType dtype = *header.dtype;
  Dims shape = *header.shape;
  std::uint64_t elements = 0;
  try {
    elements = static_cast<std::uint64_t>(count_elements(shape));
  } catch (const Error& error) {
    file.bad(error.what());
  }
  const bool fits = file.is_open_ended() ? elements <= file.left() / element_size(dtype)
                                         : file.left() % element_size(dtype) == 0 &&
                                               file.left() / element_size(dtype) == elements;
  if (!fits) file.bad("shape ", shape, " of ", dtype, " does not fit ", file.left(), " bytes of data");

  if (*header.fortran) std::reverse(shape.begin(), shape.end());
  NoGradGuard no_grad;
  Tensor result = empty(shape, TensorOptions(dtype).device(kCPU));
  if (elements > 0) file.read(result.data_ptr(), static_cast<std::size_t>(elements) * element_size(dtype));
  if (dtype == kBool) {  // any byte but 0 is true to NumPy
    auto* bytes = static_cast<unsigned char*>(result.data_ptr());
    for (std::int64_t i = 0; i < result.numel(); ++i) bytes[i] = bytes[i] != 0;
  }
  if (!*header.fortran || shape.size() < 2) return result;
  Dims reversed;
  for (std::int64_t d = result.dim() - 1; d >= 0; --d) reversed.push_back(d);
  return result.permute(reversed).contiguous();
}

}  // namespace halftone::io
