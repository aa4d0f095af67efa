#include "halftone/optim/step_report.h"

#include "halftone/engine/capture.h"
#include "halftone/engine/error.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/kernels/record.h"

namespace halftone::optim {

const StepReport::Facts& StepReport::facts() const {
  static const Facts nothing;
  if (!source_) return nothing;
  if (!source_->is_read || source_->replays != cuda::replay_count()) read(*source_);
  return source_->facts;
}

void StepReport::read(Source& source) {
  const auto record = read_record<StepRecord>(source.record);
  Facts facts;
  facts.applied = record.applied;
  facts.skipped_nonfinite = record.skipped_nonfinite;
  facts.stalled = record.stalled;
  facts.persistent_nonfinite = record.persistent_nonfinite;
  facts.loss_was_nonfinite = record.loss_was_nonfinite;
  facts.scale_before = record.scale_before;
  facts.scale_after = record.scale_after;
  if (source.has_norm) facts.grad_norm = record.grad_norm;
  if (facts.skipped_nonfinite && source.scan.defined()) {
    const Tensor scan = source.scan.cpu();
    const auto* entries = reinterpret_cast<const ScanEntry*>(record_data<ScanHeader>(scan) + 1);
    for (std::size_t i = 0; i < source.slots.size(); ++i) {
      if (entries[i].nonfinite == 0) continue;
      const std::uint32_t slot = source.slots[i];
      facts.overflowed_parameters.push_back(slot);
      if (const std::string& name = (*source.names)[slot]; !name.empty())
        facts.overflowed_names.push_back(name);
    }
  }
  source.facts = std::move(facts);
  source.is_read = true;
  source.replays = cuda::replay_count();
}

std::string StepReport::str() const {
  const Facts& known = facts();
  std::string text;
  if (no_gradients()) {
    text = concat("no gradients: none of ", parameter_count_, " parameters has one");
  } else if (known.applied) {
    text = concat("applied, scale ", known.scale_before, ", gradient norm ", known.grad_norm);
    if (!rechecked_) text += ", gradients not re-checked";
  } else {
    text = concat("skipped, scale ", known.scale_before, ", non-finite gradients in ",
                  known.overflowed_parameters.size(), " of ", parameter_count_, " parameters");
    const std::vector<std::string>& names = known.overflowed_names;
    for (std::size_t i = 0; i < names.size() && i < 3; ++i) text += (i ? ", " : ": ") + names[i];
  }
  if (dropped_micro_batches_) text += concat(", ", dropped_micro_batches_, " micro-batches left out");
  if (known.loss_was_nonfinite)
    text += "; the loss was not finite before scaling, so the scale is not to blame";
  if (known.persistent_nonfinite) text += "; the gradients were not cleared since: call zero_grad()";
  if (known.stalled) text += "; stalled: the scale is at its floor and every step is skipped";
  return text;
}

}  // namespace halftone::optim
