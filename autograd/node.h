#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/inline_vector.h"
#include "halftone/engine/tensor.h"

namespace halftone::autograd {

class Node;

/// Where a gradient flows to: input `input_nr`'s gradient of the node that made a tensor, or of a leaf.
struct Edge {
  IntrusivePtr<Node> node;
  std::uint32_t input_nr = 0;
  /// Whether a gradient is wanted there.
  explicit operator bool() const { return static_cast<bool>(node); }
};

/// Shape and dtype of an operator's input: what its gradient is summed and cast to. The dtype is fp32 for a
/// half input that stands for an fp32 one.
struct InputMeta {
  Dims sizes;                 ///< what broadcast gradients are summed to
  ScalarType dtype = kFloat;  ///< what gradients are cast to
  Device device = kCPU;       ///< where gradients are wanted
};

/// Gradients of all inputs or outputs of a node; undefined ones stand for zero.
using Gradients = InlineVector<Tensor, 4>;
/// Sees a gradient; what it returns takes its place, unless that is undefined.
using TensorHook = std::function<Tensor(Tensor)>;

/// One recorded operator. Nodes carry a global sequence number; an edge only ever points to a smaller one, so
/// backward is "run the largest number first" and needs neither dependency counts nor recursion.
class Node : public RefCounted {
 public:
  /// `name` must outlive the node.
  explicit Node(const char* name);

  /// Turns the gradients of this node's outputs into those of its inputs, one per edge (undefined: zero).
  virtual Gradients apply(Gradients output_gradients) = 0;
  /// Frees what was kept for backward.
  virtual void release_saved() {}
  /// Calls `visit` for every storage kept for backward.
  virtual void visit_saved(const std::function<void(const Tensor&)>& visit) const { (void)visit; }
  /// True for a leaf's accumulator, which survives the graph.
  virtual bool is_accumulator() const { return false; }

  /// The operator's.
  const char* name() const { return name_; }
  /// Larger than those of the nodes that its edges lead to.
  std::uint64_t sequence_nr() const { return sequence_nr_; }
  /// One per input; empty where no gradient is wanted.
  const InlineVector<Edge, 3>& next_edges() const { return edges_; }
  /// Of the input that edge `i` belongs to.
  const InputMeta& input_meta(std::size_t i) const { return metas_[i]; }
  /// Records that input number next_edges().size() is `input`; its edge is empty when it needs no gradient.
  void add_input(const Tensor& input);
  /// Records the next input with its edge.
  void add_edge(Edge edge, const InputMeta& meta);

  /// Whether half results of this node stand for fp32 ones (ops/wide.h): then so do the half results made
  /// from them, and their gradients are summed in fp32.
  bool stands_for_fp32() const { return stands_for_fp32_; }
  /// Makes them stand for fp32 ones.
  void set_stands_for_fp32() { stands_for_fp32_ = true; }

  /// How many tensors the operator made.
  std::uint32_t output_count() const { return output_count_; }
  /// Says how many; 1 unless it is called.
  void set_output_count(std::uint32_t count) { output_count_ = count; }

  /// A hook on the gradient of output `output_nr`. Returns its number.
  unsigned add_hook(std::uint32_t output_nr, TensorHook hook);
  /// Takes the hook of that number off again.
  void remove_hook(unsigned number);
  /// Shows the hooks the gradients of the outputs, and puts what they return in their place.
  void run_hooks(Gradients& gradients) const;

 protected:
  Node(const char* name, std::uint64_t sequence_nr) : name_(name), sequence_nr_(sequence_nr) {}
  /// Chains of any length are freed from a worklist, not by recursion.
  void destroy() noexcept override;

 private:
  struct Hook {
    unsigned number;
    std::uint32_t output_nr;
    TensorHook run;
  };

  const char* name_;
  Node* next_doomed_ = nullptr;
  std::uint64_t sequence_nr_;
  std::uint32_t output_count_ = 1;
  bool stands_for_fp32_ = false;
  InlineVector<Edge, 3> edges_;
  InlineVector<InputMeta, 3> metas_;
  std::unique_ptr<std::vector<Hook>> hooks_;
};

/// Marks gradients produced by the backward of a scaled loss: who scaled it, in which iteration, by what.
struct GradientStamp {
  const void* scaler = nullptr;  ///< which LossScaling
  std::uint64_t iteration = 0;   ///< of the scaler, counted by its updates
  double scale = 1;              ///< where `device_scale` is undefined
  Tensor device_scale;  ///< the scale in device memory (one fp32 number), which the host does not know

  /// The scale. Waits for the device if only that knows it.
  double read_scale() const;
  /// Whether both were scaled by the same number.
  bool has_scale_of(const GradientStamp& other) const;
};

/// A leaf's own node: holds its gradient and adds to it when backward arrives. Also holds what a non-leaf
/// needs to retain its gradient. Leaves have smaller numbers than every operator, so they drain last.
class TensorMeta final : public Node {
 public:
  explicit TensorMeta(const TensorImpl& owner);

  /// Adds a gradient (already summed to the leaf's shape): in the leaf's dtype, or in `grad_dtype` if set.
  Gradients apply(Gradients output_gradients) override;
  bool is_accumulator() const override { return true; }

  /// What has been accumulated; undefined before the first backward.
  Tensor grad;
  /// What the gradient is accumulated in, if not in the leaf's dtype.
  std::optional<ScalarType> grad_dtype;
  /// Of the backward that made the gradient, if its loss was scaled.
  std::optional<GradientStamp> stamp;
  /// A non-leaf keeps its gradient too (retain_grad).
  bool retains_grad = false;
  std::string name;  ///< a parameter's name, for messages
  /// Runs after a gradient was accumulated.
  std::vector<std::function<void()>> post_accumulate_hooks;
  /// Version of a gradient when clear_gradient filled it with zeros: as long as it has that, it is zero.
  std::uint32_t zero_version = 0;
  /// A low-precision copy of the parameter that its optimizer keeps up to date ("half shadow").
  Tensor shadow;
  /// Version of the parameter that the shadow was made from.
  std::uint32_t shadow_version = 0;
  /// What leaf this is; follows set_data.
  InputMeta leaf;
};

/// The stamp of a leaf's gradient, or null when the gradient is in true units: never stamped, unscaled since,
/// or replaced by another tensor.
const GradientStamp* gradient_stamp(const TensorMeta& meta);
/// Says that the gradient is in true units now.
void clear_stamp(TensorMeta& meta);
/// Drops the gradient of a leaf, or fills it with zeros; its stamp goes with it.
void clear_gradient(const Tensor& leaf, bool set_to_none = true);

/// The tensor's own autograd data, made on first use.
TensorMeta& meta_of(const Tensor& tensor);
/// The same, or null when the tensor has none yet.
TensorMeta* find_meta(const Tensor& tensor);

/// True when gradients flow to this tensor. A view of a tensor that was written with history counts.
bool wants_grad(const TensorImpl& impl);
/// False for an undefined tensor.
inline bool wants_grad(const Tensor& tensor) { return tensor.defined() && wants_grad(*tensor.unsafe_impl()); }

/// The node that made the tensor, or null for leaves. Views written through are brought up to date first.
Node* grad_fn(const Tensor& tensor);

/// Where the gradient of this tensor goes; empty when it needs none.
Edge gradient_edge(const Tensor& tensor);

/// Makes `tensor` output `output_nr` of `node`.
void set_history(const Tensor& tensor, const IntrusivePtr<Node>& node, std::uint32_t output_nr = 0);

/// Makes `view` a differentiable view of what `base` is (a view of).
void set_view_of(const Tensor& view, const Tensor& base);

/// Checks that `self` may be written in place by `op`; `recording` says whether the write goes on the tape.
void check_inplace(const char* op, const Tensor& self, bool recording);

/// After a recorded write into `self` by `node`: rebases self's history, and its base's if it is a view.
void rebase_history(const Tensor& self, const IntrusivePtr<Node>& node);

/// A second tensor object on the same data: what is kept for backward. It shares the gradient edge, not
/// identity.
Tensor snapshot(const Tensor& tensor);

/// The same, holding a copy of the value: for a rule that reads what is about to be overwritten.
Tensor detached_value(const Tensor& tensor);

/// While a backward pass runs on this thread, the stamp its leaves receive; null outside.
std::optional<GradientStamp>* current_stamp();

/// True while the backward pass on this thread serves autograd::grad, which touches no leaf.
bool backward_is_capturing();

}  // namespace halftone::autograd
