#pragma once

// Saving and loading, in one include.

#include "halftone/engine/archive.h"
#include "halftone/io/checkpoint.h"
#include "halftone/io/dlpack.h"
#include "halftone/io/npy.h"
#include "halftone/io/npz.h"
#include "halftone/io/safetensors.h"
#include "halftone/io/serialize.h"
#include "halftone/io/state_file.h"
