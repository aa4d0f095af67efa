# install: library, headers, CMake package, pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/halftone")
install(TARGETS halftone EXPORT halftoneTargets)
install(EXPORT halftoneTargets NAMESPACE halftone:: DESTINATION "${package_dir}")
if(HALFTONE_WITH_MPI)  # find_package(halftone COMPONENTS mpi)
  install(TARGETS halftone_mpi EXPORT halftoneMpiTargets)
  install(EXPORT halftoneMpiTargets NAMESPACE halftone:: DESTINATION "${package_dir}")
endif()
foreach(layer IN LISTS HALFTONE_LAYERS)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${layer}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/halftone"
          FILES_MATCHING PATTERN "*.h" PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE PATTERN "mpi" EXCLUDE)
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/halftone.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/halftone")
install(FILES "${PROJECT_SOURCE_DIR}/compat/torch.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/halftone/compat")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/halftoneConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/halftoneConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/halftoneConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/halftoneConfig.cmake" "${PROJECT_BINARY_DIR}/halftoneConfigVersion.cmake"
        DESTINATION "${package_dir}")

# A static library does not carry its own dependencies, so pkg-config has to name them. The location is written
# relative to the .pc file, so that an installed prefix can be moved.
set(HALFTONE_PC_LIBS "-L\${libdir} -lhalftone")
set(HALFTONE_PC_REQUIRES "")
if(NOT BUILD_SHARED_LIBS)
  set(HALFTONE_PC_REQUIRES zlib)
  string(APPEND HALFTONE_PC_LIBS " -pthread")
endif()
file(RELATIVE_PATH HALFTONE_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/halftone.pc.in" "${PROJECT_BINARY_DIR}/halftone.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/halftone.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
