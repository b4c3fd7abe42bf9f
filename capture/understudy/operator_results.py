"""Says which tensors calls of operators result in. Programs that read profiles start it (cli/asking/src/asking.cpp); it is not for users.

Calls run on PyTorch's meta device, whose tensors have a layout and no memory. A byte on standard input asks: descriptor 3 then holds the
calls, as a program's text (docs/formats.md). Descriptor 4 gets a line for each (et_schema/formats/call_results/call_results.h), standard
output a byte, the status. Descriptor 5 holds filters of system calls. The calls are somebody else's, so a child reads and answers
them, which gives up all other rights before; if a kernel ends it, the next child goes on after that call.
"""

import ast
import ctypes
import json
import mmap
import os
import re
import resource
import signal
import struct
import sys
import types

CALLS, ANSWERS, FILTERS = 3, 4, 5
MOST_BYTES = 4 << 30  # that a child may allocate
MOST_OF_COMPILER = 256 << 20
MOST_CRASHES = 100  # of a search for other sizes
FAILED = 1

# In the order of PyTorch's numbers, by which profiles name them.
DTYPES = """uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16 quint4x2
    quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64 uint1 uint2
    uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 float8_e8m0fnu float4_e2m1fn_x2""".split()
ENUMERATIONS = {
    "ScalarType": DTYPES,
    "Layout": "strided sparse_coo sparse_csr _mkldnn sparse_csc sparse_bsr sparse_bsc jagged".split(),
    "MemoryFormat": "contiguous_format preserve_format channels_last channels_last_3d".split(),
}


NOT_RECORDED = {"Device": "meta", "Generator": None}  # by type, what an argument is here


PARAMETER = r"(?:[^,(\[]|\([^)]*\)|\[[^\]]*\])+"  # of a schema's text, up to a comma outside of brackets


class Unknown(Exception):
    """The results cannot be known. `fails`: the call itself fails, whatever its tensors hold."""

    def __init__(self, why, fails=False):
        super().__init__(why)
        self.fails = fails


def row_major(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


class Call:
    """An instruction of the program, and its tensors: one for each occurrence of a slot."""

    def __init__(self, program, instruction, layout=None):
        self._program, self._layout, self.is_other, self.takes_offset = program, layout, layout is not None, False
        self.schema = program.schemas[instruction["schema"]]
        self.inputs = []  # None: undefined
        self.is_on_cpu = True
        self.arguments = [self._value(argument) for argument in instruction.get("args", [])]
        self.given = [(number, given, given.shape) for number, given in enumerate(self.inputs) if given is not None]
        self._mark_numbers()

    def _value(self, argument):
        if isinstance(argument, list):
            return [self._value(item) for item in argument]
        if not isinstance(argument, str):
            return argument
        text = argument[1:]
        kinds = {"%": lambda: self._tensor(int(text)), "u": self._undefined, "#": lambda: None, "'": lambda: text, "@": lambda: Device(text)}
        return kinds.get(argument[:1], lambda: float(argument))()

    def _undefined(self):
        self.inputs.append(None)

    def _tensor(self, number):
        slot = self._program.slots[number]
        slot = slot | self._layout(number)._asdict() if self.is_other else slot
        device = self._program.storages[slot["storage"]].get("device", "")
        self.is_on_cpu &= device in ("", "cpu", "meta")
        dtype, sizes = getattr(torch, slot["dtype"], None), slot.get("sizes", [])
        if dtype is None:
            raise Unknown(f"this PyTorch has no {slot['dtype']}")
        if slot.get("sparse"):
            dims, elements = (self.is_other and slot["strides"]) or (len(sizes), 0)
            tensor = torch.ops.aten._sparse_coo_tensor_unsafe(
                torch.empty(dims, elements, dtype=torch.int64, device="meta"),
                torch.empty(elements, *sizes[dims:], dtype=dtype, device="meta"), sizes)
        else:
            tensor = torch.empty_strided(sizes, slot.get("strides", row_major(sizes)), dtype=dtype, device="meta")
        tensor.recorded_device = device
        self.inputs.append(tensor)
        return tensor

    def _mark_numbers(self):
        """Python's numbers are recorded as 0-dim doubles, and do not decide dtypes as tensors do. A double beside tensors of another dtype
        is assumed to be a number."""
        def is_number(value):
            return isinstance(value, torch.Tensor) and value.dim() == 0 and value.dtype in (torch.float64, torch.complex128)

        if not all(is_number(given) for _, given, _ in self.given):
            self.arguments = tree_map(lambda value: 1.0 if is_number(value) else value, self.arguments)

    def run(self, source):
        """Returns the results, each with its type's name."""
        meta_rules.Where.on_cpu = self.is_on_cpu and bool(self.inputs)
        if source:
            return [(result, "") for result in run_function(self, source)]
        operator = find_operator(self.schema.partition("(")[0])
        schema = operator._schema
        self.takes_offset = any(argument.name == "storage_offset" for argument in schema.arguments)
        values = self._bind(schema)
        try:
            results = meta_rules.call(operator, values)
            results = results if len(schema.returns) > 1 else [results]
        except NotImplementedError as why:
            results = self._written(schema, values)
            if len(results) != len(schema.returns):
                raise Unknown(first_line(why)) from None
        except Exception as why:
            about_content = any(word in str(why) for word in ("meta", "Meta", "data-dependent", "not supported on"))
            raise Unknown(first_line(why), fails=not about_content) from None
        return [(result, str(returned.type)) for result, returned in zip(results, schema.returns)]

    def _bind(self, schema):
        """Binds the recorded arguments to those of this PyTorch's schema: by position if the names agree, else by names."""
        recorded = [name for _, name in parameters(self.schema)]
        today = {argument.name: argument for argument in schema.arguments}
        texts = {argument.name for argument in schema.arguments if "str" in str(argument.type)}
        if not (schema.returns or self.is_other) or texts.difference(recorded):
            raise Unknown("this PyTorch's operator is another one")
        values = dict(zip(today if recorded == list(today)[:len(recorded)] else recorded, self.arguments))
        for name in values.keys() - today.keys():
            if any(isinstance(value, torch.Tensor) for value in tree_leaves(values[name])):
                raise Unknown(f"its recorded tensor '{name}' has no place in today's schema")
        for argument in schema.arguments:
            if argument.name not in values and not argument.has_default_value():
                raise Unknown(f"today's schema needs '{argument.name}', which was not recorded")
        return {name: self._typed(values[name], argument) for name, argument in today.items() if name in values}

    def _typed(self, value, argument):
        """What PyTorch does not make of a recorded value itself."""
        kind = str(argument.real_type).removeprefix("Optional[").removesuffix("]")
        if argument.name == "copy":
            return bool(value) or self._changes_device()
        if argument.name == "pin_memory":
            return None
        if kind in NOT_RECORDED:
            return NOT_RECORDED[kind]
        if type(value) is int and kind in ENUMERATIONS and not hasattr(torch, dict(enumerate(ENUMERATIONS[kind])).get(value, "")):
            raise Unknown(f"an argument of type {kind} cannot be made from the recorded integer {value}", fails=True)
        if kind.startswith("List[") and isinstance(value, (int, float)):
            return [value] * (argument.N or 1)
        return int(value) if kind == "int" and isinstance(value, float) and value.is_integer() else value

    def has_resized(self):
        """True if a call with other sizes gave an argument yet another one."""
        return self.is_other and any(given.shape != sizes for _, given, sizes in self.given)

    def owner_of(self, tensor):
        """The number of the first argument with the tensor's memory, or None."""
        memory = tensor.untyped_storage()._cdata
        return next((number for number, given, _ in self.given
                     if given.layout == torch.strided and given.untyped_storage()._cdata == memory), None)

    def gives_offset(self):
        """True if the last argument says where a view starts, whatever it is a view of."""
        return self.takes_offset and isinstance(self.arguments[-1], int)

    def _changes_device(self):
        """True if a device argument is another device than the inputs': on the meta device they are one."""
        return any(isinstance(argument, Device) and argument.kind != Device(first.recorded_device).kind
                   for _, first, _ in self.given[:1] for argument in self.arguments)

    def _written(self, schema, values):
        """The arguments that an in-place operator writes, which are its results even without a kernel."""
        aliased = [(argument.alias_info, values.get(argument.name)) for argument in schema.arguments if argument.alias_info is not None]
        return [value for returned in schema.returns if schema.name.endswith("_") and returned.alias_info is not None
                for info, value in aliased if info.before_set == returned.alias_info.before_set and isinstance(value, torch.Tensor)]


class Device(str):
    """A device as recorded."""

    @property
    def kind(self):
        return self.partition(":")[0] or "cpu"


def first_line(why):
    return (str(why).strip().splitlines() or [type(why).__name__])[0]


def parameters(schema):
    """(type, name) of the parameters in a schema's text."""
    texts = re.findall(PARAMETER, schema.partition("(")[2].partition(") ->")[0])
    return [tuple(text.partition("=")[0].strip().rsplit(maxsplit=1)) for text in texts if text.strip() not in ("", "*")]


def find_operator(name):
    """The dispatcher's operator of this full name; no other attribute of torch.ops is touched."""
    plain, _, overload = name.partition(".")
    namespace, _, operator = plain.partition("::")
    try:
        torch._C._dispatch_find_schema_or_throw(plain, overload)
    except RuntimeError:
        raise Unknown("this LibTorch has no such operator") from None
    return getattr(getattr(getattr(torch.ops, namespace), operator), overload or "default")


def compiled(source):
    """Functions of the operator map, in which `torch` is ATen, and no other name of Python is known. The compiler computes with texts that
    nobody has judged: 'x'.rjust(10 ** 11)."""
    unit, before = torch.jit.CompilationUnit(), resource.getrlimit(resource.RLIMIT_DATA)
    most = min(limit for limit in (data_bytes() + MOST_OF_COMPILER, *before) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        unit.define(source, {"torch": torch.ops.aten}.get)
    except MemoryError:
        raise Unknown(f"a function takes more than {MOST_OF_COMPILER >> 20} MiB to compile") from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
    return unit


def data_bytes():
    """What limits of memory count."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


def run_function(call, row):
    """Calls the function of a row of the operator map. Returns its results."""
    try:
        with torch.jit.optimized_execution(False):
            result = compiled(row["function"]).row(*[None if index is None else call.arguments[index] for index, _ in row["takes"]])
    except Exception as why:
        raise Unknown(str(why).rpartition("\nRuntimeError:")[2].strip().partition("\n")[0]) from None  # behind LibTorch's trace of it
    return result if isinstance(result, tuple) else [result]


def called_by(source):
    """The schemas of what a row's functions call, for its judge. Default values would run while they are compiled."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arguments) and (node.defaults or any(node.kw_defaults)):
            raise Unknown("parameters without default values, which would run before they are judged")
    schemas = set()

    def read(block):
        for node in block.nodes():
            if node.kind() == "prim::Print":
                raise Unknown("prim::Print: it prints")
            schemas.update([node.schema()] if node.schema() != "(no schema)" else [])
            for inner in node.blocks():
                read(inner)
    for function in compiled(source).get_functions():
        read(function.graph)
    return sorted(schemas)


def described(call, results):
    """The answer: tensors, and the sizes of lists of them. A result may be an argument, or show its memory."""
    answer = {"tensors": [], "list_sizes": []}
    for value, kind in results:
        is_list = isinstance(value, (list, tuple))
        tensors = value if is_list else [value]
        if all(tensor is None or isinstance(tensor, torch.Tensor) for tensor in tensors) and (value is not None or kind == "Tensor"):
            answer["list_sizes"] += [len(tensors)] * is_list
            answer["tensors"] += [layout_of(tensor, call) for tensor in tensors]
    if call.has_resized():
        answer["resizes"] = True
    return answer


def layout_of(tensor, call):
    """What is told of a result."""
    if tensor is None:
        return {"dtype": "undefined", "sizes": [], "strides": []}
    if tensor.is_nested:
        raise Unknown("a result is a nested tensor")
    told = {"dtype": str(tensor.dtype).removeprefix("torch."), "sizes": list(tensor.shape), "strides": []}
    if tensor.layout == torch.sparse_coo and call.is_other:
        return told | {"elements": [tensor.sparse_dim(), tensor._nnz()]}
    if tensor.layout != torch.strided:
        return told
    told |= {"strides": list(tensor.stride()), "offset_from": tensor.storage_offset()}
    number = call.owner_of(tensor)
    if number is not None:
        told |= {"storage_of": number, "offset_from": tensor.storage_offset() - call.inputs[number].storage_offset()}
        told |= {"offset_is_absolute": True} if call.gives_offset() else {}
        told |= {"same_as": number} if tensor is call.inputs[number] else {}
    return told


class Program:
    """The calls, and what the program that asks says of schemas: the operator map's function, or why not to call it. If it asks for other
    sizes, a whole program with the instructions that were recorded below others. Functions are called only if `is_filtered`."""

    def __init__(self, text, is_filtered):
        self.is_filtered = is_filtered
        self.schemas, self.storages, self.slots, self.instructions, self.rows, self.other_size = [], [], [], [], {}, None
        lines = {"slot": self.slots, "storage": self.storages, "i": self.instructions, "body": self.instructions}
        for line in text.splitlines()[1:]:
            record = json.loads(line)
            if "of" in record:
                self.rows[record["of"]] = record
            elif "from" in record:
                self.other_size = record
            elif "text" in record:
                self.schemas.append(record["text"])
            else:
                next(lines[key] for key in lines if key in record).append(record)

    def is_known(self, instruction):
        """True if this LibTorch has the instruction's operator."""
        try:
            return "schema" in instruction and find_operator(self.schemas[instruction["schema"]].partition("(")[0]) is not None
        except Unknown:
            return False

    def answer(self, number, layout=None, **changed):
        """Returns the answer to one call, or to a function without a call: what it calls. The instruction's fields and layouts of slots may be
        others than recorded."""
        instruction, guard = self.instructions[number] | changed, meta_rules.OnMeta()
        row = self.rows.get(instruction["schema"], {})
        try:
            if "why_not" in row:
                raise Unknown(row["why_not"])
            if row and not self.is_filtered:
                raise Unknown("functions of operator maps are called only below filters of system calls (seccomp), which this kernel lacks")
            if "function" in row and "takes" not in row:
                return {"calls": called_by(row["function"])}
            call = Call(self, instruction, layout)
            with guard:
                results = call.run(row)
            return described(call, results)
        except Unknown as why:
            return {"why_not": guard.why or str(why) or guard.failed, "fails": why.fails and not guard.why}
        except (RuntimeError, SyntaxError) as why:  # a layout that no tensor has, a function that does not compile
            return {"why_not": first_line(why), "fails": False}

    def other_sizes(self, progress, crashed):
        """Returns the lines that answer `other_size`. Equal calls run once. `crashed`: those whose kernels ended a child before."""
        answers = {}

        def named(value, layout):
            if isinstance(value, list):
                return tuple(named(item, layout) for item in value)
            if not isinstance(value, str) or value[:1] != "%":
                return type(value), value
            slot = self.slots[int(value[1:])]
            return slot["dtype"], self.storages[slot["storage"]].get("device"), layout(int(value[1:]))

        def call(number, arguments, layout):
            key = self.instructions[number].get("schema"), named(arguments, layout)
            if key not in answers:
                if len(answers) in crashed:
                    answers[key] = {"why_not": "its kernel crashed", "fails": True}
                elif key[0] is None:
                    answers[key] = {"why_not": "it was recorded without a schema", "fails": True}
                else:
                    progress.answered, progress.is_calling = len(answers), True
                    answers[key] = self.answer(number, layout, args=arguments)
                    progress.is_calling = False
            return answers[key]
        search = parts.Parts if self.other_size.get("parts") else other_sizes.Search
        return search(self, self.other_size, call, parameters).lines()


def confine():
    """Gives up what the calls' author must not use: memory without limit, and system calls. Returns whether these are filtered."""
    most = data_bytes() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    libc = ctypes.CDLL(None, use_errno=True)
    text = os.pread(FILTERS, 1 << 20, 0) if libc.prctl(21) >= 0 else b""  # PR_GET_SECCOMP: a kernel may lack it
    os.close(FILTERS)
    is_filtered = bool(text)
    while text:
        end = 8 + struct.unpack_from("Q", text)[0]
        code = ctypes.create_string_buffer(text[8:end])
        if libc.prctl(22, 2, struct.pack("HxxxxxxQ", (end - 8) // 8, ctypes.addressof(code))) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
            raise OSError(ctypes.get_errno(), "a filter of system calls cannot be loaded")
        text = text[end:]
    return is_filtered


def answer_in_child(progress, crashed):
    """Answers the calls that are left, or for which other sizes they can have."""
    os.close(0)
    os.close(1)
    is_filtered = confine()
    program = Program(os.pread(CALLS, os.fstat(CALLS).st_size, 0).decode(), is_filtered)
    with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
        if program.other_size is not None:
            progress.is_one = True
            lines = program.other_sizes(progress, crashed)
            os.write(ANSWERS, "".join(json.dumps(line) + "\n" for line in lines).encode())
            return
        while progress.answered < len(program.instructions):
            progress.is_calling = True
            line = program.answer(progress.answered)
            progress.is_calling = False
            progress.answer(line)


class Progress(ctypes.Structure):
    """What parent and children share."""

    _fields_ = [("answered", ctypes.c_int64), ("is_calling", ctypes.c_bool), ("is_one", ctypes.c_bool)]

    def answer(self, line):
        os.write(ANSWERS, (json.dumps(line) + "\n").encode())
        self.answered += 1


def answer():
    """Answers all calls. Returns the status of the last child."""
    progress = Progress.from_buffer(mmap.mmap(-1, ctypes.sizeof(Progress)))
    crashed = []
    while True:
        child = os.fork()
        if child == 0:
            status = FAILED
            try:
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
                answer_in_child(progress, crashed)
                status = 0
            finally:
                if status:
                    sys.excepthook(*sys.exc_info())
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status >= 0 or not progress.is_calling or len(crashed) > MOST_CRASHES:
            return abs(status)
        progress.is_calling = False
        if progress.is_one:  # one answer about all calls: the next child begins anew
            crashed.append(progress.answered)
        else:
            progress.answer({"why_not": f"its kernel crashed (signal {-status})"})


def load():
    """Loads PyTorch, and returns what keeps the rules. Without PyTorch nothing is answered, and the reader of the status finds its end."""
    global torch, tree_leaves, tree_map, meta_rules, other_sizes, parts
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import torch
    from torch.utils._pytree import tree_leaves, tree_map
    import meta_rules
    import other_sizes
    import parts  # type: ignore[import-not-found]
    # Functions of the meta device are hidden from torch.compile, which takes a second to load only to be told so.
    torch._dynamo = sys.modules["torch._dynamo"] = types.ModuleType("torch._dynamo")
    torch._dynamo.disable = lambda function, *_, **__: function
    import torch.fx.experimental.symbolic_shapes  # noqa: F401  what many of those functions load; each child would
    try:
        import torch.distributed.fsdp._fully_shard._fsdp_collectives  # noqa: F401  defines FSDP's operators
    except (ImportError, OSError):  # they are refused by name; torch 2.9 writes a folder while it loads them
        pass
    return meta_rules.register()


def main():
    os.chdir("/")  # for all that PyTorch loads, see start.py, which runs this
    rules = load()
    os.write(1, b"\0")
    while os.read(0, 1):
        os.write(1, bytes([answer()]))
    del rules
