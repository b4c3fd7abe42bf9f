#!/usr/bin/env python3
"""Capture the samples of fleet_samples again and write their manifests.

    make_samples.py [NAME...]          capture (all, or those named) and describe them
"""

import argparse
import hashlib
import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[1]
ROOT = SAMPLES.parent
OWN_PYTHON = ROOT / ".venv" / "bin" / "python"
PYTHON = str(OWN_PYTHON) if OWN_PYTHON.exists() else sys.executable
CAPTURE = "scripts/capture -o fleet_samples/{name} --warmup 5 --timed 40 --threads 1 --stop"
OWN_LICENCE = "Apache-2.0"

OWN = {
    "mlp": "Perceptron with three hidden layers of 2048, batch 128, SGD with momentum",
    "resnet18": "ResNet-18 on 112 x 112 images, batch 4, SGD with momentum",
    "gpt_adamw_foreach": "GPT of 4 layers of width 256, 512 tokens, AdamW over lists of tensors",
    "gpt_adamw_fused": "The same GPT, AdamW as one fused operator",
    "dlrm_dense": "Recommendation model, 8 embedding bags, dense gradients, Adagrad",
    "dlrm_sparse": "The same model with sparse gradients, Adagrad on the tables, SGD elsewhere",
    "embedding_uniform": "Embedding bags over 512 MB of tables, all rows met equally often, SGD",
    "embedding_zipf": "The same, rows met in proportion to rank^-1.05",
    "speech_encoder": "Convolutions and 3 transformer layers on padded spectrograms, AdamW",
    "compiled": "Embedding and 3 blocks of width 256 under torch.compile, AdamW run eagerly",
    "compiled_optimizer": "The same, AdamW's step compiled too: one fused kernel",
    "gpt_ddp": "The GPT under DistributedDataParallel, collectives in the NCCL form",
    "gpt_ddp_gloo": "The same, collectives as Gloo records them (wrong parents included)",
}
SEVERAL_RANKS = {"gpt_ddp": (2, "nccl-form"), "gpt_ddp_gloo": (2, "gloo")}
PROGRAM = {"gpt_ddp_gloo": "gpt_ddp"}


def command_for(name):
    program = f"fleet_samples/programs/{PROGRAM.get(name, name)}.py --seed 1"
    command = CAPTURE.format(name=name)
    if name in SEVERAL_RANKS:
        ranks, comms = SEVERAL_RANKS[name]
        return f"torchrun --nproc-per-node {ranks} {command} --comms {comms} {program}"
    return f"{command} {program}"


def run_capture(name):
    words = shlex.split(command_for(name))
    launcher = ["-m", "torch.distributed.run"] if words[0] == "torchrun" else [words[0]]
    subprocess.run([PYTHON, *launcher, *words[1:]], cwd=ROOT, check=True)


def describe_files(folder):
    described = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != "manifest.json":
            content = path.read_bytes()
            described.append({"name": path.name, "bytes": len(content),
                              "sha256": hashlib.sha256(content).hexdigest()})
    return described


def ground_truth(ranks):
    """The un-profiled step: per rank over the samples that capture.json holds."""
    figures = []
    for rank in ranks:
        times = sorted(rank["step_ns"])
        tenths = statistics.quantiles(times, n=10, method="inclusive")
        figures.append({"rank": rank["rank"], "steps": len(times),
                        "median_ms": round(statistics.median(times) / 1e6, 3),
                        "p10_ms": round(tenths[0] / 1e6, 3), "p90_ms": round(tenths[-1] / 1e6, 3),
                        "min_ms": round(times[0] / 1e6, 3),
                        "kineto_only_step_ms": round(rank["kineto_only_step_ns"] / 1e6, 3),
                        "peak_rss_bytes": rank["peak_rss_bytes"],
                        "load_average": round(rank["environment"]["load_average"], 2)})
    return figures


def describe_own(name):
    folder = SAMPLES / name
    summary = json.loads((folder / "capture.json").read_text())
    environment = summary["ranks"][0]["environment"]
    inspected = subprocess.run([ROOT / "build/release/bin/understudy", "inspect", folder, "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    counts = [{key: rank[key] for key in ("schema", "nodes", "operators", "collectives", "rank")} for rank in json.loads(inspected)["ranks"]]
    return {
        "name": name,
        "description": OWN[name],
        "origin": "captured for this project",
        "source_url_or_script": f"fleet_samples/programs/{PROGRAM.get(name, name)}.py",
        "how_to_capture": command_for(name),
        "licence": OWN_LICENCE,
        "schema": counts[0]["schema"],
        "world_size": summary["world_size"],
        "torch_version": environment["torch"],
        "captured_on": f"{environment['cpu_model']}, {environment['threads']} thread a rank",
        "files": describe_files(folder),
        "counts": counts,
        "ground_truth": ground_truth(summary["ranks"]),
    }


def describe(name):
    manifest = describe_own(name)
    path = SAMPLES / name / "manifest.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)
    for count in manifest["counts"]:
        collectives = sum(count["collectives"].values())
        print(f"{name} rank {count['rank']}: {count['nodes']} nodes, {count['operators']} "
              f"operators, {collectives} collectives")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(OWN)
    if unknown:
        parser.error(f"no such sample: {', '.join(sorted(unknown))}; there are {', '.join(OWN)}")
    for name in arguments.names or OWN:
        run_capture(name)
        describe(name)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "capture"))
    from understudy.endings import run_main

    run_main("make_samples.py", main)
