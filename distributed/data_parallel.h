#pragma once

#include <memory>

#include "halftone/distributed/process_group.h"
#include "halftone/engine/arg.h"
#include "halftone/nn/module_holder.h"
#include "halftone/optim/optimizer.h"

namespace halftone::distributed {

/// Options of DataParallel.
struct DataParallelOptions {
  /// Gradients are summed in buckets of about so many bytes: small ones start earlier, large ones cost less.
  HALFTONE_ARG(std::int64_t, bucket_bytes) = std::int64_t{25} << 20;
  /// The same for the first bucket, which starts the reduction.
  HALFTONE_ARG(std::int64_t, first_bucket_bytes) = std::int64_t{1} << 20;
};

/// Trains a model on several processes, each with its part of every batch: gradients are averaged over the ranks
/// (Li et al. 2020, "PyTorch Distributed", VLDB 13). Parameters and buffers are made equal to rank 0's at the start.
/// While backward runs, a bucket is summed as soon as the gradients of all its parameters are there; when backward
/// returns, all of them are averaged. The result has the same bits on every rank, and those of one process that
/// accumulates the ranks' gradients in their order and divides by their number.
///
///   auto group = distributed::mpi_process_group();
///   distributed::DataParallel parallel(*model, group);
///   optim::AdamW optimizer(model->parameters());
///   optimizer.use_loss_scaling();
///   parallel.attach(optimizer);                 // ranks decide together whether to skip
///   ...
///   optimizer.backward(loss_of(model, part));   // gradients are averaged when it returns
///   optimizer.step();
///
/// Parameters without a gradient take part as zeros, and stay without one where no rank has one. Within a part of
/// the model that checkpoint() recomputes, gradients are summed at the end of backward. All ranks have to run the
/// same model, and backward as often.
class DataParallel {
 public:
  DataParallel(nn::Module& module, std::shared_ptr<ProcessGroup> group, DataParallelOptions options = {});
  template <class Contained>
  DataParallel(const nn::ModuleHolder<Contained>& holder, std::shared_ptr<ProcessGroup> group,
               DataParallelOptions options = {})
      : DataParallel(static_cast<nn::Module&>(*holder), std::move(group), std::move(options)) {}
  /// From now on backward sums nothing.
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// While alive, backward accumulates this rank's gradients alone; the next backward sums them too.
  class NoSync {
   public:
    explicit NoSync(DataParallel& parallel);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DataParallel& parallel_;
    bool before_;
  };
  /// For all micro-batches of a step but the last.
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  /// The optimizer's loss scaling, if it has one, decides together with the other ranks'.
  void attach(optim::Optimizer& optimizer);
  /// The processes it trains on.
  ProcessGroup& group() const;
  /// Buckets there are.
  std::size_t bucket_count() const;
  /// Those that began while backward was still running, the last time.
  std::size_t overlapped_buckets() const;

 private:
  struct State;  // shared with the parameters' hooks
  std::shared_ptr<State> state_;
};

}  // namespace halftone::distributed
