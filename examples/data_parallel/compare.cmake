# Runs PROGRAM on two processes with MPIRUN, and alone as if it were two; both have to print the same weights.

set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_btl_vader_single_copy_mechanism} none)  # containers may forbid it
foreach(scaling "" --loss-scaling)
  execute_process(COMMAND "${MPIRUN}" -np 2 "${PROGRAM}" ${scaling}
                  OUTPUT_VARIABLE two ERROR_VARIABLE error RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "mpirun -np 2 failed (${code}):\n${two}${error}")
  endif()
  execute_process(COMMAND "${PROGRAM}" --ranks 2 ${scaling} OUTPUT_VARIABLE one RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "one process failed (${code}):\n${one}")
  endif()
  if(NOT one STREQUAL two)
    message(FATAL_ERROR "two processes printed:\n${two}\none process printed:\n${one}")
  endif()
  message(STATUS "the same bits:\n${one}")
endforeach()
