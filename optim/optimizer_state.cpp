// What an optimizer saves, and how it takes it back.

#include "halftone/engine/archive.h"
#include "halftone/optim/optimizer.h"

namespace halftone::optim {
namespace {

std::string group_prefix(std::size_t group) { return concat("param_groups.", group); }
std::string slot_prefix(std::size_t slot) { return concat("state.", slot); }

}  // namespace

StateDict Optimizer::state_dict() const {
  sync_slots();
  StateDict state;
  state.set("optimizer", std::string(name_));
  const StepControl control = this->control();
  state.set("applied_steps", control.applied_steps);
  state.set("attempted_steps", control.attempted_steps);
  state.set("groups", static_cast<std::int64_t>(groups().size()));
  for (std::size_t g = 0; g < groups().size(); ++g) {
    StateDict group = groups()[g].options().clone()->state_dict();
    group.set("parameters", static_cast<std::int64_t>(groups()[g].params().size()));
    state.add(group_prefix(g), group);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    StateDict slot;
    slots_[i].state.save(slot, moment_names());
    state.add(slot_prefix(i), slot);
  }
  state.add("own", own_state());
  const PhiloxState rounding = present_rounding(control);
  state.set("rounding_seed", static_cast<std::int64_t>(rounding.seed));
  state.set("rounding_offset", static_cast<std::int64_t>(rounding.offset));
  state.set("meter_changed", control.changed);
  state.set("meter_lost", control.lost);
  if (scaling_ && scaling_->is_enabled()) state.add("loss_scaling", scaling_->state_dict());
  return state;
}

void Optimizer::save(serialize::OutputArchive& archive) const { archive.write(state_dict()); }

void Optimizer::load(serialize::InputArchive& archive) { load_state_dict(archive.state()); }

void Optimizer::load_state_dict(const StateDict& state) {
  // Everything is read and checked before anything changes.
  sync_slots();
  if (const std::string saved = state.text("optimizer"); saved != name_) {
    fail("load_state_dict", "the state is one of ", saved, ", this optimizer is ", name_);
  }
  if (state.integer("groups") != static_cast<std::int64_t>(groups().size())) {
    fail("load_state_dict", "the state has ", state.integer("groups"),
         " parameter groups, this optimizer has ", groups().size());
  }
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  for (std::size_t g = 0; g < groups().size(); ++g) {
    const StateDict group = state.under(group_prefix(g));
    const auto count = static_cast<std::int64_t>(groups()[g].params().size());
    if (group.integer("parameters") != count) {
      fail("load_state_dict", "group ", g, " has ", group.integer("parameters"), " parameters in the state, ",
           count, " here");
    }
    options.push_back(groups()[g].options().clone());
    options.back()->load_state_dict(group);
  }
  std::vector<StateDict> slots;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots.push_back(state.under(slot_prefix(i)));
    slots_[i].state.check(slots[i], moment_names());
  }
  load_own_state(state.under("own"), /*check_only=*/true);
  StepControl control;
  control.applied_steps = state.integer("applied_steps");
  control.attempted_steps = state.integer("attempted_steps");
  control.changed = state.integer("meter_changed");
  control.lost = state.integer("meter_lost");
  const PhiloxState rounding{static_cast<std::uint64_t>(state.integer("rounding_seed")),
                             static_cast<std::uint64_t>(state.integer("rounding_offset"))};
  const StateDict scaling = state.under("loss_scaling");
  const bool has_scaling = scaling_ && scaling_->is_enabled();
  if (!scaling.empty() && !has_scaling) {
    fail("load_state_dict",
         "the state was saved with loss scaling; call use_loss_scaling() before loading it");
  }
  if (!scaling.empty()) scaling_->load_state_dict(scaling);

  set_control(control);
  set_rounding(rounding);
  for (std::size_t g = 0; g < groups().size(); ++g) groups()[g].set_options(std::move(options[g]));
  prepare();
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].state.load(slots[i], moment_names());
  load_own_state(state.under("own"), /*check_only=*/false);
  end_window();
}

}  // namespace halftone::optim
