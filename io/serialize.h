#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "halftone/io/state_file.h"
#include "halftone/nn/module_holder.h"

// libtorch's save and load: to and from a path, a stream, or memory. What is written is safetensors, which
// Python reads too; a stream may hold several one after another. Loading throws Error, with nothing changed,
// when the data is damaged or does not fit. With a device, what was loaded is moved there.
namespace halftone {

/// One tensor, or several.
/// @{
void save(const Tensor& tensor, const io::Destination& to);
void save(const std::vector<Tensor>& tensors, const io::Destination& to);
/// @}
/// Parameters and buffers by name.
void save(const nn::Module& module, const io::Destination& to);

/// The tensor of a file that has one.
void load(Tensor& tensor, const io::Origin& from, optional<Device> device = nullopt);
/// Appends the tensors of the file, like libtorch's.
void load(std::vector<Tensor>& tensors, const io::Origin& from, optional<Device> device = nullopt);
/// Parameters and buffers by name: all of them, and no others.
void load(nn::Module& module, const io::Origin& from, optional<Device> device = nullopt);

/// The module that a holder or a pointer refers to. Throws Error when it is null.
/// @{
template <class Contained>
void save(const nn::ModuleHolder<Contained>& module, const io::Destination& to) {
  save(static_cast<const nn::Module&>(*module), to);
}
template <class Contained>
void load(nn::ModuleHolder<Contained>& module, const io::Origin& from, optional<Device> device = nullopt) {
  load(static_cast<nn::Module&>(*module), from, device);
}
template <class M>
requires std::is_base_of_v<nn::Module, M>
void save(const std::shared_ptr<M>& module, const io::Destination& to) {
  if (!module) fail("save", to.name(), ": the module is null");
  save(static_cast<const nn::Module&>(*module), to);
}
template <class M>
requires std::is_base_of_v<nn::Module, M>
void load(std::shared_ptr<M>& module, const io::Origin& from, optional<Device> device = nullopt) {
  if (!module) fail("load", from.name(), ": the module is null: construct it first");
  load(static_cast<nn::Module&>(*module), from, device);
}
/// @}

/// Optimizers, scalers and schedulers: anything with a StateDict. They keep their parameters' devices.
/// @{
template <class T>
requires requires(const T& value) { StateDict(value.state_dict()); }
void save(const T& value, const io::Destination& to) { io::save_state(to, value.state_dict()); }
template <class T>
requires requires(T& value, const StateDict& state) { value.load_state_dict(state); }
void load(T& value, const io::Origin& from) {
  const StateDict state = io::load_state(from);
  io::naming_source(from.name(), [&] { value.load_state_dict(state); });
}
/// @}

/// From `bytes` bytes in memory.
template <class T>
void load(T& value, const char* data, std::size_t bytes) {
  load(value, io::Origin(data, bytes));
}

}  // namespace halftone
