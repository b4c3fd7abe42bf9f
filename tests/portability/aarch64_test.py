"""What needs neither LibTorch nor MPI compiles for aarch64 (Grace, Graviton), as far as a compiler's front end tells.

Usage: aarch64_test.py COMPILE_COMMANDS COMPILER

All headers of the rooms, and the sources that name an instruction set, a system call or a type whose size or sign differs
between architectures, with the flags of this machine's build. cross_build.py compiles all, and runs it.
"""

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
KEPT = ("-I", "-D", "-std", "-W", "-f")
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
        flags = [word for word in words if word.startswith(KEPT)] + generated
        for source in sources_of(Path(entry["directory"], entry["file"]).resolve()):
            name = str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else ""
            if name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
                yield source, flags


def main():
    commands, compiler = Path(sys.argv[1]), sys.argv[2]
    found = list(units(commands))
    chosen = [unit for unit in found if DIFFERS.search(unit[0].read_text())]
    with tempfile.TemporaryDirectory() as name:
        # The rooms' interfaces are folders of links in the build.
        links = [path for folder in FOLDERS for path in (commands.parent / "include").glob(f"*/{folder}/**/*.h")]
        headers = sorted(path for path in links if path.exists())
        Path(name, "all_headers.cpp").write_text("".join(f'#include "{header}"\n' for header in headers))
        chosen.insert(0, (Path(name, "all_headers.cpp"), list(dict.fromkeys(flag for _, flags in found for flag in flags))))

        def compile_one(unit):
            source, flags = unit
            # This machine's headers of libraries are found last: those of C and C++ are of the compiler.
            done = subprocess.run([compiler, "-fsyntax-only", *flags, "-idirafter", "/usr/include", source],
                                  cwd=commands.parent, capture_output=True, text=True)
            return None if done.returncode == 0 else f"{source}\n{done.stderr}"

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [failure for failure in pool.map(compile_one, chosen) if failure]
    print(*failures, sep="\n")
    print(f"for aarch64: {len(headers)} headers, {len(chosen) - 1} of {len(found)} sources; {len(failures)} units do not compile")
    # A pattern that finds nothing, or a moved folder, would pass unseen.
    return 1 if failures or len(headers) < 100 or len(found) < 300 or len(chosen) < 4 else 0


sys.exit(main())
