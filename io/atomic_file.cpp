#include "halftone/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "halftone/engine/error.h"

namespace halftone::io {

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  std::error_code error;
  if (std::filesystem::is_symlink(path_, error)) {
    const std::filesystem::path target = std::filesystem::weakly_canonical(path_, error);
    if (!error) path_ = target.string();
  }
  // A name of its own: two threads or two processes may save to the same path.
  static std::atomic<std::int64_t> count{0};
  int handle = -1;
  do {
    temporary_ = concat(path_, ".tmp.", getpid(), ".", count++);
    handle = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (handle < 0 && errno == EEXIST);
  if (handle < 0) broken("create");
  file_ = fdopen(handle, "wb");
  if (file_) return;
  const int reason = errno;
  close(handle);
  std::remove(temporary_.c_str());
  errno = reason;
  broken("open");
}

AtomicFile::~AtomicFile() {
  if (!file_) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void AtomicFile::broken(const char* doing) const {
  const std::string reason = std::strerror(errno);
  fail("save", path_, ": cannot ", doing, " ", temporary_, ": ", reason);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file_) != bytes) broken("write");
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) broken("flush");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) broken("rename");
  std::fclose(file_);  // flushed above: nothing is left that could fail
  file_ = nullptr;
  // The new name itself has to reach the device, too. The file is in place by now, and some file systems
  // cannot flush a folder: no error from here on.
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const int handle = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  fsync(handle);
  close(handle);
}

}  // namespace halftone::io
