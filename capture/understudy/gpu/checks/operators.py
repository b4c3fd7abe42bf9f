"""Runs steps of operators that GPUs handle in a special way."""

import torch

from ..layout import PROGRAMS, SAMPLES
from ..machine import Failed

STEPS = ["--warmup", 3, "--timed", 5, "--profiled", 1]
ITERATIONS = ["--warmup", 2, "--iterations", 5, "--passes", 2]


def compiled(machine, findings, work):
    """Keeps kernels in work/kernels, as torch.compile caches them: sources, and the cubins of Triton's
    kernels."""
    cache = work / "kernels"
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "TRITON_CACHE_DIR": str(cache / "triton")}
    rank = machine.capture(SAMPLES / "programs" / "compiled.py", work / "compiled", *STEPS,
                           environment=environment)
    bench = machine.generate(work / "compiled", work / "compiled.et")
    report = machine.replay(bench, work / "compiled.json", *ITERATIONS)
    kind = "*.cubin" if machine.device == "cuda" else "*.so"
    kept = sum(1 for _ in cache.rglob(kind))
    findings.figures.update({"graphs": rank["compiled_graphs"], "kept": kept,
                             "coverage": report["coverage"]["count"],
                             "stubs": sum(row["count"] for row in report["coverage"]["stubbed"])})
    findings.expect("kernels are kept", kept > 0, f"{kind} at least once", kept)
    dropped = [row["name"] for row in report["coverage"]["dropped"]]
    findings.expect("all that is no kernel of its own runs", not dropped, "nothing dropped",
                    ", ".join(dropped))


def products(machine, findings, work):
    names = ["_grouped_mm", "_scaled_mm"] + (["cudnn_attention"] if machine.device == "cuda" else [])
    for name in names:
        try:
            machine.capture(PROGRAMS / "products.py", work / name, *STEPS,
                            environment={"UNDERSTUDY_PRODUCT": name})
            bench = machine.generate(work / name, work / f"{name}.et")
            report = machine.replay(bench, work / f"{name}.json", *ITERATIONS)
        except Failed as problem:
            findings.expect(name, False, "a replay", problem)
            continue
        got = (report["coverage"]["count"], report["output_mismatches"], report["values"]["nan"])
        findings.figures[name + "_ms"] = report["iteration_ms"]["median"]
        findings.equal(f"{name}: coverage, mismatches, tensors with NaN", got, (1, 0, 0))


def launches(machine, findings, work):
    """Launches Triton kernels from their machine code, and compares their results with those of operators."""
    architecture = "sm_{}{}".format(*torch.cuda.get_device_capability())
    for name in ("usual", "special"):
        checksums = work / f"launches.{name}.checksums"
        try:
            machine.capture(PROGRAMS / "against_eager.py", work / f"launches.{name}", *STEPS, environment={"UNDERSTUDY_LAUNCH": name})
            bench = machine.generate(work / f"launches.{name}", work / f"launches.{name}.et", "--kernels", architecture)
            report = machine.replay(bench, work / f"launches.{name}.json", *ITERATIONS, "--checksums", checksums)
        except Failed as problem:
            findings.expect(f"{name} launches", False, "a replay", problem)
            continue
        stubs = [f"{row['name']}: {row['by']}" for row in report["coverage"]["stubbed"]]
        findings.figures[f"{name}_launches"] = sum(row["count"] for row in report["operators"] if row["class"] == "compiled")
        findings.expect(f"{name}: kernels that are stubs", not stubs, "none", "; ".join(stubs))
        agree, differ, *pairs = [line.split()[1] for line in checksums.read_text(encoding="utf-8").splitlines()
                                 if line.startswith("aten::any ")]
        findings.figures[f"{name}_results"] = len(pairs)
        findings.expect(f"{name}: pairs of results that differ", pairs and agree != differ and set(pairs) == {agree}, "none",
                        [place for place, pair in enumerate(pairs) if pair != agree])
