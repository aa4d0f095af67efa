#include "halftone/autograd/checkpoint.h"

#include "halftone/autograd/autograd.h"
#include "halftone/autograd/saved.h"
#include "halftone/ops/autocast.h"

namespace halftone::autograd {
namespace {

using Segment = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// What the first run saw, and the second must see too.
struct FirstRun {
  ops::AutocastSettings autocast = ops::AutocastSettings::current();
  PhiloxState random = default_generator().state();
};

/// Puts the random stream to where the first run began, and back where it was at the end.
class RandomStreamOf {
 public:
  explicit RandomStreamOf(const FirstRun& first) : now_(default_generator().state()) {
    default_generator().set_state(first.random);
  }
  ~RandomStreamOf() { default_generator().set_state(now_); }
  RandomStreamOf(const RandomStreamOf&) = delete;
  RandomStreamOf& operator=(const RandomStreamOf&) = delete;

 private:
  PhiloxState now_;
};

class CheckpointNode final : public Node {
 public:
  CheckpointNode(Segment segment, const std::vector<Tensor>& inputs)
      : Node("checkpoint"), segment_(std::move(segment)) {
    for (const Tensor& input : inputs) {
      add_input(input);
      if (input.defined())
        inputs_.emplace_back(input, false);
      else
        inputs_.emplace_back();
    }
  }

  Gradients apply(Gradients output_gradients) override {
    if (GradMode::is_enabled())
      fail("checkpoint", "a checkpointed part cannot be differentiated twice (create_graph)");
    if (backward_is_capturing()) fail("checkpoint", "works with backward(), not with autograd::grad");
    if (released_)
      fail("checkpoint", "backward ran a second time; call it with retain_graph = true the first time");
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Tensor input = inputs_[i].unpack(*this, "input", static_cast<int>(i));
      if (input.defined()) input = input.detach();
      if (next_edges()[i]) input.requires_grad_();
      inputs.push_back(std::move(input));
    }
    std::vector<Tensor> roots, root_gradients;
    {
      const ops::AutocastScope autocast(first_.autocast);
      const RandomStreamOf random(first_);
      const AutoGradMode recording(true);
      const std::vector<Tensor> outputs = segment_(inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!output_gradients[i].defined() || !wants_grad(outputs[i])) continue;
        roots.push_back(outputs[i]);
        root_gradients.push_back(output_gradients[i]);
      }
    }
    if (!roots.empty()) backward(roots, root_gradients);
    Gradients gradients;
    for (const Tensor& input : inputs) gradients.push_back(input.defined() ? input.grad() : Tensor());
    return gradients;
  }

  void release_saved() override {
    for (SavedTensor& input : inputs_) input.reset();
    released_ = true;
  }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    for (const SavedTensor& input : inputs_) {
      if (input.defined()) visit(input.raw());
    }
  }

 private:
  Segment segment_;
  std::vector<SavedTensor> inputs_;
  FirstRun first_;
  bool released_ = false;
};

}  // namespace

std::vector<Tensor> checkpoint(Segment function, const std::vector<Tensor>& inputs) {
  if (!GradMode::is_enabled()) return function(inputs);
  auto node =
      make_intrusive<CheckpointNode>(function, inputs);  // captures the random stream before the first run
  std::vector<Tensor> outputs;
  {
    NoGradGuard no_grad;
    outputs = function(inputs);
  }
  node->set_output_count(static_cast<std::uint32_t>(outputs.size()));
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = outputs[i].detach();  // an input handed through must not get this history
    if (outputs[i].is_floating_point()) set_history(outputs[i], node, i);
  }
  return outputs;
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input) {
  const Segment segment = [function = std::move(function)](const std::vector<Tensor>& inputs) {
    return std::vector<Tensor>{function(inputs[0])};
  };
  return checkpoint(segment, std::vector<Tensor>{input})[0];
}

}  // namespace halftone::autograd
