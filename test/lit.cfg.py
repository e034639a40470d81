# One suite for everything: unit tests (GoogleTest executables in build/unit) and end-to-end tests (test/lit).
#
# Parameters: --param build=DIR, --param set=fast|full. Tests marked "REQUIRES: full" run in the full set only.
import os
import lit.formats
import lit.util

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.abspath(lit_config.params.get("build", os.path.join(root, "build")))
llvm = "/usr/lib/llvm-19/bin"

config.name = "heddle"
config.suffixes = [".test", ".c", ".cpp"]
config.test_format = lit.formats.ShTest(execute_external=True)
config.test_source_root = os.path.join(root, "test", "lit")
config.test_exec_root = os.path.join(build, "test-output")
config.excludes = ["Inputs"]

config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), llvm, os.environ.get("PATH", "")])
config.environment["XDG_CACHE_HOME"] = os.path.join(build, "test-cache")
config.environment["HEDDLE_ROOT"] = root
config.environment["HEDDLE_BUILD"] = build
for name in ("HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%root", root))
config.substitutions.append(("%build", build))

if lit_config.params.get("set", "full") == "full":
    config.available_features.add("full")
if lit_config.params.get("sanitized"):
    config.available_features.add("sanitized")
