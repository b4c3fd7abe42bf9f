"""Packs the programs and what a bare machine may lack, small enough to be carried."""

import re
import shutil
import subprocess
import sys

from understudy_capture.endings import Refused

from .layout import OWN_BIN, ROOT

PROGRAMS = ["inspect", "generate", "operator_results", "replay", "compare"]
# Ranks over there start without MPI (START_RANKS), whose libraries would take 5 MB.
LEFT_OUT = "understudy_backend_mpi.so"
# Libraries of the system, and LibTorch's, are on every machine that has what --python needs.
SYSTEM = re.compile(r"/(ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)[-.]|/torch/|"
                    r"/nvidia/")
# This file has tables of text in all languages, 30 MB. libxml2 must find it, but no program of the
# project reads it.
UNREAD = re.compile(r"/libicudata\.so[.0-9]*$")
MOST_BYTES = 64 << 20  # for the tree and what is carried beside it


def tree_bytes():
    """Files that git tracks, and those that it neither tracks nor ignores."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    return sum((ROOT / name).stat().st_size for name in names if name and (ROOT / name).is_file())


def copy_library(library, target):
    if not UNREAD.search(library):
        shutil.copy(library, target)
        return
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                            check=True).stdout
    names = [line.split()[-1].partition("@")[0] for line in listed.splitlines()]
    subprocess.run(["cc", "-shared", "-x", "c", "-", "-o", str(target), f"-Wl,-soname,{target.name}"],
                   input="".join(f"const char {name}[64] = {{0}};\n" for name in names), text=True,
                   check=True)


def pack(target):
    """Copies the programs, their modules and the libraries that a bare machine may lack."""
    for folder in ("bin", "lib/understudy"):
        (target / folder).mkdir(parents=True, exist_ok=True)
    files = [OWN_BIN / name for name in PROGRAMS]
    modules = sorted((OWN_BIN.parent / "lib" / "understudy").glob("*.so"))
    files += [module for module in modules if module.name != LEFT_OUT]
    for file in files:
        listed = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True)
        for library in re.findall(r"=> (/.+) \(0x", listed.stdout):
            if not SYSTEM.search(library):
                copy_library(library, target / "lib" / library.rpartition("/")[2])
        copy = target / file.relative_to(OWN_BIN.parent)
        shutil.copy(file, copy)
        subprocess.run(["strip", "--strip-unneeded", str(copy)], check=True)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    both = size + tree_bytes()
    said = (f"{target} holds {size / 2**20:.1f} MiB, {both / 2**20:.1f} MiB with the tree")
    if both > MOST_BYTES:
        raise Refused(f"{said}: more than {MOST_BYTES >> 20} MiB, which machines take")
    print(f"check_gpu: {said}; over there: scripts/check_gpu --no-build --bin {target}/bin "
          "--python python3 --out FOLDER", file=sys.stderr)
