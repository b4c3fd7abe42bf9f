"""Results of operators for which PyTorch has no function on the meta device, or one with another result than devices give.

The other rules are PyTorch's own. What a GPU gives is assumed unless all tensors of the call were recorded on a CPU.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

META = torch.device("meta")


class Where:
    """Where the current call was recorded."""

    on_cpu = False


class OnMeta(TorchDispatchMode):
    """Refuses calls that take or make tensors with memory, or reach beyond what they view: what memory holds must decide nothing. Operators
    composed of others are taken apart, so that each is seen. `why`: what was refused; `failed`: what a kernel said, which functions lose."""

    why = failed = ""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        named, name = dict(kwargs or {}), operator.name()
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"):
            with self:
                return operator.decompose(*args, **named)
        for argument in operator._schema.arguments:
            if argument.kwarg_only and "Device" in str(argument.type) and named.get(argument.name) is None:
                named[argument.name] = META
        if name != "aten::_to_copy" or named["device"] != META:  # what a tensor holds is not copied to where nothing is held
            self._hold([*args, *named.values()], name)
        try:
            results = operator(*args, **named)
        except Exception as why:
            self.failed = str(why).partition("\n")[0]
            raise
        self._hold([results], name)
        return results

    def _hold(self, values, name):
        for value in tree_leaves(values):
            if isinstance(value, torch.Tensor):
                if value.device != META:
                    self.why = f"{name} takes or makes a tensor with memory: only layouts are known (the meta device)"
                elif value.layout == torch.strided and value.numel() and value.untyped_storage().nbytes() < value.itemsize * (
                        1 + value.storage_offset() + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))):
                    self.why = f"{name} reaches beyond the memory of a tensor"
                if self.why:
                    raise RuntimeError(self.why)


class Given:
    """The arguments of a call of an operator without PyTorch's own function, by the names in its schema; others are None."""

    def __init__(self, schema, positional, named):
        self.__dict__.update({argument.name: argument.default_value for argument in schema.arguments if argument.has_default_value()})
        self.__dict__.update(zip((argument.name for argument in schema.arguments), positional))
        self.__dict__.update(named)
        values = [self.__dict__.get(argument.name) for argument in schema.arguments]
        self.part, self.after_sizes = values[0], values[2:]
        self.data = next((data for data in (self.input, self.self) if data is not None), self.part)

    def __getattr__(self, _):
        return None

    def wanted(self, *results):
        """Results, or None where output_mask leaves one out."""
        mask = self.output_mask or [True] * len(results)
        return tuple(result() if wanted else None for wanted, result in zip(mask, results))


def like(tensor):
    return torch.empty_like(tensor)


def dense(tensor, sizes=None, dtype=None):
    return tensor.new_empty(tensor.shape if sizes is None else sizes, dtype=dtype or tensor.dtype)


def accumulates(dtype):
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def in_order(*tensors):
    """The memory format of libraries of convolutions: of the input or, if that is contiguous, of the weight."""
    formats = map(torch._prims_common.suggest_memory_format, tensors)
    return next((order for order in formats if order != torch.contiguous_format), torch.contiguous_format)


def convolved(given, transposed=None):
    weight, planes = given.weight, given.data.dim() - 2
    stride, padding, dilation, output_padding = (
        list(numbers or [least]) * (planes if len(numbers or [0]) == 1 else 1)
        for numbers, least in ((given.stride, 1), (given.padding, 0), (given.dilation, 1), (given.output_padding, 0)))
    windows = zip(given.data.shape[2:], weight.shape[2:], stride, padding, dilation, output_padding)
    if given.transposed if transposed is None else transposed:
        sizes = [weight.size(1) * (given.groups or 1)]
        sizes += [(size - 1) * step - 2 * pad + wide * (kernel - 1) + more + 1 for size, kernel, step, pad, wide, more in windows]
    else:
        sizes = [weight.size(0)] + [(size + 2 * pad - wide * (kernel - 1) - 1) // step + 1 for size, kernel, step, pad, wide, _ in windows]
    return torch.empty([given.data.size(0), *sizes], dtype=given.data.dtype, device="meta", memory_format=in_order(given.data, weight))


def convolved_backward(given):
    order, weight = in_order(given.data, given.weight), given.weight
    return given.wanted(lambda: torch.empty_like(given.data, memory_format=order), lambda: torch.empty_like(weight, memory_format=order),
                        lambda: dense(given.grad_output, [given.grad_output.size(1)]))[:len(given.output_mask or "12")]


def attention(given):
    """Of any device: which kernel runs depends on it and on settings; the default ones are assumed."""
    query, value = given.query, given.value
    sizes = [*query.shape[:-1], value.size(-1)]
    halves = query.dtype in (torch.float16, torch.bfloat16)
    fuses = query.dim() == 4 and (not given.dropout_p and query.shape[-1] == value.shape[-1] if Where.on_cpu
                                  else query.dtype != torch.float64)
    if not fuses:
        return dense(query, sizes)
    if Where.on_cpu or (halves and given.attn_mask is None):  # flash: as the query
        order = sorted(range(4), key=lambda dim: -query.stride(dim))
        return like(query) if list(query.shape) == sizes else torch.empty_permuted(sizes, order, dtype=query.dtype, device="meta")
    return torch.empty_permuted(sizes, (0, 2, 1, 3), dtype=query.dtype, device="meta")


def statistics(given):
    one = dense(given.data, [given.data.size(1)], accumulates(given.data.dtype)) if given.mean is None else given.mean
    return dense(one, one.shape[-1:]), dense(one, one.shape[-1:])


def reduced(given):
    channels, of_mean = [given.data.size(1)], given.mean.dtype
    of_weight = of_mean if given.weight is None else given.weight.dtype
    parts = ((given.input_g, of_mean), (given.input_g, of_mean), (given.weight_g, of_weight), (given.bias_g, of_weight))
    return tuple(dense(given.data, channels, dtype) if wanted else None for wanted, dtype in parts)


def normalized(given):
    return torch.empty_like(given.data, memory_format=in_order(given.data))


def recurrent_backward(given):
    return (dense(given.input), dense(given.hx), None if given.cx is None else dense(given.cx),
            [dense(weight) if given.output_mask[3] else dense(weight, [0]) for weight in given.weight])


def log_sigmoid(given):
    return (dense(given.data), dense(given.data)) if Where.on_cpu else (like(given.data), dense(given.data, [0]))


def agree(one, other, what):
    if list(one) != list(other):
        raise RuntimeError(f"{what} are {list(one)} and {list(other)}")


def of_part(take):
    return lambda given: agree(given.part.shape, take(given.part.new_empty(given.input_sizes), *given.after_sizes).shape,
                               "the gradient of a part and the part")


def one_batch(given):
    for other in (given.key, given.value):
        if 1 not in (given.query.size(0), other.size(0)):
            agree(given.query.shape[:1], other.shape[:1], "batches of queries and of keys or values")
    agree(given.key.shape[-2:-1], given.value.shape[-2:-1], "keys and values")


def rows_along(given):
    sizes = [[size for at, size in enumerate(tensor.shape) if at != given.dim % tensor.dim()] for tensor in (given.data, given.source)]
    agree(*sizes, "other dimensions of what is written and of its source")


def one_state(given):
    for state in (given.hx_, given.cx_):
        agree(given.input.shape[1:2], state.shape[-2:-1], "batches of input and state")


def same_shapes(given):
    """Of the tensors at each place of lists; numbers of steps aside."""
    for column in zip(*(value for value in vars(given).values() if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor))):
        shapes = [tensor.shape for tensor in column if tensor.numel() > 1]
        for shape in shapes:
            agree(shapes[0], shape, "tensors at one place")


def as_said(given):
    agree([tensor.numel() for tensor in given.all_gather_inputs], given.inp_split_sizes, "elements of what is gathered and what is said of them")
    agree([given.all_gather_input_numel], [sum(given.inp_split_sizes)], "elements of all and their sum")


CHECKS = {  # what kernels check and PyTorch's functions do not
    of_part(torch.ops.aten.select.int): "select_backward",
    of_part(torch.ops.aten.slice.Tensor): "slice_backward",
    of_part(torch.ops.aten.diagonal.default): "diagonal_backward",
    of_part(torch.ops.aten.unfold.default): "unfold_backward",
    one_batch: """scaled_dot_product_attention _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu
        _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention""",
    rows_along: "index_copy index_copy_",
    one_state: "mkldnn_rnn_layer",
    same_shapes: "_foreach_copy_ _fused_adagrad_ _fused_adam_ _fused_adamw_ _fused_sgd_",
    as_said: "fsdp::all_gather_copy_in",
}


ROWS = {  # names without overload: the rule is for each that PyTorch has no function for
    lambda given: (like(given.data),): "_masked_softmax _masked_softmax_backward _sample_dirichlet _standard_gamma _standard_gamma_grad binomial",
    lambda given: (convolved(given),):
        """convolution_overrideable cudnn_convolution cudnn_convolution_relu cudnn_convolution_add_relu miopen_convolution
        miopen_convolution_relu miopen_convolution_add_relu miopen_depthwise_convolution mkldnn_convolution slow_conv_dilated2d
        slow_conv_dilated3d _slow_conv2d_forward _conv_depthwise2d conv_depthwise3d slow_conv3d_forward""",
    lambda given: (convolved(given, transposed=True),):
        "cudnn_convolution_transpose miopen_convolution_transpose slow_conv_transpose2d slow_conv_transpose3d",
    convolved_backward: "convolution_backward_overrideable _slow_conv2d_backward",
    statistics: "batch_norm_stats batch_norm_update_stats batch_norm_gather_stats batch_norm_gather_stats_with_counts",
    reduced: "batch_norm_backward_reduce",
    lambda given: (normalized(given),): "batch_norm_elemt batch_norm_backward_elemt",
    lambda given: (dense(given.hx), dense(given.hx, [given.hx.size(0), 5 * given.hx.size(1)])): "_thnn_fused_gru_cell",
    recurrent_backward: "_cudnn_rnn_backward miopen_rnn_backward",
    lambda given: (dense(given.log_probs),): "_ctc_loss_backward",
    lambda given: (dense(given.self),): "multi_margin_loss_backward multilabel_margin_loss_backward",
    lambda given: (None,): "_fused_sgd_",
}
INSTEAD = {  # of PyTorch's own function
    lambda given: (convolved(given),): "convolution",
    convolved_backward: "convolution_backward",
    log_sigmoid: "log_sigmoid_forward",
    lambda given: (dense(given.self),): "mse_loss_backward",
}
COMPOSED = {  # of others, for which the dispatcher takes no function
    "aten::pin_memory": lambda given: like(given.data),
    "aten::scaled_dot_product_attention": attention,
}


CHECK_OF = {name if "::" in name else f"aten::{name}": check for check, names in CHECKS.items() for name in names.split()}


def kernel_of(schema, rule):
    def kernel(*positional, **named):
        results = rule(Given(schema, positional, named))
        return results if len(schema.returns) > 1 else results[0]
    return kernel


def register():
    """Makes the rules PyTorch's functions, and lets PyTorch's own ones give what devices do; returns what keeps them."""
    library = torch.library.Library("aten", "IMPL", "Meta")
    torch._meta_registrations.device_hint = lambda _: "cpu" if Where.on_cpu else "cuda"
    named = [(rows, rule, name) for rows in (ROWS, INSTEAD) for rule, names in rows.items() for name in names.split()]
    for rows, rule, name in named:
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
            full = f"{name}.{schema.overload_name}".rstrip(".")
            writes = any(argument.name == "out" for argument in schema.arguments)
            is_known = torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{full}", "Meta")
            if not writes and (rows is INSTEAD or not is_known):
                library.impl(full, kernel_of(schema, rule), allow_override=True)
    return library


def call(operator, values):
    """Calls the operator with arguments by name, or its rule."""
    name = operator._schema.name
    if name in CHECK_OF:
        CHECK_OF[name](Given(operator._schema, (), values))
    return COMPOSED[name](Given(operator._schema, (), values)) if name in COMPOSED else operator(**values)
