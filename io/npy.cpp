#include "halftone/io/npy.h"

#include <cctype>
#include <cstring>
#include <string_view>

#include "halftone/autograd/grad_mode.h"
#include "halftone/io/atomic_file.h"

namespace halftone::io {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

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

/// What follows `'key':` in the header's Python dictionary.
std::string_view value_of(const std::string& path, std::string_view header, std::string_view key) {
  const std::string quoted = concat("'", key, "':");
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) fail("load_npy", path, ": the header has no ", key);
  std::string_view value = header.substr(at + quoted.size());
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  return value;
}

Dims parse_shape(const std::string& path, std::string_view text) {
  const std::size_t close = text.find(')');
  if (text.empty() || text.front() != '(' || close == std::string_view::npos)
    fail("load_npy", path, ": damaged shape");
  Dims shape;
  std::int64_t number = -1;
  for (const char c : text.substr(1, close)) {
    if (std::isdigit(static_cast<unsigned char>(c))) {
      number = (number < 0 ? 0 : number) * 10 + (c - '0');
      if (number > (std::int64_t{1} << 48)) fail("load_npy", path, ": impossible shape");
    } else if (c == ',' || c == ')') {
      if (number >= 0) shape.push_back(number);
      number = -1;
    } else if (c != ' ') {
      fail("load_npy", path, ": damaged shape");
    }
  }
  return shape;
}

}  // namespace

void save_npy(const std::string& path, const Tensor& tensor) {
  const std::string_view descr = descr_of(tensor.scalar_type());
  if (descr.empty())
    fail("save_npy", "NumPy has no ", tensor.scalar_type(), ": convert with .to(kFloat) first");
  std::string shape;
  for (const std::int64_t size : tensor.sizes()) shape += std::to_string(size) + ", ";
  if (tensor.dim() > 1) shape.resize(shape.size() - 2);
  std::string header = concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  AtomicFile file(path);
  file.write(kMagic.data(), kMagic.size());
  const char prefix[4] = {1, 0, static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  file.write(prefix, 4);
  file.write(header.data(), header.size());
  NoGradGuard no_grad;
  const Tensor data = tensor.detach().cpu().contiguous();
  file.write(data.data_ptr(), data.nbytes());
  file.commit();
}

Tensor load_npy(const std::string& path) {
  const std::string bytes = read_file("load_npy", path);
  const std::size_t start = kMagic.size();
  if (bytes.size() < start + 4 || bytes.compare(0, start, kMagic) != 0)
    fail("load_npy", path, ": not a .npy file");
  const int version = bytes[start];
  if (version < 1 || version > 3) fail("load_npy", path, ": unknown version ", version);
  const std::size_t length_bytes = version == 1 ? 2 : 4, at = start + 2 + length_bytes;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes && start + 2 + i < bytes.size(); ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[start + 2 + i])) << (8 * i);
  if (at > bytes.size() || length > bytes.size() - at) fail("load_npy", path, ": truncated header");
  const std::string_view header = std::string_view(bytes).substr(at, length);

  const std::string_view descr = value_of(path, header, "descr");
  std::optional<ScalarType> dtype;
  for (int i = 0; i < kDtypeCount; ++i) {
    const std::string_view name = descr_of(static_cast<ScalarType>(i));
    if (!name.empty() && descr.starts_with(concat("'", name, "'"))) dtype = static_cast<ScalarType>(i);
  }
  if (!dtype) fail("load_npy", path, ": dtype ", descr.substr(0, descr.find(',')), " is not supported");
  const bool fortran = value_of(path, header, "fortran_order").starts_with("True");
  Dims shape = parse_shape(path, value_of(path, header, "shape"));
  if (fortran) std::reverse(shape.begin(), shape.end());

  const std::size_t have = bytes.size() - at - length, item = element_size(*dtype);
  if (have % item != 0 || have / item != static_cast<std::size_t>(count_elements(shape)))
    fail("load_npy", path, ": shape ", shape, " of ", *dtype, " does not fit ", have, " bytes of data");
  Tensor result = empty(shape, *dtype);
  if (have > 0) std::memcpy(result.data_ptr(), bytes.data() + at + length, have);
  if (*dtype == kBool) result = result.view({-1}).ne(0).view(shape);
  if (!fortran || shape.size() < 2) return result;
  Dims reversed;
  for (std::int64_t d = result.dim() - 1; d >= 0; --d) reversed.push_back(d);
  return result.permute(reversed).contiguous();
}

}  // namespace halftone::io
