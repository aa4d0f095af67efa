# The library itself: every source file of the layer folders, found by glob.

set(HALFTONE_LAYERS engine kernels ops autograd amp optim nn data io distributed)
set(source_patterns "")
foreach(layer IN LISTS HALFTONE_LAYERS)
  list(APPEND source_patterns "${PROJECT_SOURCE_DIR}/${layer}/*.cpp")
endforeach()
file(GLOB kernel_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/cpu/*.cpp")
file(GLOB library_sources CONFIGURE_DEPENDS ${source_patterns})
set_source_files_properties(${kernel_sources} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")

add_library(halftone ${library_sources} ${kernel_sources})
add_library(halftone::halftone ALIAS halftone)
halftone_compile_options(halftone)
set_target_properties(halftone PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# In the build tree the prefix of #include "halftone/..." is a link to the source tree.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/include/halftone" SYMBOLIC)
target_include_directories(halftone PUBLIC
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

target_link_libraries(halftone PRIVATE Threads::Threads ZLIB::ZLIB
  $<BUILD_INTERFACE:Eigen3::Eigen> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
target_compile_definitions(halftone PRIVATE EIGEN_DONT_PARALLELIZE)
