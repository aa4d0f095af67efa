#include "halftone/distributed/queued_group.h"

#include <exception>

#include "halftone/autograd/grad_mode.h"

namespace halftone::distributed {
namespace {

void check_contiguous(const char* op, const Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_contiguous()) fail(op, "expected a contiguous tensor, got ", tensor);
}

}  // namespace

/// An operation in the queue, and what is to be done with its result.
class QueuedGroup::Operation final : public Work {
 public:
  Operation(data::WorkerPool& thread, Tensor host, Tensor target)
      : thread_(thread), host_(std::move(host)), target_(std::move(target)) {}

  void start(std::function<void()> run, const std::shared_ptr<Operation>& self) {
    thread_.submit([self, run = std::move(run)](std::size_t) {
      std::exception_ptr error;
      try {
        run();
      } catch (...) {
        error = std::current_exception();
      }
      self->thread_.publish([&] {
        self->error_ = error;
        self->done_ = true;
      });
    });
  }

  void wait() override {
    thread_.wait([this] { return done_; }, std::nullopt);
    if (error_) std::rethrow_exception(error_);
    if (!target_.defined() || target_.is_same(host_)) return;
    const NoGradGuard no_grad;
    target_.detach().copy_(host_);
    target_ = Tensor();
  }

 private:
  data::WorkerPool& thread_;
  Tensor host_, target_;
  std::exception_ptr error_;
  bool done_ = false;
};

std::shared_ptr<QueuedGroup::Operation> QueuedGroup::submit(std::function<void()> run, Tensor host,
                                                            Tensor target) {
  auto operation = std::make_shared<Operation>(thread_, std::move(host), std::move(target));
  operation->start(std::move(run), operation);
  return operation;
}

void QueuedGroup::run(std::function<void()> operation) { submit(std::move(operation), {}, {})->wait(); }

std::shared_ptr<Work> QueuedGroup::all_reduce(const Tensor& tensor) {
  check_contiguous("all_reduce", tensor);
  const ScalarType dtype = tensor.scalar_type();
  if (dtype != kFloat && dtype != kDouble)
    fail("all_reduce", "expected float32 or float64, got ", tensor, "; convert it first");
  const NoGradGuard no_grad;
  const Tensor host = tensor.detach().cpu();
  const auto sum_host = [this, host] {
    if (host.numel() == 0) return;
    if (host.scalar_type() == kFloat) {
      sum(host.data_ptr<float>(), host.numel());
    } else {
      sum(host.data_ptr<double>(), host.numel());
    }
  };
  return submit(sum_host, host, tensor.is_cpu() ? Tensor() : tensor);
}

void QueuedGroup::broadcast(const Tensor& tensor, int root) {
  check_contiguous("broadcast", tensor);
  if (root < 0 || root >= size()) fail("broadcast", "root: expected 0 to ", size() - 1, ", got ", root);
  const NoGradGuard no_grad;
  const Tensor host = tensor.detach().cpu().contiguous().clone();  // written as one, with a new version
  submit([this, host, root] { send_from(root, host.data_ptr(), host.nbytes()); }, host, tensor)->wait();
}

void QueuedGroup::barrier() {
  run([this] { meet(); });
}

bool QueuedGroup::any(bool mine) {
  bool result = false;
  run([this, mine, &result] { result = any_of(mine); });
  return result;
}

}  // namespace halftone::distributed
