#pragma once

#include "halftone/distributed/process_group.h"

namespace halftone::distributed {

/// All processes that mpirun started (MPI_COMM_WORLD). Made once per process; MPI is initialised on the way unless the
/// program did so, with at least MPI_THREAD_SERIALIZED then, and ended with the group. Link halftone::mpi. Throws Error
/// when MPI cannot be used.
std::shared_ptr<ProcessGroup> mpi_process_group();

}  // namespace halftone::distributed
