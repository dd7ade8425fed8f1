# Install rules and the package: three export sets, so that who takes the headers alone needs neither
# CUDA nor nlohmann_json. A component is in the package exactly when it was built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(hybridmem_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hybridmem")

set(hybridmem_components "")
install(TARGETS hybridmem EXPORT hybridmem_headers FILE_SET HEADERS COMPONENT hybridmem)
install(EXPORT hybridmem_headers NAMESPACE hybridmem:: FILE hybridmem-targets.cmake
        DESTINATION "${hybridmem_cmake_dir}" COMPONENT hybridmem)
if(TARGET hybridmem_config)
  list(APPEND hybridmem_components config)
  install(TARGETS hybridmem_config EXPORT hybridmem_model_config FILE_SET HEADERS COMPONENT hybridmem)
  install(EXPORT hybridmem_model_config NAMESPACE hybridmem:: FILE hybridmem-component-config.cmake
          DESTINATION "${hybridmem_cmake_dir}" COMPONENT hybridmem)
endif()
if(TARGET hybridmem_kernels)
  list(APPEND hybridmem_components kernels)
  install(TARGETS hybridmem_kernels EXPORT hybridmem_kernels ARCHIVE COMPONENT hybridmem
          FILE_SET HEADERS COMPONENT hybridmem)
  install(EXPORT hybridmem_kernels NAMESPACE hybridmem:: FILE hybridmem-component-kernels.cmake
          DESTINATION "${hybridmem_cmake_dir}" COMPONENT hybridmem)
endif()

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/hybridmem-config.cmake.in"
  "${PROJECT_BINARY_DIR}/package/hybridmem-config.cmake"
  INSTALL_DESTINATION "${hybridmem_cmake_dir}"
  NO_CHECK_REQUIRED_COMPONENTS_MACRO NO_SET_AND_CHECK_MACRO)
# Headers fit every architecture; the compiled component does not.
if(TARGET hybridmem_kernels)
  set(arch_independent "")
else()
  set(arch_independent ARCH_INDEPENDENT)
endif()
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/package/hybridmem-config-version.cmake" COMPATIBILITY SameMinorVersion
  ${arch_independent})
install(FILES "${PROJECT_BINARY_DIR}/package/hybridmem-config.cmake"
              "${PROJECT_BINARY_DIR}/package/hybridmem-config-version.cmake"
        DESTINATION "${hybridmem_cmake_dir}" COMPONENT hybridmem)

# pkg-config serves the headers. Its prefix is found from where the file lies, so the tree can move.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY
           "${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}" OUTPUT_VARIABLE pkgconfig_prefix)
set(pkgconfig_definition "")
if(NOT HYBRIDMEM_CHECK_LEVEL STREQUAL "")
  set(pkgconfig_definition " -DHYBRIDMEM_CHECK_LEVEL=${HYBRIDMEM_CHECK_LEVEL}")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/hybridmem.pc.in"
               "${PROJECT_BINARY_DIR}/package/hybridmem.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/hybridmem.pc" DESTINATION "${pkgconfig_dir}"
        COMPONENT hybridmem)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/hybridmem"
        COMPONENT hybridmem)
if(TARGET hybridmem_tool)
  install(TARGETS hybridmem_tool RUNTIME COMPONENT hybridmem)
endif()
