#include "halftone/io/input_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace halftone::io {

InputFile::InputFile(std::string op, std::string path) : op_(std::move(op)), path_(std::move(path)) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path_, error)) bad("there is no such file");
  file_.reset(std::fopen(path_.c_str(), "rb"));
  if (!file_) bad("cannot be opened: ", std::strerror(errno));
  size_ = left_ = std::filesystem::file_size(path_, error);
  if (error) bad("cannot be read: ", error.message());
}

void InputFile::read(void* into, std::size_t bytes) {
  if (bytes > left_) bad("truncated: needs ", bytes, " more bytes, has ", left_);
  if (bytes > 0 && std::fread(into, 1, bytes, file_.get()) != bytes) {
    bad("cannot be read: ", std::ferror(file_.get()) ? std::strerror(errno) : "it became shorter");
  }
  left_ -= bytes;
}

std::string InputFile::read_text(std::size_t bytes) {
  if (bytes > left_) bad("truncated: needs ", bytes, " more bytes, has ", left_);
  std::string text(bytes, '\0');
  read(text.data(), bytes);
  return text;
}

}  // namespace halftone::io
