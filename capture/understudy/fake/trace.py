"""Takes the mode's own work out of a trace, and gives collectives the nodes that ProcessGroupNCCL writes."""

from __future__ import annotations

import copy
import gc
import json

from .accumulate import IN_PLACE

MODE = "PythonDispatchMode"
# Labels below the mode's node where the operators are the step's: torch's own function runs, or a class of tensors (DTensor) does the work.
NATIVE, SUBCLASS = "understudy:native", "understudy:subclass"
AS_RECORDED = "PythonSubclass"  # what the mode's node is called in a real trace, in the second case
OF_GROUPS = ("global_rank_start", "global_rank_stride", "pg_name", "pg_desc")
EMPTY: dict[str, list] = {"values": [], "shapes": [], "types": [], "strides": []}


def clean(path, calls):
    """Rewrites the trace at `path` and returns it. `calls`: label → the call that it stands for."""
    gc.disable()  # it would go through a growing document again and again
    document = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    nodes = sorted(document["nodes"], key=lambda node: node["id"])
    by_id = {node["id"]: node for node in nodes}
    left = {node["ctrl_deps"]: node["name"] for node in nodes if node["name"] in (NATIVE, SUBCLASS)}
    hidden = {}  # id of a node that goes → the nearest ancestor that stays
    inner = set()  # those whose children go, too
    made = {}  # id of a call's label → the call; below it is another label, with the operator of a reduction
    kept = []
    for node in nodes:
        number, parent, name = node["id"], node["ctrl_deps"], node["name"]
        if left.get(number) == SUBCLASS:
            node["name"] = AS_RECORDED
        elif name == MODE or name in left.values() or (parent in inner and name not in calls):
            hidden[number] = hidden.get(parent, parent)
            if number not in left:
                inner.add(number)
            continue
        node["ctrl_deps"] = hidden.get(parent, parent)
        if name in calls:
            made[number] = calls[name]
            _record(node, calls[name], by_id.get(node["ctrl_deps"]))
        elif parent in made:
            node["inputs"] = {"values": [made[parent]["reduction"]], "shapes": [[]], "types": ["String"], "strides": [[]]}
        elif name in IN_PLACE and node["outputs"]["values"] == node["inputs"]["values"][:1]:
            _put_in_place(node, IN_PLACE[name]._schema)
        kept.append(node)
    document["nodes"] = kept
    path.write_text(json.dumps(document), encoding="utf-8", errors="surrogateescape")
    gc.enable()
    return document


def _put_in_place(node, schema):
    """Names what was made in place (accumulate.py) as such."""
    node["name"] = schema.name
    for _ in schema.arguments[len(node["inputs"]["values"]):]:  # _index_put_impl_'s `unsafe`
        for key, value in (("values", True), ("shapes", []), ("types", "Bool"), ("strides", [])):
            node["inputs"][key].append(value)
    for attribute in node["attrs"]:
        if attribute["name"] == "op_schema":
            attribute["value"] = str(schema)


def _record(node, call, parent):
    """Makes a label the record of a call, with the tensors of c10d's operator above it."""
    inputs, outputs = copy.deepcopy(EMPTY), copy.deepcopy(EMPTY)
    start, stride, size = call["ranks"]
    if call["sent"] is not None:
        _take(inputs, parent["inputs"], call["sent"], call["name"])
        _take(outputs, parent["inputs"], call["received"], call["name"])
    for value in (call["sequence"], call["group"], call["peer"], call["name"], *call["splits"], start, stride, size, *call["is_async"]):
        inputs["values"].append(value)
        shape = [[] for _ in value] if isinstance(value, list) else []
        inputs["shapes"].append(shape)
        inputs["strides"].append(shape)
        inputs["types"].append(_type(value))
    node.update(name="record_param_comms", inputs=inputs, outputs=outputs)
    in_splits, out_splits = map(json.dumps, call["splits"])
    for attribute in node["attrs"]:
        if attribute["name"] == "scope":
            attribute["value"] = 0
    named = bool(call["group"][0])  # a wait has no group
    for name, kind, value in (("collective_name", "string", call["name"]), ("dtype", "string", call["dtype"]),
                              ("in_msg_nelems", "uint64", call["counts"][0]), ("out_msg_nelems", "uint64", call["counts"][1]),
                              ("in_split_size", "string", in_splits), ("out_split_size", "string", out_splits),
                              ("global_rank_start", "uint64", start), ("global_rank_stride", "uint64", stride),
                              ("pg_name", "string", call["group"][0]), ("pg_desc", "string", call["group"][1]),
                              ("pg_size", "uint64", size), *(("is_asynchronized_op", "string", each) for each in call["is_async"])):
        if named or name not in OF_GROUPS:
            node["attrs"].append({"name": name, "type": kind, "value": value})


def _type(value):
    if isinstance(value, list):  # of splits, which are numbers alone, or a pair
        return f"{'GenericList' if {*map(type, value)} <= {int} else 'Tuple'}[{','.join(map(_type, value))}]"
    return {bool: "Bool", int: "Int", str: "String"}[type(value)]


def _take(target, source, place, name):
    for key in target:
        value = source[key][place]
        if name in ("send", "recv"):  # one tensor, not a list of one
            value = value[0] if isinstance(value, list) else value.removeprefix("GenericList[").removesuffix("]")
        target[key].append(value)
