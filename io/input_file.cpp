#include "halftone/io/input_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <istream>
#include <limits>

namespace halftone::io {

InputFile::InputFile(std::string op, const Origin& from)
    : op_(std::move(op)), path_(from.name()), stream_(from.stream()), memory_(from.data()) {
  if (stream_) {
    measure_stream();
  } else if (memory_ || from.bytes() > 0) {
    if (!memory_) bad("null with ", from.bytes(), " bytes");
    size_ = left_ = from.bytes();
  } else {
    open_file();
  }
}

void InputFile::open_file() {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path_, error)) bad("there is no such file");
  file_.reset(std::fopen(path_.c_str(), "rb"));
  if (!file_) bad("cannot be opened: ", std::strerror(errno));
  size_ = left_ = std::filesystem::file_size(path_, error);
  if (error) bad("cannot be read: ", error.message());
}

void InputFile::measure_stream() {
  if (!*stream_) bad("cannot be read: the stream is in an error state");
  size_ = left_ = std::numeric_limits<std::uint64_t>::max();
  const std::istream::pos_type here = stream_->tellg();
  if (here != std::istream::pos_type(-1) && stream_->seekg(0, std::ios::end)) {
    const std::istream::pos_type end = stream_->tellg();
    if (end != std::istream::pos_type(-1)) size_ = left_ = static_cast<std::uint64_t>(end - here);
  }
  stream_->clear();  // a pipe cannot tell its position, and can be read all the same
  if (here != std::istream::pos_type(-1)) stream_->seekg(here);
}

void InputFile::read(void* into, std::size_t bytes) {
  if (bytes > left_) bad("truncated: needs ", bytes, " more bytes, has ", left_);
  if (bytes == 0) return;
  if (memory_) {
    std::memcpy(into, memory_ + (size_ - left_), bytes);
  } else if (stream_) {
    stream_->read(static_cast<char*>(into), static_cast<std::streamsize>(bytes));
    const auto got = static_cast<std::size_t>(stream_->gcount());
    if (got != bytes) bad("truncated: needs ", bytes, " more bytes, has ", got);
  } else if (std::fread(into, 1, bytes, file_.get()) != bytes) {
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

std::string InputFile::read_rest() {
  if (left_ != std::numeric_limits<std::uint64_t>::max()) return read_text(static_cast<std::size_t>(left_));
  std::string text, piece(1 << 16, '\0');
  while (stream_->read(piece.data(), static_cast<std::streamsize>(piece.size())) || stream_->gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(stream_->gcount()));
  }
  left_ = 0;
  return text;
}

}  // namespace halftone::io
