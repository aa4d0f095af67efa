#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "halftone/io/state_file.h"
#include "halftone/nn/module_holder.h"

// libtorch's save and load. The files are safetensors, which Python reads too. Loading throws Error, with
// nothing changed, when the file is damaged or does not fit.
namespace halftone {

void save(const Tensor& tensor, const std::string& path);
void save(const std::vector<Tensor>& tensors, const std::string& path);
/// Parameters and buffers by name.
void save(const nn::Module& module, const std::string& path);

void load(Tensor& tensor, const std::string& path);
/// Appends the tensors of the file, like libtorch's.
void load(std::vector<Tensor>& tensors, const std::string& path);
void load(nn::Module& module, const std::string& path);

template <class Contained>
void save(const nn::ModuleHolder<Contained>& module, const std::string& path) {
  save(static_cast<const nn::Module&>(*module), path);
}
template <class Contained>
void load(nn::ModuleHolder<Contained>& module, const std::string& path) {
  load(static_cast<nn::Module&>(*module), path);
}
template <class M>
requires std::is_base_of_v<nn::Module, M>
void save(const std::shared_ptr<M>& module, const std::string& path) {
  if (!module) fail("save", path, ": the module is null");
  save(static_cast<const nn::Module&>(*module), path);
}
template <class M>
requires std::is_base_of_v<nn::Module, M>
void load(std::shared_ptr<M>& module, const std::string& path) {
  if (!module) fail("load", path, ": the module is null: construct it first");
  load(static_cast<nn::Module&>(*module), path);
}

/// Optimizers, scalers and schedulers: anything with a StateDict.
template <class T>
requires requires(const T& value) { StateDict(value.state_dict()); }
void save(const T& value, const std::string& path) { io::save_state(path, value.state_dict()); }
template <class T>
requires requires(T& value, const StateDict& state) { value.load_state_dict(state); }
void load(T& value, const std::string& path) {
  const StateDict state = io::load_state(path);
  io::naming_source(path, [&] { value.load_state_dict(state); });
}

}  // namespace halftone
