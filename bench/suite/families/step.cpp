// Whole training steps of the models that are measured beside libtorch: fp32; bf16 under autocast with a bf16
// shadow of the weights; fp16 the same with loss scaling. The ceiling is what the step's multiplications and
// additions take alone.

#include <memory>

#include "halftone/bench/peers/models.h"
#include "halftone/bench/suite/families/operands.h"
#include "halftone/bench/support/work.h"

namespace halftone::bench {
namespace {

/// Low enough that the gradients of every model stay in fp16's range: no step is skipped at first.
constexpr double kFirstScale = 1024;

struct Variant {
  const char *name, *model, *optimizer;
};
constexpr Variant kVariants[] = {{"mlp_sgd", "mlp", "sgd"},    {"mlp_adamw", "mlp", "adamw"},
                                 {"tiny_sgd", "tiny", "sgd"},  {"tiny_adamw", "tiny", "adamw"},
                                 {"cnn_sgd", "cnn", "sgd"},    {"cnn_adamw", "cnn", "adamw"},
                                 {"gpt_adamw", "gpt", "adamw"}};

/// The model on the setting's device.
peers::Task task_of(const Variant& v, std::int64_t batch, const Setting& setting) {
  const Device before = get_default_device();
  set_default_device(setting.device);
  peers::Task task = peers::make_task(v.model, batch);
  set_default_device(before);
  return task;
}

/// A training run of one model.
class Training {
 public:
  Training(const Variant& v, std::int64_t batch, const Setting& setting)
      : setting_(setting), task_(task_of(v, batch, setting)) {
    if (std::string_view(v.optimizer) == "sgd") {
      optimizer_ = std::make_unique<optim::SGD>(task_.parameters, optim::SGDOptions(0.01).momentum(0.9));
    } else {
      optimizer_ = std::make_unique<optim::AdamW>(task_.parameters, optim::AdamWOptions(1e-3));
    }
    if (setting.precision != Precision::kFp32) optimizer_->use_half_shadow(setting.dtype());
    if (setting.precision == Precision::kFp16)
      optimizer_->use_loss_scaling(amp::LossScalingOptions().init_scale(kFirstScale));
  }

  void step() {
    forward_and_backward();
    optimizer_->step();
  }
  /// The loss, and the norm of every gradient in true units.
  std::vector<Tensor> loss_and_norms() {
    std::vector<Tensor> all{exactly(forward_and_backward())};
    const double scale = optimizer_->loss_scale();
    for (const Tensor& parameter : task_.parameters) all.push_back(norm(exactly(parameter.grad())) / scale);
    return all;
  }

 private:
  Tensor forward_and_backward() {
    optimizer_->zero_grad();
    Tensor loss;
    {
      const amp::Autocast autocast(setting_.device.type(), kBFloat16 == setting_.dtype() ? kBFloat16 : kHalf,
                                   setting_.precision != Precision::kFp32);
      loss = task_.loss();
    }
    optimizer_->backward(loss);
    return loss;
  }

  Setting setting_;
  peers::Task task_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

/// The same model and batch in float64 on the CPU. Under autocast every product rounds its operands and its
/// result: `kRoundings` is their number along the longest path of the deepest model, there and back.
std::vector<Reference> exact_loss_and_norms(const Variant& v, std::int64_t batch, const Setting& setting) {
  constexpr double kRoundings = 2 * 3 * 18;       // four blocks of four products, embedding and head
  constexpr double kLength = 64 * 12 * 12 + 784;  // the longest sums of the CNN and of the MLP
  const peers::Task task = task_of(v, batch, {});
  for (const std::vector<Tensor>* tensors : {&task.parameters, &task.inputs}) {
    for (const Tensor& tensor : *tensors) {
      if (tensor.is_floating_point()) tensor.set_data(tensor.detach().to(kDouble));
    }
  }
  const Tensor loss = task.loss();
  loss.backward();
  const double low = setting.precision == Precision::kFp32 ? 0 : kRoundings * unit_roundoff(setting.dtype());
  std::vector<Reference> all{{exactly(loss), {}, kLength, low}};
  for (const Tensor& parameter : task.parameters)
    all.push_back({norm(exactly(parameter.grad())), {}, kLength, low});
  return all;
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  const std::int64_t batch = shape[0];
  std::vector<Case> all;
  for (const Variant& v : kVariants) {
    Case c;
    c.name = v.name;
    c.bound = Bound::kArithmetic;
    c.flops = step_model(v.model)->flops_per_sample * static_cast<double>(batch);
    c.prepare = [=] {
      const auto training = std::make_shared<Training>(v, batch, setting);
      return Work{[=] { training->step(); }, [=] { return training->loss_and_norms(); },
                  [=] { return exact_loss_and_norms(v, batch, setting); }};
    };
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace

Family step_family() {
  return {"step",  "training steps of an MLP, a tiny MLP, a CNN and a char-GPT",
          "batch", {{16}, {64}},
          {{16}},  {{64}, {512}},
          {1},     cases};
}

}  // namespace halftone::bench
