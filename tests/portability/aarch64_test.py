"""What needs neither LibTorch nor MPI compiles for aarch64 (Grace, Graviton), as far as a compiler's front end tells.

Usage: aarch64_test.py [--all] COMPILE_COMMANDS CLANG

All headers of the rooms, and the sources that name an instruction set, a system call or a type whose size or sign differs
between architectures; with --all every source (ten minutes of a core). The flags are those of this machine's build. Headers
of libraries are the same for all architectures; those of C and C++ are the cross compiler's.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("et_schema", "generator", "replayer/backends/interface", "predictor", "fleet", "cli")
LIBRARIES = ("fmt", "nlohmann", "simdjson.h", "archive.h", "archive_entry.h", "xxhash.h", "nettle", "CLI", "sqlite3.h", "pqxx", "yaml-cpp",
             "google", "xgboost")
KEPT = ("-I", "-D", "-std", "-W", "-f")
DROPPED = ("-ffile-prefix-map", "-fpch", "-Winvalid-pch", "-Werror", "-flto", "-fsanitize", "-fno-sanitize")
DIFFERS = re.compile(r"immintrin|_mm_|__x86_64__|__aarch64__|\basm\b|__builtin_ia32|\bsyscall\(|__NR_|sched_|cpuid|perf_event"
                     r"|long double|numeric_limits<char>|\bsigned char|spin_pause")


def sources_of(unit):
    """Those that are compiled together, or the one."""
    if unit.parent.name != "Unity":
        return [unit]
    return [Path(source).resolve() for source in re.findall(r'^#include "(.+)"$', unit.read_text(), re.MULTILINE)]


def units(path):
    """(source, flags) of each source that needs no LibTorch."""
    for entry in json.loads(path.read_text()):
        words = shlex.split(entry["command"])
        if any("torch/include" in word for word in words):
            continue
        generated = [f"-I{folder}" for option, folder in zip(words, words[1:])
                     if option == "-isystem" and folder.startswith(entry["directory"])]
        flags = [word for word in words if word.startswith(KEPT) and not word.startswith(DROPPED)] + generated
        for source in sources_of(Path(entry["directory"], entry["file"]).resolve()):
            name = str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else ""
            if name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
                yield source, flags


def all_headers(found, interfaces):
    """(text of a source with each public header of the rooms, flags). `interfaces`: the build's folder of their links."""
    headers = sorted(header for folder in FOLDERS for header in interfaces.glob(f"*/{folder}/**/*.h") if header.exists())
    flags = dict.fromkeys(flag for _, own in found for flag in own)
    return "".join(f'#include "{header}"\n' for header in headers), list(flags), len(headers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every source")
    parser.add_argument("commands", type=Path)
    parser.add_argument("clang")
    arguments = parser.parse_args()
    found = list(units(arguments.commands))
    chosen = [unit for unit in found if arguments.all or DIFFERS.search(unit[0].read_text())]
    with tempfile.TemporaryDirectory() as name:
        for library in LIBRARIES:
            Path(name, library).symlink_to(Path("/usr/include", library))
        text, flags, headers = all_headers(found, arguments.commands.parent / "include")
        Path(name, "all_headers.cpp").write_text(text)
        chosen.insert(0, (Path(name, "all_headers.cpp"), flags))

        def compile_one(unit):
            source, flags = unit
            done = subprocess.run(
                [arguments.clang, "--target=aarch64-linux-gnu", "-fsyntax-only", "-Werror", *flags,
                 "-Wno-unknown-warning-option",  # what GCC alone knows
                 "-isystem", "/usr/aarch64-linux-gnu/include", "-isystem", name, source],
                cwd=arguments.commands.parent, capture_output=True, text=True)
            return None if done.returncode == 0 else f"{source}\n{done.stderr}"

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [failure for failure in pool.map(compile_one, chosen) if failure]
    print(*failures, sep="\n")
    print(f"for aarch64: {headers} headers, {len(chosen) - 1} of {len(found)} sources; {len(failures)} units do not compile")
    # A pattern that finds nothing, or a moved folder, would pass unseen.
    return 1 if failures or headers < 100 or len(found) < 300 or len(chosen) < 4 else 0


sys.exit(main())
