"""Compares captures on a played card with real ones of the same programs:

    compare.py [NAME…]              --as H100, and one rank under torch's fake group, with captures on 2 and 4 real Gloo ranks of programs.py
    compare.py --recorded [NAME…]   --as H100, with the profiles that tests/profiles/record.py recorded there

A table: jobs whose groups and calls (sizes, operators, peers; NCCL's names for Gloo's) differ; of the fake group also operators of the last
rank that one of both called and the other did not, and the peak of tensors' bytes. With recordings: operators with sizes, types, strides and
constants, and the kernels below them by name and grid, but for those within NVIDIA's libraries. Recordings need transformers 5.15.1 and
torchvision in this Python, and a build.
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
RECORDED = sorted(path.name.removesuffix(".json.gz").rpartition("_")[::2] for path in (ROOT / "tests/profiles/recorded").glob("*.json.gz"))
# Kernels inside of cuBLAS, cuDNN and NCCL, whose names a played card does not know.
OF_LIBRARIES = re.compile(r"^(cublas|cudnn|nccl|nvjet|sm\d+_|cutlass_|ampere_|conv2d_c1_k1|void (cutlass|cudnn|implicit_convolve|gemm|splitKreduce|dot_kernel|reduce_1Block|cublasLt|cask))|cudnn|cublas"
                          r"|[fw]grad|fprop|dgrad|gemv|splitK|gemmk1|gemmSN")
MOST_LISTED = 30  # torch/csrc/profiler/util.h: a longer list of tensors has no sizes in a profile
PROGRAMS = Path(__file__).with_name("programs.py")
LLAMA = ROOT / "capture/understudy/examples/llama3.py"
CAPTURE = [sys.executable, "-m", "understudy", "capture"]
REAL = ["--warmup", "2", "--timed", "1", "--steady", "0", "--profiled", "0", "--no-fault-counts", "--threads", "1", "--stop"]
OURS = ("[pytorch", "ProfilerStep", "## ", "understudy", "nccl:", "Optimizer.")
BIN = ROOT / "build/release/bin"
OF_CALLS = ("name", "group", "group_size", "batch", "dtype", "in_bytes", "out_bytes", "reduce_op")
NAMES = {"all_reduce": "allreduce", "allGatherSingleImpl": "_allgather_base", "reduceScatterSingleImpl": "_reduce_scatter_base", "allToAllSingleImpl": "all_to_all",
         "all_to_all_v_single": "all_to_allv"}  # ProcessGroupNCCL's of 2.15, and of before
OF_KINDS = ("data_stages", "tensor_stages")  # jobs of more ranks than kinds
RANKS = next(ast.literal_eval(line.partition("= ")[2]) for line in PROGRAMS.read_text().splitlines() if line.startswith("RANKS"))


def run(words, **variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "capture"), "OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(words, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}:\n{done.stderr[-4000:]}")
    return done.stdout


def counting():
    return ["--count-allocations"] if (ROOT / "build/release/lib/understudy/libunderstudy_allocations.so").exists() else []


def capture_real(name, ranks, folder):
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-port", str(random.randint(20000, 40000))]
    run([sys.executable, *(launcher if ranks > 1 else []), "-m", "understudy", "capture", "-o", folder, "--comms", "nccl-form", *REAL, *counting(),
         str(PROGRAMS), name, "cpu"])
    return folder


def capture_in_fake_group(name, rank, ranks, folder):
    run([*CAPTURE, "-o", folder, *REAL, *counting(), str(PROGRAMS), name, "cpu", "fake"], RANK=str(rank), WORLD_SIZE=str(ranks))
    return folder


def capture(name, folder, ranks=None):
    """Captures a program on real ranks and without running; returns the two folders."""
    ranks = ranks or RANKS[name]
    which = ["--all-kinds"] if name in (*OF_KINDS, "interleaved") else ["--rank", str(ranks - 1)]
    run([*CAPTURE, "--as", CARD, "--world-size", str(ranks), *which, "-o", f"{folder}/played", str(PROGRAMS), name, "cuda"])
    return capture_real(name, ranks, f"{folder}/real"), f"{folder}/played"


def as_called(job):
    """Returns a job with one name for a call, whichever version of ProcessGroupNCCL or Gloo made it."""
    groups, calls = job
    return groups, [[[NAMES.get(name, name), *rest] for name, *rest in rank] for rank in calls]


def capture_recorded(name, folder, card):
    run([*CAPTURE, "--as", card, "-o", folder, str(Path(__file__).with_name("recorded.py")), name])


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


def call(node, below=()):
    """What a call is: of `below`, the label of a reduction, its operator."""
    attributes = {each["name"]: each["value"] for each in node["attrs"]}
    return (*(str(attributes.get(name, "")) for name in ("collective_name", "dtype", "in_msg_nelems", "out_msg_nelems", "in_split_size", "out_split_size",
                                                 "pg_name", "pg_size", "global_rank_start", "global_rank_stride")), str(node["inputs"]["values"][3:4]),
            *(value for each in below for value in each["inputs"]["values"] if isinstance(value, str)))


def calls_between_ranks(nodes):
    below = {}
    for node in nodes.values():
        below.setdefault(node["ctrl_deps"], []).append(node)
    return [call(node, below.get(number, ())) for number, node in sorted(nodes.items()) if node["name"] == "record_param_comms"]


def read(folder, rank):
    """Returns a rank's nodes, the peak of its tensors' bytes, and its own groups."""
    nodes = {node["id"]: node for node in json.load(gzip.open(f"{folder}/rank-{rank}.et.json.gz"))["nodes"]}
    described = json.loads(Path(folder, "capture.json").read_text())["ranks"]
    own = next(each for each in described if each["rank"] == rank)
    groups = [[group[key] for key in ("pg_name", "pg_desc", "ranks", "group_size")] for group in own["process_groups"]
              if not group["ranks"] or rank in group["ranks"]]
    return nodes, own["peak_tensor_bytes"], groups


def compare(folders, rank):
    """Returns operators that only the real one has, those that only the fake one has, collectives and groups that differ, and the ratio of
    peaks."""
    (real, real_peak, real_groups), (fake, fake_peak, fake_groups) = (read(folder, rank) for folder in folders)
    _, only_real, only_fake = differences(calls_of(real, key), calls_of(fake, key))
    differ = [sum(a != b for a, b in zip(*pair)) + abs(len(pair[0]) - len(pair[1])) for pair in (
        [calls_between_ranks(nodes) for nodes in (real, fake)], (real_groups, fake_groups))]
    return only_real, only_fake, *differ, fake_peak / real_peak if real_peak else None


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


def kernels_of_profile(path):
    """Counts a profile's kernels: name of the operator above, name, grid; those of NVIDIA's libraries are counted together."""
    events = json.load(gzip.open(path))["traceEvents"]
    operators = {event["args"].get("External id"): event["name"] for event in events if event.get("cat") == "cpu_op"}
    kernels = [event for event in events if event.get("cat") == "kernel"]
    return Counter((operators.get(event["args"].get("External id"), ""), event["name"], str(event["args"].get("grid"))) for event in kernels
                   if not OF_LIBRARIES.search(event["name"]))


def peak_of_profile(path):
    """Returns the most bytes that the allocator had given out in a profile of one device. Those that it had reserved were recorded behind
    other programs of the same process."""
    return max(event["args"]["Total Allocated"] for event in json.load(gzip.open(path))["traceEvents"]
               if event["name"] == "[memory]" and event["args"]["Device Type"] == 1)


def compare_recorded(name, folder, card=CARD):
    """Returns how many operators both have, those that only the recorded one has, those that only the played one has; the same of
    kernels; and the played peak of memory ÷ the recorded one."""
    capture_recorded(name, folder, card)
    recorded = ROOT / f"tests/profiles/recorded/{name}_{card}.json.gz"
    profiles = recorded, f"{folder}/rank-0.kineto.json.gz"
    real, played = map(kernels_of_profile, profiles)
    return (differences(calls_of_profile(recorded), calls_of(read(folder, 0)[0], key_as_recorded)),
            ((real & played).total(), real - played, played - real),
            peak_of_profile(profiles[1]) / peak_of_profile(profiles[0]))


def print_differences(only_real, only_played):
    for side, found in (("real", only_real), ("played", only_played)):
        for what, count in found.most_common(6):
            print(f"    only {side}: {count} {' '.join(what)[:200]}")


def main():
    names = sys.argv[1:]
    if names[:1] == ["--recorded"]:
        print(f"{'program':16} card  operators: in both  only real  only played    kernels: in both  only real  only played    peak, played ÷ real")
        for name, card in [each for each in RECORDED if not names[1:] or each[0] in names[1:]]:
            with tempfile.TemporaryDirectory() as folder:
                operators, kernels, peak = compare_recorded(name, f"{folder}/played", card)
            print(f"{name:16} {card}  {operators[0]:18,}  {operators[1].total():9}  {operators[2].total():11}  {kernels[0]:18,}  {kernels[1].total():9}  "
                  f"{kernels[2].total():11}  {peak:21.4f}", flush=True)
            print_differences(*operators[1:])
            print_differences(*kernels[1:])
        return
    print("program        ranks  played: groups and calls    in group: only real  only fake  calls that differ  groups that differ  peak, fake ÷ real")
    for name, ranks in [(name, ranks) for name in names or RANKS if RANKS[name] > 1 for ranks in ((2, 4) if RANKS[name] == 2 else (4,))]:
        with tempfile.TemporaryDirectory() as folder:
            real, played = capture(name, folder, ranks)
            equal = as_called(job(real)) == as_called(job(played, "--world-size", str(ranks)))
            *only, calls, groups, ratio = compare((real, capture_in_fake_group(name, ranks - 1, ranks, f"{folder}/group")), ranks - 1)
            print(f"{name:13} {ranks:6}  {'equal' if equal else 'differ':24}  {only[0].total():19}  {only[1].total():9}  {calls:17}  {groups:18}  "
                  f"{'–' if ratio is None else f'{ratio:.4f}':>17}", flush=True)
            print_differences(*only)


if __name__ == "__main__":
    main()
