#!/usr/bin/env python3
"""Record the small traces of this folder again: make_captures.py [NAME...] [--list] [-o DIR]

One process per trace, so that tensor ids do not depend on what was recorded before. Each trace is
checked: it parses (but for label_with_quote), and every node is the Kineto event of that id.
"""

import argparse
import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INVALID_JSON = {"label_with_quote"}
WITH_PROFILE = {"custom_operators"}  # with shapes, as a profile without a trace has them
PARALLEL = ("fsdp2", "hybrid_sharded", "zero", "tensor_parallel", "tensor_data_parallel", "pipeline",
            "experts", "context_ring")
SEVERAL_RANKS = dict.fromkeys(("gloo_collectives", "nccl_form_collectives", *PARALLEL), 2)
SEED = 20
WARMUP = 2


def record(name, rank, world, scratch):
    """Runs in a process of its own: captures one step of the program NAME to scratch/capture."""
    sys.path.insert(0, str(ROOT / "capture"))
    import torch
    import torch.distributed as dist
    import understudy

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    if world > 1:
        import collectives

        nccl_form = name != "gloo_collectives"
        if nccl_form:
            understudy.use_nccl_form()
        dist.init_process_group("gloo", init_method=f"file://{scratch}/rendezvous", rank=rank,
                                world_size=world)
        if name in PARALLEL:
            import parallel

            step = parallel.BUILDERS[name]()
        else:
            step = collectives.make_step(nccl_form)
    else:
        import models

        step = models.BUILDERS[name]()
    understudy.capture_step(step, f"{scratch}/capture", warmup=WARMUP, timed=0, profiled=0,
                                    step_marker=False, shapes=name in WITH_PROFILE)
    if world > 1:
        dist.destroy_process_group()


def attribute(node, name):
    return next((a["value"] for a in node["attrs"] if a["name"] == name), None)


def check(et_file, kineto_file):
    """Returns a line about the trace, or raises AssertionError."""
    nodes = json.loads(gzip.open(et_file).read())["nodes"]
    ids = {node["id"] for node in nodes}
    assert len(ids) == len(nodes), "two nodes share an id"
    orphans = sum(node["ctrl_deps"] not in ids for node in nodes)
    events = json.loads(gzip.open(kineto_file).read())["traceEvents"]
    names = {e["args"]["Record function id"]: e["name"] for e in events
             if "Record function id" in e.get("args", {})}
    joined = differing = missing = 0
    for node in nodes:
        rf_id = attribute(node, "rf_id")
        if not rf_id:
            continue
        if rf_id not in names:
            missing += 1
        elif names[rf_id] != node["name"]:
            differing += 1
        else:
            joined += 1
    assert differing == 0, f"{differing} nodes have another name in Kineto"
    operators = sum(bool(attribute(node, "op_schema")) and not node["name"].startswith("c10d::")
                    for node in nodes)
    comms = collections.Counter(attribute(node, "collective_name") for node in nodes
                                if node["name"] == "record_param_comms")
    line = (f"{len(nodes)} nodes, {operators} with a schema, {sum(comms.values())} communication, "
            f"{joined} joined, {missing} not in Kineto, {orphans} without a parent")
    return line


def copy(source, target, is_valid):
    """Without line breaks and indents, which no text of valid JSON holds."""
    if not is_valid:
        shutil.copyfile(source, target)
        return
    text = b"".join(line.strip() for line in gzip.decompress(source.read_bytes()).splitlines())
    target.write_bytes(gzip.compress(text, 9, mtime=0))


def make(name, target_dir):
    world = SEVERAL_RANKS.get(name, 1)
    with tempfile.TemporaryDirectory() as scratch:
        workers = [subprocess.Popen([sys.executable, __file__, "--record", name, str(rank),
                                     str(world), scratch], stderr=subprocess.PIPE, text=True)
                   for rank in range(world)]
        errors = [worker.communicate()[1] for worker in workers]
        for worker, text in zip(workers, errors):
            if worker.returncode != 0:
                sys.exit(f"{name}: the capture failed\n{text}")
        for rank in range(world):
            source = Path(scratch) / "capture" / f"rank-{rank}.et.json.gz"
            if world == 1:
                target = target_dir / f"{name}.json.gz"
            else:
                target = target_dir / name / f"rank-{rank}.json.gz"
            target.parent.mkdir(parents=True, exist_ok=True)
            if name in INVALID_JSON:
                line = "kept as written"
            else:
                line = check(source, source.with_name(f"rank-{rank}.kineto.json.gz"))
            copy(source, target, name not in INVALID_JSON)
            if name in WITH_PROFILE:
                copy(source.with_name(f"rank-{rank}.kineto.json.gz"),
                     target.parent / "profiles" / f"{name}.kineto.json.gz", True)
            print(f"{target.relative_to(target_dir)}: {target.stat().st_size} bytes, {line}")


def main():
    sys.path.insert(0, str(HERE))
    if sys.argv[1:2] == ["--record"]:
        name, rank, world, scratch = sys.argv[2:]
        record(name, int(rank), int(world), scratch)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="traces to record (default: all)")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("-o", "--output", type=Path, default=HERE, metavar="DIR")
    arguments = parser.parse_args()
    python = ROOT / ".venv" / "bin" / "python"
    try:
        import models
    except ImportError:
        if not python.exists():
            sys.exit("make_captures.py: this Python has no torch, and the project has no .venv")
        os.execv(python, [str(python), *sys.argv])
    every = [*models.BUILDERS, *SEVERAL_RANKS]
    unknown = set(arguments.names) - set(every)
    if unknown:
        parser.error(f"no such trace: {', '.join(sorted(unknown))}; --list shows them")
    for name in arguments.names or every:
        if arguments.list:
            print(name)
        else:
            make(name, arguments.output)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capture"))
    from understudy.endings import run_main

    run_main("make_captures.py", main)
