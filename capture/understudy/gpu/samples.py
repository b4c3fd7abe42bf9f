"""Samples: trained and replayed here, recorded on a CPU and replayed here, or recorded on other GPUs."""

import statistics

from .layout import SAMPLES, START_RANKS

TRAINED = ["mlp", "resnet18", "gpt_adamw_foreach", "gpt_adamw_fused", "dlrm_dense", "dlrm_sparse",
           "speech_encoder"]
MOVED = ["mlp", "resnet18", "gpt_adamw_fused", "dlrm_sparse", "speech_encoder"]
RANKS = ["gpt_ddp"]
RECORDED = {"resnet_ddp": "resnet_1gpu_et_1.1.1.json.tar.gz",
            "dlrm_8gpu": "dlrm_pytorch_et.tar.gz"}
PACES = ["asap", "recorded"]
STEPS = ["--warmup", 10, "--timed", 50]
STEADY = ["--steady", 10]  # for a GPU; on a CPU the checks are only tried, in 60 s
ITERATIONS = ["--warmup", 10, "--iterations", 50, "--passes", 20]


def capture_and_replay(machine, name, out, capturing=(), replaying=(), options=()):
    """Returns a sample's row, and its report without pace; `capturing` and `replaying` launch ranks."""
    original = machine.capture(SAMPLES / "programs" / f"{name}.py", out / name, *STEPS,
                               *(STEADY if machine.device == "cuda" else []), launcher=capturing)
    bench = machine.generate(out / name, out / f"{name}.et")
    reports = {pace: machine.replay(bench, out / f"{name}.{pace}.json", *ITERATIONS, "--pace", pace,
                                    *options, launcher=replaying)
               for pace in PACES}
    row = {"name": name, "original_ms": statistics.median(original["step_ns"]) / 1e6,
           "original_peak_bytes": original["peak_device_bytes"], **figures(reports["asap"]),
           "paced_ms": reports["recorded"]["iteration_ms"]["median"]}
    return row, reports["asap"]


def check_trained(machine, name, out):
    """Captures and replays one sample on this device."""
    row, _ = capture_and_replay(machine, name, out)
    return row


def check_ranks(machine, name, out):
    """Captures and replays a sample of several ranks on all GPUs, both with NCCL."""
    ranks = machine.ranks()
    row, report = capture_and_replay(
        machine, name, out,
        capturing=["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks],
        replaying=[START_RANKS, ranks] if ranks > 1 else [],
        options=[] if machine.device == "cpu" else ["--comms", "nccl"])
    return {**row, "name": f"{name}, {ranks} rank{'s' if ranks > 1 else ''}",
            "communication_ms": sum(operator["ms"] for operator in report["operators"]
                                    if operator["class"] == "communication"),
            "comms": report["environment"]["settings"].get("comms", "host")}


def check_stored(machine, name, out):
    """Replays a sample of another machine: a CPU's, which moves to this device, or rank 0 of a GPU's."""
    bench = machine.generate(SAMPLES / name / RECORDED.get(name, ""), out / f"{name}.stored.et")
    # Custom operators of samples from GPUs may be missing here.
    more = ["--rank", 0, "--continue-on-error"] if name in RECORDED else []
    return {"name": name,
            **figures(machine.replay(bench, out / f"{name}.stored.json", *ITERATIONS, *more))}


def operators_ms(report, key):
    return sum(row.get(key) or 0 for row in report["operators"])


def peak_bytes(report):
    gpu = report["ranks"][0].get("gpu") or {}
    return (gpu.get("memory") or report["memory"])["peak_bytes"]


def figures(report):
    """Returns the figures of a report that the tables show."""
    gpu = report["ranks"][0].get("gpu") or {}
    health = gpu.get("health")
    return {
        "asap_ms": report["iteration_ms"]["median"],
        "device_ms": operators_ms(report, "device_ms"),
        "peak_bytes": peak_bytes(report),
        "coverage": report["coverage"]["count"],
        "mismatches": report["output_mismatches"],
        "unhealthy": sum(report["values"][key] for key in ("nan", "inf", "subnormal")),
        "energy_j_per_iteration": (health["energy_j"] / health["window_iterations"]
                                   if health and health["energy_j"] else None),
        "mean_power_w": health["mean_power_w"] if health else None,
        "clocks": ("; ".join(health["warnings"]) or "steady") if health
        else gpu.get("no_health", "none"),
        "environment": report["environment"],
    }


# Section → its samples, and the function that examines one.
SECTIONS = {"trained": (TRAINED, check_trained), "ranks": (RANKS, check_ranks),
            "moved": (MOVED, check_stored), "recorded": (list(RECORDED), check_stored)}
NAMES = list(dict.fromkeys(name for names, _ in SECTIONS.values() for name in names))
