"""Replays steps as CUDA graphs, and compares them with the programs' own by torch.cuda.graph."""

from ..layout import PROGRAMS, SAMPLES
from .gpt import COMPARED, ITERATIONS, PROGRAM, SHARE, STEPS, bench_of


def run(machine, findings, work):
    small = SAMPLES / "programs" / "mlp.py"  # a host issues it more slowly than a GPU computes
    machine.capture(small, work / "graph_mlp", *STEPS)
    benches = {PROGRAM: bench_of(work), small: machine.generate(work / "graph_mlp", work / "graph_mlp.et")}
    for program, bench in benches.items():
        name = program.stem
        original = float(machine.run(machine.python, PROGRAMS / "graphed.py", program).stdout.split()[-1])
        report = machine.replay(bench, work / f"{name}.graph.json", *COMPARED, "--graph")
        without = machine.replay(bench, work / f"{name}.no_graph.json", *ITERATIONS, "--no-graph")
        use = report["graphs"]
        findings.figures.update({f"{name}_original_ms": original, f"{name}_ms": report["iteration_ms"]["median"],
                                 f"{name}_without_ms": without["iteration_ms"]["median"],
                                 f"{name}_launches_saved": use["launches_saved"], f"{name}_share": use["device_share"]})
        findings.expect(f"{name}: one graph", use["graphs"] == 1 and not use["prevented"], "1, nothing outside",
                        f"{use['graphs']}, {use['prevented']}")
        findings.within(f"{name}, ms", report["iteration_ms"]["median"], original, SHARE)
