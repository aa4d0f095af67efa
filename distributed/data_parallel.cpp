#include "halftone/distributed/data_parallel.h"

#include <algorithm>

#include "halftone/autograd/pass.h"
#include "halftone/ops/autocast.h"

namespace halftone::distributed {
namespace {

/// Sums are formed in this dtype, whatever the gradient's.
ScalarType sum_dtype(const Tensor& parameter) {
  return parameter.scalar_type() == kDouble ? kDouble : kFloat;
}

struct Bucket {
  std::vector<std::size_t> parameters;
  std::int64_t bytes = 0;
  // In a backward:
  std::size_t ready = 0;
  Tensor buffer;  // all gradients, then one flag per parameter: ranks that have one
  std::shared_ptr<Work> work;
};

}  // namespace

struct DataParallel::State : std::enable_shared_from_this<State> {
  std::shared_ptr<ProcessGroup> group;
  std::vector<Tensor> parameters;
  std::vector<Bucket> buckets;
  std::vector<std::size_t> bucket_of;
  bool is_synchronising = true;

  // The backward under way.
  bool is_running = false;
  std::vector<bool> is_ready;
  std::size_t launched = 0, overlapped = 0;

  /// Gradients arrive from the last layer to the first, about.
  void fill_buckets(const DataParallelOptions& options) {
    bucket_of.resize(parameters.size());
    for (std::size_t i = parameters.size(); i-- > 0;) {
      const std::int64_t limit =
          buckets.size() <= 1 ? options.first_bucket_bytes() : options.bucket_bytes();
      const bool fits = !buckets.empty() && buckets.back().bytes < limit &&
                        sum_dtype(parameters[buckets.back().parameters[0]]) == sum_dtype(parameters[i]) &&
                        parameters[buckets.back().parameters[0]].device() == parameters[i].device();
      if (!fits) buckets.emplace_back();
      buckets.back().parameters.push_back(i);
      buckets.back().bytes +=
          parameters[i].numel() * static_cast<std::int64_t>(element_size(sum_dtype(parameters[i])));
      bucket_of[i] = buckets.size() - 1;
    }
  }

  void arrived(std::size_t parameter) {
    if (!is_synchronising) return;
    if (!is_running) begin();
    // The gradient of a part that is recomputed may grow again: it waits for the end.
    if (autograd::backward_is_nested() || is_ready[parameter]) return;
    is_ready[parameter] = true;
    ++buckets[bucket_of[parameter]].ready;
    while (launched < buckets.size() && buckets[launched].ready == buckets[launched].parameters.size()) {
      launch();
      ++overlapped;
    }
  }

  void begin() {
    is_running = true;
    is_ready.assign(parameters.size(), false);
    launched = overlapped = 0;
    for (Bucket& bucket : buckets) bucket.ready = 0;
    autograd::queue_callback([self = shared_from_this()] { self->finish(); },
                             [self = shared_from_this()] { self->abandon(); });
  }

  /// Begins the next bucket: every rank takes them in the same order.
  void launch() {
    const NoGradGuard no_grad;
    const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
    Bucket& bucket = buckets[launched++];
    const Tensor& first = parameters[bucket.parameters[0]];
    const TensorOptions options = TensorOptions(sum_dtype(first)).device(first.device());
    std::vector<Tensor> pieces;
    std::vector<double> flags;
    for (const std::size_t i : bucket.parameters) {
      const Tensor& gradient = autograd::meta_of(parameters[i]).grad;
      flags.push_back(gradient.defined());
      pieces.push_back(gradient.defined() ? gradient.detach().to(sum_dtype(first)).reshape({-1})
                                          : zeros({parameters[i].numel()}, options));
    }
    const auto count = static_cast<std::int64_t>(flags.size());
    pieces.push_back(from_blob(flags.data(), {count}, TensorOptions(kDouble).device(kCPU)).to(options));
    bucket.buffer = cat(pieces);
    bucket.work = group->all_reduce(bucket.buffer);
  }

  void finish() {
    while (launched < buckets.size()) launch();
    is_running = false;
    const NoGradGuard no_grad;
    const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
    for (Bucket& bucket : buckets) {
      bucket.work->wait();
      take_over(bucket);
      bucket.buffer = Tensor();
      bucket.work.reset();
    }
  }

  /// The averages become the gradients.
  void take_over(Bucket& bucket) {
    const auto count = static_cast<std::int64_t>(bucket.parameters.size());
    std::int64_t at = bucket.buffer.numel() - count;
    const Tensor flags = bucket.buffer.narrow(0, at, count).to(TensorOptions(kDouble).device(kCPU));
    const Tensor averages = bucket.buffer.mul_(1.0 / group->size());
    at = 0;
    for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
      const Tensor& parameter = parameters[bucket.parameters[k]];
      const Tensor average = averages.narrow(0, at, parameter.numel()).view(parameter.sizes());
      at += parameter.numel();
      if (flags.data_ptr<double>()[k] == 0) continue;
      autograd::TensorMeta& meta = autograd::meta_of(parameter);
      if (!meta.grad.defined()) {
        meta.grad = average.to(meta.grad_dtype.value_or(parameter.scalar_type())).clone();
        meta.stamp = stamp_of_others();
        meta.grad.unsafe_impl()->is_scaled_gradient = meta.stamp.has_value();
        meta.grad.unsafe_impl()->is_true_gradient = !meta.stamp.has_value();
      } else {
        meta.grad.detach().copy_(average);
      }
    }
  }

  /// A gradient that only other ranks made is scaled as those made here.
  std::optional<autograd::GradientStamp> stamp_of_others() const {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto* stamp = is_ready[i] ? autograd::gradient_stamp(autograd::meta_of(parameters[i])) : nullptr;
      if (stamp) return *stamp;
    }
    return std::nullopt;
  }

  /// Backward failed: what began has to end, for the other ranks do the same.
  void abandon() {
    is_running = false;
    for (std::size_t i = 0; i < launched; ++i) buckets[i].work.reset();
  }
};

DataParallel::DataParallel(nn::Module& module, std::shared_ptr<ProcessGroup> group,
                           DataParallelOptions options)
    : state_(std::make_shared<State>()) {
  if (!group) fail("DataParallel", "the process group is null");
  if (options.bucket_bytes() < 1 || options.first_bucket_bytes() < 1)
    fail("DataParallel", "bucket_bytes and first_bucket_bytes: expected at least 1, got ",
         options.bucket_bytes(), " and ", options.first_bucket_bytes());
  state_->group = std::move(group);
  for (const std::vector<Tensor>& tensors : {module.parameters(), module.buffers()}) {
    for (const Tensor& tensor : tensors) {
      if (!tensor.defined()) continue;
      const NoGradGuard no_grad;
      const Tensor values = tensor.detach().contiguous();
      state_->group->broadcast(values);
      if (!tensor.is_contiguous()) tensor.detach().copy_(values);
    }
  }
  for (const Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad()) state_->parameters.push_back(parameter);
  }
  state_->fill_buckets(options);
  for (std::size_t i = 0; i < state_->parameters.size(); ++i) {
    const std::weak_ptr<State> weak = state_;
    autograd::add_post_accumulate_hook(state_->parameters[i], [weak, i] {
      if (const std::shared_ptr<State> state = weak.lock()) state->arrived(i);
    });
  }
}

DataParallel::~DataParallel() { state_->is_synchronising = false; }

void DataParallel::attach(optim::Optimizer& optimizer) {
  if (optimizer.loss_scaling()) optimizer.agree(agreement(state_->group));
}

ProcessGroup& DataParallel::group() const { return *state_->group; }
std::size_t DataParallel::bucket_count() const { return state_->buckets.size(); }
std::size_t DataParallel::overlapped_buckets() const { return state_->overlapped; }

DataParallel::NoSync::NoSync(DataParallel& parallel)
    : parallel_(parallel), before_(parallel.state_->is_synchronising) {
  parallel_.state_->is_synchronising = false;
}

DataParallel::NoSync::~NoSync() { parallel_.state_->is_synchronising = before_; }

}  // namespace halftone::distributed
