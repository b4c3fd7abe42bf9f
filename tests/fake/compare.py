"""Compares captures without running (--as cpu) with captures of the same programs on real Gloo ranks: compare.py [NAME…]

A table: operators of each last rank that one of both called and the other did not (names, sizes, types), below operators that both
called excepted: what a kernel calls inside; collectives that differ (group, ranks, sizes, operator); peak of tensors' bytes. A CPU's
kernels have temporaries of their own, which no capture without running sees: _chunk_cat, which FSDP calls, makes the whole once more.
"""

import ast
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs.py")
CAPTURE = [sys.executable, "-m", "understudy", "capture"]
REAL = ["--comms", "nccl-form", "--warmup", "2", "--timed", "1", "--steady", "0", "--profiled", "0", "--no-fault-counts", "--threads", "1", "--stop"]
OURS = ("[pytorch", "ProfilerStep", "## ", "understudy", "nccl:")
RANKS = next(ast.literal_eval(line.partition("= ")[2]) for line in PROGRAMS.read_text().splitlines() if line.startswith("RANKS"))


def run(words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "capture"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}:\n{done.stderr[-4000:]}")


def capture(name, folder):
    """Captures a program both ways; returns the two folders."""
    ranks = RANKS[name]
    script = [str(PROGRAMS), name, "cpu"]
    counting = ROOT / "build/release/lib/understudy/libunderstudy_allocations.so"
    count = ["--count-allocations", str(counting)] if counting.exists() else []
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-port", str(random.randint(20000, 40000))]
    run([sys.executable, *(launcher if ranks > 1 else []), "-m", "understudy", "capture", "-o", f"{folder}/real", *REAL, *count, *script])
    run([*CAPTURE, "--as", "cpu", "--world-size", str(ranks), "--rank", str(ranks - 1), "-o", f"{folder}/fake", *script])
    return f"{folder}/real", f"{folder}/fake"


def key(node):
    return node["name"], json.dumps(node["inputs"]["shapes"]), json.dumps(node["inputs"]["types"])


def call(node):
    attributes = {each["name"]: each["value"] for each in node["attrs"]}
    return (*(str(attributes.get(name, "")) for name in ("collective_name", "dtype", "in_msg_nelems", "out_msg_nelems", "in_split_size", "out_split_size",
                                                 "pg_name", "pg_size", "global_rank_start", "global_rank_stride")), str(node["inputs"]["values"][3:4]))


def read(folder, rank):
    nodes = {node["id"]: node for node in json.load(gzip.open(f"{folder}/rank-{rank}.et.json.gz"))["nodes"]}
    described = json.loads(Path(folder, "capture.json").read_text())["ranks"]
    return nodes, next(each for each in described if each["rank"] == rank)["peak_tensor_bytes"]


def compare(folders, rank):
    """Returns operators that only the real one has, those that only the fake one has, collectives that differ, and the ratio of peaks."""
    (real, real_peak), (fake, fake_peak) = (read(folder, rank) for folder in folders)
    counts = [Counter(key(node) for node in nodes.values() if not node["name"].startswith(OURS)) for nodes in (real, fake)]
    both = counts[0] & counts[1]

    def is_below_one_of_both(node):
        while node["ctrl_deps"] != node["id"] and node["ctrl_deps"] in real:
            node = real[node["ctrl_deps"]]
            if "::" in node["name"] and not node["name"].startswith("autograd::") and key(node) in both:
                return True
        return False

    outside = Counter(key(node) for node in real.values() if not node["name"].startswith(OURS) and not is_below_one_of_both(node))
    only_real, only_fake = (Counter(name for name, *_ in some.elements()) for some in (outside - counts[1], counts[1] - counts[0]))
    calls = [[call(node) for _, node in sorted(nodes.items()) if node["name"] == "record_param_comms"] for nodes in (real, fake)]
    differ = sum(a != b for a, b in zip(*calls)) + abs(len(calls[0]) - len(calls[1]))
    return only_real, only_fake, differ, fake_peak / real_peak if real_peak else None


def main():
    print(f"{'program':12} ranks  only real  only fake  collectives that differ  peak, fake ÷ real")
    for name in sys.argv[1:] or RANKS:
        with tempfile.TemporaryDirectory() as folder:
            only_real, only_fake, differ, ratio = compare(capture(name, folder), RANKS[name] - 1)
        shown = "–" if ratio is None else f"{ratio:.4f}"
        print(f"{name:12} {RANKS[name]:5}  {only_real.total():9}  {only_fake.total():9}  {differ:23}  {shown:>17}", flush=True)
        for side, found in (("real", only_real), ("fake", only_fake)):
            for operator, count in found.most_common(6):
                print(f"    only {side}: {count} {operator}")


if __name__ == "__main__":
    main()
