# The CUDA backend (kernels/cuda). HALFTONE_CUDA=ON builds it, AUTO builds it where there are a CUDA compiler and a
# driver, OFF does not. Sets HALFTONE_WITH_CUDA.
#
# HALFTONE_EMULATED_CUDA compiles the backend's sources for the host, against the emulated device of tests/simt, and
# runs the CUDA tests on that. It needs the toolkit's headers only. A build has either the one or the other.

set(HALFTONE_CUDA AUTO CACHE STRING "CUDA backend: AUTO, ON or OFF")
set_property(CACHE HALFTONE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(HALFTONE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual CACHE STRING "GPU architectures, as CMake writes them")
if(NOT HALFTONE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HALFTONE_CUDA must be AUTO, ON or OFF, got '${HALFTONE_CUDA}'")
endif()

set(HALFTONE_WITH_CUDA OFF)
if(NOT HALFTONE_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(HALFTONE_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin)
    mark_as_advanced(HALFTONE_NVCC)
    if(HALFTONE_NVCC)
      set(CMAKE_CUDA_COMPILER "${HALFTONE_NVCC}")
    endif()
  endif()
  if(HALFTONE_CUDA STREQUAL "ON")
    if(NOT CMAKE_CUDA_COMPILER)
      message(FATAL_ERROR "HALFTONE_CUDA=ON: no nvcc found; put it on PATH or set CMAKE_CUDA_COMPILER")
    endif()
    set(HALFTONE_WITH_CUDA ON)
  elseif(CMAKE_CUDA_COMPILER AND EXISTS /proc/driver/nvidia/version)
    set(HALFTONE_WITH_CUDA ON)
  endif()
endif()

if(HALFTONE_WITH_CUDA)
  set(CMAKE_CUDA_ARCHITECTURES ${HALFTONE_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.25.2 does not know nvcc's C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()

set(emulate OFF)
if(HALFTONE_TESTS AND NOT HALFTONE_WITH_CUDA)
  find_path(HALFTONE_CUDA_INCLUDE cublasLt.h
            HINTS "$ENV{CUDA_HOME}/include" "$ENV{CUDA_PATH}/include" /usr/local/cuda/include)
  mark_as_advanced(HALFTONE_CUDA_INCLUDE)
  if(HALFTONE_CUDA_INCLUDE)
    set(emulate ON)
  endif()
endif()
set(HALFTONE_EMULATED_CUDA ${emulate} CACHE BOOL "Run the CUDA tests on the emulated device")

# The backend's sources; cublaslt_load.cpp is where the real library comes in.
file(GLOB HALFTONE_CUDA_SOURCES CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu" "${PROJECT_SOURCE_DIR}/kernels/cuda/*.cpp")
set(HALFTONE_CUDA_SHARED_SOURCES ${HALFTONE_CUDA_SOURCES})
list(FILTER HALFTONE_CUDA_SHARED_SOURCES EXCLUDE REGEX "_load\\.cpp$")
