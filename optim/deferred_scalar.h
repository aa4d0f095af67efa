#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "halftone/engine/capture.h"

namespace halftone::optim {

/// A value that an operator on the device computes, read where it is used: converts to T. The first read
/// waits for the device; copies share what was read. Of a captured step it is the value of the last replay.
template <class T>
class Deferred {
 public:
  explicit Deferred(T value = T()) : value_(value) {}
  explicit Deferred(std::function<T()> read) : source_(std::make_shared<Source>(Source{std::move(read)})) {}

  /// The value. The first call waits for the device.
  T item() const { return source_ ? source_->get() : value_; }
  /// The same as item().
  operator T() const { return item(); }

 private:
  struct Source {
    std::function<T()> read;
    T value{};
    bool is_read = false;
    std::uint64_t replays = 0;  // when it was read

    T get() {
      if (!is_read || replays != cuda::replay_count()) {
        value = read();
        is_read = true;
        replays = cuda::replay_count();
      }
      return value;
    }
  };

  T value_{};
  std::shared_ptr<Source> source_;
};

/// What clip_grad_norm_ returns: the norm before clipping.
using DeferredScalar = Deferred<double>;
/// What unscale_ returns: whether all gradients are finite.
using DeferredFlag = Deferred<bool>;

}  // namespace halftone::optim
