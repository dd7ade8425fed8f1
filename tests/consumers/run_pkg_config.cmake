# Compiles a program with nothing but the flags that pkg-config gives, and runs it.
#   cmake -DPREFIX=<dir> -DBINARY=<dir> -DCOMPILER=<c++> -DPKG_CONFIG=<program> -DVERSION=<x.y.z>
#         -DPROGRAM=<file> -P run_pkg_config.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE pc "${PREFIX}/hybridmem.pc")
cmake_path(GET pc PARENT_PATH pc_dir)
set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
execute_process(COMMAND "${PKG_CONFIG}" --modversion hybridmem OUTPUT_VARIABLE version
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT version STREQUAL VERSION)
  message(FATAL_ERROR "pkg-config says version ${version}, the project ${VERSION}")
endif()
execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs hybridmem OUTPUT_VARIABLE flags
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "flags: ${flags}")
separate_arguments(flags UNIX_COMMAND "${flags}")
file(MAKE_DIRECTORY "${BINARY}")
execute_process(COMMAND "${COMPILER}" -std=c++20 "${PROGRAM}" -o "${BINARY}/by_pkg_config" ${flags}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/by_pkg_config" COMMAND_ERROR_IS_FATAL ANY)
