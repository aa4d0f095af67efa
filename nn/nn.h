#pragma once

// The layers, in one include.

#include "halftone/nn/activation.h"
#include "halftone/nn/conv.h"
#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"
#include "halftone/nn/linear.h"
#include "halftone/nn/loss.h"
#include "halftone/nn/module.h"
#include "halftone/nn/module_holder.h"
#include "halftone/nn/module_list.h"
#include "halftone/nn/norm.h"
#include "halftone/nn/pooling.h"
#include "halftone/nn/sequential.h"
#include "halftone/nn/utils/clip_grad.h"
#include "halftone/nn/utils/convert_parameters.h"
