"""Runs one check or one sample in its own process, and writes its findings to a JSON file."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from understudy.gpu import samples  # noqa: E402
from understudy.gpu.checks import CHECKS  # noqa: E402
from understudy.gpu.machine import Failed, Findings, Machine, NotRun  # noqa: E402
from understudy.whole_file import write_whole  # noqa: E402


def examine(name, machine, work):
    """Returns the row for `check NAME` or `SECTION NAME`."""
    kind, _, what = name.partition(" ")
    if kind != "check":
        return samples.SECTIONS[kind][1](machine, what, work)
    check = CHECKS[what]
    if machine.device == "cpu" and check.not_on_cpu:
        raise NotRun(check.not_on_cpu)
    findings = Findings()
    try:
        check.run(machine, findings, work)
    except Failed as problem:
        findings.expect("its commands", False, "status 0", problem)
    return findings.to_row()


def main():
    name, device, binaries, python, facts, work, target = sys.argv[1:]
    try:
        row = examine(name, Machine(python, binaries, device, json.loads(facts)), Path(work))
    except NotRun as reason:
        row = {"status": "not run", "reason": str(reason), "figures": {}, "tests": []}
    except Failed as problem:
        row = {"failed": str(problem)}
    write_whole(target, json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
