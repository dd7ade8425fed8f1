# hybridmem_docs: the reference from the public headers, in build/<preset>/docs/html.
find_package(Doxygen REQUIRED)
set(doxygen_output "${PROJECT_BINARY_DIR}/docs")
configure_file("${PROJECT_SOURCE_DIR}/docs/Doxyfile.in" "${doxygen_output}/Doxyfile" @ONLY)
add_custom_target(
  hybridmem_docs
  COMMAND Doxygen::doxygen "${doxygen_output}/Doxyfile"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "Reference documentation in ${doxygen_output}/html"
  VERBATIM)
