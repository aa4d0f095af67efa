#pragma once

// All optimizers, learning-rate schedulers, and the average of weights.

#include "halftone/optim/adadelta.h"
#include "halftone/optim/adagrad.h"
#include "halftone/optim/adam.h"
#include "halftone/optim/adamax.h"
#include "halftone/optim/ema.h"
#include "halftone/optim/lbfgs.h"
#include "halftone/optim/lion.h"
#include "halftone/optim/lr_scheduler.h"
#include "halftone/optim/nadam.h"
#include "halftone/optim/radam.h"
#include "halftone/optim/rmsprop.h"
#include "halftone/optim/sgd.h"
#include "halftone/optim/stochastic_rounding.h"
