#pragma once

// Files of the tests of reading and writing.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "halftone/tests/support/values.h"

namespace halftone::test {

/// A new empty folder, gone with everything in it at the end of the test.
class TempFolder {
 public:
  TempFolder() {
    static std::atomic<int> count{0};
    path_ = std::filesystem::temp_directory_path() /
            ("halftone_test_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // some file systems flush a file that is truncated, which takes a while
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The message of the Error of loading these bytes, which has to name the file; empty if there is none.
template <class Load>
std::string error_of_loading(const std::string& bytes, Load load) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  write_bytes(path, bytes);
  const std::string text = error_of([&] { load(path); });
  if (!text.empty() && text.find(path) == std::string::npos) return "the file is not named";
  return text;
}

}  // namespace halftone::test
