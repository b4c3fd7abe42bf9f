"""Packs the programs and libraries that a bare machine may lack, small enough to be copied."""

import os
import re
import shutil
import subprocess
import sys

from understudy.endings import Refused

from .layout import OWN_BIN, ROOT

PROGRAMS, LINKS = ["understudy", "replay"], ["inspect", "generate", "compare"]  # links to `understudy`
# Ranks on the other machine start without MPI (START_RANKS), whose libraries would take 5 MB.
LEFT_OUT = "understudy_backend_mpi.so"
# System libraries, and LibTorch's, exist on every machine with the Python of --python.
SYSTEM = re.compile(r"/(ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)[-.]|/torch/|"
                    r"/nvidia/")
# libicudata holds 30 MB of language tables: libxml2 must find the library, but no program of the project reads it. libpq needs 14 MB of
# further libraries, and no check has a fleet on PostgreSQL.
UNUSED = re.compile(r"/(libicudata|libpq)\.so[.0-9]*$")
MOST_BYTES = 64 << 20  # limit for the tree and the packed files


def tree_bytes():
    """Returns the size of the files that git tracks, and of those that it neither tracks nor ignores."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    return sum((ROOT / name).stat().st_size for name in names if name and (ROOT / name).is_file())


def stub_library(library, target):
    """Writes a library with the same symbols but no code, which needs no further libraries."""
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
    modules = sorted((OWN_BIN.parent / "lib" / "understudy").glob("*.so"))
    search = {**os.environ, "LD_LIBRARY_PATH": str(target / "lib")}
    for file in [OWN_BIN / name for name in PROGRAMS] + [file for file in modules if file.name != LEFT_OUT]:
        for copies in (stub_library, shutil.copy):
            listed = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True, env=search)
            for library in re.findall(r"=> (/.+) \(0x", listed.stdout):
                is_unused = UNUSED.search(library) is not None
                if is_unused == (copies is stub_library) and not SYSTEM.search(library) and not library.startswith(str(target)):
                    copies(library, target / "lib" / library.rpartition("/")[2])
        subprocess.run(["strip", "--strip-unneeded", "-o", str(target / file.relative_to(OWN_BIN.parent)), str(file)], check=True)
    for link in LINKS:
        (target / "bin" / link).symlink_to(PROGRAMS[0])
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file() and not path.is_symlink())
    both = size + tree_bytes()
    said = (f"{target} holds {size / 2**20:.1f} MiB, {both / 2**20:.1f} MiB with the tree")
    if both > MOST_BYTES:
        raise Refused(f"{said}: more than {MOST_BYTES >> 20} MiB, which machines take")
    print(f"check_gpu: {said}; over there: scripts/check_gpu --no-build --bin {target}/bin "
          "--python python3 --out FOLDER", file=sys.stderr)
