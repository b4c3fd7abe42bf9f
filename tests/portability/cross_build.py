"""Builds for aarch64 (Grace, Graviton) on a machine of another kind, and runs what was built: an hour of a core.

Usage: cross_build.py [TORCH]     TORCH: a version on PyPI, as 2.15.0

In build/aarch64: what needs no LibTorch, its unit tests, and golden cases of the verbs, whose outputs are x86-64's. With TORCH
also `replay`, its modules, and a replay of fleet_samples/mlp. Debian's libraries and PyPI's torch lie in build/aarch64-root.
Programs run by qemu-user, those that tests start, too: since Linux 6.7 a namespace has its own list of formats. Run it as root
after scripts/setup: it installs mmdebstrap and qemu-user.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD, SYSTEM = ROOT / "build/aarch64", ROOT / "build/aarch64-root"
PYTHON = SYSTEM / "usr/lib/python3/dist-packages"
CUDA = ("nvidia-nccl-cu13", *(f"nvidia-{part}" for part in ("cublas", "cusolver", "cusparse")),
        *(f"nvidia-cuda-{part}==13.*" for part in ("runtime", "cupti", "crt", "cccl")))
TESTED = r"^(\w+_test\..*|golden\.(compare|compose|generate|inspect|predict|shard)\..*)$"
# PostgreSQL wants a second user, whom the namespace lacks.
LEFT_OUT = r"^fleet_test\.Kinds"
# What packages link by whole paths is below the root, too.
RELATIVE = """find "$1" -lname '/*' -printf '%p %l\\n' | while read -r link target; do ln -sfnr "$1$target" "$link"; done"""
# Where programs of aarch64 start as others do.
INSIDE = rf"""mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
echo ':aarch64:M:18:\xb7::/usr/bin/qemu-aarch64:FP' >/proc/sys/fs/binfmt_misc/register
QEMU_LD_PREFIX={SYSTEM} exec "$@"
"""


def run(*command):
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True)


def inside(*command):
    run("unshare", "-Urm", "bash", "-ec", INSIDE, "inside", *command)


def main(torch=None):
    if not SYSTEM.exists():
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "mmdebstrap", "qemu-user")
        libraries = re.findall(r"(?<!\S)(?!python3|libclang)\S+-dev(?!\S)", (ROOT / "scripts/setup").read_text(encoding="utf-8"))
        run("mmdebstrap", "--variant=extract", "--architectures=arm64", "--skip=check/qemu", f"--extract-hook={RELATIVE}",
            f"--include={','.join(['openmpi-bin', 'libstdc++-12-dev', *libraries])}", "bookworm", SYSTEM)
    inside("cmake", "--preset", "aarch64", "-DUNDERSTUDY_BUILD_REPLAYER=OFF")
    inside("cmake", "--build", BUILD, "--target", "programs", "tests/unit/all")
    inside("ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error", "-R", TESTED, "-E", LEFT_OUT)
    if torch:
        run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--upgrade", "--target", PYTHON,
            *(f"--platform=manylinux_2_{minor}_aarch64" for minor in range(17, 29)), f"torch=={torch}", *CUDA)
        inside("cmake", "--preset", "aarch64", "-DUNDERSTUDY_BUILD_REPLAYER=ON", f"-DUNDERSTUDY_TORCH_ROOT={PYTHON}/torch")
        inside("cmake", "--build", BUILD, "--target", "programs")
        inside("ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error", "-R", r"^golden\.samples\.mlp$")


main(*sys.argv[1:])
