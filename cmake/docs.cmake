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
