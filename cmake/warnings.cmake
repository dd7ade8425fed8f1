# hybridmem_own_target(<target>): what the project asks of its own executables and libraries. It
# never reaches a consumer. Errors from warnings are the preset's choice (CMAKE_COMPILE_WARNING_AS_ERROR).
function(hybridmem_own_target target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(
      ${target}
      PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wold-style-cast;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wcast-align;-Wdouble-promotion;-Wimplicit-fallthrough>)
  elseif(MSVC)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:/W4;/permissive->)
  endif()
endfunction()
