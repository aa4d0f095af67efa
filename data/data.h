#pragma once

// Datasets and loaders, in one include.

#include "halftone/data/chunk.h"
#include "halftone/data/data_loader.h"
#include "halftone/data/dataset.h"
#include "halftone/data/example.h"
#include "halftone/data/idx.h"
#include "halftone/data/mnist.h"
#include "halftone/data/samplers.h"
#include "halftone/data/text.h"
#include "halftone/data/transforms.h"
