"""Operators of other libraries."""

import torch


class Operator:
    """One that a library brings or, where that is not loaded, a function of ATen's that does what it does."""

    def __init__(self, schema, positional, arguments, source):
        """`arguments`: those that the function `row` of the source takes, by position; -1: None."""
        self.schema, self.positional, self.arguments, self.source = schema, positional, arguments, source
        self.call = None

    def __call__(self, *given):
        if self.call is None:
            self.call = self.of_library() or self.of_row()
        return self.call(*given)

    def of_library(self):
        schema = torch._C.parse_schema(self.schema)
        space, name = schema.name.split("::")
        packet = getattr(getattr(torch.ops, space), name, None)
        operator = getattr(packet, schema.overload_name or "default", None)
        names = [argument.name for argument in schema.arguments[self.positional:]]
        return operator and (lambda *given: operator(*given[:self.positional],
                                                     **dict(zip(names, given[self.positional:]))))

    def of_row(self):
        torch._C._set_graph_executor_optimize(False)  # each of its operators runs
        unit = torch._C.CompilationUnit()
        unit.define(self.source, lambda name: torch.ops.aten if name == "torch" else None)
        row = unit.find_function("row")
        return lambda *given: row(*(None if i < 0 else given[i] for i in self.arguments))
