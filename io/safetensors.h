#pragma once

#include <map>
#include <string>

#include "halftone/engine/tensor.h"
#include "halftone/io/endpoint.h"
#include "halftone/nn/ordered_dict.h"

namespace halftone::io {

/// Tensors by name, in the order of the file.
using NamedTensors = OrderedDict<std::string, Tensor>;

/// What a safetensors file holds (github.com/huggingface/safetensors).
struct SafeTensors {
  NamedTensors tensors{"tensor"};               ///< by name, in the order of the data
  std::map<std::string, std::string> metadata;  ///< the header's "__metadata__"
};

/// Writes a file atomically (complete or not at all, an existing one stays until the new one is safe), or to
/// a stream. Tensors of any dtype, device and strides. Throws Error on undefined tensors and when the file
/// cannot be written.
void save_safetensors(const Destination& to, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// Reads a file, as new CPU tensors in the order of the data. From a stream it takes what belongs to it, and
/// leaves what follows. Throws Error when it is truncated, has gaps or overlaps, repeats a name, or does not
/// agree with itself in any other way.
SafeTensors load_safetensors(const Origin& from);

}  // namespace halftone::io
