#!/usr/bin/env python3
"""Writes a profile of N operators that has much of one thing: large_profile.py KIND N > FILE; KIND is a function below."""
import json
import sys

LAYOUT = [64, 64]


def event(category, name, begin, duration, tid=1, pid=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": duration, "args": args}


def call(i, name="aten::add", begin=None, duration=8, tid=1, sizes=(LAYOUT, LAYOUT, ()), types=("float", "float", "Scalar"),
         values=("", "", "1"), **args):
    begin = 1000 + 10 * i if begin is None else begin
    lists = {"Input Dims": list(map(list, sizes)), "Input type": list(types), "Concrete Inputs": list(values)}
    return event("cpu_op", name, begin, duration, tid, **{"External id": i + 1, "Ev Idx": i, **lists, **args})


def kernel(i, begin, stream=7):
    correlation = {"External id": i + 1, "correlation": i + 1}
    return [event("cuda_runtime", "cudaLaunchKernel", begin, 1, **correlation),
            event("kernel", "add", begin + 2, 5, stream, 0, device=0, stream=stream, **correlation)]


def memory(begin, address, size):
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": begin,
            "args": {"Addr": address, "Bytes": size, "Device Type": 0, "Total Allocated": 1 << 20}}


def different_layouts(n):
    return [call(i, sizes=([8, i + 1], [8, i + 1], [])) for i in range(n)]


def one_layout(n):
    return [call(i) for i in range(n)]


def one_storage(n):
    return [call(i, "aten::add_" if i % 2 else "aten::detach", sizes=(LAYOUT, LAYOUT, []) if i % 2 else (LAYOUT,),
                 types=("float", "float", "Scalar") if i % 2 else ("float",), values=("", "", "1") if i % 2 else ("",))
            for i in range(n)]


def parameters(n):
    return [call(i, "aten::mm", types=("float", "float"), sizes=(LAYOUT, LAYOUT), values=("", "")) if i % 2 else
            call(i, "aten::layer_norm", sizes=(LAYOUT, [], [64], [64], [], []), types=("float", "ScalarList", "float", "float", "Scalar", "Scalar"),
                 values=("", "[64]", "", "", "1e-5", "False")) for i in range(n)]


def freed(n):
    return [one for i in range(n) for one in (call(i), memory(1001 + 10 * i, 4096 * i, 16384), *(
        [memory(1009 + 10 * i, 4096 * (i - 1000), -16384)] if i >= 1000 else []))]


def steps(n):
    marks = [event("user_annotation", f"ProfilerStep#{i}", 995 + 400 * i, 398) for i in range(n // 40)]
    return marks + one_layout(n)


def threads(n):
    return [call(i, tid=1 + i % 1000) for i in range(n)]


def deep(n, depth=500):
    return [call(i, begin=1000 + 10 * (i - i % depth) + i % depth, duration=8 * depth - 2 * (i % depth)) for i in range(n)]


def children(n):
    return [call(0, duration=10 * n)] + [call(i, begin=1000 + 10 * i) for i in range(1, n)]


def labelled(n):
    return [event("user_annotation", f"layer {k}", 990 + k, 10 * n + 100 - 2 * k) for k in range(10)] + one_layout(n)


def kernels(n):
    return [one for i in range(n) for one in (call(i), *kernel(i, 1001 + 10 * i))]


def kernels_of_one(n):
    return [call(0, duration=10 * n)] + [one for i in range(n) for one in kernel(i, 1001 + 10 * i)]


def backward(n):
    half = n // 2
    forward = [call(i, "aten::mul", sizes=(LAYOUT, LAYOUT), types=("float", "float"), values=("", ""), **{"Sequence number": i, "Fwd thread id": 0})
               for i in range(half)]
    nodes = []
    for i in range(half // 2):
        number, begin = half - 1 - i, 1000 + 10 * half + 20 * i
        more = {"Sequence number": number, "Fwd thread id": 1}
        nodes += [call(half + 2 * i, "autograd::engine::evaluate_function: MulBackward0", begin, 18, 2, (), (), (), **more),
                  call(half + 2 * i, "aten::mul", begin + 4, 8, 2, (LAYOUT, LAYOUT), ("float", "float"), ("", ""))]
    return forward + nodes


def lists(n, length=200):
    calls = []
    for k in range(n // (length + 1)):
        begin = 1000 + 10 * (length + 1) * k
        calls.append(call(k, "aten::_foreach_add_", begin, 10 * length, 1, ([LAYOUT] * length, [LAYOUT] * length, []),
                          ("TensorList", "TensorList", "Scalar")))
        calls += [call(0, "aten::add_", begin + 10 * i + 1) for i in range(length)]
    return calls


def gradients(n):
    """Parameters whose gradients autograd keeps, and an optimizer's step."""
    third = n // 3
    forward = [call(i, "aten::mm", sizes=(LAYOUT, LAYOUT), types=("float", "float"), values=("", ""), **{"Sequence number": i, "Fwd thread id": 0})
               for i in range(third)]
    begin, calls = 1000 + 10 * third, []
    for i in range(third):
        at, more = begin + 40 * i, {"Sequence number": third - 1 - i, "Fwd thread id": 1}
        calls += [call(third, "autograd::engine::evaluate_function: MmBackward0", at, 18, 2, (), (), (), **more),
                  call(third, "aten::mm", at + 4, 8, 2, (LAYOUT, LAYOUT), ("float", "float"), ("", "")),
                  call(third, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at + 20, 10, 2, (), (), (), **more),
                  call(third, "torch::autograd::AccumulateGrad", at + 22, 6, 2, (LAYOUT,), ("float",), ("",), **more)]
    end = begin + 40 * third
    step = event("user_annotation", "Optimizer.step#SGD.step", end, 10 * third + 10)
    return forward + calls + [step] + [call(i, "aten::add_", end + 1 + 10 * i, values=("", "", "-0.01")) for i in range(third)]


if __name__ == "__main__":
    print(json.dumps({"schemaVersion": 1, "traceEvents": globals()[sys.argv[1]](int(sys.argv[2]))}))
