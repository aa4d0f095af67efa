# The compilers halftone supports and the flags its own sources are compiled with.
# There is no -march here: the instruction set is chosen at run time (kernels/cpu/foreach_isa.h).

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "halftone needs g++ 12 or newer, found ${CMAKE_CXX_COMPILER_VERSION}")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "halftone needs clang 14 or newer, found ${CMAKE_CXX_COMPILER_VERSION}")
elseif(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
  message(FATAL_ERROR "halftone is built with g++ 12 or clang 14 and newer, found ${CMAKE_CXX_COMPILER_ID}")
endif()

if(HALFTONE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HALFTONE_CCACHE_PROGRAM ccache)
  mark_as_advanced(HALFTONE_CCACHE_PROGRAM)
  if(HALFTONE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${HALFTONE_CCACHE_PROGRAM}")
  endif()
endif()

# halftone_compile_options(<target>): how every target of this project is compiled.
function(halftone_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # Contraction is off because a result must not depend on which products the compiler happens to fuse;
  # kernels ask for fma where they want it.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:
    -Wall -Wextra -Wpedantic -Wno-psabi -ffp-contract=off -fno-math-errno $<$<CONFIG:Release>:-O2>>)
  if(HALFTONE_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  if(HALFTONE_SANITIZE)
    list(JOIN HALFTONE_SANITIZE "," names)
    set(flags -fsanitize=${names} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_compile_options(${target} PRIVATE ${flags})
    target_link_options(${target} PRIVATE ${flags})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # instrumented code leads g++ to false reports
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
  endif()
endfunction()
