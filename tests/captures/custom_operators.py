"""A decoder's layer over the operators of vLLM, flash-attention and SGLang, by their own schemas.

None of these libraries is needed: the operators are defined here, and compute with numpy, so that a trace shows
no operators below them, as it shows none below their CUDA kernels.
"""

import ctypes
import math

import numpy as np
import torch

from steps import builder

SCHEMAS = {
    "_C": ["rms_norm(Tensor! result, Tensor input, Tensor weight, float epsilon) -> ()",
           "fused_add_rms_norm(Tensor! input, Tensor! residual, Tensor weight, float epsilon) -> ()",
           "rotary_embedding(Tensor positions, Tensor! query, Tensor!? key, int head_size, "
           "Tensor cos_sin_cache, bool is_neox) -> ()",
           "silu_and_mul(Tensor! result, Tensor input) -> ()"],
    "_C_cache_ops": ["reshape_and_cache_flash(Tensor key, Tensor value, Tensor! key_cache, "
                     "Tensor! value_cache, Tensor slot_mapping, str kv_cache_dtype, "
                     "Tensor k_scale, Tensor v_scale) -> ()"],
    "_vllm_fa2_C": ["varlen_fwd(Tensor! q, Tensor k, Tensor v, Tensor!? out, Tensor cu_seqlens_q, "
                    "Tensor cu_seqlens_k, Tensor? seqused_k, Tensor? leftpad_k, "
                    "Tensor? block_table, Tensor? alibi_slopes, int max_seqlen_q, "
                    "int max_seqlen_k, float p_dropout, float softmax_scale, bool zero_tensors, "
                    "bool is_causal, int window_size_left, int window_size_right, float softcap, "
                    "bool return_softmax, int num_splits) -> Tensor[]"],
    "flash_attn": ["_flash_attn_forward(Tensor q, Tensor k, Tensor v, float dropout_p, "
                   "float softmax_scale, bool causal, int window_size_left, "
                   "int window_size_right, float softcap, Tensor? alibi_slopes, "
                   "bool return_softmax) -> (Tensor, Tensor, Tensor, Tensor)"],
    "_moe_C": ["topk_softmax(Tensor! topk_weights, Tensor! topk_indices, "
               "Tensor! token_expert_indices, Tensor gating_output, bool renormalize) -> ()",
               "moe_sum(Tensor input, Tensor! output) -> ()"],
    "sgl_kernel": ["gemma_rmsnorm(Tensor! output, Tensor input, Tensor weight, float eps, "
                   "bool enable_pdl) -> ()"],
}

LIBRARIES = []


def array(tensor):
    """The tensor's memory. Its numpy() would be operators in the trace."""
    numbers = {torch.float32: np.float32, torch.int32: np.int32, torch.int64: np.int64}[tensor.dtype]
    item = np.dtype(numbers).itemsize
    elements = 1 + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
    memory = (ctypes.c_char * (elements * item)).from_address(tensor.data_ptr())
    return np.ndarray(tuple(tensor.shape), numbers, memory, strides=[item * s for s in tensor.stride()])


def norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def attend(q, k, v, scale, causal):
    """(queries, heads, width) over (keys, heads, width), and the logarithms of sums."""
    scores = np.einsum("qhd,khd->hqk", q, k) * scale
    if causal:
        scores += np.triu(np.full(scores.shape[1:], -np.inf), scores.shape[2] - scores.shape[1] + 1)
    sums = np.log(np.exp(scores).sum(-1))
    return np.einsum("hqk,khd->qhd", np.exp(scores - sums[..., None]), v), sums


def rms_norm(result, x, weight, epsilon):
    array(result)[...] = norm(array(x), array(weight), epsilon)


def fused_add_rms_norm(x, residual, weight, epsilon):
    array(residual)[...] += array(x)
    array(x)[...] = norm(array(residual), array(weight), epsilon)


def gemma_rmsnorm(output, x, weight, eps, enable_pdl):
    array(output)[...] = norm(array(x), array(weight) + 1, eps)


def rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox):
    assert is_neox
    cos, sin = np.split(array(cos_sin_cache)[array(positions)][:, None], 2, -1)
    for part in (query, key):
        heads = array(part).reshape(len(positions), -1, head_size)
        a, b = np.split(heads.copy(), 2, -1)
        heads[...] = np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def silu_and_mul(result, x):
    gate, up = np.split(array(x), 2, -1)
    array(result)[...] = gate / (1 + np.exp(-gate)) * up


def reshape_and_cache_flash(key, value, key_cache, value_cache, slot_mapping, *_):
    slots = array(slot_mapping)
    page = key_cache.shape[1]
    array(key_cache)[slots // page, slots % page] = array(key)
    array(value_cache)[slots // page, slots % page] = array(value)


def varlen_fwd(q, k, v, out, cu_seqlens_q, cu_seqlens_k, seqused_k, leftpad_k, block_table, alibi_slopes,
               max_seqlen_q, max_seqlen_k, p_dropout, softmax_scale, zero_tensors, is_causal, *_):
    sums = torch.empty(q.shape[1], q.shape[0])
    starts = array(cu_seqlens_q)
    for i, length in enumerate(array(seqused_k)):
        pages = array(block_table)[i]
        keys, values = (array(cache)[pages].reshape(-1, *k.shape[2:])[:length] for cache in (k, v))
        rows = slice(starts[i], starts[i + 1])
        array(out)[rows], array(sums)[:, rows] = attend(array(q)[rows], keys, values,
                                                          softmax_scale, is_causal)
    return [out, sums]


def _flash_attn_forward(q, k, v, dropout_p, softmax_scale, causal, *_):
    out = torch.empty(q.shape)
    sums = torch.empty(q.shape[0], q.shape[2], q.shape[1])
    for i in range(q.shape[0]):
        array(out)[i], array(sums)[i] = attend(array(q)[i], array(k)[i], array(v)[i],
                                                 softmax_scale, causal)
    return out, sums, torch.empty(0), torch.empty(2, dtype=torch.int64)


def topk_softmax(topk_weights, topk_indices, token_expert_indices, gating_output, renormalize):
    scores = np.exp(array(gating_output))
    scores /= scores.sum(-1, keepdims=True)
    best = np.argsort(-scores, -1)[:, :topk_weights.shape[1]]
    weights = np.take_along_axis(scores, best, -1)
    array(topk_weights)[...] = weights / (weights.sum(-1, keepdims=True) if renormalize else 1)
    array(topk_indices)[...] = best
    rows, count = best.shape
    array(token_expert_indices)[...] = np.arange(best.size).reshape(count, rows).T


def moe_sum(x, output):
    array(output)[...] = array(x).sum(1)


def define():
    for space, schemas in SCHEMAS.items():
        library = torch.library.Library(space, "DEF")
        for schema in schemas:
            library.define(schema)
            name = schema.split("(")[0]
            library.impl(name, globals()[name], "CPU")
        LIBRARIES.append(library)


TOKENS, HEADS, WIDTH, PAGE, PAGES, HIDDEN = 24, 4, 16, 8, 12, 64


@builder
def custom_operators():
    """Three sequences in pages, of which one decodes: norms, rotary, cache, attention, experts."""
    define()
    norms = [torch.rand(HIDDEN) + 0.5 for _ in range(4)]
    qkv, output = torch.randn(3 * HIDDEN, HIDDEN) / 8, torch.randn(HIDDEN, HIDDEN) / 8
    up, down = torch.randn(2 * HIDDEN, HIDDEN) / 8, torch.randn(HIDDEN, HIDDEN) / 8
    router, head = torch.randn(8, HIDDEN), torch.randn(100, HIDDEN) / 8
    table = torch.randn(100, HIDDEN)
    angles = torch.arange(64.0)[:, None] / 100 ** (torch.arange(WIDTH / 2) / WIDTH * 2)
    cos_sin = torch.cat([angles.cos(), angles.sin()], -1)
    key_cache, value_cache = torch.randn(2, PAGES, PAGE, HEADS, WIDTH).unbind(0)
    scale = torch.ones(())

    def step():
        tokens = torch.randint(0, 100, (TOKENS,))
        positions = torch.cat([torch.arange(16), torch.arange(7), torch.tensor([20])])
        slots = torch.cat([torch.arange(16), torch.arange(16, 23), torch.tensor([52])])
        starts = torch.tensor([0, 16, 23, 24], dtype=torch.int32)
        used = torch.tensor([16, 7, 21], dtype=torch.int32)
        blocks = torch.tensor([[0, 1, 0], [2, 0, 0], [4, 5, 6]], dtype=torch.int32)
        residual = torch.nn.functional.embedding(tokens, table)
        x = torch.empty_like(residual)
        torch.ops._C.rms_norm(x, residual, norms[0], 1e-6)
        query, key, value = (torch.nn.functional.linear(x, qkv).split(HIDDEN, -1))
        query, key = query.contiguous(), key.contiguous()
        torch.ops._C.rotary_embedding(positions, query, key, WIDTH, cos_sin, True)
        shape = (-1, HEADS, WIDTH)
        torch.ops._C_cache_ops.reshape_and_cache_flash(
            key.view(shape), value.reshape(shape), key_cache, value_cache, slots, "auto", scale, scale)
        out = torch.empty_like(query).view(shape)
        torch.ops._vllm_fa2_C.varlen_fwd(
            query.view(shape), key_cache, value_cache, out, starts, starts, used, None, blocks, None, 16,
            24, 0.0, 1 / math.sqrt(WIDTH), False, True, -1, -1, 0.0, False, 0)
        x = torch.nn.functional.linear(out.view(TOKENS, HIDDEN), output)
        torch.ops._C.fused_add_rms_norm(x, residual, norms[1], 1e-6)
        dense = x.view(2, TOKENS // 2, HEADS, WIDTH)
        y = torch.ops.flash_attn._flash_attn_forward(
            dense, dense, dense, 0.0, 1 / math.sqrt(WIDTH), True, -1, -1, 0.0, None, False)[0]
        x = x + y.reshape(TOKENS, HIDDEN)
        gates = torch.nn.functional.linear(x, router)
        weights = torch.empty(TOKENS, 2)
        experts, rows = (torch.empty(TOKENS, 2, dtype=torch.int32) for _ in range(2))
        torch.ops._moe_C.topk_softmax(weights, experts, rows, gates, True)
        wide = torch.nn.functional.linear(x, up)
        narrow = torch.empty(TOKENS, HIDDEN)
        torch.ops._C.silu_and_mul(narrow, wide)
        parts = torch.nn.functional.linear(narrow, down).unsqueeze(1) * weights.unsqueeze(-1)
        x = torch.empty(TOKENS, HIDDEN)
        torch.ops._moe_C.moe_sum(parts, x)
        last = torch.empty_like(x)
        torch.ops.sgl_kernel.gemma_rmsnorm(last, x, norms[2], 1e-6, False)
        return torch.nn.functional.linear(last, head).argmax(-1)

    def inference():
        with torch.no_grad():
            step()

    return inference
