#include "halftone/io/serialize.h"

#include "halftone/io/safetensors.h"

namespace halftone {

void save(const Tensor& tensor, const io::Destination& to) { save(std::vector<Tensor>{tensor}, to); }

void save(const std::vector<Tensor>& tensors, const io::Destination& to) {
  io::NamedTensors named("tensor");
  for (std::size_t i = 0; i < tensors.size(); ++i) named.insert(std::to_string(i), tensors[i]);
  io::save_safetensors(to, named);
}

void save(const nn::Module& module, const io::Destination& to) {
  io::save_safetensors(to, module.state_dict(), {{"format", "pt"}});
}

void load(Tensor& tensor, const io::Origin& from, optional<Device> device) {
  std::vector<Tensor> tensors;
  load(tensors, from, device);
  if (tensors.size() != 1) fail("load", from.name(), " holds ", tensors.size(), " tensors, expected one");
  tensor = tensors[0];
}

void load(std::vector<Tensor>& tensors, const io::Origin& from, optional<Device> device) {
  const io::SafeTensors file = io::load_safetensors(from);
  std::vector<Tensor> loaded;
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    const Tensor* tensor = file.tensors.find(std::to_string(i));
    if (!tensor) fail("load", from.name(), " is not a list of tensors: there is no '", i, "'");
    loaded.push_back(device ? tensor->to(*device) : *tensor);
  }
  tensors.insert(tensors.end(), loaded.begin(), loaded.end());
}

void load(nn::Module& module, const io::Origin& from, optional<Device> device) {
  const io::SafeTensors file = io::load_safetensors(from);
  io::naming_source(from.name(), [&] { module.load_state_dict(file.tensors); });
  if (device) module.to(*device);
}

}  // namespace halftone
