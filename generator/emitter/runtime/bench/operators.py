"""Operators that only one device has, that change between releases of PyTorch, or that other libraries define."""

import torch
from torch import jit
from torch.nn import functional

from .tensors import device


def names_of(arguments):
    return arguments.replace("…", "out logsumexp cum_seq_q cum_seq_k max_q max_k dropout_p is_causal philox_seed philox_offset").split()


# Kernels of scaled_dot_product_attention: the device that has them, the arguments of the forward and of the backward operator, and the
# number of results of the forward operator.
ATTENTION = {
    "flash_attention_for_cpu": ("cpu", "query key value dropout_p is_causal",
                                "grad_out query key value out logsumexp dropout_p is_causal", 2),
    "flash_attention": ("cuda", "query key value dropout_p is_causal return_debug_mask", "grad_out query key value …", 9),
    "efficient_attention": ("cuda", "query key value attn_mask compute_log_sumexp dropout_p is_causal",
                            "grad_out query key value attn_mask out logsumexp philox_seed philox_offset dropout_p grad_input_mask "
                            "is_causal", 4),
    "cudnn_attention": ("cuda", "query key value attn_mask compute_log_sumexp dropout_p is_causal return_debug_mask",
                        "grad_out query key value out logsumexp philox_seed philox_offset attn_mask cum_seq_q cum_seq_k max_q max_k "
                        "dropout_p is_causal", 9),
    "fused_attention_overrideable": ("xpu", "query key value attn_mask dropout_p is_causal return_debug_mask",
                                     "grad_out query key value attn_mask grad_input_mask …", 9)}

REPLACED = {}  # by operator: what runs in its place on this device
ROWS = {}  # by operator: see row()
CALLS = {}  # by operator: the object that holds it, as which attribute, and the operator

# Namespaces whose operators only compute, and all operators that PyTorch has by itself. As et_schema/model/src/operator_trust.cpp of
# Understudy.
COMPUTING = ("_quantized aten fbgemm inductor mkl mkldnn mkldnn_prepacked onednn prims quantized quantization sparse torchvision").split()
BUILT_IN = set(torch._C._dispatch_get_all_op_names())


def find(name):
    """Returns the dispatcher's operator of a full name, as aten::add.Tensor. Returns None if it has none, or if that does more than
    compute."""
    base, _, overload = name.partition(".")
    if name in BUILT_IN and base.partition("::")[0] not in COMPUTING:
        return None
    try:
        torch._C._dispatch_find_schema_or_throw(base, overload)
        return torch._C._get_operation_overload(base, overload)[0]
    except RuntimeError:
        return None


def attend(given):
    """Calls the public operator and records it by autograd. Returns its result and the leaves that it was computed from."""
    leaves = [given[name].detach().requires_grad_() for name in ("query", "key", "value")]
    with torch.enable_grad():
        groups = leaves[0].size(1) // leaves[1].size(1)
        repeated = [t.repeat_interleave(groups, 1) if groups > 1 else t for t in leaves[1:]]
        result = functional.scaled_dot_product_attention(
            leaves[0], *repeated, attn_mask=given.get("attn_mask"), dropout_p=given.get("dropout_p", 0.0),
            is_causal=given.get("is_causal", False), scale=given.get("scale"))
    return result, leaves


def attention(names, count):
    def forward(*given, **named):
        graph = attend(dict(zip(names, given)) | named)
        others = [graph[0].new_empty(0) for _ in range(count - 1)]
        others[0].graph = graph  # the backward operator reads this result
        return (graph[0].detach(), *others)
    return forward


def attention_backward(names):
    def backward(*given, **named):
        given = dict(zip(names, given)) | named
        result, leaves = getattr(given["logsumexp"], "graph", None) or attend(given)
        gradients = torch.autograd.grad(result, leaves, given["grad_out"], retain_graph=True)
        return (*gradients, None) if "grad_input_mask" in names else gradients
    return backward


def batch_norm(*given):
    return (*torch.ops.aten.native_batch_norm.default(*given), given[0].new_empty(0, dtype=torch.uint8))


def batch_norm_backward(values, gradient, weight, mean, variance, saved_mean, saved_variance, epsilon, *_):
    return torch.ops.aten.native_batch_norm_backward.default(
        gradient, values, weight, mean, variance, saved_mean, saved_variance, True, epsilon, [True] * 3)


def public(name):
    """For an operator of one device only: returns whether this device has it, and an equivalent function of public operators."""
    kind, is_cuda = device().type, device().type == "cuda"
    if name.startswith("aten::_scaled_dot_product_"):
        kernel, is_backward, _ = name.removeprefix("aten::_scaled_dot_product_").partition("_backward")
        where, arguments, backward_arguments, count = ATTENTION.get(kernel, (kind, "", "", 0))
        function = attention_backward(names_of(backward_arguments)) if is_backward else attention(names_of(arguments), count)
        return kind == where, function
    if name.startswith(("aten::cudnn_batch_norm", "aten::miopen_batch_norm")):
        has_it = is_cuda and ("miopen" in name) == (torch.version.hip is not None)
        return has_it, batch_norm_backward if name.endswith("_backward") else batch_norm if "cudnn" in name else (
            lambda *given: batch_norm(*given)[:3])
    return True, None


def replaced(name, operator):
    """Returns the operator or its replacement on this device; None if there is neither."""
    has_it, function = public(name)
    if function is None:
        return operator or of_row(name)
    if has_it and operator is not None:
        return operator
    REPLACED[name] = "public operators"
    return function


def of_row(name):
    """Returns the operator map's function for a library's operator; None if it has none."""
    if name not in ROWS:
        return None
    names, takes, source = ROWS[name]
    unit = jit.CompilationUnit()
    unit.define(source, {"torch": torch.ops.aten}.get)  # no other name of Python is known
    function = unit.row

    def call(*given, **named):
        given = dict(zip(names, given)) | named
        with jit.optimized_execution(False):  # runs each of its operators
            return function(*(given.get(argument) for argument in takes))
    return call


def row(name, names, takes, source):
    """Describes a library's operator with these arguments by a function `row` of ATen's operators, for where no library has it. `takes`:
    the argument of each of its parameters; None: it gets None."""
    ROWS[name] = names, takes, source


def is_placed(name, places):
    """Returns false if an operator has kernels for plain tensors, but for none of these types of devices."""
    def has_kernel(place):
        return torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, torch._C._dispatch_key_for_device(place))
    return any(map(has_kernel, places)) or not any(map(has_kernel, ("cpu", "cuda")))


class Names:
    """Holds operators of a namespace, or overloads of an operator, as attributes."""


class CannotCall(Exception):
    """Names operators that cannot be called here."""


def operators(*names, places=()):
    """Returns the namespaces of operators, in the order of their names, with aten::add.Tensor as aten.add.Tensor. `places`: devices beside
    the chosen one that hold tensors."""
    own = {name: find(name) for name in names}
    calls = {name: replaced(name, own[name]) for name in names}
    unknown = [name for name in names if calls[name] is None]
    if unknown:
        raise CannotCall(f"PyTorch {torch.__version__} has no operator {', '.join(unknown)}: use the release in which the trace was "
                         "recorded, or give the library that has it, --op-library LIB.so")
    absent = [name for name in names if calls[name] is own[name] and not is_placed(name, (device().type, *places))]
    if absent:
        raise CannotCall(f"{device()} lacks operators of the step: {', '.join(absent)}")
    spaces = {}
    for name, call in calls.items():
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        operator = vars(spaces.setdefault(space, Names())).setdefault(base, Names())
        CALLS[name] = operator, overload or "default", call
    wrap(lambda name, call: call)
    return [spaces[space] for space in sorted(spaces)]


def wrap(wrapper):
    """Replaces each operator by wrapper(name, operator)."""
    for name, (operator, overload, call) in CALLS.items():
        setattr(operator, overload, wrapper(name, call))
