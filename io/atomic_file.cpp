#include "halftone/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "halftone/engine/error.h"

namespace halftone::io {

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)),
      temporary_(path_ + ".tmp." + std::to_string(getpid())),
      file_(std::fopen(temporary_.c_str(), "wb")) {
  if (!file_) broken("create");
}

AtomicFile::~AtomicFile() {
  if (!file_) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void AtomicFile::broken(const char* doing) const {
  fail("save", "cannot ", doing, " ", temporary_, ": ", std::strerror(errno));
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file_) != bytes) broken("write");
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) broken("flush");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) broken("rename");
  std::fclose(file_);
  file_ = nullptr;
  // The new name itself has to reach the device, too.
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const int handle = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (handle < 0) return;
  fsync(handle);
  close(handle);
}

std::string read_file(const char* op, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail(op, "there is no file ", path);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) fail(op, "cannot open ", path, ": ", std::strerror(errno));
  std::string bytes(static_cast<std::size_t>(std::filesystem::file_size(path, error)), '\0');
  const bool complete = !error && std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size();
  std::fclose(file);
  if (!complete) fail(op, "cannot read ", path);
  return bytes;
}

}  // namespace halftone::io
