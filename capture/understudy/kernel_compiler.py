"""Compiles Triton's kernels of rank-R.compiled.json ahead of time, for GPUs that this machine may lack.

`understudy generate --kernels` runs it as a separate program. It writes kernels.json and the machine code into a folder, in
the form of bench.et (docs/formats.md).
"""

from __future__ import annotations

import argparse
import base64
import binascii
import ctypes
import gzip
import importlib.util
import json
import os
import resource
import struct
import sys
import tempfile
from pathlib import Path

from .endings import BAD_INPUT, USAGE, Refused, run_main
from .operator_results import data_bytes

FORMAT = "understudy-kernels"
VERSION = 1
COMPILED_FORMAT = "understudy-compiled"
COMPILED_VERSION = 1
WARP_SIZE = 32
MOST_BYTES = 2 << 30  # of memory, beside what Triton takes
MOST_TEXT = 512 << 20  # of a description


def load_triton():
    """Triton's modules. Line tables are disabled: they would hold this machine's paths."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ.pop("TRITON_INTERPRET", None)
    try:
        os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # as Triton did until 3.9, which warns if nothing says so
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as missing:
        raise Refused(f"{sys.executable} has no Triton ({missing}): install it "
                      "(pip install triton; PyTorch's CUDA wheel brings it), or name another Python "
                      "in UNDERSTUDY_PYTHON", USAGE) from None
    return triton, GPUTarget, ASTSource


def read_kernels(paths, keys):
    """Returns the kernels with these keys, without duplicates; without keys all."""
    kernels = {}
    for path in paths:
        try:
            with open(path, "rb") as file:
                is_packed = file.read(2) == b"\x1f\x8b"
                file.seek(0)
                text = (gzip.GzipFile(fileobj=file) if is_packed else file).read(MOST_TEXT + 1)
            if len(text) > MOST_TEXT:
                raise ValueError(f"more than {MOST_TEXT >> 20} MiB")
            document = json.loads(text)
            if document["format"] != COMPILED_FORMAT or document["version"] != COMPILED_VERSION:
                raise ValueError(f"{document['format']}, version {document['version']}")
            kernels.update({kernel["key"]: kernel for kernel in document["triton"]})
        except (OSError, EOFError, ValueError, KeyError, TypeError) as why:
            raise Refused(f"{path}: expected {COMPILED_FORMAT} of version {COMPILED_VERSION}, got "
                          f"{type(why).__name__}: {why}", BAD_INPUT) from None
    return [kernel for key, kernel in sorted(kernels.items()) if not keys or key in keys]


# What a compiler reads besides its own files and those of Python.
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/dev/null", "/dev/zero", "/dev/urandom",
          "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")


def confine_reads(folders):
    """Gives up reading other files than these, for good (Landlock): the kernels' sources are somebody else's, and what they read could
    go out with the benchmark. Has no effect on a kernel without Landlock."""
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    create, add, restrict = 444, 445, 446
    # LANDLOCK_ACCESS_FS_READ_FILE, _READ_DIR, _REFER: to rename into another folder, which a kernel may not know.
    read_file, of_folders = 4, 8 | (1 << 13 if libc.syscall(create, None, ctypes.c_size_t(0), 1) > 1 else 0)
    ruleset = libc.syscall(create, ctypes.byref(ctypes.c_uint64(read_file | of_folders)), ctypes.c_size_t(8), 0)
    for path in (*SYSTEM, *folders):
        if os.path.exists(path):
            place = os.open(path, os.O_PATH)
            rights = read_file | (of_folders if os.path.isdir(path) else 0)
            libc.syscall(add, ruleset, 1, struct.pack("=Qi", rights, place), 0)
            os.close(place)
    libc.syscall(restrict, ruleset, 0)
    if ruleset >= 0:
        os.close(ruleset)
    os.environ.setdefault("LOGNAME", "nobody")  # else Python looks for the name in a file


def load_function(source, key, folder):
    """Returns the function that a kernel's source defines. Triton reads its text from a file."""
    file = Path(folder) / f"kernel_{key}.py"
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def constant_of(value):
    """Returns a constant from its form in compiled.json."""
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    import triton.language
    return triton.language.dtype(value["dtype"])


def passed(kernel):
    return [kind for kind in kernel["signature"].values() if kind != "constexpr"]


class Compiler:
    def __init__(self, output):
        self._triton, self._target, self._source = load_triton()
        self._output = Path(output)
        self.version = self._triton.__version__
        self.where = self._triton.__file__
        self.failures = []

    def build(self, kernel, function, architecture):
        """Compiles one build and writes its cubin; returns None if Triton cannot compile it."""
        source = self._source(
            function, kernel["signature"],
            constexprs={name: constant_of(value) for name, value in kernel["constants"].items()},
            attrs={(int(position),): pairs for position, pairs in kernel["attributes"].items()})
        try:
            binary = self._triton.compile(source, target=self._target("cuda", architecture, WARP_SIZE),
                                          options=dict(kernel["options"]))
            return self._keep(kernel["key"], architecture, binary.asm["cubin"], "kernel",
                              binary.metadata._asdict())
        except Exception as why:  # any error of a compiler
            self._fail(kernel, architecture, why)
            return None

    def captured(self, kernel, architecture):
        """Returns the machine code of the capture if it is of this architecture."""
        if kernel.get("architecture") != f"sm_{architecture}":
            return None
        try:
            code = base64.b64decode(kernel["cubin"], validate=True)
            return self._keep(kernel["key"], architecture, code, kernel["metadata"]["name"],
                              kernel["metadata"])
        except (KeyError, binascii.Error, TypeError) as why:
            self._fail(kernel, architecture, why)
            return None

    def _fail(self, kernel, architecture, why):
        lines = str(why).strip().splitlines() or [""]
        self.failures.append({"key": kernel["key"], "name": kernel["name"],
                              "architecture": architecture,
                              "why": f"{type(why).__name__}: {lines[-1].strip()[:300]}"})

    def _keep(self, key, architecture, cubin, function, metadata):
        name = f"kernels/{key}.sm_{architecture}.cubin"
        (self._output / name).write_bytes(cubin)
        return {"architecture": architecture, "cubin": name, "function": function,
                "warps": metadata["num_warps"], "cluster_blocks": metadata["num_ctas"],
                "shared_bytes": metadata["shared"],
                "scratch_bytes": metadata["global_scratch_size"] or 0,
                "profile_scratch_bytes": metadata["profile_scratch_size"] or 0,
                "cooperative": bool(metadata["launch_cooperative_grid"]),
                "dependent": bool(metadata["launch_pdl"])}

    def compile(self, kernel, architectures, folder):
        try:
            function = load_function(kernel["source"], kernel["key"], folder)
        except Exception as why:  # such as an imported module that this Python lacks
            for architecture in architectures:
                self._fail(kernel, architecture, why)
            function = None
        builds = []
        for architecture in architectures:
            known = len(self.failures)
            build = self.build(kernel, function, architecture) if function is not None else None
            if build is None:
                build = self.captured(kernel, architecture)
                if build is not None:
                    del self.failures[known:]
            if build is not None:
                builds.append(build)
        return {"key": kernel["key"], "name": kernel["name"], "parameters": passed(kernel),
                "builds": builds}


def compile_all(arguments):
    output = Path(arguments.output).absolute()
    (output / "kernels").mkdir(parents=True, exist_ok=True)
    keys = set(Path(arguments.keys).read_text(encoding="utf-8").split()) if arguments.keys else set()
    kernels = read_kernels(arguments.compiled, keys)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # libraries look for others in the current folder
        compiler = Compiler(output)
        tempfile.tempdir = os.environ["TRITON_CACHE_DIR"] = os.environ["TMPDIR"] = folder
        resource.setrlimit(resource.RLIMIT_DATA, [data_bytes() + MOST_BYTES] * 2)
        confine_reads([folder, output, sys.prefix, sys.base_prefix, Path(__file__).parent, Path(compiler.where).parents[1]])
        compiled = [compiler.compile(kernel, arguments.architectures, folder) for kernel in kernels]
    document = {"format": FORMAT, "version": VERSION, "compiler": f"Triton {compiler.version}",
                "kernels": [kernel for kernel in compiled if kernel["builds"]],
                "failures": compiler.failures}
    (output / "kernels.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def architecture(text):
    if not (text.startswith("sm_") and text[3:].isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is no architecture: sm_90, for example")
    return int(text[3:])


def run():
    parser = argparse.ArgumentParser(
        prog="compile_kernels", description="Compiles the Triton kernels of a capture; "
        "`understudy generate --kernels` runs it.")
    parser.add_argument("compiled", nargs="+", help="rank-R.compiled.json[.gz]")
    parser.add_argument("--architectures", required=True,
                        type=lambda text: sorted({architecture(one) for one in text.split(",")}),
                        help="compile for these GPUs, such as sm_80,sm_90")
    parser.add_argument("--keys", help="a file with the keys of the kernels to compile (default: all)")
    parser.add_argument("-o", "--output", required=True, help="folder for kernels.json and machine code")
    compile_all(parser.parse_args())


def main():
    run_main("compile_kernels", run)
