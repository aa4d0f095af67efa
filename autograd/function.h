#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "halftone/autograd/saved.h"
#include "halftone/engine/ivalue.h"
#include "halftone/ops/autocast.h"

namespace halftone::autograd {

/// libtorch's names.
/// @{
using Variable = Tensor;
using variable_list = std::vector<Tensor>;
using tensor_list = std::vector<Tensor>;
/// @}

/// A value kept in AutogradContext::saved_data.
using SavedValue = IValue;

/// What a Function's forward hands to its backward.
class AutogradContext {
 public:
  AutogradContext();
  ~AutogradContext();
  /// Keeps inputs or outputs for backward; written in place afterwards, they are refused there.
  void save_for_backward(variable_list tensors) { to_save_ = std::move(tensors); }
  /// What save_for_backward() got. Throws Error when the graph was freed, or one of them was written in place
  /// since.
  variable_list get_saved_variables() const;
  /// Anything else to keep. Tensors belong into save_for_backward.
  std::map<std::string, SavedValue> saved_data;

  /// Says that these outputs have no gradient.
  void mark_non_differentiable(const variable_list& outputs);
  /// Whether undefined output gradients arrive as zeros (the default).
  void set_materialize_grads(bool value) { materialize_ = value; }
  /// Whether the gradient of the i-th tensor input is wanted.
  bool needs_input_grad(std::size_t i) const;

 private:
  friend class FunctionNode;
  Node* node_ = nullptr;
  variable_list to_save_;
  std::vector<SavedTensor> saved_;
  std::vector<const TensorImpl*> non_differentiable_;
  bool materialize_ = true;
  bool released_ = false;
};

/// The node of a custom Function: its backward runs with the autocast state that its forward had.
class FunctionNode final : public Node {
 public:
  /// The Function's backward().
  using Backward = variable_list (*)(AutogradContext*, variable_list);
  FunctionNode(const char* name, Backward backward);

  Gradients apply(Gradients output_gradients) override;
  void release_saved() override;
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override;

  /// What forward and backward are given.
  AutogradContext& context() { return context_; }
  /// `is_tensor`: which of forward's arguments are tensors; backward may return one gradient per argument or
  /// per tensor argument.
  void set_arguments(std::vector<bool> is_tensor) { is_tensor_ = std::move(is_tensor); }
  /// Keeps what forward asked for, and gives the outputs their history when `record`.
  void finish(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, bool record);

 private:
  Backward backward_;
  AutogradContext context_;
  std::vector<bool> is_tensor_;
  std::vector<InputMeta> outputs_;
  ops::AutocastSettings autocast_of_forward_;
};

/// A custom operator with a hand-written gradient, as in libtorch:
///
///   struct Cube : autograd::Function<Cube> {
///     static Tensor forward(autograd::AutogradContext* ctx, Tensor x) {
///       ctx->save_for_backward({x});
///       return x * x * x;
///     }
///     static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads)
///     {
///       auto x = ctx->get_saved_variables()[0];
///       return {grads[0] * 3 * x * x};
///     }
///   };
///   Tensor y = Cube::apply(x);
///
/// forward runs unrecorded; backward is differentiable itself when run with create_graph.
template <class T>
struct Function {
  /// Runs forward, and records it if a tensor argument requires a gradient.
  template <class... Args>
  static auto apply(Args&&... args) {
    auto node = make_intrusive<FunctionNode>("Function", &T::backward);
    std::vector<Tensor> inputs;
    (collect(inputs, args), ...);
    node->set_arguments({std::is_convertible_v<const Args&, const Tensor&>...});
    bool record = GradMode::is_enabled();
    bool any = false;
    for (const Tensor& input : inputs) {
      node->add_input(input);
      any = any || wants_grad(input);
    }
    record = record && any;
    auto result = [&] {
      NoGradGuard no_grad;
      return T::forward(&node->context(), std::forward<Args>(args)...);
    }();
    if constexpr (std::is_same_v<decltype(result), Tensor>) {
      std::vector<Tensor> outputs{std::move(result)};
      node->finish(inputs, outputs, record);
      return outputs[0];
    } else {
      node->finish(inputs, result, record);
      return result;
    }
  }

 private:
  template <class Arg>
  static void collect(std::vector<Tensor>& inputs, const Arg& arg) {
    if constexpr (std::is_convertible_v<const Arg&, const Tensor&>) inputs.push_back(arg);
  }
};

}  // namespace halftone::autograd
