# halftone::mpi, the process group over MPI (distributed/mpi): a library of its own, so that programs without it do not
# load MPI. HALFTONE_MPI=ON builds it, AUTO where MPI is found, OFF does not. Sets HALFTONE_WITH_MPI.

set(HALFTONE_MPI AUTO CACHE STRING "Data parallel training over MPI: AUTO, ON or OFF")
set_property(CACHE HALFTONE_MPI PROPERTY STRINGS AUTO ON OFF)
if(NOT HALFTONE_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HALFTONE_MPI must be AUTO, ON or OFF, got '${HALFTONE_MPI}'")
endif()

set(HALFTONE_WITH_MPI OFF)
if(NOT HALFTONE_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)  # MPI's own C++ classes, which it has dropped
  find_package(MPI COMPONENTS CXX QUIET)
  if(MPI_CXX_FOUND)
    set(HALFTONE_WITH_MPI ON)
  elseif(HALFTONE_MPI STREQUAL "ON")
    message(FATAL_ERROR "HALFTONE_MPI=ON: no MPI found; on Debian install libopenmpi-dev and openmpi-bin")
  endif()
endif()

if(HALFTONE_WITH_MPI)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/distributed/mpi/*.cpp")
  add_library(halftone_mpi ${sources})
  add_library(halftone::mpi ALIAS halftone_mpi)
  halftone_compile_options(halftone_mpi)
  set_target_properties(halftone_mpi PROPERTIES EXPORT_NAME mpi
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_link_libraries(halftone_mpi PUBLIC halftone PRIVATE MPI::MPI_CXX)
endif()
