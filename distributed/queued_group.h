#pragma once

#include "halftone/data/worker_pool.h"
#include "halftone/distributed/process_group.h"

namespace halftone::distributed {

/// A group whose operations run one after another on a thread of their own, so that they make progress while the
/// caller computes. An implementation says how they are done on host memory; tensors on other devices are brought
/// there and back.
class QueuedGroup : public ProcessGroup {
 public:
  int rank() const final { return rank_; }
  int size() const final { return size_; }
  std::shared_ptr<Work> all_reduce(const Tensor& tensor) final;
  void broadcast(const Tensor& tensor, int root = 0) final;
  void barrier() final;
  bool any(bool mine) final;

 protected:
  QueuedGroup() = default;
  /// Derived classes call it in their constructors, after start().
  void set_place(int rank, int size) {
    rank_ = rank;
    size_ = size;
  }
  /// Runs `operation` on the group's thread and waits for it. Throws what it throws.
  void run(std::function<void()> operation);

  // --- On the group's thread only. A failure throws Error.
  /// Replaces the numbers by their sum over all ranks, added in rank order.
  virtual void sum(float* data, std::int64_t count) = 0;
  virtual void sum(double* data, std::int64_t count) = 0;
  /// Gives every rank the bytes of `root`.
  virtual void send_from(int root, void* data, std::size_t bytes) = 0;
  /// Returns when all ranks are here.
  virtual void meet() = 0;
  /// Whether any rank says so.
  virtual bool any_of(bool mine) = 0;

 private:
  class Operation;
  std::shared_ptr<Operation> submit(std::function<void()> run, Tensor host, Tensor target);

  int rank_ = 0, size_ = 1;
  data::WorkerPool thread_{1};
};

/// In rank order, as every implementation has to add: `parts` holds `ranks` parts of `count` numbers, one after
/// another; the sum goes to the first.
template <class T>
void add_in_rank_order(T* parts, std::int64_t count, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) {
    const T* part = parts + rank * count;
    for (std::int64_t i = 0; i < count; ++i) parts[i] += part[i];
  }
}

}  // namespace halftone::distributed
