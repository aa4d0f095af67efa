#include "halftone/autograd/function.h"

#include <algorithm>

namespace halftone::autograd {

AutogradContext::AutogradContext() = default;
AutogradContext::~AutogradContext() = default;

variable_list AutogradContext::get_saved_variables() const {
  if (released_) {
    fail("Function",
         "backward ran a second time, after what it kept was freed; "
         "call backward with retain_graph = true the first time");
  }
  variable_list tensors;
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    tensors.push_back(saved_[i].unpack(*node_, "saved tensor", static_cast<int>(i)));
  }
  return tensors;
}

void AutogradContext::mark_non_differentiable(const variable_list& outputs) {
  for (const Tensor& output : outputs) non_differentiable_.push_back(output.unsafe_impl());
}

bool AutogradContext::needs_input_grad(std::size_t i) const {
  return node_ && i < node_->next_edges().size() && static_cast<bool>(node_->next_edges()[i]);
}

FunctionNode::FunctionNode(const char* name, Backward backward)
    : Node(name), backward_(backward), autocast_of_forward_(ops::AutocastSettings::current()) {
  context_.node_ = this;
}

void FunctionNode::finish(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, bool record) {
  for (Tensor& output : outputs) {
    if (!output.defined()) continue;
    // An input handed through becomes a tensor of its own, so that it can have this node as its history.
    const bool is_input =
        std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& t) { return t.is_same(output); });
    if (is_input) output = output.detach();
  }
  const auto is_differentiable = [&](const Tensor& output) {
    const auto& excluded = context_.non_differentiable_;
    return output.defined() && output.is_floating_point() &&
           std::find(excluded.begin(), excluded.end(), output.unsafe_impl()) == excluded.end();
  };
  if (record) {
    set_output_count(static_cast<std::uint32_t>(outputs.size()));
    const IntrusivePtr<Node> self(this);
    for (const Tensor& tensor : context_.to_save_) {
      const auto output = std::find_if(outputs.begin(), outputs.end(),
                                       [&](const Tensor& t) { return t.defined() && t.is_same(tensor); });
      const bool is_result = output != outputs.end();
      if (!tensor.defined())
        context_.saved_.emplace_back();
      else
        context_.saved_.emplace_back(tensor, is_result, is_result ? output - outputs.begin() : 0);
    }
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      const Tensor& output = outputs[i];
      outputs_.push_back(output.defined()
                             ? InputMeta{output.sizes().dims(), output.scalar_type(), output.device()}
                             : InputMeta{});
      if (is_differentiable(output)) set_history(output, self, i);
    }
  }
  context_.to_save_.clear();
}

Gradients FunctionNode::apply(Gradients output_gradients) {
  variable_list gradients;
  for (std::size_t i = 0; i < output_gradients.size(); ++i) {
    Tensor gradient = output_gradients[i];
    if (!gradient.defined() && context_.materialize_) {
      gradient = zeros(outputs_[i].sizes, TensorOptions(outputs_[i].dtype).device(outputs_[i].device));
    }
    gradients.push_back(std::move(gradient));
  }
  const ops::AutocastScope autocast(autocast_of_forward_);
  variable_list results = backward_(&context_, std::move(gradients));

  // Arguments of forward that the caller left to their defaults: nothing can flow to them.
  while (results.size() > is_tensor_.size() && !results.back().defined()) results.pop_back();
  const std::size_t tensors = next_edges().size();
  if (results.size() != tensors && results.size() != is_tensor_.size()) {
    fail("Function", "backward returned ", results.size(), " gradients, expected ", is_tensor_.size(),
         " (one per argument of forward) or ", tensors, " (one per tensor argument)");
  }
  Gradients out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results.size() == is_tensor_.size() && !is_tensor_[i]) continue;
    out.push_back(std::move(results[i]));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined() || !next_edges()[i]) continue;
    const Dims& expected = input_meta(i).sizes;
    if (!(broadcast_shapes("Function", out[i].sizes(), expected) == out[i].sizes().dims())) {
      fail("Function", "backward returned ", out[i], " for input ", i, " of shape ", expected);
    }
  }
  return out;
}

void FunctionNode::release_saved() {
  context_.saved_.clear();
  context_.released_ = true;
}

void FunctionNode::visit_saved(const std::function<void(const Tensor&)>& visit) const {
  for (const SavedTensor& saved : context_.saved_) {
    if (saved.defined()) visit(saved.raw());
  }
}

}  // namespace halftone::autograd
