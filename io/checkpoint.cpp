#include "halftone/io/checkpoint.h"

#include <bit>

#include "halftone/io/state_file.h"

namespace halftone::io {

namespace {

OrderedDict<std::string, Tensor> tensors_of(const StateDict& state) {
  OrderedDict<std::string, Tensor> tensors("state entry");
  for (const auto& [name, value] : state) {
    const Tensor* tensor = std::get_if<Tensor>(&value);
    if (!tensor) fail("load_checkpoint", "entry '", name, "' of a module is not a tensor");
    tensors.insert(name, *tensor);
  }
  return tensors;
}

StateDict module_state(const nn::Module& module) {
  StateDict state;
  for (const auto& item : module.state_dict()) state.set(item.key(), item.value());
  return state;
}

StateDict deep_copy(const StateDict& state) {
  StateDict copy;
  for (const auto& [name, value] : state) {
    const Tensor* tensor = std::get_if<Tensor>(&value);
    copy.set(name, tensor ? StateDict::Value(tensor->detach().clone()) : value);
  }
  return copy;
}

}  // namespace

CheckpointPart::CheckpointPart(std::string name, nn::Module& module)
    : name_(std::move(name)),
      get_([&module] { return module_state(module); }),
      set_([&module](const StateDict& state) { module.load_state_dict(tensors_of(state)); }) {}

void save_checkpoint(const std::string& path, const std::vector<CheckpointPart>& parts,
                     const StateDict& counters) {
  StateDict all;
  for (const CheckpointPart& part : parts) {
    if (part.name() == "counters" || part.name() == "generator")
      fail("save_checkpoint", "'", part.name(), "' is a name of the checkpoint's own");
    all.add(part.name(), part.get());
  }
  const PhiloxState stream = default_generator().state();
  all.set("generator.seed", std::bit_cast<std::int64_t>(stream.seed));
  all.set("generator.offset", std::bit_cast<std::int64_t>(stream.offset));
  all.add("counters", counters);
  save_state(path, all);
}

StateDict load_checkpoint(const std::string& path, const std::vector<CheckpointPart>& parts) {
  const StateDict all = load_state(path);
  const PhiloxState stream{std::bit_cast<std::uint64_t>(all.integer("generator.seed")),
                           std::bit_cast<std::uint64_t>(all.integer("generator.offset"))};
  std::vector<StateDict> before;
  try {
    for (const CheckpointPart& part : parts) {
      before.push_back(deep_copy(part.get()));
      part.set(all.under(part.name()));
    }
  } catch (...) {
    for (std::size_t i = 0; i < before.size(); ++i) parts[i].set(before[i]);
    throw;
  }
  default_generator().set_state(stream);
  return all.under("counters");
}

}  // namespace halftone::io
