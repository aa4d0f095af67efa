# docs/book: the code of every chapter is compiled to one program, whose output must be what the chapter says; figures
# must be what their program draws. ctest -L book checks both, the target update_book brings the pages up to date.

set(book "${PROJECT_SOURCE_DIR}/docs/book")
set(book_build "${PROJECT_BINARY_DIR}/book")
file(MAKE_DIRECTORY "${book_build}")
file(GLOB chapters CONFIGURE_DEPENDS "${book}/[0-9][0-9]-*.md")
set(programs "")
set(updates "")

# book_program(<name> <sources>...): a program that needs no speed, only to be compiled fast.
function(book_program name)
  add_executable(${name} ${ARGN})
  halftone_compile_options(${name})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${name} PRIVATE halftone)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/book")
endfunction()

foreach(chapter IN LISTS chapters)
  cmake_path(GET chapter STEM stem)
  string(REGEX MATCH "^[0-9]+" number "${stem}")
  set(name book_${number})
  set(source "${book_build}/${stem}.cpp")
  add_custom_command(OUTPUT "${source}"
    COMMAND awk -f "${book}/program.awk" "${chapter}" > "${source}"
    DEPENDS "${chapter}" "${book}/program.awk" VERBATIM)
  book_program(${name} "${source}")
  add_test(NAME ${name} COMMAND "${PROJECT_SOURCE_DIR}/scripts/book-chapter" "${chapter}" $<TARGET_FILE:${name}>)
  list(APPEND programs ${name})
  list(APPEND updates
    COMMAND "${PROJECT_SOURCE_DIR}/scripts/book-chapter" "${chapter}" $<TARGET_FILE:${name}> --update)
endforeach()

file(GLOB figure_sources CONFIGURE_DEPENDS "${book}/figures/*.cpp")
book_program(book_figures ${figure_sources})
target_link_libraries(book_figures PRIVATE example_support)
add_test(NAME book_figures
  COMMAND book_figures --check "${book}/figures" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
add_test(NAME book_pages COMMAND "${PROJECT_SOURCE_DIR}/scripts/check-pages")
set_tests_properties(${programs} book_figures book_pages PROPERTIES LABELS "book" TIMEOUT 300)

add_custom_target(book DEPENDS ${programs} book_figures)
add_custom_target(update_book
  COMMAND book_figures "${book}/figures" ${updates}
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "Running the book's programs" VERBATIM)
