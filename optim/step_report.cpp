#include "halftone/optim/step_report.h"

#include "halftone/engine/error.h"

namespace halftone::optim {

std::string StepReport::str() const {
  std::string text;
  if (no_gradients_) {
    text = concat("no gradients: none of ", parameter_count_, " parameters has one");
  } else if (applied_) {
    text = concat("applied, scale ", scale_before_, ", gradient norm ", grad_norm_);
    if (!rechecked_) text += ", gradients not re-checked";
  } else {
    text = concat("skipped, scale ", scale_before_, ", non-finite gradients in ",
                  overflowed_parameters_.size(), " of ", parameter_count_, " parameters");
    for (std::size_t i = 0; i < overflowed_names_.size() && i < 3; ++i)
      text += (i ? ", " : ": ") + overflowed_names_[i];
  }
  if (dropped_micro_batches_) text += concat(", ", dropped_micro_batches_, " micro-batches left out");
  if (loss_was_nonfinite_) text += "; the loss was not finite before scaling, so the scale is not to blame";
  if (persistent_nonfinite_) text += "; the gradients were not cleared since: call zero_grad()";
  if (stalled_) text += "; stalled: the scale is at its floor and every step is skipped";
  return text;
}

}  // namespace halftone::optim
