# Creates the Conan package from this tree and runs its test_package, without any remote.
#   cmake -DSOURCE=<dir> -DBINARY=<dir> [-DHINT=<dir of the program>] -P conan_test.cmake
cmake_minimum_required(VERSION 3.25)
find_program(CONAN conan HINTS "${HINT}")
if(NOT CONAN)
  message(STATUS "skipped: conan is not installed (pip install conan)")
  return()
endif()
execute_process(COMMAND "${CONAN}" --version OUTPUT_VARIABLE version ERROR_QUIET)
if(NOT version MATCHES "Conan version ([2-9]|[1-9][0-9])")
  message(STATUS "skipped: Conan 2 is needed, found '${version}'")
  return()
endif()

file(REMOVE_RECURSE "${BINARY}")
file(MAKE_DIRECTORY "${BINARY}")
set(ENV{CONAN_HOME} "${BINARY}/home")
execute_process(COMMAND "${CONAN}" profile detect COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET ERROR_QUIET)
execute_process(
  COMMAND "${CONAN}" create "${SOURCE}/packaging/conan" --no-remote -s compiler.cppstd=20
          -c "tools.cmake.cmake_layout:test_folder=${BINARY}/test_package"
          -c "tools.cmake.cmaketoolchain:user_presets="
  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed OR NOT output MATCHES "hybridmem [0-9.]+: 63 GiB")
  message(FATAL_ERROR "conan create failed:\n${output}")
endif()
message(STATUS "${CMAKE_MATCH_0}")
