// The backward pass: pop the node with the largest sequence number, run it, hand its results on. Since edges
// only point to smaller numbers, a node is popped after everything that feeds it.

#include <algorithm>
#include <atomic>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "halftone/autograd/autograd.h"
#include "halftone/autograd/pass.h"
#include "halftone/engine/cached_containers.h"
#include "halftone/ops/autocast.h"
#include "halftone/ops/observer.h"

namespace halftone::autograd {
namespace {

thread_local bool anomaly_enabled = false;
thread_local std::optional<GradientStamp>* thread_stamp = nullptr;
thread_local bool thread_capturing = false;
thread_local int thread_depth = 0;  // passes within passes

struct EndOfPass {
  std::function<void()> done, failed;
};
thread_local std::vector<EndOfPass> thread_callbacks;

std::atomic<bool> any_leaf_has_hook{false};

/// What nodes can ask about the pass that runs them.
class PassScope {
 public:
  explicit PassScope(bool capturing) : outer_(thread_stamp), outer_capturing_(thread_capturing) {
    if (outer_) stamp_ = *outer_;  // a backward inside a backward (checkpoint) belongs to the same loss
    thread_stamp = &stamp_;
    thread_capturing = capturing;
    ++thread_depth;
  }
  ~PassScope() {
    --thread_depth;
    thread_stamp = outer_;
    thread_capturing = outer_capturing_;
  }

 private:
  std::optional<GradientStamp> stamp_;
  std::optional<GradientStamp>* outer_;
  bool outer_capturing_;
};

/// The sequence numbers of the first operators that used leaves: nothing reaches a leaf after its first user
/// has run.
using FirstUses = std::unordered_map<const Node*, std::uint64_t>;

/// Gradients on their way, one slot per node, found by the node's address. Leaves of `early` come right after
/// their first user, other leaves at the end.
class Pending {
 public:
  explicit Pending(const FirstUses& early) : early_(early) {}

  struct Slot {
    IntrusivePtr<Node> node;
    Gradients gradients;
  };

  bool empty() const { return heap_.empty(); }

  void add(const Edge& edge, Tensor gradient) {
    Slot& slot = slots_[find(edge.node)];
    Tensor& sum = slot.gradients[edge.input_nr];
    if (!sum.defined()) {
      sum = std::move(gradient);
    } else if (!GradMode::is_enabled() && is_private(sum)) {
      sum.add_(gradient);
    } else {
      sum = halftone::add(sum, gradient);
    }
  }

  Slot pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    const std::uint32_t index = heap_.back().second;
    heap_.pop_back();
    return std::move(slots_[index]);
  }

 private:
  static bool is_private(const Tensor& tensor) {
    return tensor.impl_ptr()->use_count() == 1 && tensor.storage().use_count() == 1 && tensor.is_contiguous();
  }

  std::uint32_t find(const IntrusivePtr<Node>& node) {
    if (2 * (slots_.size() + 1) > table_.size()) grow();
    std::uint32_t& entry = probe(node.get());
    if (entry == 0) {
      slots_.push_back({node, Gradients(node->output_count(), Tensor())});
      entry = static_cast<std::uint32_t>(slots_.size());
      addresses_.push_back(node.get());
      heap_.emplace_back(place_of(*node), entry - 1);
      std::push_heap(heap_.begin(), heap_.end());
    }
    return entry - 1;
  }

  /// Operators have even places, early leaves odd ones.
  std::uint64_t place_of(const Node& node) const {
    if (early_.empty() || !node.is_accumulator()) [[likely]]
      return 2 * node.sequence_nr();
    const auto first_use = early_.find(&node);
    return first_use == early_.end() ? 2 * node.sequence_nr() : 2 * first_use->second - 1;
  }

  // Finished nodes are kept until the pass ends, so an address means one node.
  std::uint32_t& probe(const Node* node) {
    const std::size_t mask = table_.size() - 1;
    std::size_t i = (reinterpret_cast<std::uintptr_t>(node) >> 5) * 0x9E3779B97F4A7C15ull >> 32 & mask;
    while (table_[i] != 0 && addresses_[table_[i] - 1] != node) i = (i + 1) & mask;
    return table_[i];
  }

  void grow() {
    table_.assign(std::max<std::size_t>(64, 4 * table_.size()), 0);  // a power of two
    for (std::uint32_t i = 0; i < addresses_.size(); ++i) probe(addresses_[i]) = i + 1;
  }

  const FirstUses& early_;
  CachedVector<Slot> slots_;
  CachedVector<const Node*> addresses_;
  CachedVector<std::pair<std::uint64_t, std::uint32_t>> heap_;
  CachedVector<std::uint32_t> table_;
};

Tensor to_input(Tensor gradient, const Node& node, std::size_t input) {
  const InputMeta& meta = node.input_meta(input);
  if (gradient.sizes() != IntArrayRef(meta.sizes)) gradient = sum_to_size(gradient, meta.sizes);
  if (gradient.scalar_type() != meta.dtype) gradient = gradient.to(meta.dtype);
  return gradient;
}

void check_for_nan(const Node& node, const Gradients& gradients) {
  NoGradGuard no_grad;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || !gradients[i].is_floating_point()) continue;
    if (gradients[i].isnan().any().item<bool>()) {
      fail("anomaly mode", "the backward of '", node.name(), "' made NaN in the gradient of its input ", i,
           " (", gradients[i], ")");
    }
  }
}

/// Which nodes lie on a path to one of `targets`; all others need not run.
std::unordered_set<const Node*> nodes_towards(const CachedVector<Edge>& roots,
                                              const CachedVector<Edge>& targets) {
  std::vector<Node*> reachable;
  std::unordered_set<const Node*> seen;
  for (const Edge& root : roots) {
    if (root && seen.insert(root.node.get()).second) reachable.push_back(root.node.get());
  }
  for (std::size_t i = 0; i < reachable.size(); ++i) {
    for (const Edge& edge : reachable[i]->next_edges()) {
      if (edge && seen.insert(edge.node.get()).second) reachable.push_back(edge.node.get());
    }
  }
  std::sort(reachable.begin(), reachable.end(),
            [](const Node* a, const Node* b) { return a->sequence_nr() < b->sequence_nr(); });
  std::unordered_set<const Node*> needed;
  for (const Edge& target : targets) needed.insert(target.node.get());
  for (const Node* node : reachable) {
    for (const Edge& edge : node->next_edges()) {
      if (edge && needed.count(edge.node.get())) needed.insert(node);
    }
  }
  return needed;
}

/// Of all leaves with hooks below `roots`.
FirstUses first_uses_of_hooked_leaves(const CachedVector<Edge>& roots) {
  FirstUses uses;
  std::vector<Node*> reachable;
  std::unordered_set<const Node*> seen;
  for (const Edge& root : roots) {
    if (root && seen.insert(root.node.get()).second) reachable.push_back(root.node.get());
  }
  for (std::size_t i = 0; i < reachable.size(); ++i) {
    const std::uint64_t number = reachable[i]->sequence_nr();
    for (const Edge& edge : reachable[i]->next_edges()) {
      if (!edge) continue;
      Node* const node = edge.node.get();
      if (!node->is_accumulator()) {
        if (seen.insert(node).second) reachable.push_back(node);
      } else if (!static_cast<TensorMeta*>(node)->post_accumulate_hooks.empty()) {
        std::uint64_t& first = uses.emplace(node, number).first->second;
        first = std::min(first, number);
      }
    }
  }
  return uses;
}

/// The pass itself. With `targets`, their gradients are collected into `captured` and no leaf is touched.
void run_pass(const CachedVector<Edge>& roots, CachedVector<Tensor> gradients, bool retain_graph,
              bool create_graph, const CachedVector<Edge>& targets, std::vector<Tensor>* captured) {
  // Backward runs in the dtypes that forward recorded: the casts are nodes of the graph already.
  const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
  const AutoGradMode grad_mode(create_graph);
  const PassScope pass(captured != nullptr);
  const ops::PassObservation pass_observation;
  std::unordered_set<const Node*> needed;
  if (captured) needed = nodes_towards(roots, targets);
  const auto is_needed = [&](const Node* node) { return !captured || needed.count(node) != 0; };

  FirstUses early;
  if (!captured && any_leaf_has_hook.load(std::memory_order_relaxed)) {
    early = first_uses_of_hooked_leaves(roots);
  }
  Pending pending(early);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (roots[i] && is_needed(roots[i].node.get())) pending.add(roots[i], std::move(gradients[i]));
  }
  CachedVector<IntrusivePtr<Node>> finished;  // keeps addresses taken until the pass ends
  while (!pending.empty()) {
    Pending::Slot slot = pending.pop();
    Node& node = *slot.node;
    node.run_hooks(slot.gradients);
    if (captured) {
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i].node.get() == &node) (*captured)[i] = slot.gradients[targets[i].input_nr];
      }
      if (node.is_accumulator()) continue;
    }
    ops::NodeObservation observation(node, slot.gradients);
    Gradients results = node.apply(std::move(slot.gradients));
    if (anomaly_enabled) check_for_nan(node, results);
    if (!retain_graph) node.release_saved();
    const auto& edges = node.next_edges();
    for (std::size_t i = 0; i < edges.size() && i < results.size(); ++i) {
      if (!edges[i] || !results[i].defined() || !is_needed(edges[i].node.get())) continue;
      pending.add(edges[i], to_input(std::move(results[i]), node, i));
    }
    observation.finish(node);
    finished.push_back(std::move(slot.node));
  }
}

/// A pass, and what was to happen at its end.
void run(const CachedVector<Edge>& roots, CachedVector<Tensor> gradients, bool retain_graph,
         bool create_graph, const CachedVector<Edge>& targets, std::vector<Tensor>* captured) {
  try {
    run_pass(roots, std::move(gradients), retain_graph, create_graph, targets, captured);
  } catch (...) {
    if (thread_depth > 0) throw;
    for (const EndOfPass& callback : std::exchange(thread_callbacks, {})) {
      if (callback.failed) callback.failed();
    }
    throw;
  }
  if (thread_depth > 0 || thread_callbacks.empty()) [[likely]]
    return;
  for (const EndOfPass& callback : std::exchange(thread_callbacks, {})) callback.done();
}

struct Roots {
  CachedVector<Edge> edges;
  CachedVector<Tensor> gradients;
};

Roots make_roots(const char* caller, const TensorList& tensors, const TensorList& given) {
  if (!given.empty() && given.size() != tensors.size()) {
    fail(caller, "expected as many starting gradients as tensors (", tensors.size(), "), got ", given.size());
  }
  Roots roots;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (!tensor.defined()) fail(caller, "tensor ", i, " is undefined");
    if (!wants_grad(tensor)) {
      fail(caller, "tensor ", i, " (", tensor,
           ") does not require grad and was not made from anything that does");
    }
    Tensor gradient = i < given.size() ? given[i] : Tensor();
    if (!gradient.defined()) {
      if (tensor.numel() != 1) {
        fail(caller, "a gradient to start from can be left out only for one element, got ", tensor,
             "; reduce it with sum() or mean(), or pass a gradient");
      }
      NoGradGuard no_grad;
      gradient = ones_like(tensor);
    } else if (gradient.sizes() != tensor.sizes()) {
      fail(caller, "the starting gradient ", gradient, " differs in shape from its tensor ", tensor);
    } else {
      gradient = gradient.to(tensor.scalar_type());
    }
    roots.edges.push_back(gradient_edge(tensor));
    roots.gradients.push_back(std::move(gradient));
  }
  return roots;
}

}  // namespace

std::optional<GradientStamp>* current_stamp() { return thread_stamp; }
bool backward_is_capturing() { return thread_capturing; }
bool backward_is_nested() { return thread_depth > 1; }

void add_post_accumulate_hook(const Tensor& leaf, std::function<void()> hook) {
  if (!leaf.defined() || !leaf.is_leaf() || !leaf.requires_grad())
    fail("add_post_accumulate_hook", "expected a leaf that requires grad, got ", leaf);
  meta_of(leaf).post_accumulate_hooks.push_back(std::move(hook));
  any_leaf_has_hook = true;
}

void queue_callback(std::function<void()> done, std::function<void()> failed) {
  if (thread_depth == 0) fail("queue_callback", "no backward pass is running on this thread");
  thread_callbacks.push_back({std::move(done), std::move(failed)});
}

bool AnomalyMode::is_enabled() { return anomaly_enabled; }
void AnomalyMode::set_enabled(bool enabled) { anomaly_enabled = enabled; }

void backward(const TensorList& tensors, const TensorList& grad_tensors, std::optional<bool> retain_graph,
              bool create_graph) {
  Roots roots = make_roots("backward", tensors, grad_tensors);
  run(roots.edges, std::move(roots.gradients), retain_graph.value_or(create_graph), create_graph, {},
      nullptr);
}

std::vector<Tensor> grad(const TensorList& outputs, const TensorList& inputs, const TensorList& grad_outputs,
                         std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
  Roots roots = make_roots("autograd::grad", outputs, grad_outputs);
  CachedVector<Edge> targets;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!wants_grad(inputs[i])) fail("autograd::grad", "input ", i, " does not require grad");
    targets.push_back(gradient_edge(inputs[i]));
  }
  std::vector<Tensor> captured(inputs.size());
  run(roots.edges, std::move(roots.gradients), retain_graph.value_or(create_graph), create_graph, targets,
      &captured);
  for (std::size_t i = 0; i < captured.size(); ++i) {
    if (!captured[i].defined() && !allow_unused) {
      fail("autograd::grad", "the outputs do not depend on input ", i, " (", inputs[i],
           "); pass allow_unused = true to get an undefined gradient");
    }
  }
  return captured;
}

std::vector<SavedInfo> saved_tensors(const Tensor& output) {
  std::vector<SavedInfo> report;
  if (!output.defined() || !wants_grad(output)) return report;
  std::unordered_set<const Node*> seen;
  std::vector<Node*> nodes;
  const Edge root = gradient_edge(output);
  seen.insert(root.node.get());
  nodes.push_back(root.node.get());
  std::unordered_set<const Storage*> counted;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : nodes[i]->next_edges()) {
      if (edge && seen.insert(edge.node.get()).second) nodes.push_back(edge.node.get());
    }
    nodes[i]->visit_saved([&](const Tensor& tensor) {
      const Storage& storage = tensor.storage();
      const TensorImpl& impl = *tensor.unsafe_impl();
      // A leaf's own data and its low-precision copy are there anyway.
      const bool is_leaf = impl.requires_grad && !impl.grad_fn;
      if (is_leaf || storage.category() == MemoryCategory::kParameter) return;
      const bool first = counted.insert(&storage).second;
      report.push_back({nodes[i]->name(), impl.dtype, impl.sizes, first ? storage.bytes() : 0});
    });
  }
  return report;
}

std::size_t saved_bytes(const Tensor& output) {
  std::size_t bytes = 0;
  for (const SavedInfo& saved : saved_tensors(output)) bytes += saved.bytes;
  return bytes;
}

}  // namespace halftone::autograd
