#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/io/endpoint.h"

namespace halftone::io {

/// A file in a ZIP archive.
struct ZipMember {
  std::string name;     ///< its path in the archive
  std::string content;  ///< its bytes
};

/// Writes an archive of files that are stored, or deflated if that makes them smaller (PKWARE's
/// APPNOTE, 6.3). Throws Error where a file or the archive would be larger than 4 GiB.
void write_zip(const Destination& to, const std::vector<ZipMember>& members, bool compressed);

/// Reads all files of an archive, in the order of its directory. `op`: for messages. Throws Error when it is
/// damaged, encrypted, compressed by anything but deflate, or fails a checksum.
std::vector<ZipMember> read_zip(const char* op, const Origin& from);

}  // namespace halftone::io
