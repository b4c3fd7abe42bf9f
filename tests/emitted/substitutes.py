"""substitutes.py PROJECT: in an emitted project, public operators give what one device's kernel of attention does."""
import sys

import torch
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, sys.argv[1])
from bench.operators import replaced  # noqa: E402

name = "aten::_scaled_dot_product_efficient_attention"
leaves = [torch.randn(2, heads, 64, 32, requires_grad=True) for heads in (8, 2, 2)]
expected = scaled_dot_product_attention(leaves[0], *(t.repeat_interleave(4, 1) for t in leaves[1:]), is_causal=True)
gradient, given = torch.randn_like(expected), [t.detach() for t in leaves]
result, logsumexp, *_ = replaced(name, None)(*given, None, True, 0.0, True)
gradients = replaced(name + "_backward", None)(gradient, *given, None, result, logsumexp, None, None, 0.0, [True] * 4, True)
torch.testing.assert_close([result, *gradients[:3]], [expected.detach(), *torch.autograd.grad(expected, leaves, gradient)])
