#include "halftone/autograd/node.h"

#include <atomic>

namespace halftone {

namespace detail {
constinit thread_local bool grad_enabled = true;
}

namespace autograd {
namespace {

// Leaves count from 0, operators from 2^62: whatever order they are made in, leaves come last in backward.
// (The engine doubles these numbers.)
constexpr std::uint64_t kOperatorBase = std::uint64_t{1} << 62;

std::uint64_t next_operator_number() {
  static std::atomic<std::uint64_t> counter{kOperatorBase};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t next_leaf_number() {
  static std::atomic<std::uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

unsigned next_hook_number() {
  static std::atomic<unsigned> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

// Nodes whose last reference went while another node is being destroyed on this thread, chained through
// themselves: nothing here has a destructor, so tensors with static storage can be freed after the thread's
// own.
constinit thread_local Node* doomed = nullptr;
constinit thread_local bool draining = false;

}  // namespace

Node::Node(const char* name) : Node(name, next_operator_number()) {}

void Node::add_input(const Tensor& input) {
  if (!input.defined()) {
    add_edge({}, {});
    return;
  }
  const TensorImpl& impl = *input.unsafe_impl();
  Edge edge = gradient_edge(input);
  ScalarType dtype = impl.dtype;
  if (is_low_precision(dtype) && edge && edge.node->stands_for_fp32()) {
    dtype = kFloat;
    stands_for_fp32_ = true;
  }
  edges_.emplace_back(std::move(edge));
  metas_.emplace_back(impl.sizes, dtype, impl.storage->device());
}

void Node::add_edge(Edge edge, const InputMeta& meta) {
  edges_.emplace_back(std::move(edge));
  metas_.emplace_back(meta);
}

unsigned Node::add_hook(std::uint32_t output_nr, TensorHook hook) {
  if (!hooks_) hooks_ = std::make_unique<std::vector<Hook>>();
  hooks_->push_back({next_hook_number(), output_nr, std::move(hook)});
  return hooks_->back().number;
}

void Node::remove_hook(unsigned number) {
  if (hooks_) std::erase_if(*hooks_, [&](const Hook& hook) { return hook.number == number; });
}

void Node::run_hooks(Gradients& gradients) const {
  if (!hooks_) return;
  for (std::size_t i = 0; i < hooks_->size(); ++i) {
    const Hook& hook = (*hooks_)[i];
    Tensor& gradient = gradients[hook.output_nr];
    if (!gradient.defined()) continue;
    Tensor replaced = hook.run(gradient);
    if (!replaced.defined()) continue;
    if (replaced.sizes() != gradient.sizes()) {
      fail("register_hook", "a hook returned ", replaced, " for a gradient of ", gradient);
    }
    gradient = std::move(replaced);
  }
}

void Node::destroy() noexcept {
  next_doomed_ = doomed;
  doomed = this;
  if (draining) return;
  draining = true;
  while (Node* node = doomed) {
    doomed = node->next_doomed_;
    delete node;  // releases its edges, which only adds to the list
  }
  draining = false;
}

TensorMeta::TensorMeta(const TensorImpl& owner)
    : Node("accumulate_grad", next_leaf_number()), leaf{owner.sizes, owner.dtype, owner.storage->device()} {}

}  // namespace autograd
}  // namespace halftone
