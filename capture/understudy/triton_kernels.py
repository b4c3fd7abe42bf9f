"""Keeps the data to launch Triton kernels again, and shows each launch as a node of the trace.

TritonLabels wraps the two ways to launch Triton's kernels: `JITFunction.run` for hand-written kernels, and inductor's
`CachingAutotuner.run`. A node's inputs are the arguments of the launch (constants are dropped), then their roles and the text "launch KEY X
Y Z": the kernel's key in rank-R.compiled.json, and the grid (docs/formats.md).
"""

from __future__ import annotations

import ast
import base64
import builtins
import collections
import hashlib
import json
import re
import sys
import types
from pathlib import Path

import torch

BACKEND = "triton"
# Specialisation is the same for all of NVIDIA's GPUs; older ones lack clusters.
SPECIALISED_FOR = 90
UNPACKED = ("tensordesc", "nvTmaDesc")
METADATA = ("num_warps", "num_ctas", "shared", "global_scratch_size", "profile_scratch_size",
            "launch_cooperative_grid", "launch_pdl", "name")
PLAIN = (type(None), bool, int, str)  # constants that are written as they are


class NotKept(Exception):
    """A kernel cannot be described; the message names the reason."""


class KernelSource:
    """One Python text that defines a kernel named `kernel`, with everything that it refers to."""

    def __init__(self):
        self._lines = []
        self._bound = {}

    def text_of(self, function):
        self._function(function, "kernel")
        return "import triton\nfrom triton.language import constexpr as _constexpr, dtype as _dtype\n" \
            + "".join(self._lines)

    def _function(self, function, name):
        tree = function.parse()
        scope = function.get_capture_scope()
        known = {argument.arg for argument in ast.walk(tree) if isinstance(argument, ast.arg)}
        known |= {node.id for node in ast.walk(tree)
                  if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in scope and node.id not in known:
                known.add(node.id)
                if scope[node.id] is not function and not hasattr(builtins, node.id):
                    self._bind(node.id, scope[node.id])
        options = "(noinline=True)" if getattr(function, "noinline", False) else ""
        source = re.sub(r"^def\s+\w+", f"def {name}", function.src, count=1)
        self._lines.append(f"\n\n@triton.jit{options}\n{source}\n")

    def _bind(self, name, value):
        if name in self._bound:
            if self._bound[name] is not value:
                raise NotKept(f"two meanings of {name}")
            return
        self._bound[name] = value
        if name in ("triton", "kernel") and not isinstance(value, types.ModuleType):
            raise NotKept(f"a function named {name}")
        function = as_jit_function(value)
        if function is not None and not function.__module__.startswith(("triton.", "torch.")):
            self._function(function, name)
        else:
            self._lines.append(f"{_definition(name, value)}\n")


def _definition(name, value):
    """Returns the statement that gives a global its value."""
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}"
    kind = type(value).__name__
    if kind == "constexpr":
        return f"{name} = _constexpr({_literal(name, value.value)})"
    if kind == "dtype":
        return f"{name} = _dtype({value.name!r})"
    if isinstance(value, (*PLAIN, float)):
        return f"{name} = {_literal(name, value)}"
    if getattr(value, "__module__", None) and getattr(value, "__name__", None):
        return f"from {value.__module__} import {value.__name__} as {name}"
    raise NotKept(f"a global {name} of type {kind}")


def _literal(name, value):
    return f"float({str(value)!r})" if isinstance(value, float) else repr(_plain(name, value))


def _plain(name, value):
    if not isinstance(value, PLAIN):
        raise NotKept(f"a constant {name} of type {type(value).__name__}")
    return value


def as_jit_function(value):
    """Returns the JITFunction of a Triton function, also of an interpreted one; None for anything else."""
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction
    if isinstance(value, InterpretedFunction):
        value = value.__dict__.setdefault("understudy_jit", JITFunction(value.fn))
    return value if isinstance(value, JITFunction) else None


def _json_constant(name, value):
    """Returns a constant in the file's form: texts, numbers, or an object with its kind."""
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if type(value).__name__ == "dtype" and type(value).__module__.startswith("triton"):
        return {"dtype": value.name}
    return {"float": str(value)} if isinstance(value, float) else _plain(name, value)


def describe(name, function, signature, constants, attributes, options):
    """Returns the data to compile a kernel again. `attributes`: path of an argument → [[name, value], …]."""
    for argument, kind in signature.items():
        if not isinstance(kind, str) or kind.startswith(UNPACKED):
            raise NotKept(f"an argument {argument} that is a descriptor or a tuple")
    if any(len(path) != 1 for path in attributes):
        raise NotKept("properties of a tuple's members")
    what = {
        "source": KernelSource().text_of(function),
        "signature": dict(signature),
        "constants": {key: _json_constant(key, value) for key, value in constants.items()},
        "attributes": {str(path[0]): [list(pair) for pair in pairs]
                       for path, pairs in sorted(attributes.items())},
        "options": {key: value for key, value in sorted(options.items())
                    if isinstance(value, (bool, int, str))},
    }
    text = json.dumps(what, sort_keys=True).encode()
    return {"key": hashlib.sha256(text).hexdigest()[:16], "name": name, **what, "launches": 0}


def compiled_as(tuner, config):
    """Returns describe()'s arguments after the name, for this configuration of inductor's tuner."""
    shown, tuner = tuner, object.__new__(type(tuner))  # a copy; copy.copy() would pickle it
    vars(tuner).update(vars(shown), fn=as_jit_function(shown.fn))
    if tuner.fn.fn is None:  # compiled in another process, which sends no source
        if getattr(tuner, "_reload_kernel", None) is None:
            raise NotKept("a kernel whose source was not loaded again")
        tuner.fn = tuner._reload_kernel().fn
    meta = tuner._create_compile_meta(config)
    return (tuner.fn, meta["signature"], meta["constants"], meta["configs"][0],
            tuner._create_compile_options(config, meta))


class Launches:
    """The kernels launched in labelled steps of the process."""

    def __init__(self):
        self.kernels = {}
        self.left_out = collections.Counter()
        self._seen = None  # whether an observed step launched any; None: none was observed
        self._known = {}

    def watch(self):
        self._seen = bool(self._seen)

    def see(self):
        self._seen = True

    def may_follow(self):
        """Returns whether the next step may launch kernels: earlier steps did, or none was observed."""
        return self._seen if self._seen is not None else "triton.runtime.jit" in sys.modules

    def kernel(self, identity, make):
        """Returns the kernel that make() describes, called once for each identity; one without a key if it is not kept."""
        if identity not in self._known:
            try:
                kernel = make()
                self._known[identity] = self.kernels.setdefault(kernel["key"], kernel)
            except Exception as why:  # also raised by other versions of Triton or inductor
                self._known[identity] = {"launches": 0}
                self.leave_out(why)
        kernel = self._known[identity]
        kernel["launches"] += 1
        return kernel

    def leave_out(self, why):
        self.left_out[str(why) if isinstance(why, NotKept) else f"{type(why).__name__}: {why}"] += 1

    def document(self):
        return {"triton": sorted(self.kernels.values(), key=lambda kernel: kernel["key"]),
                "triton_left_out": dict(sorted(self.left_out.items()))}


LAUNCHES = Launches()
_HELD: dict = {}  # a function or tuner by its id, which is another's once it is freed


def identity_of(launched, *rest):
    _HELD[id(launched)] = launched
    return (id(launched), *map(str, rest))


def passed_by(_):
    """Does nothing with the arguments of a call."""


class TritonLabels:
    """While entered, launches of Triton kernels are labels with their arguments. `on_call` gets each launch's arguments. Finding a kernel's
    specialisation takes some 50 µs per launch. `describes=False` skips it, for timed steps, and leaves labels to inductor."""

    def __init__(self, on_call=passed_by, describes=True, launches=LAUNCHES):
        self._on_call = on_call
        self._describes = describes
        self._launches = launches
        self._in_inductor = False
        self._restore = []

    def __enter__(self):
        self._launches.watch()
        jit = sys.modules.get("triton.runtime.jit")
        interpreter = sys.modules.get("triton.runtime.interpreter")
        inductor = sys.modules.get("torch._inductor.runtime.triton_heuristics")
        for module, name, wrapped in ((jit, "JITFunction", self._jit),
                                      (interpreter, "InterpretedFunction", self._jit),
                                      (inductor, "CachingAutotuner", self._inductor)):
            owner = getattr(module, name, None)
            if owner is not None:
                self._restore.append((owner, owner.run))
                owner.run = wrapped(owner.run)
        return self

    def __exit__(self, *_):
        for owner, run in reversed(self._restore):
            owner.run = run
        self._restore.clear()

    def _label(self, name, kernel, values, roles, grid, extra):
        self._on_call(values)
        launch = " ".join(["launch", kernel["key"], *map(str, grid)]) if "key" in kernel else "not kept"
        return torch._C._profiler._RecordFunctionFast(
            name, (*values, " ".join(roles), launch), {**extra, "kernel_backend": BACKEND})

    def _jit(self, run):
        def labelled(function, *args, grid, warmup, **kwargs):
            if warmup or self._in_inductor:  # inductor launches interpreted kernels as JITFunctions
                return run(function, *args, grid=grid, warmup=warmup, **kwargs)
            self._launches.see()
            if not self._describes:
                self._on_call(args)
                values = tuple(value for value in args if isinstance(value, (torch.Tensor, int, float)))
                with torch._C._profiler._RecordFunctionFast(function.__name__, values,
                                                            {"kernel_backend": BACKEND}):
                    return run(function, *args, grid=grid, warmup=warmup, **kwargs)
            try:
                bound, signature, constants, attributes, options = specialised(function, args, kwargs)
            except Exception as why:  # in another version of Triton; the launch continues
                self._launches.leave_out(why)
                return run(function, *args, grid=grid, warmup=warmup, **kwargs)
            passed = [name for name, kind in signature.items() if kind != "constexpr"]
            blocks = grid(bound) if callable(grid) else grid
            identity = identity_of(function, signature, constants, attributes, options)
            jit = as_jit_function(function)
            kernel = self._launches.kernel(identity, lambda: describe(
                function.__name__, jit, signature, constants, attributes, options))
            written = mutated(jit, signature, constants, attributes, identity)
            roles = [("rw" if name in written else "r") if signature[name][0] == "*" else "-"
                     for name in passed]
            with self._label(function.__name__, kernel, [bound[name] for name in passed], roles,
                             whole_grid(blocks), {}):
                binary = run(function, *args, grid=grid, warmup=warmup, **kwargs)
            keep_binary(kernel, lambda: binary_of(binary))
            return binary
        return labelled

    def _inductor(self, run):
        def labelled(tuner, *args, stream, benchmark_run=False, **kwargs):
            configs = tuner.configs[:1] if tuner.triton_interpret else [launcher.config for launcher in tuner.launchers]
            if not self._describes:
                self._on_call(args)
            # While inductor tunes, it labels the launch itself.
            if len(configs) != 1 or benchmark_run or not self._describes:
                return run(tuner, *args, stream=stream, benchmark_run=benchmark_run, **kwargs)
            config, = configs
            signature = tuner.triton_meta["signature"]
            _, blocks = tuner._interpret_args_grid(args, config)
            passed = [(name, value) for name, value in zip(argument_names(tuner, config), args)
                      if signature.get(name, "constexpr") != "constexpr"]
            name = tuner.inductor_meta.get("kernel_name", "triton kernel")  # inductor's name
            identity = identity_of(tuner, config)
            kernel = self._launches.kernel(identity,
                                           lambda: describe(name, *compiled_as(tuner, config)))
            written = mutated_by_tuned(tuner, config, identity)
            roles = [inductor_role(argument, signature[argument], written) for argument, _ in passed]
            extra = {} if tuner.triton_interpret else \
                tuner.get_profiler_kwargs(stream, tuner.launchers[0])
            profiler = torch.autograd.profiler
            enabled = profiler._is_profiler_enabled
            with self._label(name, kernel, [value for _, value in passed], roles,
                             whole_grid(blocks), extra):
                profiler._is_profiler_enabled = False  # inductor's own label would be a second node
                self._in_inductor = True
                try:
                    result = run(tuner, *args, stream=stream, **kwargs)
                finally:
                    profiler._is_profiler_enabled = enabled
                    self._in_inductor = False
            keep_binary(kernel, lambda: tuned_binary(tuner))
            return result
        return labelled


def argument_names(tuner, config):
    """Returns the arguments of inductor's launch in order, without those declared as constants."""
    function = as_jit_function(tuner.fn)
    known = {*config.kwargs, *tuner.triton_meta.get("constants", ()), "num_warps", "num_stages"}
    declared = {parameter.name for parameter in function.params if parameter.is_constexpr}
    return [name for name in function.arg_names if name not in known or name not in declared]


def whole_grid(blocks):
    blocks = blocks if isinstance(blocks, (tuple, list)) else (blocks,)
    return [int(count) for count in (*blocks, 1, 1)[:3]]


def inductor_role(name, kind, written):
    """Returns the role of an argument from its name: inductor names its kernels' arguments by their use."""
    if kind[0] != "*":
        return "-"
    if name.startswith(("in_out_ptr", "ws_ptr")) or name in written:
        return "rw"
    return "w" if name.startswith("out_ptr") else "r"


def mutated_by_tuned(tuner, config, identity):
    """Returns the arguments that a kernel writes, besides those whose names show it. The names in a user's own kernels never do."""
    if not getattr(tuner, "custom_kernel", False):
        return getattr(tuner, "mutated_arg_names", None) or ()
    try:
        return mutated(*compiled_as(tuner, config)[:4], identity)
    except Exception:  # the description fails in the same way and counts it
        return [name for name, kind in tuner.triton_meta["signature"].items() if kind[0] == "*"]


def specialised(function, args, kwargs):
    """Returns (arguments by name, signature, constants by name, attributes, options), as Triton's own launch specialises them."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend
    from triton.runtime.jit import create_function_from_signature
    jit = as_jit_function(function)
    backend = make_backend(GPUTarget("cuda", SPECIALISED_FOR, 32))
    if not hasattr(jit, "understudy_binder"):
        jit.understudy_binder = create_function_from_signature(jit.signature, jit.params, backend)
    bound, specialisation, options = jit.understudy_binder(*args, **kwargs)
    parsed, signature, constexprs, attributes = jit._pack_args(backend, dict(options), bound,
                                                               specialisation, options)
    names = list(signature)
    given = {**{key: getattr(parsed, key) for key in ("num_warps", "num_stages", "num_ctas")},
             **options}
    return (bound, signature, {names[path[0]]: value for path, value in constexprs.items()},
            attributes, given)


_MUTATED: dict = {}


def mutated(function, signature, constants, attributes, identity):
    """Returns the names of the pointers that the kernel may write, from torch's analysis of its Triton IR; all of them if the analysis
    fails."""
    if identity not in _MUTATED:
        pointers = [name for name, kind in signature.items() if kind[0] == "*"]
        try:
            _MUTATED[identity] = _stored(function, signature, constants, attributes, pointers)
        except Exception:  # in another version of the compiler
            _MUTATED[identity] = pointers
    return _MUTATED[identity]


def _stored(function, signature, constants, attributes, pointers):
    from torch._higher_order_ops import triton_kernel_wrap as wrap
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend
    target = GPUTarget("cuda", SPECIALISED_FOR, 32)
    backend = make_backend(target)
    options = backend.parse_options({})
    source = ASTSource(function, signature, constexprs=constants, attrs=attributes)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(target, options, backend.get_codegen_implementation(options),
                            backend.get_module_map(), context)
    functions = wrap.ttir_to_functions(module)
    name = next(iter(functions))
    wrap.get_tma_stores.reset()
    passed = [argument for argument, kind in signature.items() if kind != "constexpr"]
    if hasattr(wrap, "analyze_kernel_mutations"):  # until torch 2.11
        wrap.analyze_kernel_mutations.reset()
        found = wrap.analyze_kernel_mutations(functions, name, len(passed))
        written = {argument for argument, is_written in zip(passed, found) if is_written}
    else:
        wrap.analyze_kernel_access.reset()
        tensors = frozenset(index for index, argument in enumerate(passed) if argument in pointers)
        found = wrap.analyze_kernel_access(functions, name, len(passed), tuple(passed), tensors)
        written = {access.name for access in found.read_writes.writes}
    return [argument for argument in pointers if argument in written]


def keep_binary(kernel, read):
    """Adds the machine code that ran here to the kernel, once. `read` returns it, if there is any, and Triton's metadata."""
    cubin, metadata = (None, {}) if "cubin" in kernel else read()
    if not isinstance(cubin, bytes):
        return
    target = metadata["target"]
    kernel["architecture"] = f"sm_{target['arch'] if isinstance(target, dict) else target.arch}"
    kernel["metadata"] = {field: metadata[field] for field in METADATA if field in metadata}
    kernel["cubin"] = base64.b64encode(cubin).decode()


def binary_of(compiled):
    """Returns machine code and metadata of a kernel that Triton compiled and still holds."""
    if not hasattr(compiled, "asm"):  # it was interpreted
        return None, {}
    return compiled.asm.get("cubin"), compiled.metadata._asdict()


def tuned_binary(tuner):
    """Returns machine code and metadata of the configuration that inductor's tuner launches. If inductor launches it "statically", it has
    released both; they are read from Triton's cache."""
    if tuner.triton_interpret:
        return None, {}
    launcher, = tuner.launchers
    result = next((result for result in tuner.compile_results if result.config is launcher.config),
                  None)
    if not getattr(launcher, "_is_static", False):
        return binary_of(result and result.kernel)
    from torch._inductor.runtime.runtime_utils import triton_cache_dir
    folder = Path(triton_cache_dir(tuner.triton_meta.get("device", 0))) / launcher.cache_hash
    name = result.kernel.name if result else tuner.fn.__name__
    try:
        return ((folder / f"{name}.cubin").read_bytes(),
                json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    except OSError:  # a cache that was cleared
        return None, {}
