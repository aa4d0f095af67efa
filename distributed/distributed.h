#pragma once

// Training on several processes, in one include. Not part of halftone.h.

#include "halftone/distributed/data_parallel.h"
#include "halftone/distributed/mpi_process_group.h"
#include "halftone/distributed/process_group.h"
