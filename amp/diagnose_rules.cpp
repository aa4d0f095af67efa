// What each fault looks like in the records of a step.

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "halftone/amp/diagnose_run.h"
#include "halftone/amp/half_range.h"

namespace halftone::amp {

const char* fault_name(Fault fault) {
  constexpr const char* names[] = {"bad data",
                                   "bad parameter",
                                   "overflow in half",
                                   "unsafe override",
                                   "non-finite in fp32",
                                   "exploding weight",
                                   "scale too high",
                                   "gradient underflow",
                                   "whole model in float16",
                                   "clip before unscale_",
                                   "loss computed in half",
                                   "scaler with bfloat16",
                                   "eps that vanishes",
                                   "normalisation statistics in half",
                                   "update lost",
                                   "program error",
                                   "differs beyond rounding"};
  return names[static_cast<int>(fault)];
}

std::string place_of(const TraceOperator& op) {
  return op.module.empty() ? op.name : concat(op.name, " of ", op.module);
}

namespace {

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* other) { return name == other; });
}

bool has_half_output(const TraceOperator& op) {
  return !op.outputs.empty() && is_low_precision(op.outputs.front().dtype);
}

bool has_half_input(const TraceOperator& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [](const TraceTensor& input) { return is_low_precision(input.dtype); });
}

double largest(const Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return 0;
  return tensor.detach().to(kDouble).abs().max().item<double>();
}

std::string percent_of(double share) { return concat(std::round(1000 * share) / 10, " %"); }

/// Each looks for its faults in the evidence.
class Rules {
 public:
  explicit Rules(const Evidence& evidence) : e_(evidence), log_(evidence.amp.log) {}

  std::vector<Finding> run() {
    thrown();
    first_nonfinite();
    changed_scaled_gradient();
    whole_model_half();
    loss_in_half();
    scaler_with_bfloat16();
    vanishing_epsilon();
    statistics_in_half();
    gradient_underflow();
    lost_update();
    if (findings_.empty()) diverges();
    return std::move(findings_);
  }

 private:
  void add(Fault fault, std::string where, std::string what, std::string advice, bool is_error = true) {
    findings_.push_back({fault, is_error, std::move(where), std::move(what), std::move(advice)});
  }

  // --- The program
  void thrown() {
    if (!e_.amp.error) return;
    const std::string message = e_.amp.error->what();
    if (e_.amp.error->op() == "clip_grad_norm_" || e_.amp.error->op() == "clip_grad_value_") {
      if (message.find("unscale_") != std::string::npos) {
        return add(Fault::kClipBeforeUnscale, e_.amp.error->op(), message,
                   "call scaler.unscale_(optimizer) first: a threshold means true gradients, not those times "
                   "the loss scale");
      }
    }
    add(Fault::kProgram, e_.amp.error->op(), message, "the message says what was expected");
  }

  void changed_scaled_gradient() {
    for (const TraceOperator& op : log_.operators) {
      if (!op.wrote_scaled_gradient) continue;
      return add(Fault::kClipBeforeUnscale, place_of(op),
                 concat("'", op.name, "' changed a gradient that was still multiplied by the loss scale"),
                 "call scaler.unscale_(optimizer) before clipping or changing gradients by hand");
    }
  }

  // --- Values
  /// The call under a PolicyOverride that moves it out of fp32, around call `index`; or null.
  const TraceOperator* unsafe_override(std::int64_t index) const {
    for (; index >= 0; index = log_.operators[static_cast<std::size_t>(index)].parent) {
      const TraceOperator& op = log_.operators[static_cast<std::size_t>(index)];
      const bool is_safe = op.declared == Precision::kFp32 || op.declared == Precision::kFp32Inside ||
                           op.declared == Precision::kBanned;
      const bool is_low = op.policy == Precision::kLow || op.policy == Precision::kAny;
      if (is_safe && is_low) return &op;
    }
    return nullptr;
  }

  void first_nonfinite() {
    if (log_.nonfinite.empty()) return;
    const TraceNonFinite& found = log_.nonfinite.front();
    if (found.origin == TraceNonFinite::Origin::kInput) {
      return add(Fault::kBadData, found.name, found.str(),
                 "check the data, or leave this batch out; precision has nothing to do with it");
    }
    if (found.origin == TraceNonFinite::Origin::kParameter) {
      return add(Fault::kBadParameter, found.input, found.str(),
                 "load the last good checkpoint: every step from here gives NaN");
    }
    const std::string where = found.module.empty() ? found.name : found.module;
    if (found.phase == TracePhase::kForward) {
      exploding_weight();
      if (!e_.fp32.log.nonfinite.empty()) {
        return add(Fault::kNonFiniteInFp32, where, found.str(),
                   "fp32 does not help: look at the inputs of this operator, the initialisation, and the "
                   "learning rate");
      }
      if (const TraceOperator* op = unsafe_override(found.op)) {
        return add(Fault::kUnsafeOverride, place_of(*op),
                   concat(found.str(), "; a PolicyOverride makes '", op->name, "' ",
                          precision_name(op->policy), " instead of ", precision_name(op->declared)),
                   "take the override away");
      }
      return add(Fault::kOverflowInHalf, where, found.str(),
                 concat("keep this operator in fp32, PolicyOverride(\"", caller_of(found),
                        "\", Precision::kFp32); or make its inputs smaller; or use bfloat16, whose range is "
                        "that of fp32"));
    }
    if (!e_.fp32.log.nonfinite.empty() && found.fp32_too.value_or(true)) {
      return add(
          Fault::kNonFiniteInFp32, found.node.empty() ? where : found.node, found.str(),
          "the derivative itself is not finite there (the square root or logarithm of 0?): clamp its input");
    }
    if (found.scale != 1) {
      const bool moves = std::any_of(log_.scales.begin(), log_.scales.end(),
                                     [](const TraceScale& scale) { return scale.backed_off; });
      return add(Fault::kScaleTooHigh, where, found.str(),
                 moves ? "nothing to do: the scale backs off and finds its place"
                       : "use a dynamic scale, or a lower one: " + concat(suggested_scale()),
                 !moves);
    }
    add(Fault::kOverflowInHalf, where, found.str(),
        "a gradient overflows half precision without any loss scale: use bfloat16, or smaller sums");
  }

  /// Casts are made for the operator around them.
  std::string caller_of(const TraceNonFinite& found) const {
    std::int64_t index = found.op;
    if (index < 0) return found.name;
    while (log_.operators[static_cast<std::size_t>(index)].name == "to_dtype" &&
           log_.operators[static_cast<std::size_t>(index)].parent >= 0) {
      index = log_.operators[static_cast<std::size_t>(index)].parent;
    }
    return log_.operators[static_cast<std::size_t>(index)].name;
  }

  double suggested_scale() const {
    double most = 0;
    for (const Tensor& gradient : e_.fp32.gradients) most = std::max(most, largest(gradient));
    return most > 0 && std::isfinite(most) ? std::ldexp(1.0, 14 - std::ilogb(most)) : 1;
  }

  void exploding_weight() {
    std::vector<std::pair<double, std::size_t>> sizes;
    for (std::size_t i = 0; i < e_.parameters.size(); ++i) {
      if (e_.parameters[i].second.dim() >= 2) sizes.emplace_back(largest(e_.before.value(i)), i);
    }
    if (sizes.size() < 3) return;
    std::sort(sizes.begin(), sizes.end());
    const double usual = sizes[sizes.size() / 2].first;
    const auto& [most, index] = sizes.back();
    if (!(most > 100 * usual)) return;
    add(Fault::kExplodingWeight, e_.parameters[index].first,
        concat("'", e_.parameters[index].first, "' reaches ", most, "; the other weights are at most around ",
               usual),
        "find out what made it grow: its initialisation, a learning rate too high, or a missing "
        "normalisation");
  }

  // --- Precision in the wrong place
  void whole_model_half() {
    std::size_t floating = 0, half = 0;
    for (const auto& named : e_.parameters) {
      floating += named.second.is_floating_point();
      half += named.second.scalar_type() == kHalf;
    }
    const bool under_autocast = std::any_of(log_.operators.begin(), log_.operators.end(),
                                            [](const TraceOperator& op) { return op.autocast; });
    if (half == 0 || half != floating || under_autocast) return;
    add(Fault::kWholeModelHalf, "",
        concat("all ", half, " parameters are float16, and no autocast region is open"),
        "keep the parameters in fp32 and open amp::Autocast around the forward pass");
  }

  void loss_in_half() {
    for (const TraceLoss& loss : log_.losses) {
      if (is_low_precision(loss.dtype)) return add_loss("the scaled loss", loss.dtype);
    }
    if (e_.amp.loss.defined() && is_low_precision(e_.amp.loss.scalar_type())) {
      return add_loss("the loss", e_.amp.loss.scalar_type());
    }
    for (const TraceOperator& op : log_.operators) {
      const bool is_loss = op.name.find("loss") != std::string::npos ||
                           op.name.find("cross_entropy") != std::string::npos || op.name == "kl_div";
      if (is_loss && op.phase == TracePhase::kForward && has_half_output(op)) {
        return add_loss(concat("'", op.name, "'"), op.outputs.front().dtype);
      }
    }
  }
  void add_loss(const std::string& what, ScalarType dtype) {
    add(Fault::kLossInHalf, "",
        concat(what, " is ", dtype, ": its sum was rounded, and overflows at 65504 in float16"),
        "compute the loss inside the autocast region, where losses give fp32, or from logits.to(kFloat)");
  }

  void scaler_with_bfloat16() {
    const bool scaled = std::any_of(log_.losses.begin(), log_.losses.end(),
                                    [](const TraceLoss& loss) { return loss.scale != 1; });
    bool bfloat16 = false, float16 = false;
    for (const TraceOperator& op : log_.operators) {
      bfloat16 = bfloat16 || (op.autocast && op.cast_to == kBFloat16);
      float16 = float16 || op.cast_to == kHalf;
    }
    if (!scaled || !bfloat16 || float16) return;
    add(Fault::kScalerWithBFloat16, "", "the loss of a bfloat16 region is scaled",
        "leave the scaler out, or enabled(false): bfloat16 has the exponents of fp32, so gradients need no "
        "scale");
  }

  void vanishing_epsilon() {
    for (const TraceOperator& op : log_.operators) {
      if (op.phase == TracePhase::kBackward || !op.number || !is_one_of(op.name, {"add", "maximum"}))
        continue;
      const double eps = std::fabs(*op.number);
      if (eps == 0 || eps > HalfRange<Half>().zero_up_to || op.outputs.empty() ||
          op.outputs.front().dtype != kHalf)
        continue;
      return add(Fault::kVanishingEpsilon, place_of(op),
                 concat("'", op.name, "' adds ", *op.number, " to a float16 tensor, which rounds it to 0"),
                 "compute in fp32 (.to(kFloat)), or use an eps of at least 1e-7");
    }
  }

  /// Whether the half value that went into `op` is a statistic that was rounded to half.
  bool comes_from_statistic(const TraceOperator& op, int hops) const {
    for (const TraceTensor& input : op.inputs) {
      if (input.made_by < 0 || !is_low_precision(input.dtype)) continue;
      const TraceOperator& maker = log_.operators[static_cast<std::size_t>(input.made_by)];
      if (&maker == &op) continue;
      if (is_one_of(maker.name, {"mean", "var", "std", "sum", "norm"})) return true;
      const bool passes_on = is_one_of(maker.name, {"add", "sub", "mul", "clamp", "maximum", "to_dtype"}) ||
                             maker.kind == TraceKind::kView;
      if (passes_on && hops > 0 && comes_from_statistic(maker, hops - 1)) return true;
    }
    return false;
  }

  void statistics_in_half() {
    for (const auto& [name, buffer] : e_.buffers) {
      const bool is_statistic =
          name.find("running_mean") != std::string::npos || name.find("running_var") != std::string::npos;
      if (!is_statistic || !is_low_precision(buffer.scalar_type())) continue;
      return add(Fault::kStatisticsInHalf, name,
                 concat("'", name, "' is ", buffer.scalar_type(), ": a running average of it stops moving"),
                 "keep normalisation layers in fp32 when the rest of the model is converted");
    }
    for (const TraceOperator& op : log_.operators) {
      if (op.phase != TracePhase::kForward || !is_one_of(op.name, {"sqrt", "rsqrt"}) || !has_half_input(op))
        continue;
      if (!comes_from_statistic(op, 4)) continue;
      return add(Fault::kStatisticsInHalf, place_of(op),
                 concat("'", op.name,
                        "' reads a mean or sum that was rounded to half: squares above 65504 overflow, and "
                        "small ones vanish"),
                 "use nn::functional::layer_norm or rms_norm, which hold statistics in fp32, or convert to "
                 "fp32 before squaring");
    }
  }

  // --- What was lost
  bool any_step_skipped() const {
    return std::any_of(log_.steps.begin(), log_.steps.end(),
                       [](const TraceStep& step) { return !step.applied; });
  }

  void gradient_underflow() {
    if (!log_.nonfinite.empty() || e_.amp.error) return;
    double present = 0, lost = 0;
    for (std::size_t i = 0; i < e_.parameters.size(); ++i) {
      const Tensor &amp = e_.amp.gradients[i], &fp32 = e_.fp32.gradients[i];
      if (!amp.defined() || !fp32.defined() || amp.sizes() != fp32.sizes()) continue;
      present += count_nonzero(fp32).item<double>();
      lost += count_nonzero(logical_and(fp32.ne(0), amp.eq(0))).item<double>();
    }
    if (present == 0 || lost < 0.1 * present) return;
    const bool scaled = std::any_of(log_.losses.begin(), log_.losses.end(),
                                    [](const TraceLoss& loss) { return loss.scale != 1; });
    add(Fault::kGradientUnderflow, "",
        concat(percent_of(lost / present), " of the gradient's elements are 0 and are not in fp32"),
        concat(
            scaled ? "raise the loss scale" : "scale the loss (GradScaler, or optimizer.use_loss_scaling())",
            ": at ", suggested_scale(), " the largest gradient is still in range"));
  }

  bool was_written(const std::string& name) const {
    const bool stepped =
        std::any_of(log_.steps.begin(), log_.steps.end(), [](const TraceStep& step) { return step.applied; });
    return stepped || std::any_of(log_.operators.begin(), log_.operators.end(), [&](const TraceOperator& op) {
             return op.kind == TraceKind::kInPlace && !op.inputs.empty() && op.inputs.front().name == name;
           });
  }

  void lost_update() {
    if (e_.amp.error || any_step_skipped()) return;
    for (std::size_t i = 0; i < e_.parameters.size(); ++i) {
      const auto& [name, parameter] = e_.parameters[i];
      const Tensor& gradient = e_.amp.gradients[i];
      if (!is_low_precision(parameter.scalar_type()) || !gradient.defined() || !was_written(name)) continue;
      const autograd::TensorMeta* meta = autograd::find_meta(parameter);
      if (meta && meta->grad_dtype == kFloat) continue;  // it has a master weight, which moves
      const Tensor wanted = gradient.ne(0);
      const auto moving = count_nonzero(wanted).item<double>();
      const auto stuck =
          count_nonzero(logical_and(wanted, e_.amp.after[i].eq(e_.before.value(i)))).item<double>();
      if (moving == 0 || stuck < 0.5 * moving) continue;
      return add(
          Fault::kLostUpdate, name,
          concat(percent_of(stuck / moving), " of '", name,
                 "' did not move: the update is below half a unit in the last place of ",
                 parameter.scalar_type()),
          "keep fp32 master weights (master_weights(true), the default), or use stochastic_rounding(true)");
    }
  }

  void diverges() {
    const std::int64_t index = first_difference(e_.amp, e_.fp32);
    if (index < 0) return;
    const TraceOperator& op = log_.operators[static_cast<std::size_t>(index)];
    add(Fault::kDiverges, place_of(op),
        concat("the result of '", place_of(op), "' differs from fp32 by more than rounding explains"),
        concat("if training suffers, keep it in fp32: PolicyOverride(\"", op.name, "\", Precision::kFp32)"),
        false);
  }

  const Evidence& e_;
  const TraceLog& log_;
  std::vector<Finding> findings_;
};

/// The calls of a forward pass that the program made itself and that have a floating result.
std::vector<std::int64_t> own_calls(const TraceLog& log) {
  std::vector<std::int64_t> calls;
  for (std::size_t i = 0; i < log.operators.size(); ++i) {
    const TraceOperator& op = log.operators[i];
    if (op.phase != TracePhase::kForward || op.depth > 0 || op.kind != TraceKind::kOperator) continue;
    if (op.name == "to_dtype" || op.values.empty() || !op.values.front().is_floating_point()) continue;
    calls.push_back(static_cast<std::int64_t>(i));
  }
  return calls;
}

}  // namespace

std::int64_t first_difference(const StepRun& amp, const StepRun& fp32) {
  const NoGradGuard no_grad;
  const std::vector<std::int64_t> ours = own_calls(amp.log), theirs = own_calls(fp32.log);
  double roundings = 1;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const TraceOperator& a = amp.log.operators[static_cast<std::size_t>(ours[i])];
    const TraceOperator& b = fp32.log.operators[static_cast<std::size_t>(theirs[i])];
    const Tensor x = a.values.front().to(kDouble), y = b.values.front().to(kDouble);
    if (a.name != b.name || x.sizes() != y.sizes()) return -1;  // the program took another way
    if (has_half_output(a)) ++roundings;
    // Rounding errors of one operator after the other add up like independent ones; 32 is far out for those.
    const double unit = a.outputs.front().dtype == kBFloat16 || a.cast_to == kBFloat16 ? 0x1p-9 : 0x1p-12;
    const double size = y.norm().item<double>(), off = (x - y).norm().item<double>();
    if (!(off <= 32 * unit * std::sqrt(roundings) * size) && off > 0) return ours[i];
  }
  return -1;
}

std::vector<Finding> findings_of(const Evidence& evidence) {
  const NoGradGuard no_grad;
  return Rules(evidence).run();
}

}  // namespace halftone::amp
