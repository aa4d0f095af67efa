# Threads, OpenMP and zlib are linked; Eigen and nlohmann/json are headers that only the build sees.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.9 REQUIRED)

set(HALFTONE_HAS_OPENMP OFF)
if(HALFTONE_OPENMP)
  find_package(OpenMP COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    set(HALFTONE_HAS_OPENMP ON)
  else()
    message(WARNING "OpenMP was not found for this compiler (with clang on Debian: libomp-dev): "
                    "halftone will run on one thread. HALFTONE_OPENMP=OFF silences this.")
  endif()
endif()
