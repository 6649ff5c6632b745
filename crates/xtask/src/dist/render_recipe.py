"""Renders a conda recipe with rattler-build, with gcc and rust as compilers: `python render_recipe.py RECIPE`."""

import sys

import rattler_build

VARIANT = """
c_compiler: [gcc]
c_stdlib: [sysroot]
c_stdlib_version: ["2.17"]
rust_compiler: [rust]
"""

recipe = rattler_build.Stage0Recipe.from_file(sys.argv[1])
platform = rattler_build.PlatformConfig(target_platform="linux-64", build_platform="linux-64", host_platform="linux-64")
variants = recipe.render(rattler_build.VariantConfig.from_yaml(VARIANT), rattler_build.RenderConfig(platform=platform))
package = variants[0].recipe.package
print(f"rendered by rattler-build {rattler_build.rattler_build_version()} as {package.name} {package.version}")
