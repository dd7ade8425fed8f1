# Reads the version from the one place that states it, include/hybridmem/core/version.hpp.
# Sets hybridmem_version_from_header to "major.minor.patch".
set(hybridmem_version_header "${CMAKE_CURRENT_LIST_DIR}/../include/hybridmem/core/version.hpp")
set(hybridmem_version_from_header "")
foreach(part IN ITEMS MAJOR MINOR PATCH)
  file(STRINGS "${hybridmem_version_header}" line
       REGEX "^#define HYBRIDMEM_VERSION_${part} +[0-9]+ *$")
  if(NOT line MATCHES "([0-9]+) *$")
    message(FATAL_ERROR "hybridmem: no HYBRIDMEM_VERSION_${part} in ${hybridmem_version_header}")
  endif()
  list(APPEND hybridmem_version_from_header "${CMAKE_MATCH_1}")
endforeach()
list(JOIN hybridmem_version_from_header "." hybridmem_version_from_header)
unset(line)
unset(part)
