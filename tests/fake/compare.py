"""Compares captures without running with real ones of the same programs:

    compare.py [NAME…]              --as cpu, with captures on real Gloo ranks of programs.py
    compare.py --recorded [NAME…]   --as H100, with the profiles that tests/profiles/record.py recorded there

A table: operators of each last rank that one of both called and the other did not (names, sizes, types; with recordings strides, too),
below operators that both called excepted: what a kernel calls inside; collectives that differ (group, ranks, sizes, operator); peak of
tensors' bytes. A CPU's kernels have temporaries of their own, which no capture without running sees: _chunk_cat, which FSDP calls, makes
the whole once more. Recordings need transformers 5.15.1 and torchvision in this Python, and a build. What differs in DLRM: torch computes
the gradient of a binary cross entropy in place for real tensors alone. The compiled step is left out.
"""

import ast
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CARD = "h100"
RECORDED = sorted(path.name.removesuffix(f"_{CARD}.json.gz") for path in (ROOT / "tests/profiles/recorded").glob(f"*_{CARD}.json.gz")
                  if "compiled" not in path.name)
MOST_LISTED = 30  # torch/csrc/profiler/util.h: a longer list of tensors has no sizes in a profile
PROGRAMS = Path(__file__).with_name("programs.py")
CAPTURE = [sys.executable, "-m", "understudy", "capture"]
REAL = ["--comms", "nccl-form", "--warmup", "2", "--timed", "1", "--steady", "0", "--profiled", "0", "--no-fault-counts", "--threads", "1", "--stop"]
OURS = ("[pytorch", "ProfilerStep", "## ", "understudy", "nccl:", "Optimizer.")
BIN = ROOT / "build/release/bin"
OF_CALLS = ("name", "group", "group_size", "batch", "dtype", "in_bytes", "out_bytes", "reduce_op", "asynchronous")
OF_KINDS = ("data_stages", "tensor_stages")  # jobs of more ranks than kinds
RANKS = next(ast.literal_eval(line.partition("= ")[2]) for line in PROGRAMS.read_text().splitlines() if line.startswith("RANKS"))


def run(words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "capture"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}:\n{done.stderr[-4000:]}")
    return done.stdout


def capture(name, folder):
    """Captures a program both ways; returns the two folders."""
    ranks = RANKS[name]
    script = [str(PROGRAMS), name, "cpu"]
    counting = ROOT / "build/release/lib/understudy/libunderstudy_allocations.so"
    count = ["--count-allocations", str(counting)] if counting.exists() else []
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-port", str(random.randint(20000, 40000))]
    run([sys.executable, *(launcher if ranks > 1 else []), "-m", "understudy", "capture", "-o", f"{folder}/real", *REAL, *count, *script])
    which = ["--all-kinds"] if name in OF_KINDS else ["--rank", str(ranks - 1)]
    run([*CAPTURE, "--as", "cpu", "--world-size", str(ranks), *which, "-o", f"{folder}/fake", *script])
    return f"{folder}/real", f"{folder}/fake"


def capture_recorded(name, folder):
    run([*CAPTURE, "--as", CARD, "-o", folder, str(Path(__file__).with_name("recorded.py")), name])


def key(node):
    return node["name"], json.dumps(node["inputs"]["shapes"]), json.dumps(node["inputs"]["types"])


def key_of_tensors(name, types, sizes, strides, list_type):
    """The tensors of an operator, without what a profile does not show: optional ones, empty and long lists."""
    told = []
    for kind, size, stride in zip(types, sizes, strides):
        if re.match(list_type, kind):
            told += [f"{size} {stride}"] if 0 < len(size) <= MOST_LISTED else []
        elif kind not in ("", "Scalar", "ScalarList"):
            told.append(f"{kind.removeprefix('c10::')}{size} {stride}")
    return name, *told


def key_as_recorded(node):
    """Of a trace's node, whose types are Tensor(float), GenericList[Tensor(float),Tensor(float)], Int."""
    kinds = ["" if "nullptr" in kind else kind if kind.startswith("GenericList[Tensor") else kind.startswith("Tensor") and kind[7:-1] or ""
             for kind in node["inputs"]["types"]]
    return key_of_tensors(node["name"], kinds, node["inputs"]["shapes"], node["inputs"]["strides"], r"GenericList\[Tensor")


def calls_of(nodes, key):
    """Returns (key, the caller's place or None) of a trace's operators."""
    places = {number: place for place, number in enumerate(nodes)}
    return [(key(node), places.get(node["ctrl_deps"]) if node["ctrl_deps"] != number else None) for number, node in nodes.items()]


def calls_of_profile(path):
    calls, open_calls = [], {}
    events = [event for event in json.load(gzip.open(path))["traceEvents"] if event.get("cat") == "cpu_op"]
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        above = open_calls.setdefault(event["tid"], [])
        while above and above[-1][1] <= event["ts"]:
            above.pop()
        told = [event["args"].get(f"Input {what}", ()) for what in ("type", "Dims", "Strides")]
        calls.append((key_of_tensors(event["name"], *told, "TensorList"), above[-1][0] if above else None))
        above.append((len(calls) - 1, event["ts"] + event["dur"]))
    return calls


def differences(real, fake):
    """Returns how many both have, and those that only one of them has; not what a real operator of both calls inside."""
    counts = [Counter(key for key, _ in calls if not key[0].startswith(OURS)) for calls in (real, fake)]
    both = counts[0] & counts[1]

    def is_below_one_of_both(above):
        while above is not None:
            key, above = real[above]
            if "::" in key[0] and not key[0].startswith("autograd::") and key in both:
                return True
        return False

    outside = Counter(key for key, above in real if not key[0].startswith(OURS) and not is_below_one_of_both(above))
    return both.total(), outside - counts[1], counts[1] - counts[0]


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
    _, only_real, only_fake = differences(calls_of(real, key), calls_of(fake, key))
    calls = [[call(node) for _, node in sorted(nodes.items()) if node["name"] == "record_param_comms"] for nodes in (real, fake)]
    differ = sum(a != b for a, b in zip(*calls)) + abs(len(calls[0]) - len(calls[1]))
    return only_real, only_fake, differ, fake_peak / real_peak if real_peak else None


def job(folder, *options):
    """Makes a job of a capture; returns its groups, and each rank's calls with their groups and sizes."""
    run([f"{BIN}/generate", folder, *options, "-o", f"{folder}.et"])
    with zipfile.ZipFile(f"{folder}.et") as members:
        groups = json.loads(members.read("manifest.json"))["process_groups"]
    everyone = list(range(groups[0]["size"]))
    described = json.loads(run([f"{BIN}/inspect", f"{folder}.et", "--collectives", "--format", "json"]))
    run([f"{BIN}/inspect", f"{folder}.et", "--match"])
    return (sorted((group["name"], group["description"], group["ranks"] or everyone) for group in groups),
            [[[call[key] for key in OF_CALLS] for call in rank["calls"]] for rank in described["ranks"]])


def compare_recorded(name, folder):
    """Returns how many operators both have, those that only the recorded one has, and those that only the fake one has."""
    capture_recorded(name, folder)
    return differences(calls_of_profile(ROOT / f"tests/profiles/recorded/{name}_{CARD}.json.gz"), calls_of(read(folder, 0)[0], key_as_recorded))


def print_differences(only_real, only_fake):
    for side, found in (("real", only_real), ("fake", only_fake)):
        for operator, count in found.most_common(6):
            print(f"    only {side}: {count} {' '.join(operator)}")


def main():
    names = sys.argv[1:]
    if names[:1] == ["--recorded"]:
        print(f"{'program':16} in both  only real  only fake")
        for name in names[1:] or RECORDED:
            with tempfile.TemporaryDirectory() as folder:
                both, *only = compare_recorded(name, f"{folder}/fake")
            print(f"{name:16} {both:7,}  {only[0].total():9}  {only[1].total():9}", flush=True)
            print_differences(*only)
        return
    print(f"{'program':13} ranks  only real  only fake  collectives that differ  peak, fake ÷ real")
    for name in names or RANKS:
        with tempfile.TemporaryDirectory() as folder:
            captured = capture(name, folder)
            rank = max(each["rank"] for each in json.loads(Path(captured[1], "capture.json").read_text())["ranks"])
            *only, differ, ratio = compare(captured, rank)
            if name in OF_KINDS:
                jobs = job(captured[0]), job(captured[1], "--world-size", str(RANKS[name]))
                print(f"{name}: the job of a rank of each kind {'has' if jobs[0] == jobs[1] else 'lacks'} the real ranks' groups and calls")
        shown = "–" if ratio is None else f"{ratio:.4f}"
        print(f"{name:13} {RANKS[name]:5}  {only[0].total():9}  {only[1].total():9}  {differ:23}  {shown:>17}", flush=True)
        print_differences(*only)


if __name__ == "__main__":
    main()
