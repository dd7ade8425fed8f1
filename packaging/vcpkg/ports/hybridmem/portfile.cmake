# Overlay port: builds the source tree that it lies in (packaging/vcpkg/ports/hybridmem).
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/hybridmem/core/version.hpp")
  message(FATAL_ERROR "${SOURCE_PATH} is no hybridmem source tree: use this port where it lies, "
                      "with --overlay-ports=<source>/packaging/vcpkg/ports")
endif()

# AUTO would pick up whatever the machine has; a feature that is not asked for is switched off.
set(HYBRIDMEM_CUDA OFF)
set(HYBRIDMEM_CONFIG OFF)
if("cuda" IN_LIST FEATURES)
  set(HYBRIDMEM_CUDA ON)
else()
  set(VCPKG_BUILD_TYPE release) # headers only
endif()
if("config" IN_LIST FEATURES)
  set(HYBRIDMEM_CONFIG ON)
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DHYBRIDMEM_CUDA=${HYBRIDMEM_CUDA}
    -DHYBRIDMEM_CONFIG=${HYBRIDMEM_CONFIG}
    -DHYBRIDMEM_INSTALL=ON
    -DHYBRIDMEM_BUILD_TESTS=OFF
    -DHYBRIDMEM_BUILD_EXAMPLES=OFF
    -DHYBRIDMEM_BUILD_TOOLS=OFF
    -DHYBRIDMEM_BUILD_BENCHMARKS=OFF
    -DHYBRIDMEM_BUILD_DOCS=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME hybridmem CONFIG_PATH lib/cmake/hybridmem)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
                    "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
