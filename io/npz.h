#pragma once

#include "halftone/io/safetensors.h"

namespace halftone::io {

/// Writes a NumPy .npz file: a ZIP archive of one .npy per tensor. `compressed` deflates them, as
/// numpy.savez_compressed does. A file appears complete or not at all. Throws Error on bfloat16, which NumPy
/// does not have, on a name that is empty, and above 4 GiB.
void save_npz(const Destination& to, const NamedTensors& tensors, bool compressed = false);

/// Reads a .npz file whose members are .npy files of supported dtypes, stored or deflated, in their order.
/// Names are without ".npy". Throws Error when it is damaged, fails a checksum, or uses what is not
/// supported.
NamedTensors load_npz(const Origin& from);

}  // namespace halftone::io
