"""The checks in order. Each runs in its own process, whose Python has torch."""

import importlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    title: str
    place: str  # MODULE.FUNCTION below this package
    needs: tuple = ()  # checks that write files this one reads
    not_on_cpu: str = ""  # reason why the check is not run on a CPU; empty: a CPU runs the same check

    def run(self, machine, findings, work):
        """Fills the findings; raises NotRun if the check cannot be made here."""
        module, _, function = self.place.partition(".")
        getattr(importlib.import_module(f".{module}", __name__), function)(machine, findings, work)


CHECKS = {
    "facts": Check("versions, what the driver answers, permissions", "facts.run"),
    "times": Check("the replay's device_ms against its kernels in a profile", "device.times"),
    "counters": Check("operations of a product and bytes of a copy, as CUPTI counts them", "counters.known",
                      not_on_cpu="CUPTI counts on GPUs"),
    "gpt": Check("a GPT of 1.1 billion parameters in bfloat16, captured and compiled", "gpt.capture"),
    "alike": Check("its step and its replay under the same hardware counters", "counters.alike", needs=("gpt",),
                   not_on_cpu="CUPTI counts on GPUs"),
    "alone": Check("its profile alone makes the benchmark that its trace makes", "gpt.alone", needs=("gpt",)),
    "kernels": Check("it launches the same kernels, with the same grids, in the same order", "gpt.kernels",
                     needs=("gpt",)),
    "null": Check("the original twice and its replay twice, in turn, are the same", "gpt.null",
                  needs=("gpt",)),
    "graph": Check("its step and a host-bound one as CUDA graphs, against torch.cuda.graph", "graphs.run", needs=("gpt",),
                   not_on_cpu="CUDA graphs are of GPUs"),
    "planted": Check("a planted slow-down and switched TF32 are found", "gpt.planted",
                     needs=("gpt", "times")),
    "memory": Check("the allocator's figures of original and replay", "gpt.memory", needs=("gpt",)),
    "pinned": Check("page-locked memory is copied from in both", "device.pinned",
                    not_on_cpu="page-locked memory is of GPUs"),
    "compiled": Check("a step compiled by torch.compile, its kernels kept", "operators.compiled"),
    "launches": Check("kernels of Triton, launched from their machine code, give what operators give", "operators.launches",
                      not_on_cpu="they are launched on GPUs"),
    "products": Check("_grouped_mm, _scaled_mm and cuDNN's attention", "operators.products"),
    "one-rank": Check("NCCL with one rank", "ranks.one"),
    "two-ranks": Check("two ranks on one device", "ranks.two"),
}
