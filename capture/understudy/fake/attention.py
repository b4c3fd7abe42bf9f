"""Attention as the named card would choose it.

torch chooses between cuDNN's, flash and memory-efficient attention in C++ by the device's properties, which no device answers here. The
rules are those of torch 2.11 to 2.15 (ATen/native/transformers/cuda/sdp_utils.cpp, and attention.cpp for what is called).
"""

import functools
import math

import torch
import torch.nn.functional as F

from ..kernels import ATTENTIONS
from .mode import TORCH

HALF = (torch.float16, torch.bfloat16)
PADDED_TO = 8  # flash's heads, and the rows of a mask
WIDE_BACKWARD = ((192, 128), (256, 256))  # heads of more than 128 of which cuDNN has gradients


def choose(card, query, key, value, mask, dropout, is_causal, enable_gqa):
    """Returns `cudnn`, `flash`, `mem_efficient` or `math`: the first that fits in the order of priority, which scripts may set. Raises
    RuntimeError if the script has forbidden all that fit."""
    of_arguments = (query, key, value)
    fuses = (all(each.dim() == 4 and each.dtype == query.dtype and each.size(0) == query.size(0) for each in of_arguments)
             and query.size(-2) > 0 and key.size(-2) > 0 and (mask is None or mask.stride(-1) == 1))
    capability, is_amd = (card.major, card.minor), card.name.startswith("AMD")
    heads, key_heads, value_heads = (each.size(1) for each in of_arguments)
    head, key_head, value_head, dtype = query.size(-1), key.size(-1), value.size(-1), query.dtype
    is_dense = all(each.stride(-1) == 1 for each in of_arguments)
    is_half = (8, 0) <= capability <= (12, 1) and dtype in HALF and (is_dense or head == 1)
    needs_grad = torch.is_grad_enabled() and any(each.requires_grad for each in of_arguments)

    def heads_fit(alike, in_groups=True):
        if not (enable_gqa and in_groups):
            return heads == key_heads == value_heads or (TORCH >= (2, 14) and heads > 0 and key_heads == value_heads == 1)
        return key_heads > 0 and heads % key_heads == 0 and (key_heads == value_heads or (not alike and value_heads > 0 and heads % value_heads == 0))

    def mask_fits():
        wanted = (query.size(0), heads, query.size(2), key.size(2))
        return mask is None or (not mask.requires_grad and mask.dim() in (2, 4)
                                and all(size in (1, most) for size, most in zip(mask.shape, wanted[-mask.dim():])))

    def cudnn():
        most = 256 if capability == (9, 0) or (card.major == 10 and TORCH >= (2, 14)) else 128
        lacks_backward = TORCH >= (2, 14) and needs_grad and most == 256 and max(head, value_head) > 128 and (head, value_head) not in WIDE_BACKWARD
        return (torch.backends.cuda.cudnn_sdp_enabled() and is_half and not is_amd and heads_fit(False) and mask_fits()
                and (max(head, value_head) <= most or (card.major == 10 and (head, value_head) == (192, 128))) and not lacks_backward
                and head % 8 == value_head % 8 == 0 and (dropout * 16 % 1 == 0 or TORCH < (2, 12)) and not (query.size(2) == 1 and dropout)
                and max(query.size(0), heads) <= 65535 and key.size(2) > 1
                and (not torch.are_deterministic_algorithms_enabled() or torch.is_deterministic_algorithms_warn_only_enabled()))

    def flash():
        # The backward pass of cards of these chips lacks room for the widest heads.
        is_small = (8, 6) <= capability <= (8, 9) or card.major == 12
        return (torch.backends.cuda.flash_sdp_enabled() and is_half and mask is None and head == key_head == value_head <= 256
                and heads_fit(True) and not (is_causal and query.size(2) != key.size(2))
                and not (needs_grad and is_small and (192 < head <= 224 or (head > 224 and dropout))))

    def efficient():
        unit = (8 if card.major >= 7 else 1) if dtype in HALF else (4 if card.major >= 8 else 1)
        fits = dtype in (torch.float16, torch.float32) or (card.major >= 8 and dtype == torch.bfloat16)
        is_aligned = card.major < 8 or TORCH < (2, 13) or all(each.storage_offset() % unit == 0 or not each.numel() for each in of_arguments)
        return (torch.backends.cuda.mem_efficient_sdp_enabled() and (5, 0) <= capability <= (12, 1) and fits and is_dense and heads_fit(True, TORCH >= (2, 14))
                and (heads == key_heads or not is_amd) and head == key_head > 0 and value_head > 0 and head % unit == value_head % unit == 0 and is_aligned)

    fits = {"math": torch.backends.cuda.math_sdp_enabled, **({"cudnn": cudnn, "flash": flash, "mem_efficient": efficient} if fuses else {})}
    for name in (ATTENTIONS[number] for number in torch._C._get_sdp_priority_order()):
        if name in fits and fits[name]():
            return name
    raise RuntimeError("No available kernel. Aborting execution.")  # as torch does


def _additive(mask, dtype):
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), -math.inf)


def _flash(query, key, value, _mask, dropout, is_causal, scale):
    head = query.size(-1)
    missing = -head % PADDED_TO
    if missing:
        query, key, value = (F.pad(each, (0, missing)) for each in (query, key, value))
    scale = 1 / math.sqrt(head) if scale is None else scale
    result = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout, is_causal, False, scale=scale)[0]
    return result[..., :head] if missing else result


def _efficient(query, key, value, mask, dropout, is_causal, scale):
    if mask is not None:
        keys = mask.size(-1)
        if keys % PADDED_TO:
            mask = F.pad(mask, (0, -keys % PADDED_TO))[..., :keys]
        mask = mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))
    needs_grad = torch.is_grad_enabled() and any(each.requires_grad for each in (query, key, value))
    return torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, mask, needs_grad, dropout, is_causal, scale=scale)[0]


def _cudnn(query, key, value, mask, dropout, is_causal, scale):
    needs_grad = torch.is_grad_enabled() and any(each.requires_grad for each in (query, key, value))
    return torch.ops.aten._scaled_dot_product_cudnn_attention(query, key, value, mask, needs_grad, dropout, is_causal, False,
                                                              scale=scale)[0]


CALLS = {"cudnn": _cudnn, "flash": _flash, "mem_efficient": _efficient}
_registered = torch.library.Library("aten", "IMPL")  # as long as it lives


def install(card, mode):
    """Where torch chooses: below autocast, above autograd, which inference_mode() leaves out."""
    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
        chosen, mask = choose(card, query, key, value, attn_mask, dropout_p, is_causal, enable_gqa), _additive(attn_mask, query.dtype)
        if chosen == "math":
            return torch.ops.aten._scaled_dot_product_attention_math(query, key, value, mask, dropout_p, is_causal, scale=scale,
                                                                     enable_gqa=enable_gqa)[0]
        return CALLS[chosen](query, key, value, mask, dropout_p, is_causal, scale)

    if card.major in (9, 10) and not card.name.startswith("AMD"):  # torch does so at the first attention
        torch._C._set_sdp_priority_order([ATTENTIONS.index(name) for name in ("cudnn", "flash", "mem_efficient", "math")])
    _registered.impl("scaled_dot_product_attention", attention, "AutogradCUDA")
    mode.handlers[torch.ops.aten.scaled_dot_product_attention] = functools.partial(mode.run_native, native=attention)
