#include "halftone/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "halftone/engine/error.h"
#include "halftone/io/input_file.h"

namespace halftone::io {
namespace {

constexpr std::uint32_t kLocalMark = 0x04034b50, kEntryMark = 0x02014b50, kEndMark = 0x06054b50;
constexpr std::uint32_t kWideEndMark = 0x06064b50, kWideLocatorMark = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kWideEndSize = 56,
                      kWideLocatorSize = 20;
constexpr std::uint64_t kNarrowLimit = 0xffffffff;
constexpr unsigned kStored = 0, kDeflated = 8;

// --- Writing
// ----------------------------------------------------------------------------------------------------------
/// Little-endian numbers, one after another.
class Fields {
 public:
  Fields& u16(std::uint64_t value) { return number(value, 2); }
  Fields& u32(std::uint64_t value) { return number(value, 4); }
  Fields& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Fields& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  std::string bytes_;
};

std::uint32_t checksum(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const auto piece = static_cast<uInt>(std::min<std::size_t>(bytes.size(), 1u << 30));
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), piece);
    bytes.remove_prefix(piece);
  }
  return static_cast<std::uint32_t>(crc);
}

/// A raw deflate stream, as ZIP has them.
std::string deflated(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    fail("save", "zlib cannot start");
  std::string out(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), kNarrowLimit));
  const int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) fail("save", "zlib cannot deflate (code ", code, ")");
  return out;
}

// --- Reading
// ----------------------------------------------------------------------------------------------------------
struct Entry {
  std::string name;
  unsigned flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, offset = 0;
};

class Reader {
 public:
  Reader(const char* op, const Origin& from) : file_(op, from), bytes_(file_.read_rest()) {}

  std::vector<ZipMember> read() {
    std::vector<ZipMember> members;
    for (const Entry& entry : read_directory()) {
      if (!entry.name.empty() && entry.name.back() == '/') continue;  // a folder
      members.push_back({entry.name, read_content(entry)});
    }
    return members;
  }

 private:
  std::uint64_t number(std::uint64_t at, int count) const {
    if (at > bytes_.size() || bytes_.size() - at < static_cast<std::size_t>(count))
      file_.bad("truncated or damaged ZIP archive");
    std::uint64_t value = 0;
    for (int i = count; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes_[at + static_cast<std::size_t>(i)]);
    return value;
  }
  std::string_view piece(std::uint64_t at, std::uint64_t count) const {
    if (at > bytes_.size() || bytes_.size() - at < count) file_.bad("truncated or damaged ZIP archive");
    return std::string_view(bytes_).substr(at, count);
  }

  /// The record at the end, which a comment of up to 64 KiB may follow.
  std::uint64_t find_end() const {
    if (bytes_.size() < kEndSize) file_.bad("not a ZIP archive");
    const std::size_t last = bytes_.size() - kEndSize;
    for (std::size_t back = 0; back <= std::min<std::size_t>(last, 0xffff); ++back) {
      if (number(last - back, 4) == kEndMark && number(last - back + 20, 2) == back) return last - back;
    }
    file_.bad("not a ZIP archive, or truncated");
  }

  std::vector<Entry> read_directory() const {
    const std::uint64_t end = find_end();
    std::uint64_t count = number(end + 10, 2), at = number(end + 16, 4);
    if (number(end + 4, 2) != 0 && number(end + 4, 2) != 0xffff) file_.bad("an archive of several disks");
    if ((count == 0xffff || at == kNarrowLimit) && end >= kWideLocatorSize &&
        number(end - kWideLocatorSize, 4) == kWideLocatorMark) {
      const std::uint64_t wide = number(end - kWideLocatorSize + 8, 8);
      if (piece(wide, kWideEndSize).size() < kWideEndSize || number(wide, 4) != kWideEndMark)
        file_.bad("damaged ZIP archive: its ZIP64 record");
      count = number(wide + 32, 8);
      at = number(wide + 48, 8);
    }
    std::vector<Entry> entries;
    for (std::uint64_t i = 0; i < count; ++i) entries.push_back(read_entry(at));
    return entries;
  }

  Entry read_entry(std::uint64_t& at) const {
    if (number(at, 4) != kEntryMark) file_.bad("damaged ZIP archive: its directory");
    Entry entry;
    entry.flags = static_cast<unsigned>(number(at + 8, 2));
    entry.method = static_cast<unsigned>(number(at + 10, 2));
    entry.crc = static_cast<std::uint32_t>(number(at + 16, 4));
    entry.packed = number(at + 20, 4);
    entry.size = number(at + 24, 4);
    entry.offset = number(at + 42, 4);
    const std::uint64_t name = number(at + 28, 2), extra = number(at + 30, 2), comment = number(at + 32, 2);
    entry.name = piece(at + kEntrySize, name);
    read_wide_sizes(entry, at + kEntrySize + name, extra);
    at += kEntrySize + name + extra + comment;
    return entry;
  }

  /// Sizes of 4 GiB and more stand in an extra field, those that need it only.
  void read_wide_sizes(Entry& entry, std::uint64_t at, std::uint64_t bytes) const {
    const std::uint64_t end = at + bytes;
    while (at + 4 <= end) {
      const std::uint64_t kind = number(at, 2), length = number(at + 2, 2);
      at += 4;
      if (kind == 1) {
        std::uint64_t next = at;
        for (std::uint64_t* field : {&entry.size, &entry.packed, &entry.offset}) {
          if (*field != kNarrowLimit) continue;
          if (next + 8 > at + length) file_.bad("damaged ZIP archive: its ZIP64 field");
          *field = number(next, 8);
          next += 8;
        }
      }
      at += length;
    }
  }

  std::string read_content(const Entry& entry) const {
    if (entry.flags & 1) file_.bad("member '", entry.name, "' is encrypted");
    if (number(entry.offset, 4) != kLocalMark) file_.bad("damaged ZIP archive: member '", entry.name, "'");
    const std::uint64_t start =
        entry.offset + kLocalSize + number(entry.offset + 26, 2) + number(entry.offset + 28, 2);
    const std::string_view packed = piece(start, entry.packed);
    std::string content;
    if (entry.method == kStored) {
      if (entry.packed != entry.size) file_.bad("member '", entry.name, "': its sizes do not agree");
      content = packed;
    } else if (entry.method == kDeflated) {
      content = inflated(entry, packed);
    } else {
      file_.bad("member '", entry.name, "': compression method ", entry.method,
                " is not supported: stored (0) and deflated (8) are");
    }
    if (checksum(content) != entry.crc) file_.bad("member '", entry.name, "' fails its checksum");
    return content;
  }

  std::string inflated(const Entry& entry, std::string_view packed) const {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) file_.bad("zlib cannot start");
    std::string content, piece(1 << 18, '\0');
    int code = Z_OK;
    while (code == Z_OK) {
      if (stream.avail_in == 0) {
        const std::size_t count = std::min<std::size_t>(packed.size(), 1u << 30);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
        stream.avail_in = static_cast<uInt>(count);
        packed.remove_prefix(count);
      }
      stream.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_out = static_cast<uInt>(piece.size());
      code = inflate(&stream, Z_NO_FLUSH);
      content.append(piece, 0, piece.size() - stream.avail_out);
      if (content.size() > entry.size) break;  // more than it says it is
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END || content.size() != entry.size)
      file_.bad("member '", entry.name, "' is damaged, or its size is wrong");
    return content;
  }

  InputFile file_;
  std::string bytes_;
};

}  // namespace

void write_zip(const Destination& to, const std::vector<ZipMember>& members, bool compressed) {
  const std::unique_ptr<Sink> out = to.open();
  std::uint64_t at = 0;
  const auto write = [&](const std::string& bytes) {
    out->write(bytes.data(), bytes.size());
    at += bytes.size();
    if (at > kNarrowLimit) fail("save", to.name(), ": a ZIP archive of more than 4 GiB is not supported");
  };
  std::string directory;
  for (const ZipMember& member : members) {
    if (member.content.size() >= kNarrowLimit || member.name.size() > 0xffff)
      fail("save", to.name(), ": member '", member.name, "' is too large for a ZIP archive without ZIP64");
    std::string packed = compressed ? deflated(member.content) : std::string();
    const bool deflates = compressed && packed.size() < member.content.size();
    const std::string& data = deflates ? packed : member.content;
    // Version 2.0; UTF-8 names; 1 January 1980, so that equal tensors make equal files.
    Fields common;
    common.u16(20).u16(1u << 11).u16(deflates ? kDeflated : kStored).u16(0).u16(1 << 5 | 1);
    common.u32(checksum(member.content)).u32(data.size()).u32(member.content.size());
    common.u16(member.name.size()).u16(0);
    directory +=
        Fields().u32(kEntryMark).u16(20).text(common.bytes()).u16(0).u16(0).u16(0).u32(0).u32(at).bytes();
    directory += member.name;
    write(Fields().u32(kLocalMark).text(common.bytes()).text(member.name).bytes());
    write(data);
  }
  const std::uint64_t start = at, count = members.size();
  if (count > 0xfffe) fail("save", to.name(), ": at most 65534 members are supported, got ", count);
  write(directory);
  write(Fields()
            .u32(kEndMark)
            .u16(0)
            .u16(0)
            .u16(count)
            .u16(count)
            .u32(directory.size())
            .u32(start)
            .u16(0)
            .bytes());
  out->commit();
}

std::vector<ZipMember> read_zip(const char* op, const Origin& from) { return Reader(op, from).read(); }

}  // namespace halftone::io
