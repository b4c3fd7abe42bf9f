"""All that needs neither LibTorch nor MPI compiles for aarch64 (Grace, Graviton), as far as a compiler's front end tells.

Usage: aarch64_test.py COMPILE_COMMANDS CLANG

The flags are those of this machine's build. Headers of libraries are the same for all architectures; those of C and C++ are the
cross compiler's.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("et_schema/", "generator/", "comparer/", "backends/src/", "backends/single/", "matching/", "predictor/", "emitter/", "composer/",
           "fleet/", "cli/")
LIBRARIES = ("fmt", "nlohmann", "simdjson.h", "archive.h", "archive_entry.h", "xxhash.h", "CLI", "sqlite3.h", "pqxx", "yaml-cpp",
             "google", "xgboost")
KEPT = ("-I", "-D", "-std", "-W", "-f")
DROPPED = ("-ffile-prefix-map", "-fpch", "-Winvalid-pch", "-Werror", "-flto", "-fsanitize", "-fno-sanitize")


def units(path):
    """(source, flags) of each unit that needs no LibTorch."""
    for entry in json.loads(path.read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        words = shlex.split(entry["command"])
        name = str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else ""
        if name.startswith(FOLDERS) and not any("torch/include" in word for word in words):
            yield source, [word for word in words if word.startswith(KEPT) and not word.startswith(DROPPED)]


def main():
    commands, clang = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        for library in LIBRARIES:
            Path(name, library).symlink_to(Path("/usr/include", library))

        def compile_one(unit):
            source, flags = unit
            done = subprocess.run(
                [clang, "--target=aarch64-linux-gnu", "-fsyntax-only", "-Werror", *flags, "-isystem",
                 "/usr/aarch64-linux-gnu/include", "-isystem", name, source],
                cwd=commands.parent, capture_output=True, text=True)
            return None if done.returncode == 0 else f"{source.relative_to(ROOT)}\n{done.stderr}"

        found = list(units(commands))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [failure for failure in pool.map(compile_one, found) if failure]
    print(*failures, sep="\n")
    print(f"{len(found) - len(failures)} of {len(found)} units compile for aarch64")
    return 1 if failures or len(found) < 150 else 0


sys.exit(main())
