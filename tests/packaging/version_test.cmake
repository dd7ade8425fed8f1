# Every place that states the version says what version.hpp says.
#   cmake -DSOURCE=<dir> -DVERSION=<PROJECT_VERSION> -P version_test.cmake
cmake_minimum_required(VERSION 3.25)
include("${SOURCE}/cmake/version.cmake")
set(expected "${hybridmem_version_from_header}")
set(wrong "")

macro(expect where found)
  message(STATUS "${where}: ${found}")
  if(NOT "${found}" STREQUAL expected)
    list(APPEND wrong "${where} says '${found}'")
  endif()
endmacro()

expect("CMake project" "${VERSION}")

file(READ "${SOURCE}/packaging/vcpkg/ports/hybridmem/vcpkg.json" json)
string(JSON found GET "${json}" version)
expect("packaging/vcpkg/ports/hybridmem/vcpkg.json" "${found}")

file(READ "${SOURCE}/vcpkg.json" json)
string(JSON found GET "${json}" version)
expect("vcpkg.json" "${found}")

file(STRINGS "${SOURCE}/packaging/conan/conanfile.py" found REGEX "^    version = \"[^\"]*\"$")
string(REGEX REPLACE "^.*\"([^\"]*)\"$" "\\1" found "${found}")
expect("packaging/conan/conanfile.py" "${found}")

# The newest section of the changelog.
file(STRINGS "${SOURCE}/CHANGELOG.md" found REGEX "^## \\[[0-9]")
list(GET found 0 found)
string(REGEX REPLACE "^## \\[([^]]*)\\].*$" "\\1" found "${found}")
expect("CHANGELOG.md" "${found}")

# The inline namespace that keeps minor versions from linking with one another.
file(STRINGS "${SOURCE}/include/hybridmem/core/version.hpp" found
     REGEX "^#define HYBRIDMEM_VERSION_NAMESPACE ")
string(REGEX REPLACE "^.* v([0-9]+)_([0-9]+)$" "\\1.\\2" found "${found}")
string(REGEX REPLACE "\\.[0-9]+$" "" expected_minor "${expected}")
set(expected_all "${expected}")
set(expected "${expected_minor}")
expect("HYBRIDMEM_VERSION_NAMESPACE" "${found}")

if(wrong)
  list(JOIN wrong "\n  " wrong)
  message(FATAL_ERROR "version.hpp says ${expected_all}, but\n  ${wrong}")
endif()
