# cpack: a Debian package (`cpack -G DEB` in the build folder) and an archive of what is installed.

set(CPACK_PACKAGE_NAME libhalftone-dev)
set(CPACK_PACKAGE_VENDOR "halftone")
set(CPACK_PACKAGE_CONTACT "halftone maintainers <maintainers@halftone.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Tensors, automatic differentiation, layers, optimizers and mixed precision for C++20, with libtorch's names.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_RESOURCE_FILE_README "${PROJECT_SOURCE_DIR}/README.md")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR "DEB;TGZ")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ${BUILD_SHARED_LIBS})
# A static library needs zlib's where it is linked.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "zlib1g-dev, libc6-dev, libstdc++6")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, pkg-config, g++")
if(HALFTONE_WITH_MPI)
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", libopenmpi-dev")
endif()

if(PROJECT_IS_TOP_LEVEL)
  include(CPack)
endif()
