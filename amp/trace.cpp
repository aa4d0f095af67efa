#include "halftone/amp/trace.h"

#include <cstdio>

#include "halftone/amp/trace_recorder.h"
#include "halftone/engine/capture.h"

namespace halftone::amp {
namespace {

const void* this_thread() { return &detail::thread_state; }

}  // namespace

Trace::Trace(const TraceOptions& options) : thread_(this_thread()) {
  if (options.max_operators < 1) {
    fail("Trace", "max_operators: expected a number >= 1, got ", options.max_operators);
  }
  if (ops::observer()) {
    fail("Trace", "this thread is traced already; end the other trace first, or read it instead");
  }
  if (cuda::current_capture()) {
    fail("Trace",
         "a CUDA graph is being captured: its operators do not run now; trace a step outside the capture");
  }
  recorder_ = std::make_unique<TraceRecorder>(options);
  detail::thread_state.observer = recorder_.get();
}

Trace::~Trace() {
  if (!is_recording()) return;
  if (is_own_thread()) {
    stop();
  } else {
    // The other thread goes on telling it, so it has to stay.
    static_cast<void>(recorder_.release());
  }
}

bool Trace::is_own_thread() const { return thread_ == this_thread(); }
bool Trace::is_recording() const { return thread_ != nullptr; }

void Trace::stop() {
  if (!is_recording()) return;
  if (!is_own_thread()) fail("Trace", "stop: it has to be called on the thread that made the trace");
  detail::thread_state.observer = nullptr;
  recorder_->close();
  thread_ = nullptr;
}

void Trace::watch(const std::string& name, const Tensor& tensor) {
  if (!tensor.defined()) fail("Trace", "watch: the tensor '", name, "' is undefined");
  recorder_->watch(name, tensor);
}

void Trace::watch(const std::vector<std::pair<std::string, Tensor>>& named) {
  for (const auto& [name, tensor] : named) watch(name, tensor);
}

const TraceLog& Trace::log() const {
  if (is_recording()) recorder_->close();
  return recorder_->log();
}

void Trace::write_json_lines(const std::string& path) const {
  write_text_file(path, trace_json_lines(log()));
}
void Trace::write_chrome_json(const std::string& path) const {
  write_text_file(path, trace_chrome_json(log()));
}
void Trace::write_html(const std::string& path, const std::string& title) const {
  write_text_file(path, trace_html(log(), title));
}

void write_text_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) fail("Trace", "cannot open ", path, " for writing");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) fail("Trace", "cannot write ", path, ": the device is full or broken");
}

}  // namespace halftone::amp
