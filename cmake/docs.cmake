# docs/operators.md is printed from the operator registry. `check_docs` fails when the page in the tree is not
# what the built registry prints; `update_docs` rewrites it.

file(GLOB printer CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/operators_doc.cpp")
if(printer AND HALFTONE_TESTS)
  add_executable(operators_doc "${printer}")
  halftone_compile_options(operators_doc)
  target_link_libraries(operators_doc PRIVATE halftone)
  set(page "${PROJECT_SOURCE_DIR}/docs/operators.md")
  set(printed "${PROJECT_BINARY_DIR}/operators.md")
  add_custom_target(check_docs
    COMMAND operators_doc > "${printed}"
    COMMAND diff -u "${page}" "${printed}"
    COMMENT "Comparing docs/operators.md with the registry (update_docs rewrites it)" VERBATIM)
  add_custom_target(update_docs
    COMMAND operators_doc > "${printed}"
    COMMAND ${CMAKE_COMMAND} -E copy "${printed}" "${page}"
    COMMENT "Printing docs/operators.md from the registry" VERBATIM)
endif()

# `api_docs`: the API reference by Doxygen, where that is installed (Debian: doxygen). Warnings are errors.
find_package(Doxygen QUIET)
if(DOXYGEN_FOUND AND HALFTONE_TESTS)
  add_executable(api_filter "${PROJECT_SOURCE_DIR}/docs/api_filter.cpp"
                            "${PROJECT_SOURCE_DIR}/docs/api_filter/declaration.cpp")
  halftone_compile_options(api_filter)
  target_link_libraries(api_filter PRIVATE halftone)
  set(HALFTONE_API_INPUT "\"${PROJECT_SOURCE_DIR}/docs/api.dox\" \"${PROJECT_SOURCE_DIR}/ops/registry.h\"")
  foreach(layer IN LISTS HALFTONE_LAYERS)
    if(NOT layer MATCHES "^(kernels|ops)$")
      string(APPEND HALFTONE_API_INPUT " \"${PROJECT_SOURCE_DIR}/${layer}\"")
    endif()
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/docs/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile.in" @ONLY)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/Doxyfile" INPUT "${PROJECT_BINARY_DIR}/Doxyfile.in")
  add_custom_target(api_docs
    COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/api"
    COMMAND "${DOXYGEN_EXECUTABLE}" "${PROJECT_BINARY_DIR}/Doxyfile"
    COMMAND ${CMAKE_COMMAND} -E echo "API reference without warnings: ${PROJECT_BINARY_DIR}/api/html/index.html"
    DEPENDS api_filter COMMENT "Writing the API reference" VERBATIM)
endif()
