#pragma once

#include <functional>
#include <memory>

#include "halftone/engine/tensor.h"

namespace halftone::distributed {

/// A collective operation under way.
class Work {
 public:
  virtual ~Work() = default;
  /// Returns when it is done. Throws what went wrong in it.
  virtual void wait() = 0;
};

/// Processes that compute together, numbered from 0 (their ranks). Every rank has to call the same operations in the
/// same order, with tensors of the same shape and dtype. An implementation for another transport (NCCL, say) derives
/// from this.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Number of this process, from 0.
  virtual int rank() const = 0;
  /// Number of processes.
  virtual int size() const = 0;
  /// Begins to replace a contiguous fp32 or fp64 tensor by its sum over all ranks, added in the order of the ranks: every
  /// rank gets the same bits, in every run. The tensor may be neither read nor written before wait().
  virtual std::shared_ptr<Work> all_reduce(const Tensor& tensor) = 0;
  /// Gives every rank the values of `root`.
  virtual void broadcast(const Tensor& tensor, int root = 0) = 0;
  /// Returns when all ranks are here.
  virtual void barrier() = 0;
  /// Whether any rank says so.
  virtual bool any(bool mine) = 0;

 protected:
  ProcessGroup() = default;
};

/// One process, all by itself.
std::shared_ptr<ProcessGroup> single_process();

/// For LossScaling::agree and Optimizer::agree: one rank's overflow makes all ranks skip the step and lower their
/// scale.
std::function<bool(bool)> agreement(std::shared_ptr<ProcessGroup> group);

}  // namespace halftone::distributed
