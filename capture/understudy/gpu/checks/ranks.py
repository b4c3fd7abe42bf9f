"""Checks ranks on one device: NCCL with one rank, and two ranks that share the device."""

from ..layout import SAMPLES, START_RANKS

STEPS = ["--warmup", 2, "--timed", 5, "--profiled", 1]
ITERATIONS = ["--warmup", 2, "--iterations", 5, "--passes", 2]


def one(machine, findings, work):
    machine.capture(SAMPLES / "programs" / "gpt_ddp.py", work / "one_rank", *STEPS,
                    launcher=["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 1])
    bench = machine.generate(work / "one_rank", work / "one_rank.et")
    on_gpu = machine.device == "cuda"
    report = machine.replay(bench, work / "one_rank.json", *ITERATIONS,
                            *(["--comms", "nccl"] if on_gpu else []))
    _expect_whole(findings, report, "nccl" if on_gpu else None)


def two(machine, findings, work):
    bench = machine.generate(SAMPLES / "gpt_ddp", work / "two_ranks.et")
    ranks = [START_RANKS, 2, machine.program("replay"), bench]
    target = work / "two_ranks.json"
    if machine.device == "cpu":
        report = machine.replay(bench, target, *ITERATIONS, launcher=ranks[:2])
        _expect_whole(findings, report, None)
        return
    refused = machine.start(*ranks, "--device", "cuda", *ITERATIONS)
    findings.expect("two ranks and one visible GPU", refused.returncode != 0, "a refusal",
                    f"status {refused.returncode}")
    machine.run(*ranks, "--device", "cuda:0", "--report", target, *ITERATIONS)
    report = machine.report(target)
    _expect_whole(findings, report, "host")


def _expect_whole(findings, report, comms):
    got = report["environment"]["settings"].get("comms")
    findings.figures.update({"comms": got or "none", "iteration_ms": report["iteration_ms"]["median"],
                             "ranks": report["world_size"]})
    findings.equal("coverage", report["coverage"]["count"], 1)
    if comms is not None:
        findings.expect("communication goes by", str(got).partition(" ")[0] == comms, comms, got)
