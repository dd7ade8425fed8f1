"""Conan 2 recipe of hybridmem. From the source tree: conan create packaging/conan"""

import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir

required_conan_version = ">=2.0"


class HybridmemRecipe(ConanFile):
    name = "hybridmem"
    version = "0.1.0"
    description = "Memory manager for the state of hybrid language models"
    license = "Apache-2.0"
    topics = ("inference", "memory", "cache", "cuda")
    package_type = "static-library"  # header-library without CUDA: see configure()
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_cuda": [True, False], "with_config": [True, False]}
    default_options = {"with_cuda": False, "with_config": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, os.pardir, os.pardir)
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "kernels/*"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def configure(self):
        if not self.options.with_cuda:
            self.package_type = "header-library"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.with_config:
            self.requires("nlohmann_json/[>=3.10 <4]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        # Without the compiled part the package is the same for every compiler and system. What
        # with_config adds is headers, so that option stays in the id.
        if not self.info.options.with_cuda:
            self.info.settings.clear()
            self.info.requires.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HYBRIDMEM_CUDA"] = "ON" if self.options.with_cuda else "OFF"
        toolchain.cache_variables["HYBRIDMEM_CONFIG"] = "ON" if self.options.with_config else "OFF"
        toolchain.cache_variables["HYBRIDMEM_INSTALL"] = True
        for part in ("TESTS", "EXAMPLES", "TOOLS", "BENCHMARKS", "DOCS"):
            toolchain.cache_variables[f"HYBRIDMEM_BUILD_{part}"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        # The project's own package files, so that components and their messages are the same
        # however the library came; they find the CUDA Toolkit, which Conan does not package.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "hybridmem")]
        self.cpp_info.set_property("pkg_config_name", "hybridmem")
        self.cpp_info.bindirs = []
        if self.options.with_cuda:
            self.cpp_info.libs = ["hybridmem_kernels"]
        else:
            self.cpp_info.libdirs = []
