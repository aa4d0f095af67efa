#include "halftone/engine/cuda_graph.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/engine/capture.h"
#include "halftone/engine/cuda_backend.h"
#include "halftone/engine/error.h"
#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"

namespace halftone::cuda {
namespace {

/// The stream that captures on a device happen on. It never runs anything itself, so it is no use to destroy
/// it, and memory that belongs to it goes to nobody else by mistake.
StreamHandle capture_stream(int device) {
  static std::mutex mutex;
  static auto* streams = new std::map<int, StreamHandle>;
  std::lock_guard lock(mutex);
  StreamHandle& stream = (*streams)[device];
  if (!stream) stream = backend()->create_stream(device, false);
  return stream;
}

}  // namespace

/// What is recorded, and what it needs from the host before every replay.
class Graph::Recording final : public Capture {
 public:
  explicit Recording(int device)
      : device_(device),
        counters_(empty({static_cast<std::int64_t>(kMostSources)},
                        TensorOptions(kLong).device(Device(kCUDA, static_cast<std::int8_t>(device))))) {}

  ~Recording() override {
    Backend& cuda = *backend();
    if (graph_) {
      try {
        cuda.synchronize(device_);  // a replay may be under way in the memory that is given back
      } catch (...) {               // what is wrong is told by the next call that waits
      }
      cuda.destroy_graph(graph_);
    }
    if (pool_) cuda.release_pool(device_, *pool_);
  }

  void record(const std::function<void()>& step) {
    Backend& cuda = *backend();
    const StreamHandle stream = capture_stream(device_), previous = cuda.current_stream(device_);
    pool_ = cuda.begin_pool(device_);
    const auto leave = [&] {
      detail::capture = nullptr;
      cuda.set_current_stream(device_, previous);
      cuda.end_pool(device_);
      for (Source& source : sources_) {
        source.blocks = source.generator.state().offset;
        source.generator.set_state(source.start);
      }
    };
    cuda.set_current_stream(device_, stream);
    try {
      cuda.begin_capture(stream);
      detail::capture = this;
      step();
      graph_ = cuda.end_capture(stream);
    } catch (...) {
      if (!graph_) cuda.abandon_capture(stream);
      leave();
      throw;
    }
    leave();
  }

  void replay() {
    Backend& cuda = *backend();
    for (const std::function<void()>& update : updates_) update();
    for (Source& source : sources_) {
      PhiloxState state = source.generator.state();
      if (state.seed != source.start.seed) {
        fail("replay",
             "the random stream was seeded anew since the capture, and the graph holds the old seed; capture "
             "again");
      }
      cuda.write(source.counter, &state.offset, sizeof(state.offset), device_);
      state.offset += source.blocks;
      source.generator.set_state(state);
    }
    cuda.launch_graph(graph_, cuda.current_stream(device_));
    detail::replays.fetch_add(1, std::memory_order_relaxed);
  }

  void before_replay(std::function<void()> update) override { updates_.push_back(std::move(update)); }

  const std::uint64_t* random_base(const Generator& generator, PhiloxState state) override {
    if (sources_.size() == kMostSources)
      fail("cuda::Graph", "capture: more than ", kMostSources, " random streams");
    auto* counter = static_cast<std::uint64_t*>(counters_.data_ptr()) + sources_.size();
    sources_.push_back({generator, state, counter});
    return counter;
  }

 private:
  /// A random stream that the recorded work draws from.
  struct Source {
    Generator generator;
    PhiloxState start;         // where it stood at the capture
    std::uint64_t* counter;    // where a replay's numbers start, in device memory
    std::uint64_t blocks = 0;  // how far one replay moves it
  };
  static constexpr std::size_t kMostSources = 16;

  int device_;
  Tensor counters_;  // not of the pool: there, work recorded earlier might write to the same memory
  std::optional<int> pool_;
  GraphHandle graph_ = nullptr;
  std::vector<std::function<void()>> updates_;
  std::vector<Source> sources_;
};

Graph::Graph() = default;
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

void Graph::capture(const std::function<void()>& step) {
  Backend& cuda = require_backend("cuda::Graph");
  if (!step) fail("cuda::Graph", "capture: the function is empty");
  if (current_capture()) fail("cuda::Graph", "this thread is capturing a graph already");
  reset();
  auto recording = std::make_unique<Recording>(cuda.current_device());
  recording->record(step);
  recording_ = std::move(recording);
}

void Graph::replay() {
  if (!recording_) fail("cuda::Graph", "replay: nothing is captured; call capture(step) first");
  if (current_capture()) fail("cuda::Graph", "replay: cannot be captured in a graph itself");
  recording_->replay();
}

bool Graph::is_captured() const { return static_cast<bool>(recording_); }

void Graph::reset() { recording_.reset(); }

}  // namespace halftone::cuda
