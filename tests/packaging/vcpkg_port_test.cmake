# Runs the port's portfile with the functions of vcpkg that it calls emulated, and uses the resulting
# package. What it cannot show is that vcpkg itself accepts the port.
#   cmake -DSOURCE=<dir> -DBINARY=<dir> -DCOMPILER=<c++> -DGENERATOR=<name> -DFEATURES=<list> -P ...
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${BINARY}")
set(PORT hybridmem)
set(CURRENT_PORT_DIR "${SOURCE}/packaging/vcpkg/ports/hybridmem")
set(CURRENT_PACKAGES_DIR "${BINARY}/package")

# The manifest: every feature that is asked for exists, and none is on by default.
file(READ "${CURRENT_PORT_DIR}/vcpkg.json" manifest)
string(JSON defaults ERROR_VARIABLE absent GET "${manifest}" default-features)
if(NOT absent)
  message(FATAL_ERROR "the port has default features: ${defaults}")
endif()
foreach(feature IN LISTS FEATURES)
  if(NOT feature STREQUAL "core")
    string(JSON description GET "${manifest}" features ${feature} description)
  endif()
endforeach()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure does not know ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(component IN ITEMS CUDA CONFIG)
    if(NOT "${arg_OPTIONS}" MATCHES "-DHYBRIDMEM_${component}=(ON|OFF)(;|$)")
      message(FATAL_ERROR "HYBRIDMEM_${component} is left to chance: ${arg_OPTIONS}")
    endif()
  endforeach()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${BINARY}/build" -G "${GENERATOR}"
            "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Release
            -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_CUDA_ARCHITECTURES=90-real
            "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS}
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_install)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}/build" --target install
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/share")
  file(RENAME "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}"
       "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  # vcpkg corrects the prefix for the two folder levels in place of three.
  file(GLOB files "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" content)
    string(REGEX REPLACE
           "get_filename_component\\(_IMPORT_PREFIX \"\\\${CMAKE_CURRENT_LIST_FILE}\" PATH\\)(\nget_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\))*"
           "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)"
           content "${content}")
    file(WRITE "${file}" "${content}")
  endforeach()
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE "${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${CURRENT_PORT_DIR}/portfile.cmake")

foreach(file IN ITEMS copyright usage hybridmem-config.cmake hybridmem-config-version.cmake)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/share/hybridmem/${file}")
    message(FATAL_ERROR "the package lacks share/hybridmem/${file}")
  endif()
endforeach()
file(GLOB libraries "${CURRENT_PACKAGES_DIR}/lib/*.a" "${CURRENT_PACKAGES_DIR}/lib/*.lib")
if("cuda" IN_LIST FEATURES)
  set(project find_package_kernels)
  if(NOT libraries)
    message(FATAL_ERROR "the feature cuda built no library")
  endif()
elseif(libraries)
  message(FATAL_ERROR "a library in a package of headers: ${libraries}")
elseif("config" IN_LIST FEATURES)
  set(project find_package_config)
else()
  set(project find_package)
endif()
foreach(component IN ITEMS config kernels)
  set(feature ${component})
  if(component STREQUAL "kernels")
    set(feature cuda)
  endif()
  set(file "${CURRENT_PACKAGES_DIR}/share/hybridmem/hybridmem-component-${component}.cmake")
  if(EXISTS "${file}" AND NOT feature IN_LIST FEATURES)
    message(FATAL_ERROR "the component ${component} was packaged without its feature ${feature}")
  endif()
endforeach()

set(SOURCE "${SOURCE}/tests/consumers/${project}")
set(ARGUMENTS "-DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR}")
set(BINARY "${BINARY}/consumer")
include("${CMAKE_CURRENT_LIST_DIR}/../consumers/run_consumer.cmake")
