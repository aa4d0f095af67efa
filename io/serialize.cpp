#include "halftone/io/serialize.h"

#include "halftone/io/safetensors.h"

namespace halftone {

void save(const Tensor& tensor, const std::string& path) { save(std::vector<Tensor>{tensor}, path); }

void save(const std::vector<Tensor>& tensors, const std::string& path) {
  io::NamedTensors named("tensor");
  for (std::size_t i = 0; i < tensors.size(); ++i) named.insert(std::to_string(i), tensors[i]);
  io::save_safetensors(path, named);
}

void save(const nn::Module& module, const std::string& path) {
  io::save_safetensors(path, module.state_dict(), {{"format", "pt"}});
}

void load(Tensor& tensor, const std::string& path) {
  std::vector<Tensor> tensors;
  load(tensors, path);
  if (tensors.size() != 1) fail("load", path, " holds ", tensors.size(), " tensors, expected one");
  tensor = tensors[0];
}

void load(std::vector<Tensor>& tensors, const std::string& path) {
  const io::SafeTensors file = io::load_safetensors(path);
  std::vector<Tensor> loaded;
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    const Tensor* tensor = file.tensors.find(std::to_string(i));
    if (!tensor) fail("load", path, " is not a list of tensors: there is no '", i, "'");
    loaded.push_back(*tensor);
  }
  tensors.insert(tensors.end(), loaded.begin(), loaded.end());
}

void load(nn::Module& module, const std::string& path) {
  const io::SafeTensors file = io::load_safetensors(path);
  io::naming_source(path, [&] { module.load_state_dict(file.tensors); });
}

}  // namespace halftone
