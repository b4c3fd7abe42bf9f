"""Tests that `--as` takes the attention that torch itself takes on a card: torch's own choice runs on cards that are played."""

import math
import os
import random
import subprocess
import sys
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLAYED = ROOT / "build/release/tests/played_cuda"
DRAWS = 1500
HEADS = [5, 6, 8, 16, 20, 32, 64, 72, 96, 128, 160, 192, 200, 224, 256, 264, 512]


def drawn(torch, draw):
    """Returns the arguments of an attention, mostly usual ones."""
    dtype = draw.choice([torch.bfloat16, torch.bfloat16, torch.float16, torch.float32, torch.float64])

    def tensor(*sizes, dtype=dtype):
        whole = torch.empty(math.prod(sizes) + 1, dtype=dtype, device="cuda")
        made = whole[draw.random() < 0.1:][:math.prod(sizes)].view(sizes)
        made = draw.choice([made] * 8 + [made.transpose(0, 1).contiguous().transpose(0, 1), made.mT.contiguous().mT, made[:1].expand(sizes)])
        return made.detach().requires_grad_(draw.random() < 0.3 and dtype.is_floating_point)

    batch, heads, rows, head = (draw.choice(each) for each in ([0, 1, 2, 2], [1, 2, 8, 12], [0, 1, 2, 7, 64, 128], HEADS))
    key_heads, columns = draw.choice([heads, heads, 1, 2, 3]), draw.choice([rows, rows, 1, 77])
    value = tensor(batch, draw.choice([key_heads] * 5 + [heads]), columns, draw.choice([head] * 5 + HEADS))
    masks = [(batch, heads, rows, columns), (batch, 1, 1, columns), (rows, columns), (rows, 1), (heads, rows, columns)]
    mask = draw.choice([None, tensor(*draw.choice(masks), dtype=draw.choice([dtype, torch.bool]))])
    return (tensor(batch, heads, rows, head), tensor(batch, key_heads, columns, head), value, mask, draw.choice([0.0, 0.0, 0.1, 0.25]),
            mask is None and draw.random() < 0.5, draw.random() < 0.3)


def compare(capability):
    """Prints what torch chose, and what `--as` chose otherwise."""
    sys.path.insert(0, str(ROOT / "capture"))
    import torch
    from understudy.fake import attention
    major, minor = map(int, capability.split("."))
    card, draw, seen = types.SimpleNamespace(major=major, minor=minor, name="NVIDIA"), random.Random(1), set()
    for _ in range(DRAWS):
        *arguments, enable_gqa = drawn(torch, draw)
        for name in ("cudnn", "flash", "mem_efficient", "math"):
            getattr(torch.backends.cuda, f"enable_{name}_sdp")(draw.random() < 0.95)
        torch.use_deterministic_algorithms(draw.random() < 0.05)
        chosen = []
        for choose in (lambda: attention.ATTENTIONS[torch._fused_sdp_choice(*arguments, enable_gqa=enable_gqa)],
                       lambda: attention.choose(card, *arguments, enable_gqa)):
            try:
                chosen.append(choose())
            except RuntimeError:
                chosen.append("none")
        seen.add(" but ".join(dict.fromkeys(chosen)))
    print(*sorted(seen))


class AttentionTest(unittest.TestCase):
    @unittest.skipUnless((PLAYED / "libcudart.so.13").exists(), "no played card: the build has no LibTorch of CUDA 13")
    def test_it_is_what_torch_takes(self):
        for capability in ("7.5", "8.0", "8.9", "9.0", "10.3"):
            chosen = "math mem_efficient none" if capability == "7.5" else "cudnn flash math mem_efficient none"
            preloaded = {"LD_PRELOAD": f"{PLAYED}/libcudart.so.13 {PLAYED}/libcuda.so.1", "UNDERSTUDY_PLAYED_CAPABILITY": capability}
            ran = subprocess.run([sys.executable, __file__, capability], env={**os.environ, **preloaded}, text=True, capture_output=True, check=False)
            self.assertEqual((capability, ran.stdout.strip()), (capability, chosen), ran.stderr)


if __name__ == "__main__":
    compare(sys.argv[1]) if len(sys.argv) > 1 else unittest.main()
