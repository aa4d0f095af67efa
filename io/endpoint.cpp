#include "halftone/io/endpoint.h"

#include <ostream>

#include "halftone/engine/error.h"
#include "halftone/io/atomic_file.h"

namespace halftone::io {
namespace {

class WriterSink final : public Sink {
 public:
  WriterSink(const std::string& name, const Destination::Writer& writer, const std::function<bool()>& flush)
      : name_(name), writer_(writer), flush_(flush) {}

  void write(const void* data, std::size_t bytes) override {
    if (bytes == 0) return;
    const std::size_t taken = writer_(data, bytes);
    if (taken != bytes) fail("save", name_, " took ", taken, " of ", bytes, " bytes");
  }
  void commit() override {
    if (flush_ && !flush_()) fail("save", name_, " cannot be flushed");
  }

 private:
  std::string name_;
  Destination::Writer writer_;
  std::function<bool()> flush_;
};

}  // namespace

Destination::Destination(std::ostream& stream)
    : name_("the stream"),
      writer_([&stream](const void* data, std::size_t bytes) {
        stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
        return stream ? bytes : 0;
      }),
      flush_([&stream] { return static_cast<bool>(stream.flush()); }) {}

std::unique_ptr<Sink> Destination::open() const {
  if (is_file_) return std::make_unique<AtomicFile>(name_);
  if (!writer_) fail("save", name_, " is empty");
  return std::make_unique<WriterSink>(name_, writer_, flush_);
}

}  // namespace halftone::io
