# cmake -DDOXYGEN=... -DDOXYFILE=... -DOUTPUT=... -P api_docs.cmake : runs Doxygen and fails when it has something to
# say. A member without a comment of its own is allowed: its type's covers it.
file(MAKE_DIRECTORY "${OUTPUT}")
execute_process(COMMAND "${DOXYGEN}" "${DOXYFILE}" COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${OUTPUT}/warnings.txt" warnings)
list(FILTER warnings EXCLUDE REGEX "warning: Member .* of (class|struct|union) .* is not documented")
list(LENGTH warnings count)
if(count)
  list(JOIN warnings "\n" text)
  message(FATAL_ERROR "Doxygen has ${count} warnings:\n${text}")
endif()
message("API reference without warnings: ${OUTPUT}/html/index.html")
