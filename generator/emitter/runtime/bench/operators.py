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
GROUPED_QUERIES = (2, 9)  # the release that added them to flash_attention_for_cpu
RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])


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


def chosen(name, operator, note):
    """Returns the operator or its replacement on this device; `note` is called with the name and a description of the replacement."""
    has_it, function = public(name)
    if function is None:
        return operator
    if not has_it or operator is None:
        note(name, "public operators")
        return function
    if not name.startswith("aten::_scaled_dot_product_flash_attention_for_cpu") or RELEASE >= GROUPED_QUERIES:
        return operator
    query = int(name.endswith("_backward"))

    def by_heads(*given, **named):
        if given[query].size(1) == given[query + 1].size(1):
            return operator(*given, **named)
        note(name, "public operators: grouped queries")
        return function(*given, **named)
    return by_heads


class Operators(dict):
    """The operators of a step by their full names. Each is wrap(name, operator); `operator` is None if PyTorch does not have it."""

    def __init__(self, wrap):
        super().__init__()
        self._wrap = wrap

    def __missing__(self, name):
        self[name] = self._wrap(name, find(name))
        return self[name]


ops = Operators(lambda name, operator: operator)


class Operator:
    """A library's operator or, if the library is not loaded, an equivalent function of ATen's operators."""

    def __init__(self, schema, positional, arguments, source):
        """`arguments`: by parameter of the source's function `row`, the position of the operator's argument; -1: None."""
        self.schema, self.positional, self.arguments, self.source = schema, positional, arguments, source
        self.call = None

    def __call__(self, *given):
        if self.call is None:
            self.call = self.of_library() or self.of_row(torch.ops.aten)
        return self.call(*given)

    def of_library(self):
        name, _, rest = self.schema.partition("(")
        operator = find(name)
        names = [argument.split()[-1] for argument in rest.partition(") ->")[0].split(", ")[self.positional:]]
        return operator and (lambda *given: operator(*given[:self.positional],
                                                     **dict(zip(names, given[self.positional:]))))

    def of_row(self, torch):  # the source calls ATen's functions by this name
        row = jit.CompilationUnit(self.source).row

        def call(*given):
            with jit.optimized_execution(False):  # runs each of its operators
                return row(*(None if i < 0 else given[i] for i in self.arguments))
        return call
