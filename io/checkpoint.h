#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/engine/generator.h"
#include "halftone/engine/state_dict.h"
#include "halftone/nn/module_holder.h"

namespace halftone::io {

/// Something with a state, under a name: a module (also through its holder), an optimizer, a GradScaler, a
/// scheduler, a Generator. It is referred to, not copied.
class CheckpointPart {
 public:
  CheckpointPart(std::string name, nn::Module& module);
  template <class Contained>
  CheckpointPart(std::string name, const nn::ModuleHolder<Contained>& holder)
      : CheckpointPart(std::move(name), static_cast<nn::Module&>(*holder)) {}
  /// A random stream besides the default generator, which is always there.
  CheckpointPart(std::string name, Generator& generator);
  /// An optimizer, a scaler, a scheduler: anything with a StateDict.
  template <class T>
  requires requires(T& part, const StateDict& state) {
    part.load_state_dict(state);
    StateDict(part.state_dict());
  }
  CheckpointPart(std::string name, T& part)
      : name_(std::move(name)),
        get_([&part] { return part.state_dict(); }),
        set_([&part](const StateDict& state) { part.load_state_dict(state); }) {}

  /// What its entries in the file begin with.
  const std::string& name() const { return name_; }
  /// The state now.
  StateDict get() const { return get_(); }
  /// Throws Error when the state does not fit.
  void set(const StateDict& state) const { set_(state); }

 private:
  std::string name_;
  std::function<StateDict()> get_;
  std::function<void(const StateDict&)> set_;
};

/// Writes everything a run needs to go on bit for bit: the parts, the default generator's place in its
/// stream, and `counters` of the caller's (epoch, step). Atomic. Throws Error when two parts have the same
/// name, when a name is empty or has a dot, and between a scaler's unscale_ or step and its update.
///
///   io::save_checkpoint("run.safetensors", {{"model", *model}, {"optimizer", optimizer}}, counters);
void save_checkpoint(const std::string& path, const std::vector<CheckpointPart>& parts,
                     const StateDict& counters = {});

/// Restores the parts and the generator, and gives back the counters. Throws Error, with everything as
/// before, when the file is damaged or belongs to something else. Parts that the file has besides are left
/// alone.
StateDict load_checkpoint(const std::string& path, const std::vector<CheckpointPart>& parts);

}  // namespace halftone::io
