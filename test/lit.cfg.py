# The end-to-end tests. Unit tests are executables of their own in build/unit; scripts/run-tests runs both.
#
# Parameters: --param build=DIR, --param set=fast|full|long. Tests marked "REQUIRES: full" run in the full and the long
# set only, those marked "long" in the long set, those marked "debian-source" only where the sources of their programs
# can be had, "browser" only where Chromium can. %long(A|B) in a command is B in the long set and A in the others.
import os
import subprocess
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



def have_debian_sources(programs, libraries):
    """Downloads (or finds in the cache) all that the tests on real programs need, so that these never fail for the
    network's sake. Says so when it cannot be had."""
    fetch = os.path.join(config.test_source_root, "real", "Inputs", "fetch-source")
    environment = dict(os.environ, XDG_CACHE_HOME=config.environment["XDG_CACHE_HOME"])
    for command in (["--have"] + programs, ["--install"] + libraries):
        done = subprocess.run([fetch] + command, env=environment, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
            lit_config.note(f"tests on real programs are skipped: {reason}")
            return False
    return True


def have_browser():
    """Debian's Chromium and its driver, for the reports; installed when they are missing, said when they cannot be had."""
    if all(os.path.exists("/usr/bin/" + name) for name in ("chromium", "chromedriver")):
        return True
    fetch = os.path.join(config.test_source_root, "real", "Inputs", "fetch-source")
    environment = dict(os.environ, XDG_CACHE_HOME=config.environment["XDG_CACHE_HOME"])
    done = subprocess.run([fetch, "--install", "chromium", "chromium-driver"], env=environment, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
        lit_config.note(f"tests in a browser are skipped: {reason}")
    return done.returncode == 0


chosen = lit_config.params.get("set", "full")
config.substitutions.append((r"%long\(([^|]*)\|([^)]*)\)", r"\2" if chosen == "long" else r"\1"))
if chosen == "long":
    config.available_features.add("long")
if chosen in ("full", "long"):
    config.available_features.add("full")
    if have_debian_sources(["pbzip2", "memcached"], ["libbz2-dev", "libevent-dev"]):
        config.available_features.add("debian-source")
    if have_browser():
        config.available_features.add("browser")
