#pragma once

// The one header a user includes: tensors, autograd, mixed precision, optimizers, layers, data and files.

#include "halftone/engine/allocator.h"
#include "halftone/engine/cuda.h"
#include "halftone/engine/cuda_graph.h"
#include "halftone/engine/cuda_math.h"
#include "halftone/engine/generator.h"
#include "halftone/engine/libtorch_names.h"
#include "halftone/engine/out_functions.h"
#include "halftone/engine/print.h"
#include "halftone/engine/tensor.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/engine/warning.h"
#include "halftone/ops/registry.h"

#include "halftone/autograd/autograd.h"
#include "halftone/autograd/checkpoint.h"
#include "halftone/autograd/function.h"
#include "halftone/autograd/gradcheck.h"

#include "halftone/amp/autocast.h"
#include "halftone/amp/diagnose.h"
#include "halftone/amp/grad_scaler.h"
#include "halftone/amp/loss_scaling.h"
#include "halftone/amp/trace.h"

#include "halftone/optim/optim.h"

#include "halftone/nn/nn.h"

#include "halftone/data/data.h"

#include "halftone/io/io.h"
