# Tests on a CUDA device: tests/cuda/test_*.cpp, and those of tests/test_*.cpp that run on any device, a second time.
# In a build with the CUDA backend they run on the GPU, and are skipped where there is none; in a build with the emulated
# device, on that, in two of its modes. `ctest -L cuda` runs them.

if(HALFTONE_EMULATED_CUDA)
  add_subdirectory(simt)
elseif(NOT HALFTONE_WITH_CUDA)
  return()
endif()

# halftone_device_program(<name> <objects> [arguments]): runs the program made of <objects>, in every mode.
function(halftone_device_program name objects)
  add_executable(${name} $<TARGET_OBJECTS:${objects}>)
  target_link_libraries(${name} PRIVATE ${test_libraries})
  halftone_compile_options(${name})
  if(HALFTONE_EMULATED_CUDA)
    target_link_libraries(${name} PRIVATE halftone_cuda_emulated halftone_simt)
    set(modes "forward:eager" "reverse:lazy")
  else()
    set(modes "gpu")
  endif()
  foreach(mode IN LISTS modes)
    string(REPLACE ":" ";" parts "${mode}")
    set(mode_environment "HALFTONE_TEST_DEVICE=cuda" ${environment})
    if(HALFTONE_EMULATED_CUDA)
      list(GET parts 0 order)
      list(GET parts 1 streams)
      list(APPEND mode_environment "HALFTONE_SIMT_ORDER=${order}" "HALFTONE_SIMT_STREAMS=${streams}")
      if(streams STREQUAL "lazy")  # every tensor in memory of its own: overruns and uses after free are seen
        list(APPEND mode_environment "HALFTONE_CUDA_CACHING=0" "HALFTONE_SIMT_DEVICES=2")
      endif()
    endif()
    string(REPLACE ":" "_" suffix "${mode}")
    add_test(NAME ${name}_${suffix} COMMAND ${name} ${ARGN})
    set_tests_properties(${name}_${suffix} PROPERTIES
      LABELS "cuda" TIMEOUT ${timeout} SKIP_RETURN_CODE 77 ENVIRONMENT "${mode_environment}")
  endforeach()
endfunction()

# halftone_device_test(<name> <objects>): the same for tests, with the CUDA device as the default one.
function(halftone_device_test name objects)
  halftone_device_program(${name} ${objects})
  target_link_libraries(${name} PRIVATE halftone_test_main)
endfunction()

file(GLOB cuda_test_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cuda/test_*.cpp")
foreach(source IN LISTS cuda_test_sources)
  cmake_path(GET source STEM name)
  string(REPLACE "test_" "cuda_" name "${name}")
  halftone_test(${name} "${source}")
  halftone_device_test(${name} ${name}_objects)
endforeach()

# Not these: tests of the CPU's kernels, and of what has nothing to do with devices.
set(cpu_tests
  allocation conv copy_kernels gemm half isa philox pointwise_kernels pool reduce_kernels threads tool vec_math)
foreach(source IN LISTS test_sources)
  cmake_path(GET source STEM name)
  string(REPLACE "test_" "" name "${name}")
  if(NOT name IN_LIST cpu_tests)
    halftone_device_test(device_${name} test_${name}_objects)
  endif()
endforeach()

target_link_libraries(device_bench PRIVATE halftone_bench)

# The main job on a few images, in all its precision modes.
set(fashion_mnist "${PROJECT_SOURCE_DIR}/examples/fashion_mnist")
if(HALFTONE_EXAMPLES AND EXISTS /usr/share/datasets/fashion-mnist)
  file(GLOB fashion_mnist_parts CONFIGURE_DEPENDS "${fashion_mnist}/*.cpp")
  add_library(device_fashion_mnist_objects OBJECT "${fashion_mnist}.cpp" ${fashion_mnist_parts})
  halftone_compile_options(device_fashion_mnist_objects)
  target_link_libraries(device_fashion_mnist_objects PUBLIC halftone)
  halftone_device_program(device_fashion_mnist device_fashion_mnist_objects
    --device cuda --limit 512 --batch-size 64 --epochs 1 --html fashion_mnist.html)
endif()
