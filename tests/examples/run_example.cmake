# cmake -DPROGRAM=<file> [-DEXPECTED=<file>] -P run_example.cmake: fails unless the program ends with
# 0 and, where a text is expected, prints exactly that.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${PROGRAM}" RESULT_VARIABLE status OUTPUT_VARIABLE output
                                                             ERROR_VARIABLE errors)
message("${output}${errors}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()
if(DEFINED EXPECTED)
  file(READ "${EXPECTED}" expected)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "expected, as in ${EXPECTED}:\n${expected}")
  endif()
endif()
