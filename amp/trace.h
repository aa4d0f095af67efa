#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/amp/trace_log.h"

namespace halftone::amp {

/// What a Trace looks at.
struct TraceOptions {
  /// Looks at every result for infinity and NaN, and finds out where the first of each step comes from: one
  /// pass over each result, and on a CUDA device a wait for it.
  bool check_values = true;
  /// Exponent histograms of watched tensors and of their gradients: one pass over each, on the host.
  bool histograms = true;
  /// On a CUDA device: waits for it after every call, so that times are the device's. Otherwise they are what
  /// it takes to enqueue the work.
  bool synchronize = true;
  /// Keeps every operator's results alive, in TraceOperator::values.
  bool keep_results = false;
  /// Calls beyond this number are counted, not recorded. >= 1.
  std::int64_t max_operators = 200000;
};

class TraceRecorder;

/// Records, while alive, what this thread computes: every operator forward and backward, the casts autocast
/// inserts, what is kept for backward, every movement of the loss scale, and the first infinite or NaN value
/// of each step. docs/trace.md shows how to read it.
///
///   amp::Trace trace;
///   trace.watch(model->named_parameters());
///   train_one_step();
///   trace.stop();
///   std::puts(trace.table().c_str());
///   trace.write_html("step.html");
///
/// Backward runs on the thread that calls it, so one trace sees all of a step; what other threads compute
/// needs traces of their own. One trace per thread at a time. It ends on the thread that made it.
class Trace {
 public:
  /// Throws Error when this thread is traced already, captures a CUDA graph, or an option makes no sense.
  explicit Trace(const TraceOptions& options = {});
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Gives a tensor a name, which its operators are found by: "encoder.fc1.weight" says that they belong to
  /// module "encoder.fc1". Counts its exponents now, and those of its gradient whenever a backward reaches
  /// it. The trace keeps it alive. Throws Error when it is undefined.
  void watch(const std::string& name, const Tensor& tensor);
  void watch(const std::vector<std::pair<std::string, Tensor>>& named);
  /// module->named_parameters()
  template <class Dict>
  requires requires(const Dict& dict) { std::vector<std::pair<std::string, Tensor>>(dict.pairs()); }
  void watch(const Dict& named) { watch(named.pairs()); }

  /// Ends the recording; what was recorded stays. Throws Error on another thread than the trace's.
  void stop();
  /// Until stop().
  bool is_recording() const;

  /// What was recorded so far.
  const TraceLog& log() const;
  /// See trace_table() and its neighbours in trace_log.h.
  std::string table() const { return trace_table(log()); }
  /// Each throws Error when the file cannot be written.
  /// @{
  void write_json_lines(const std::string& path) const;
  void write_chrome_json(const std::string& path) const;
  void write_html(const std::string& path, const std::string& title = "halftone trace") const;
  /// @}

 private:
  bool is_own_thread() const;

  std::unique_ptr<TraceRecorder> recorder_;
  const void* thread_;  // its thread_state
};

/// Writes a text to a file. Throws Error when that fails.
void write_text_file(const std::string& path, const std::string& text);

}  // namespace halftone::amp
