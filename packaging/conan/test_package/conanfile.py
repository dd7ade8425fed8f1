"""Builds and runs a program against the packaged headers."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class HybridmemTestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        options = self.dependencies["hybridmem"].options
        components = [name for name, wanted in (("config", options.with_config),
                                                ("kernels", options.with_cuda)) if wanted]
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HYBRIDMEM_COMPONENTS"] = ";".join(components)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "consumer"), env="conanrun")
