# hybridmem_own_target(<target>): what the project asks of its own executables and libraries. It
# never reaches a consumer. Errors from warnings are the preset's choice (CMAKE_COMPILE_WARNING_AS_ERROR).
function(hybridmem_own_target target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(
      ${target}
      PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wold-style-cast;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wcast-align;-Wdouble-promotion;-Wimplicit-fallthrough>)
    # GCC 12 sees an overlap in `"text" + std::string` where there is none (its bug 105651).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
    endif()
  elseif(MSVC)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:/W4;/permissive->)
  endif()
endfunction()
