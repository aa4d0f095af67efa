// A training step that has run before asks nothing of malloc: tensors come from the caching allocator, graph
// nodes from free lists, and work lists keep their memory. Counted by taking malloc's place in this program.

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "halftone/bench/peers/models.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

std::atomic<bool> counting{false};
std::atomic<long> requests{0};

void note_request() {
  if (counting.load(std::memory_order_relaxed)) requests.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// glibc's own, under the names it keeps for those who take malloc's place. operator new ends up here too.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  note_request();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  note_request();
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) {
  note_request();
  return __libc_realloc(block, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  note_request();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note_request();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  note_request();
  *block = __libc_memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
}

using namespace halftone;

namespace {

/// Requests to malloc by one run of `f`.
template <class F>
long requests_of(F f) {
  requests = 0;
  counting = true;
  f();
  counting = false;
  return requests;
}

struct Precision {
  const char* name;
  bool autocast, scaling;
};
constexpr Precision kPrecisions[] = {
    {"float32", false, false}, {"bfloat16", true, false}, {"bfloat16, scaled", true, true}};

constexpr int kGptLayers = 2;

peers::Task task_of(const std::string& model) {
  if (model != "gpt") return peers::make_task(model);
  peers::CharGpt small(20, kGptLayers, 16, 2, 8);  // the measured one takes long without optimisation
  const Tensor x = randint(20, {2, 8}, kLong), y = randint(20, {16}, kLong);
  return {small->parameters(), {}, [=]() mutable {
            return peers::class_loss(small->forward(x).view({-1, 20}), y);
          }};
}

std::unique_ptr<optim::Optimizer> optimizer_of(const std::string& name,
                                               const std::vector<Tensor>& parameters) {
  if (name == "SGD") return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.01).momentum(0.9));
  return std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions(1e-3));
}

}  // namespace

TEST_CASE("malloc is counted") {
  long* number = nullptr;
  CHECK(requests_of([&] { number = new long(1); }) == 1);
  delete number;
  CHECK(requests_of([] {}) == 0);
}

TEST_CASE("a training step that has run before does not allocate") {
  for (const std::string model : {"tiny", "mlp", "cnn", "gpt"}) {
    for (const std::string name : {"SGD", "AdamW"}) {
      for (const Precision& precision : kPrecisions) {
        const peers::Task task = task_of(model);
        const std::unique_ptr<optim::Optimizer> optimizer = optimizer_of(name, task.parameters);
        if (precision.autocast) optimizer->use_half_shadow(kBFloat16);
        if (precision.scaling) optimizer->use_loss_scaling();
        long forward = 0, backward = 0, update = 0;
        for (int step = 0; step < 6; ++step) {
          optimizer->zero_grad();
          Tensor loss;
          forward = requests_of([&] {
            const amp::Autocast autocast(kCPU, kBFloat16, precision.autocast);
            loss = task.loss();
          });
          backward = requests_of([&] { optimizer->backward(loss); });
          update = requests_of([&] { optimizer->step(); });
        }
        INFO(model << ", " << name << ", " << precision.name);
        // Attention has one input and one gradient more than a node has room for.
        const long attentions = model == "gpt" ? kGptLayers : 0;
        CHECK(forward <= 2 * attentions);
        CHECK(backward <= attentions);
        CHECK(update == 0);
      }
    }
  }
}

#endif
