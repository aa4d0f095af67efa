#include "halftone/amp/grad_scaler.h"

namespace halftone::amp {

GradScaler::GradScaler(const GradScalerOptions& options) : scaling_(options) {
  if (options.accumulation() == Accumulation::kDropMicroBatch) {
    fail("GradScaler",
         "accumulation(kDropMicroBatch) has to see every backward: use optimizer.use_loss_scaling(options) "
         "and optimizer.backward(loss)");
  }
}

void GradScaler::check_own(const char* op, optim::Optimizer& optimizer) const {
  const LossScaling* own = optimizer.loss_scaling();
  if (own && own->is_enabled()) {
    fail(op,
         "the optimizer has loss scaling of its own (use_loss_scaling): call optimizer.backward(loss) and "
         "optimizer.step() instead of a GradScaler");
  }
}

optim::DeferredFlag GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return optim::DeferredFlag(true);
  check_own("unscale_", optimizer);
  return optimizer.unscale_gradients(scaling_);
}

optim::StepReport GradScaler::step(optim::Optimizer& optimizer) {
  if (!is_enabled()) return optimizer.step();
  check_own("step", optimizer);
  const bool at_floor = scaling_.has_floor_policy() && scaling_.at_floor();
  optim::StepReport report = optimizer.step_with(scaling_);
  if (at_floor && report.skipped_nonfinite()) scaling_.apply_floor_policy();
  return report;
}

Tensor GradScaler::step(optim::Optimizer& optimizer, optim::Optimizer::LossClosure closure) {
  if (!is_enabled()) return optimizer.step(std::move(closure));
  check_own("step", optimizer);
  return optimizer.step_with(scaling_, std::move(closure));
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!is_enabled()) return;
  if (!new_scale) return scaling_.update();
  scaling_.check_update();
  scaling_.set_scale(*new_scale);  // throws before anything else happens
  scaling_.update();
  scaling_.set_scale(*new_scale);
}

void GradScaler::abandon(optim::Optimizer& optimizer) {
  if (is_enabled()) scaling_.abandon(optimizer.id());
}

void GradScaler::rearm(optim::Optimizer& optimizer) {
  if (is_enabled()) scaling_.rearm(optimizer.id());
}

}  // namespace halftone::amp
