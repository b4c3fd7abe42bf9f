"""Counts nodes, operators and collectives of an execution trace of schema 1.1.1."""

import collections
import gzip
import json

# What c10d calls a collective, in the vocabulary of record_param_comms: for traces without it.
C10D_NAMES = {
    "allreduce_": "allreduce", "allreduce_coalesced_": "allreduce_coalesced",
    "broadcast_": "broadcast", "reduce_": "reduce", "allgather_": "all_gather",
    "_allgather_base_": "_allgather_base",
    "allgather_into_tensor_coalesced_": "allgather_into_tensor_coalesced", "gather_": "gather",
    "scatter_": "scatter", "reduce_scatter_": "reduce_scatter",
    "_reduce_scatter_base_": "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter_tensor_coalesced",
    "alltoall_": "all_to_all", "send": "send", "recv_": "recv", "barrier": "barrier",
}


def _attributes(node):
    return {attribute["name"]: attribute["value"] for attribute in node["attrs"]}


def _inputs(node):
    return node["inputs"]["values"]


def _c10d_collective(node):
    name = node["name"].removeprefix("c10d::")
    if name == "alltoall_base_":
        return "all_to_allv" if any(_inputs(node)[3:5]) else "all_to_all"
    return C10D_NAMES.get(name)


def count(trace):
    nodes = trace["nodes"]
    parents = {node["id"]: node.get("ctrl_deps", node.get("parent")) for node in nodes}
    below_comms = {parents[node["id"]] for node in nodes if node["name"] == "record_param_comms"}
    operators = 0
    collectives = collections.Counter()
    for node in nodes:
        attributes = _attributes(node)
        if node["name"] == "record_param_comms":
            # The name is the only plain text among the inputs; the group is a tuple or a number.
            name = next(value for value in _inputs(node) if isinstance(value, str))
        elif node["name"].startswith("c10d::"):
            name = None if node["id"] in below_comms else _c10d_collective(node)
        else:
            operators += bool(attributes["op_schema"]) or \
                attributes.get("kernel_backend") in ("triton", "cpp")
            continue
        if name is not None and name != "init":
            collectives[name] += 1
            operators += 1
    return {"schema": trace["schema"], "nodes": len(nodes), "operators": operators,
            "collectives": dict(sorted(collectives.items()))}


def count_file(path):
    with gzip.open(path) as stream:
        return count(json.load(stream))
