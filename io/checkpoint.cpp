#include "halftone/io/checkpoint.h"

#include <bit>
#include <set>

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

StateDict stream_state(const Generator& generator) {
  const PhiloxState stream = generator.state();
  StateDict state;
  state.set("seed", std::bit_cast<std::int64_t>(stream.seed));
  state.set("offset", std::bit_cast<std::int64_t>(stream.offset));
  return state;
}

void set_stream(Generator& generator, const StateDict& state) {
  generator.set_state({std::bit_cast<std::uint64_t>(state.integer("seed")),
                       std::bit_cast<std::uint64_t>(state.integer("offset"))});
}

/// The caller's parts and the default generator.
std::vector<CheckpointPart> with_generator(const char* op, const std::vector<CheckpointPart>& parts) {
  std::vector<CheckpointPart> all = parts;
  all.emplace_back("generator", default_generator());
  std::set<std::string> names{"counters"};
  for (const CheckpointPart& part : all) {
    if (part.name().empty() || part.name().find('.') != std::string::npos)
      fail(op, "part '", part.name(), "': a name must not be empty or have a dot");
    if (!names.insert(part.name()).second)
      fail(op, "part '", part.name(),
           "': the name is used twice ('generator' and 'counters' are the checkpoint's own)");
  }
  return all;
}

}  // namespace

CheckpointPart::CheckpointPart(std::string name, nn::Module& module)
    : name_(std::move(name)),
      get_([&module] { return module_state(module); }),
      set_([&module](const StateDict& state) { module.load_state_dict(tensors_of(state)); }) {}

CheckpointPart::CheckpointPart(std::string name, Generator& generator)
    : name_(std::move(name)),
      get_([generator] { return stream_state(generator); }),
      set_([generator](const StateDict& state) mutable { set_stream(generator, state); }) {}

void save_checkpoint(const std::string& path, const std::vector<CheckpointPart>& parts,
                     const StateDict& counters) {
  StateDict all;
  for (const CheckpointPart& part : with_generator("save_checkpoint", parts))
    all.add(part.name(), part.get());
  all.add("counters", counters);
  save_state(path, all);
}

StateDict load_checkpoint(const std::string& path, const std::vector<CheckpointPart>& parts) {
  const std::vector<CheckpointPart> wanted = with_generator("load_checkpoint", parts);
  const StateDict all = load_state(path);
  // What one part refuses, the parts before it have taken already: they get back what they had.
  std::vector<StateDict> before;
  try {
    for (const CheckpointPart& part : wanted) {
      naming_source(concat(path, ", part '", part.name(), "'"), [&] {
        before.push_back(deep_copy(part.get()));
        part.set(all.under(part.name()));
      });
    }
  } catch (...) {
    for (std::size_t i = 0; i < before.size(); ++i) wanted[i].set(before[i]);
    throw;
  }
  return all.under("counters");
}

}  // namespace halftone::io
