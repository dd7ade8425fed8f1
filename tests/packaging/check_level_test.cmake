# Two translation units at check levels LEFT and RIGHT that pass an IndexList and a StateCache across:
# with one level they link and run (LINKS=yes), with two they must not link (LINKS=no), and a level
# that does not exist must not compile (LINKS=never).
#   cmake -DSOURCE=<dir> -DBINARY=<dir> -DCOMPILER=<c++> -DLEFT=<n> -DRIGHT=<n> -DLINKS=<word> -P ...
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${BINARY}")
file(MAKE_DIRECTORY "${BINARY}")
foreach(unit IN ITEMS left right)
  string(TOUPPER "${unit}" level)
  execute_process(
    COMMAND "${COMPILER}" -std=c++20 "-I${SOURCE}/include" "-DHYBRIDMEM_CHECK_LEVEL=${${level}}" -c
            "${CMAKE_CURRENT_LIST_DIR}/${unit}.cpp" -o "${BINARY}/${unit}.o"
    RESULT_VARIABLE failed
    ERROR_VARIABLE errors)
  if(LINKS STREQUAL "never")
    if(NOT failed OR NOT errors MATCHES "HYBRIDMEM_CHECK_LEVEL must be 0, 1, 2 or 3")
      message(FATAL_ERROR "level ${${level}} was expected to be refused:\n${errors}")
    endif()
  elseif(failed)
    message(FATAL_ERROR "${unit}.cpp does not compile at level ${${level}}:\n${errors}")
  endif()
endforeach()
if(LINKS STREQUAL "never")
  message(STATUS "refused as expected")
  return()
endif()
execute_process(COMMAND "${COMPILER}" "${BINARY}/left.o" "${BINARY}/right.o" -o "${BINARY}/program"
                RESULT_VARIABLE failed ERROR_VARIABLE errors)
if(LINKS STREQUAL "yes")
  if(failed)
    message(FATAL_ERROR "equal levels do not link:\n${errors}")
  endif()
  execute_process(COMMAND "${BINARY}/program" COMMAND_ERROR_IS_FATAL ANY)
elseif(NOT failed)
  message(FATAL_ERROR "levels ${LEFT} and ${RIGHT} were mixed, and the program linked")
elseif(NOT errors MATCHES "undefined (reference|symbol)[^\n]*length_of"
       OR NOT errors MATCHES "undefined (reference|symbol)[^\n]*handles_of")
  message(FATAL_ERROR "the link failed for another reason:\n${errors}")
endif()
