#include "halftone/data/idx.h"

#include <zlib.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

namespace halftone::data {

namespace {

/// A file read through zlib, which passes uncompressed files through unchanged.
class GzFile {
 public:
  explicit GzFile(std::string path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb")) {
    if (!file_) fail("read_idx", "cannot open ", path_);
    gzbuffer(file_, 1 << 17);
  }
  ~GzFile() { gzclose(file_); }
  GzFile(const GzFile&) = delete;
  GzFile& operator=(const GzFile&) = delete;

  /// Reads up to `count` bytes; fewer only at the end of the file.
  std::size_t read(void* to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      const unsigned piece = static_cast<unsigned>(std::min<std::size_t>(count - done, 1u << 20));
      const int got = gzread(file_, static_cast<char*>(to) + done, piece);
      if (got < 0) bad_stream();
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  /// Throws Error when the end was reached in the middle of a compressed stream.
  void check_complete() {
    int code = Z_OK;
    gzerror(file_, &code);
    if (code != Z_OK && code != Z_STREAM_END) bad_stream();
  }
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void bad_stream() {
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    fail("read_idx", path_, ": truncated or damaged (", message, ")");
  }
  std::string path_;
  gzFile file_;
};

struct IdxType {
  ScalarType dtype;
  std::size_t bytes;  // of one element in the file
};

IdxType idx_type(const std::string& path, unsigned char code) {
  switch (code) {
    case 0x08:
      return {kByte, 1};
    case 0x0B:
      return {kInt, 2};
    case 0x0C:
      return {kInt, 4};
    case 0x0D:
      return {kFloat, 4};
    case 0x0E:
      return {kDouble, 8};
    default:
      break;
  }
  fail("read_idx", path, ": unknown element type ", static_cast<int>(code),
       "; accepted are 8 (uint8), 11 (int16), 12 (int32), 13 (float32), 14 (float64)");
}

/// Big-endian bytes to elements of this machine.
void decode(const std::vector<unsigned char>& bytes, const IdxType& type, Tensor& out) {
  static_assert(std::endian::native == std::endian::little);
  if (type.bytes == 1) {
    std::copy(bytes.begin(), bytes.end(), out.data_ptr<std::uint8_t>());
    return;
  }
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    unsigned char swapped[8];
    for (std::size_t b = 0; b < type.bytes; ++b)
      swapped[b] = bytes[static_cast<std::size_t>(i + 1) * type.bytes - 1 - b];
    if (type.bytes == 2) {
      std::int16_t value;
      std::memcpy(&value, swapped, sizeof value);
      out.data_ptr<std::int32_t>()[i] = value;
    } else {
      std::memcpy(static_cast<std::byte*>(out.data_ptr()) + static_cast<std::size_t>(i) * type.bytes, swapped,
                  type.bytes);
    }
  }
}

}  // namespace

Tensor read_idx(const std::string& path) {
  std::string found = path;
  if (!std::filesystem::exists(found)) found += ".gz";
  if (!std::filesystem::exists(found)) fail("read_idx", "there is no ", path, ", nor ", found);
  if (std::filesystem::is_directory(found)) fail("read_idx", found, " is a folder");
  GzFile file(found);

  unsigned char header[4];
  if (file.read(header, 4) != 4) fail("read_idx", found, ": too short for an IDX header");
  if (header[0] != 0 || header[1] != 0)
    fail("read_idx", found, ": not an IDX file (it must start with two zero bytes)");
  const IdxType type = idx_type(found, header[2]);
  const std::size_t rank = header[3];
  if (rank == 0 || rank > kMaxDims)
    fail("read_idx", found, ": expected 1 to ", kMaxDims, " dimensions, got ", rank);

  Dims sizes;
  for (std::size_t d = 0; d < rank; ++d) {
    unsigned char raw[4];
    if (file.read(raw, 4) != 4) fail("read_idx", found, ": too short for its ", rank, " dimensions");
    sizes.push_back(std::int64_t{raw[0]} << 24 | std::int64_t{raw[1]} << 16 | std::int64_t{raw[2]} << 8 |
                    raw[3]);
  }
  const std::size_t elements = static_cast<std::size_t>(count_elements(sizes));
  if (elements > (std::size_t{1} << 62) / type.bytes) fail("read_idx", found, ": impossible shape ", sizes);

  // The buffer grows with what is really there, so that a false header cannot ask for more memory than the
  // file holds.
  const std::size_t expected = elements * type.bytes;
  std::vector<unsigned char> bytes;
  while (bytes.size() < expected) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(expected, std::max<std::size_t>(2 * before, 1u << 20)));
    const std::size_t got = file.read(bytes.data() + before, bytes.size() - before);
    if (before + got == bytes.size()) continue;
    file.check_complete();
    fail("read_idx", found, ": the header says ", sizes, " (", expected, " bytes), the file has ",
         before + got);
  }
  unsigned char extra;
  if (file.read(&extra, 1) != 0) fail("read_idx", found, ": more data than the header's ", sizes);
  file.check_complete();

  Tensor result = empty(sizes, TensorOptions(type.dtype).device(kCPU));
  decode(bytes, type, result);
  return result;
}

}  // namespace halftone::data
