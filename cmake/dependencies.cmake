# Threads and zlib are linked; Eigen and nlohmann/json are headers that only the build sees.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.9 REQUIRED)
