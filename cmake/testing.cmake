# How tests are built. hybridmem_add_tests(<name> SOURCES <file>... [LIBRARIES <target>...]) makes the
# executable hybridmem_<name>_tests and registers each doctest case in ctest as "<name>/<case>".
find_package(doctest 2.4 REQUIRED)
find_package(rapidcheck REQUIRED)
include(doctest)

# doctest's main, compiled once.
add_library(hybridmem_test_main STATIC "${PROJECT_SOURCE_DIR}/tests/main.cpp")
target_link_libraries(hybridmem_test_main PUBLIC doctest::doctest hybridmem::hybridmem)
target_compile_definitions(
  hybridmem_test_main PUBLIC HYBRIDMEM_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             HYBRIDMEM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
hybridmem_own_target(hybridmem_test_main)

function(hybridmem_add_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  set(target hybridmem_${name}_tests)
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE hybridmem_test_main rapidcheck ${arg_LIBRARIES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  hybridmem_own_target(${target})
  doctest_discover_tests(${target} TEST_PREFIX "${name}/" PROPERTIES TIMEOUT 600
                                           SKIP_RETURN_CODE 77)
endfunction()
