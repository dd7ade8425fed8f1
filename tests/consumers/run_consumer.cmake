# Configures, builds and runs one consumer project from an empty build directory.
#   cmake -DSOURCE=<dir> -DBINARY=<dir> -DCOMPILER=<c++> -DGENERATOR=<name> [-DARGUMENTS=<-D...;...>]
#         [-DEXPECT_CONFIGURE_ERROR=<regex>] -P run_consumer.cmake
# With EXPECT_CONFIGURE_ERROR the configuration must fail and say so; nothing is built.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${BINARY}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G "${GENERATOR}"
          "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
          -DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON ${ARGUMENTS}
  RESULT_VARIABLE failed
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output_on_one_line "${output}")
if(DEFINED EXPECT_CONFIGURE_ERROR)
  if(NOT failed)
    message(FATAL_ERROR "the configuration was expected to fail, and succeeded:\n${output}")
  elseif(NOT output_on_one_line MATCHES "${EXPECT_CONFIGURE_ERROR}")
    message(FATAL_ERROR "no '${EXPECT_CONFIGURE_ERROR}' in the error:\n${output}")
  endif()
  message(STATUS "refused as expected: ${CMAKE_MATCH_0}")
  return()
endif()
if(failed)
  message(FATAL_ERROR "configuring failed:\n${output}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" RESULT_VARIABLE failed
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed)
  message(FATAL_ERROR "building failed:\n${output}")
endif()
execute_process(COMMAND "${BINARY}/consumer" COMMAND_ERROR_IS_FATAL ANY)
