#pragma once

// All optimizers.

#include "halftone/optim/adagrad.h"
#include "halftone/optim/adam.h"
#include "halftone/optim/rmsprop.h"
#include "halftone/optim/sgd.h"
