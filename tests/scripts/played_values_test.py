"""Tests what a script reads on a card that is not there: exact values where they follow from its own numbers, `?` or a refusal elsewhere."""

import argparse
import os
import sys
import tempfile
import traceback
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "capture")]
from understudy.played import command  # noqa: E402
from played_test import TRITON as OF_TRITON  # noqa: E402

# Line 7 reads. Of known values: k, mask. Of values that were never computed: x, loss.
SCRIPT = """import torch, math
network = torch.nn.Linear(64, 64, device="cuda")
x = torch.randn(16, 64, device="cuda")
loss = network(x).square().mean()
k = torch.arange(10, device="cuda")
mask = torch.ones(4, 4, device="cuda", dtype=torch.bool).tril()
{line}
"""
GUARD = "move it out of the captured steps, or leave it out for this capture"
IF = f"a tensor decides what the program does (if, while, assert), and its value was never computed; {GUARD}"
INT = f"a tensor's value is read as an integer (a size, an index), and it was never computed; {GUARD}"
READ = f"a tensor's value, read at train.py:7, decides what the program does, and it was never computed; {GUARD}"
FLOAT = "float() makes a plain number of a tensor's value, which was never computed; use .item(), whose number prints as ?, sums, and does not decide unseen"
NUMPY = f"a tensor's values are read into numpy, and they were never computed; {GUARD}"
LIST = f"tolist() reads a tensor's values, and they were never computed; {GUARD}"


def needs(operator):
    return f"{operator} needs a tensor's value, which was never computed; {GUARD}"


def sizes(operator):
    return (f"{operator} has a result whose size depends on values, which were never computed; use a form of fixed size (torch.where, a mask "
            f"that multiplies), or {GUARD}")


TRITON = OF_TRITON.rpartition("; ")[0] + "; y = torch.ones(64, device='cuda'); z = torch.ones(64, device='cuda'); scope['twice'][(1,)](y, 64); "
GRAPH = ("y = k * 1; z = k * 1; g = torch.cuda.CUDAGraph(); s = torch.cuda.Stream(); torch.cuda.set_stream(s); g.capture_begin(); y.add_(1); g.capture_end(); ")
CUSTOM = ("l = torch.library.Library('mine', 'DEF'); l.define('double(Tensor x) -> Tensor'); l.impl('double', lambda x: x * 2, 'CUDA'); "
          "y = torch.ops.mine.double(k); ")
PYTHON = "double = torch.library.custom_op('mine::double', lambda x: x * 2, mutates_args=(), schema='(Tensor x) -> Tensor'); "
GROUP = "import torch.distributed as dist; dist.init_process_group('nccl', store=dist.HashStore(), rank=0, world_size=2); "
# A line of the script → what is said of it.
REFUSED = {
    "if loss < 3: pass": IF,
    "while not (loss < 1e-3): pass": IF,
    "best = 9.0; best = min(best, loss.item())": READ,
    "assert loss.item() > 0": READ,
    "(network(x) > 0).all() and 1": IF,
    "(x > 0).nonzero()": sizes("aten::nonzero"),
    "x[x > 0]": sizes("aten::nonzero"),
    "x.unique()": sizes("aten::_unique2"),
    "k.repeat_interleave((x[0, :10] > 0).long())": sizes("aten::repeat_interleave"),
    "torch.equal(x, x + 1)": needs("aten::equal"),
    "x.argmax().item() == 3": READ,
    "x.topk(2).values.tolist()": LIST,
    "k[x.argmax()]": needs("aten::item"),
    "int(loss)": INT,
    "range((x > 0).sum())": INT,
    "torch.empty((x > 0).sum().item())": READ,
    "x.cpu().numpy()": NUMPY,
    "h = x.cpu() * 2 + 1; h[0, 0] > 3 and 1": IF,
    "h = torch.empty(16, 64, pin_memory=True); h.copy_(x, non_blocking=True); torch.cuda.synchronize(); bool(h.sum() > 0)": IF,
    "x.cpu().nonzero()": sizes("aten::nonzero"),
    "torch.equal(x.cpu(), torch.ones(16, 64))": needs("aten::equal"),
    "y = torch.zeros(4, device='cuda'); y[1] = loss.detach(); bool(y.sum() > 0)": IF,
    "y = torch.zeros(4, device='cuda'); torch.sum(x, (0, 1), out=y[0]); bool(y[0] > 0)": IF,
    "y = torch.zeros(4, device='cuda'); y.data += loss.detach(); bool(y.any())": IF,
    "y = torch.zeros(4, device='cuda'); v = y.view(2, 2)[1]; y.add_(loss.detach()); bool(v[0] > 0)": IF,
    "y = [torch.zeros(4, device='cuda')]; torch._foreach_add_(y, [x[0, :4]]); bool(y[0].any())": IF,
    "y = torch.tensor([1.0, loss.item()]); bool(y.sum() > 1)": IF,
    "bool((k * loss.item()).sum() > 1)": IF,
    "bool(torch.full((2,), loss.item(), device='cuda').sum() > 1)": IF,
    "math.exp(loss.item()) > 2": READ,
    "math.exp(loss) > 2": READ,
    "math.fsum([loss.item()] * 2) / 2 > 2": READ,
    "math.isclose(loss.item(), 1)": READ,
    "round(loss.item(), 2) > 0.5": READ,
    "round(loss.item())": READ,
    "float(loss) > 0.5": FLOAT,
    "float(loss.item()) > 0.5": FLOAT,
    "list(map(float, [loss])) == [1.0]": FLOAT,
    "import numpy; numpy.mean([loss.item()]) > 0.5": FLOAT,
    "import numpy; numpy.float32(loss.item()) > 0.5": FLOAT,
    "bool((k.new_tensor([loss.item()]) > 1).any())": IF,
    "n = torch.nn.BatchNorm1d(64).cuda(); n(x); bool(n.running_mean.any())": IF,
    "loss.backward(); network.weight.grad.norm() > 1 and 1": IF,
    "network.weight.register_hook(lambda g: g * 2 if g.sum() > 0 else g); loss.backward()": IF,
    "y = k.float() * 1; y.uniform_(); bool(y[0] > 2)": IF,
    "bool(torch.nn.functional.dropout(torch.ones(4, device='cuda')).any())": IF,
    CUSTOM + "bool(y.any())": IF,
    TRITON + "bool(y.all())": IF,
    GRAPH + "g.replay(); bool(y.all())": IF,
    GRAPH + "bool((y > 3).any())": IF,
    "bool(torch.compile(lambda x: x * 2 + 1)(k).any())": IF,
    GROUP + "y = x * 1; dist.all_reduce(y); bool(y.any())": IF,
    "import numpy; numpy.exp(loss.item()) < 2": READ,
    "y = x.cpu().cuda(); bool(y.any())": IF,
    "0.5 in x": f"a tensor's truth is read, and it was never computed; {GUARD}",
    "torch.nn.utils.rnn.pack_padded_sequence(x[:, :4], (x[0, :4] > 0).long().cpu() + 1)": needs("aten::_pack_padded_sequence"),
    "y = torch.zeros(1 << 21, device='cuda'); bool(y.any())": IF,
    "del k; y = torch.empty(10, dtype=torch.long, device='cuda'); bool(y.any())": IF,
}
# A line of the script → what it prints.
PRINTED = {
    "f'{loss:.3f} {loss.item():.2f} {loss.item() + 1} {sum([loss.item()] * 2) / 2} {round(loss.item(), 2)}', loss": "? ? ? ? ? tensor(?, size=(), dtype=torch.float32, device='cuda:0')",
    "math.exp(loss.item()), math.exp(loss), x.cpu().mean().item(), math.sqrt(k[4]), math.isfinite(loss), math.isnan(loss.item())": "? ? ? 2.0 True False",
    "mask.all().item(), mask.any().item(), bool(mask[3].all())": "False True True",
    "(k > 3).nonzero().flatten().tolist(), k[k > 7].tolist(), len(k.unique())": "[4, 5, 6, 7, 8, 9] [8, 9] 10",
    "k.topk(2).values.tolist(), (-k).sort().indices[0].item(), k.argmax().item()": "[9, 8] 9 9",
    "k.repeat_interleave(k).shape[0], torch.tensor([3, 3, 1], device='cuda').unique_consecutive(return_counts=True)[1].tolist()": "45 [2, 1]",
    "torch.equal(k, k.clone()), torch.equal(k, k + 1), torch.allclose(k.float(), k.float())": "True False True",
    "int(k[3]), list(range(k[2])), k[k[5]].item(), k.cpu().numpy().sum()": "3 [0, 1] 5 45",
    "k.view(2, 5).t().contiguous()[1].tolist(), k.bfloat16().cumsum(0)[-1].item(), k.flip(0)[::3].tolist()": "[1, 6] 45.0 [9, 6, 3, 0]",
    "k.add_(1).mul_(2)[:3].tolist(), k[:2].zero_().sum().item(), k.tolist()[1:3]": "[2, 4, 6] 0 [0, 6]",
    "x.new_zeros(3).tolist(), torch.zeros_like(x)[0, 0].item(), torch.full_like(loss, 7).item()": "[0.0, 0.0, 0.0] 0.0 7.0",
    "bool(torch.isfinite(loss)), bool(x.isnan().any()), torch.isinf(x.cpu()).any().item()": "True False False",
    "x.topk(2).indices.histc(5, 0, 63).tolist(), torch.histc(k.float(), 2, 0, 9).tolist()": "[7, 7, 6, 6, 6] [5.0, 5.0]",
    "torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0, error_if_nonfinite=True), loss.backward()": "tensor(0.) None",
    "loss.backward(), torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0, error_if_nonfinite=True)": "None tensor(?, size=(), dtype=torch.float32, device='cuda:0')",
    "*[(s := torch.amp.GradScaler(), o := torch.optim.AdamW(network.parameters(), fused=True), s.scale(loss).backward(), s.step(o), s.update(), s.get_scale())[-1]]": "?",
    "*[(w := torch.tensor([2.0, 3.0], device='cuda', requires_grad=True), (w ** 2).sum().backward(), w.grad.tolist())[-1]]": "[4.0, 6.0]",
    "*[(o := torch.optim.Adam(network.parameters(), capturable=True), loss.backward(), o.step(), o.state[network.bias]['step'].item())[-1]]": "1.0",
    "*[(c := torch.zeros(4, device='cuda'), c[1:].copy_(torch.ones(3)), c.tolist())[-1]]": "[0.0, 1.0, 1.0, 1.0]",
    "torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(network.parameters(), 0.1)).step(loss)": "None",
    "*[(h := torch.autograd.graph.save_on_cpu(), h.__enter__(), y := network(x).square().sum(), h.__exit__(), y.backward(), network.bias.grad.sum().item())[-1]]": "?",
    "torch.compile(lambda x: x * torch.isfinite(x).all() + torch.tensor(1.0), fullgraph=True)(x).shape[0]": "16",
    "torch.nn.LSTM(64, 8).cuda()(torch.nn.utils.rnn.pack_padded_sequence(x.view(4, 4, 64), [4, 3, 2, 1]))[0].data.shape[0]": "10",
    "torch.compile(lambda x: x / math.sqrt(x.shape[0]) + math.prod(x.shape), fullgraph=True)(x).shape[0]": "16",
    "torch.rand(1).item() < 2, torch.randn(3).numpy().shape": "True (3,)",
}
PREPARED = {  # a line before what is printed
    TRITON: ("z.sum().item()", "64.0"),
    GRAPH: ("z.tolist()[:3], y.shape[0]", "[0, 1, 2] 10"),
    CUSTOM: ("y.shape[0], k.sum().item()", "10 45"),
    PYTHON: ("double(k).sum().item()", "90"),
    "k.sum(); y = [torch.ones(64, device='cuda') * i for i in range(8)]; [network(x).relu() for _ in range(3)]; ": ("[int(each.sum()) for each in y]", "[0, 64, 128, 192, 256, 320, 384, 448]"),
}


class PlayedValuesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver, _ = command.load(argparse.Namespace(card="H100", rank=0, world_size=None, ranks_per_node=8))

    def run_line(self, line):
        """Runs the script in a process of its own; returns the last line that it printed, or what it is refused with."""
        with tempfile.TemporaryFile("w+") as told:
            child = os.fork()
            if child == 0:
                os.dup2(told.fileno(), 1)
                print(self._run(line), flush=True)
                os._exit(0)
            os.waitpid(child, 0)
            told.seek(0)
            return (told.read().splitlines() or ["it ended"])[-1]

    def _run(self, line):
        from understudy.played import values

        values.Values().install(self.driver)
        scope = {"__name__": "__main__"}
        try:
            exec(compile(SCRIPT.format(line=line), "train.py", "exec"), scope)
            values.check_refused()
        except Exception as error:
            return values.refusal(error) or "".join(traceback.format_exception(error)[-4:]).replace("\n", " ")
        return scope.get("printed", "nothing was refused")

    def test_what_decides_by_values_is_refused_by_its_line(self):
        for line, said in REFUSED.items():
            with self.subTest(line):
                got = self.run_line(line)
                self.assertEqual(got.partition(": ")[2], said, got)
                self.assertRegex(got, r"^(train|played_values_test)\.py:")

    def test_what_follows_from_the_scripts_numbers_is_exact(self):
        rows = {("", line): printed for line, printed in PRINTED.items()} | {(first, line): printed for first, (line, printed) in PREPARED.items()}
        for (first, line), printed in rows.items():
            with self.subTest(first + line):
                self.assertEqual(self.run_line(f"{first}printed = ' '.join(map(str, ({line},)))"), printed)


if __name__ == "__main__":
    unittest.main()
