#pragma once

// All learning-rate schedulers, with the semantics of Python's torch.optim.lr_scheduler.

#include "halftone/optim/lr_scheduler_base.h"
#include "halftone/optim/lr_scheduler_cyclic.h"
#include "halftone/optim/lr_scheduler_decay.h"
#include "halftone/optim/lr_scheduler_plateau.h"
#include "halftone/optim/lr_scheduler_sequential.h"
