# Decides whether hybridmem::kernels is built and prepares the CUDA language for it. Include at
# directory scope of the root: enable_language must be seen by kernels/ and by tests/ alike.
# Sets HYBRIDMEM_WITH_CUDA.
set(HYBRIDMEM_WITH_CUDA OFF)

if(HYBRIDMEM_CUDA STREQUAL "ON" OR HYBRIDMEM_CUDA STREQUAL "AUTO")
  # Before the language is enabled: CMake would otherwise settle on the compiler's single default.
  # `native` asks a GPU, which a build machine need not have.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;100-real;100-virtual")
  endif()
  if(HYBRIDMEM_CUDA STREQUAL "ON")
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(HYBRIDMEM_WITH_CUDA ON)
  else()
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      enable_language(CUDA)
      find_package(CUDAToolkit QUIET)
      set(HYBRIDMEM_WITH_CUDA ${CUDAToolkit_FOUND})
    endif()
    if(NOT HYBRIDMEM_WITH_CUDA)
      message(STATUS "hybridmem: no CUDA toolkit, the component kernels is not built")
    endif()
  endif()
elseif(NOT HYBRIDMEM_CUDA STREQUAL "OFF")
  message(FATAL_ERROR "hybridmem: HYBRIDMEM_CUDA is '${HYBRIDMEM_CUDA}'; AUTO, ON or OFF expected")
endif()

# hybridmem_cuda_target(<target>): C++20 for the CUDA sources of a target. A CMake that knows C++20
# for nvcc is asked by feature; an older one is given the flag. Never both: nvcc refuses two -std.
function(hybridmem_cuda_target target)
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    target_compile_features(${target} PRIVATE cuda_std_20)
  else()
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  endif()
endfunction()
