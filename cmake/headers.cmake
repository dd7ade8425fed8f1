# Sorts the public headers into the targets that own them:
#   hybridmem_headers          hybridmem::hybridmem, the standard library alone
#   hybridmem_config_headers   hybridmem::config, needs nlohmann_json
#   hybridmem_kernels_headers  hybridmem::kernels, launchers that need the compiled library
# A new header joins the first list by itself; the other two are told apart by name here, and
# tests/layering_test.cpp holds the headers to it.
set(hybridmem_include_dir "${CMAKE_CURRENT_LIST_DIR}/../include")
cmake_path(NORMAL_PATH hybridmem_include_dir)

set(hybridmem_kernels_headers
    "${hybridmem_include_dir}/hybridmem/kernels/launch_error.hpp"
    "${hybridmem_include_dir}/hybridmem/kernels/zero_units.hpp")

file(GLOB_RECURSE hybridmem_headers CONFIGURE_DEPENDS
     "${hybridmem_include_dir}/hybridmem/*.hpp" "${hybridmem_include_dir}/hybridmem/*.cuh")
list(SORT hybridmem_headers)
set(hybridmem_config_headers ${hybridmem_headers})
list(FILTER hybridmem_config_headers INCLUDE
     REGEX "/model/(hugging_face_[^/]*|json_[^/]*|layer_map)\\.hpp$")
list(REMOVE_ITEM hybridmem_headers ${hybridmem_config_headers} ${hybridmem_kernels_headers})
