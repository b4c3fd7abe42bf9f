"""Operators that a program runs on its own threads. By default a profiler sees only its own thread and those of autograd. If it observes
all threads, it no longer sees when memory is allocated and freed.
"""

import contextlib

import torch
from torch.profiler import record_function

HERE = "understudy: the thread of the loop"
ENGINE = "autograd::engine::evaluate_function"


def settings(counts_faults=False, all_threads=False, metrics=()):
    """Returns the profiler's experimental settings. Not each torch knows metrics."""
    from torch._C._profiler import _ExperimentalConfig
    of_counters = {"profiler_metrics": list(metrics), "profiler_measure_per_kernel": True} if metrics else {}
    # With a GPU, the stream or event of a wait is recorded.
    return _ExperimentalConfig(performance_events=["pagefaults"] if counts_faults else [], profile_all_threads=all_threads,
                               enable_cuda_sync_events=torch.cuda.is_available(), **of_counters)


@contextlib.contextmanager
def counting_own_threads(profiler, report):
    """Runs a profiler of all threads. At its end calls report(n, events): n of the program's own threads ran operators, and `events` events
    were recorded."""
    with profiler:
        with record_function(HERE):
            pass
        yield
    events = profiler.profiler.kineto_results.events()
    report(own_threads((event.name(), event.start_thread_id(), event.start_ns()) for event in events),
           len(events))


def own_threads(events):
    """Returns the number of threads with operators, besides the one on which HERE ran.

    `events` has (name, thread, start) for each. Autograd's threads begin with a label of its
    engine.
    """
    here, operators, engine = None, {}, {}
    for name, thread, start in events:
        if name == HERE:
            here = thread
        elif name.startswith("aten::"):
            operators[thread] = min(start, operators.get(thread, start))
        elif name.startswith(ENGINE):
            engine[thread] = min(start, engine.get(thread, start))
    return sum(thread != here and not engine.get(thread, start) < start
               for thread, start in operators.items())
