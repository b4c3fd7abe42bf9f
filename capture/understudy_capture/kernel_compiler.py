"""Compiles kernels of rank-R.compiled.json ahead of time: Triton's for GPUs that need not be there,
inductor's C++ kernels for processors.

`generate --kernels` and `--compile-kernels` start it as a program of its own,
scripts/compile_kernels. It writes kernels.json and the machine code into a folder, in the form that
bench.et holds them (docs/formats.md).
"""

from __future__ import annotations

import argparse
import base64
import binascii
import gzip
import hashlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .endings import BAD_INPUT, FAILED, Refused

FORMAT = "understudy-kernels"
VERSION = 1
COMPILED_FORMAT = "understudy-compiled"
COMPILED_VERSION = 2
WARP_SIZE = 32
# Of a graph's generated source: `name = async_compile.cpp_pybinding(['const float*', …], r'''code''')`.
CPP_KERNEL = re.compile(
    r"^(?P<name>\w+) = async_compile\.cpp_pybinding\(\[(?P<types>[^\]]*)\], r?'''(?P<code>.*?)'''",
    re.DOTALL | re.MULTILINE)
CPP_ENTRY = re.compile(r'extern\s+"C"[^;{}()]*?\bkernel\(')
# GCC's name of the processors whose vectors have so many bits.
PROCESSORS = {256: "x86-64-v3", 512: "x86-64-v4"}
VECTOR_LOADS = re.compile(
    r"VectorizedN?<([\w:]+)(?:, *(\d+))?>::loadu\([^;]*?static_cast<int64_t>\((\d+)\)\)")
VECTOR_TYPES = {"double": 8, "int64_t": 8, "int8_t": 1, "uint8_t": 1}  # bytes of an element, or 4
TYPES = {"float": "fp32", "double": "fp64", "int64_t": "i64", "long": "i64", "int32_t": "i32",
         "int": "i32", "bool": "i1", "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16",
         "half": "fp16", "at::Half": "fp16", "bfloat16": "bf16", "at::BFloat16": "bf16"}


def load_triton():
    """Triton's modules. Its line tables would hold this machine's paths."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ.pop("TRITON_INTERPRET", None)
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as missing:
        raise Refused(f"{sys.executable} has no Triton ({missing}): install it "
                      "(pip install triton; PyTorch's CUDA wheel brings it), or name another Python "
                      "in UNDERSTUDY_PYTHON", FAILED) from None
    return triton, GPUTarget, ASTSource


def read_descriptions(paths):
    for path in paths:
        try:
            raw = Path(path).read_bytes()
            document = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
            if document["format"] != COMPILED_FORMAT or document["version"] > COMPILED_VERSION:
                raise ValueError(f"{document['format']}, version {document['version']}")
            triton = {kernel["key"]: kernel for kernel in document.get("triton", ())}
            cpp = {(graph["file"], kernel["name"]): (graph, kernel)
                   for graph in document["graphs"] for kernel in graph["kernels"]
                   if kernel["backend"] == "cpp"} if "graphs" in document else {}
        except (OSError, EOFError, ValueError, KeyError, TypeError) as why:
            raise Refused(f"{path}: expected {COMPILED_FORMAT} of version {COMPILED_VERSION} at "
                          f"most, got {type(why).__name__}: {why}", BAD_INPUT) from None
        yield triton, cpp


def read_kernels(paths, keys):
    """Triton's kernels with these keys, each once; without keys all."""
    kernels = {}
    for triton, _ in read_descriptions(paths):
        kernels.update(triton)
    return [kernel for key, kernel in sorted(kernels.items()) if not keys or key in keys]


def load_function(source, key, folder):
    """The function that a kernel's source defines. Triton reads its text from a file."""
    file = Path(folder) / f"kernel_{key}.py"
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def constant_of(value):
    """A constant as compiled.json writes it."""
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
        self.failures = []

    def build(self, kernel, function, architecture):
        """One build, its cubin written; None where Triton does not compile it."""
        source = self._source(
            function, kernel["signature"],
            constexprs={name: constant_of(value) for name, value in kernel["constants"].items()},
            attrs={(int(position),): pairs for position, pairs in kernel["attributes"].items()})
        try:
            binary = self._triton.compile(source, target=self._target("cuda", architecture, WARP_SIZE),
                                          options=dict(kernel["options"]))
            return self._keep(kernel["key"], architecture, binary.asm["cubin"], "kernel",
                              binary.metadata._asdict())
        except Exception as why:  # whatever a compiler says of a source that it does not take
            self._fail(kernel, architecture, why)
            return None

    def captured(self, kernel, architecture):
        """The machine code that the capture kept, if it is of this architecture."""
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
        except Exception as why:  # a module that the source imports and this Python has not
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


class CppCompiler:
    """Inductor's C++ kernels as functions of a library for each kind of processor, by the flags that
    inductor itself gives. A function `run_KEY` takes a pointer to each argument's bytes."""

    def __init__(self, folder, output):
        try:
            import torch
            from torch._inductor import cpp_builder, cpu_vec_isa
        except ImportError as missing:
            raise Refused(f"{sys.executable} has no PyTorch ({missing}), whose headers the kernels "
                          "need: name another Python in UNDERSTUDY_PYTHON", FAILED) from None
        self._folder, self._output = Path(folder), Path(output)
        self._isas = {512: cpu_vec_isa.VecAVX512(), 256: cpu_vec_isa.VecAVX2()}
        self._options = cpp_builder.CppTorchOptions
        self._headers = {}
        self.name = f"PyTorch {torch.__version__}"
        self.failures = []

    def compile(self, sources):
        """The kernels of {"GRAPH_FILE/NAME": (graph, kernel), or None where nothing is kept of it}."""
        kernels, objects = [], {}
        for word, found in sources.items():
            file, name = word.split("/", 1)
            try:
                code = cpp_code(found, name)
                bits = vector_bits(found[0], code)
                types = [triton_type(kind) for kind in found[1]["types"]]
                key = hashlib.sha256(json.dumps([name, found[1]["types"], code]).encode()).hexdigest()[:16]
                made = self._object(key, code, found[1]["types"], bits)
            except (ValueError, KeyError) as why:
                self.failures.append({"key": "", "name": name, "architecture": 0,
                                      "why": str(why).strip() or type(why).__name__})
                continue
            library = f"kernels/cpp.{PROCESSORS[bits]}.so"
            objects.setdefault(library, {})[key] = made
            kernels.append({"key": key, "name": name, "file": file, "parameters": types, "builds": [],
                            "libraries": [{"processor": PROCESSORS[bits], "library": library,
                                           "function": f"run_{key}"}]})
        for library, made in objects.items():
            # Undefined symbols are LibTorch's, which the replay has loaded.
            self._run("-shared", "-s", "-fopenmp", "-Wl,--build-id=none", "-Wl,--as-needed",
                      *sorted(set(made.values())), "-o", str(self._output / library))
        return kernels

    def _object(self, key, code, types, bits):
        source, made = self._folder / f"{key}.cpp", self._folder / f"{key}.o"
        arguments = ", ".join(f"*static_cast<{kind.rstrip()}*>(arguments[{i}])" if kind.endswith("*") else
                              f"*static_cast<const {kind.removeprefix('const ')}*>(arguments[{i}])"
                              for i, kind in enumerate(types))
        named, count = CPP_ENTRY.subn(lambda match: match[0][:-len("kernel(")] + f"kernel_{key}(", code, count=1)
        if count == 0:
            raise ValueError("its source defines no function `kernel`")
        source.write_text(f'{named}\nextern "C" __attribute__((visibility("default")))\n'
                          f"void run_{key}([[maybe_unused]] void** arguments) {{ kernel_{key}({arguments}); }}\n",
                          encoding="utf-8")
        self._run(*self._flags(bits), "-include", self._header(bits), "-c", source.name, "-o", str(made))
        return str(made)

    def _flags(self, bits):
        """Inductor's flags for vectors of so many bits, but for one kind of processor, not this one,
        and without paths in texts."""
        options = self._options(vec_isa=self._isas[bits], warning_all=False)
        flags = [f"-{flag}" for flag in options.get_cflags() if flag not in ("march=native", "shared", "pedantic")]
        flags += [f"-D{name.strip()}" for name in options.get_definitions()]
        flags += [word for folder in options.get_include_dirs()
                  for word in (f"-I{folder}", f"-ffile-prefix-map={folder}=.")]
        return [*flags, f"-march={PROCESSORS[bits]}", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w"]

    def _header(self, bits):
        """Inductor's own headers, compiled once for all kernels."""
        if bits not in self._headers:
            header = self._folder / f"prefix_{bits}.h"
            header.write_text("#include <torch/csrc/inductor/cpp_prefix.h>\n", encoding="utf-8")
            self._run(*self._flags(bits), "-x", "c++-header", header.name, "-o", f"{header}.gch")
            self._headers[bits] = header.name
        return self._headers[bits]

    def _run(self, *words):
        compiler = os.environ.get("CXX", "g++")
        try:
            end = subprocess.run([compiler, *words], cwd=self._folder, capture_output=True, text=True)
        except OSError as why:
            raise Refused(f"the C++ compiler {compiler} does not start ({why.strerror}): install g++, "
                          "or name another in CXX", FAILED) from None
        if end.returncode != 0:
            lines = [line for line in end.stderr.splitlines() if "error" in line] or [f"status {end.returncode}"]
            raise ValueError(f"{compiler}: {lines[0].strip()[:300]}")


def cpp_code(found, name):
    if found is None or "source" not in found[0]:
        raise ValueError("the capture kept no source of it")
    for match in CPP_KERNEL.finditer(found[0]["source"]):
        if match["name"] == name:
            return match["code"]
    raise ValueError("its graph's source does not define it")


def vector_bits(graph, code):
    """How wide the vectors are that a source was generated for; earlier captures do not say so."""
    bits = graph.get("vector_bits")
    if bits is None:
        widths = [VECTOR_TYPES.get(kind, 4) * int(count) * 8 // int(vectors or 1)
                  for kind, vectors, count in VECTOR_LOADS.findall(code)]
        bits = max(widths, default=0)
    # A source without vectors runs on any.
    bits = bits or min(PROCESSORS)
    if bits not in PROCESSORS or platform.machine() != "x86_64":
        raise ValueError(f"it is for vectors of {bits} bits, and this compiles 256 and 512 bits of x86-64 alone")
    return bits


def triton_type(kind):
    """Triton's name of a C++ type: what kernels.json calls parameters."""
    plain = kind.removeprefix("const ").strip()
    if plain.endswith("*"):
        return "*" + TYPES.get(plain[:-1].strip(), plain[:-1].strip())
    if plain not in TYPES:
        raise ValueError(f"it takes a number of type {plain}")
    return TYPES[plain]


def words_of(path):
    return set(Path(path).read_text(encoding="utf-8").split())


def run(arguments):
    output = Path(arguments.output)
    (output / "kernels").mkdir(parents=True, exist_ok=True)
    compilers, compiled, failures = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        if arguments.architectures:
            keys = words_of(arguments.keys) if arguments.keys else set()
            kernels = read_kernels(arguments.compiled, keys)
            compiler = Compiler(output)
            os.environ["TRITON_CACHE_DIR"] = folder
            compilers.append(f"Triton {compiler._triton.__version__}")
            compiled += [compiler.compile(kernel, arguments.architectures, folder) for kernel in kernels]
            failures += compiler.failures
        if arguments.cpp:
            wanted = words_of(arguments.cpp)
            sources = {}
            for _, cpp in read_descriptions(arguments.compiled):
                sources.update(cpp)
            compiler = CppCompiler(folder, output)
            compilers.append(compiler.name)
            compiled += compiler.compile({word: sources.get(tuple(word.split("/", 1))) for word in sorted(wanted)})
            failures += compiler.failures
    document = {"format": FORMAT, "version": VERSION, "compiler": ", ".join(compilers),
                "kernels": [kernel for kernel in compiled if kernel["builds"] or "libraries" in kernel],
                "failures": failures}
    (output / "kernels.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def architecture(text):
    if not (text.startswith("sm_") and text[3:].isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is no architecture: sm_90, for example")
    return int(text[3:])


def main():
    parser = argparse.ArgumentParser(
        prog="compile_kernels", description="Compiles the kernels of a capture; `generate --kernels` "
        "and `--compile-kernels` run it.")
    parser.add_argument("compiled", nargs="+", help="rank-R.compiled.json[.gz]")
    parser.add_argument("--architectures",
                        type=lambda text: sorted({architecture(one) for one in text.split(",")}),
                        help="compile Triton's kernels for these GPUs, such as sm_80,sm_90")
    parser.add_argument("--cpp", help="a file with the C++ kernels to compile, each as GRAPH_FILE/NAME")
    parser.add_argument("--keys", help="a file with the keys of Triton's kernels to compile (default: all)")
    parser.add_argument("-o", "--output", required=True, help="folder for kernels.json and machine code")
    run(parser.parse_args())
