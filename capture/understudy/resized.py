"""A program whose tensors get other sizes, an operator at a time, by calling it on the meta device.

An operator is called with what was recorded, and with what its arguments have become. What differs between both answers changes in the
recorded result, so a result that PyTorch tells otherwise than recorded stays as recorded.
"""

import collections
import functools
import heapq
import itertools
import math
from fractions import Fraction

PRIME = 1009
TABLES = ("self", "weight")  # parameters that indices read
MOST_STEPS = 200_000

Layout = collections.namedtuple("Layout", "sizes strides offset")  # a sparse tensor's strides are its dimensions and elements, if known


def slots_in(value):
    """Numbers of the slots that arguments or results hold, in order."""
    if isinstance(value, list):
        return [slot for item in value for slot in slots_in(item)]
    return [int(value[1:])] if isinstance(value, str) and value[:1] == "%" else []


def tensors_in(value):
    """As slots_in(), with None for an undefined tensor."""
    if isinstance(value, list):
        return [slot for item in value for slot in tensors_in(item)]
    return [None] if value == "undefined" else slots_in(value)


def stretched(layout, sizes):
    """The layout with other sizes: strides around a dimension grow with it."""
    strides = list(layout.strides)
    for was, now, inner in zip(layout.sizes, sizes, layout.strides):
        for dim, stride in enumerate(layout.strides):
            if stride > inner > 0 and was != now:
                strides[dim] = strides[dim] * now // was
    return layout._replace(sizes=tuple(sizes), strides=tuple(strides))


def grouped(sizes, others):
    """Splits two shapes of as many elements into the shortest stretches of dimensions that have as many elements."""
    i = o = 0
    while i < len(sizes) and o < len(others):
        first, second, a, b = i, o, sizes[i], others[o]
        i, o = i + 1, o + 1
        while a != b:
            if a < b and i < len(sizes):
                a, i = a * sizes[i], i + 1
            elif b < a and o < len(others):
                b, o = b * others[o], o + 1
            else:
                return
        yield range(first, i), range(second, o)


class NoSizes(Exception):
    """A call that cannot have other sizes."""


def _put(table, key, value):
    """None: it is not there."""
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


class Resized:
    """The program with other sizes. `call(number, arguments, layout)` answers as operator_results.Program.answer() does."""

    def __init__(self, program, size, call, parameters_of):
        self.program, self.call, self.parameters_of = program, call, functools.cache(parameters_of)
        self.first, self.anywhere = size["from"], size["anywhere"]
        self.last = size["to"]
        self.calls = program.instructions
        self.recorded = [self._layout(slot) for slot in program.slots]
        self.readers, self.makers = collections.defaultdict(list), collections.defaultdict(list)
        self.order, self.written, self.data = self._units(), set(), []
        for number in self.order:
            for slot in slots_in(self.calls[number].get("args", [])):
                self.readers[slot].append(number)
            for slot in slots_in(self.calls[number].get("results", [])):
                self.makers[slot].append(number)
        for call in self.calls:
            for (type_, _), value in zip(self._parameters(call), call.get("args", [])):
                if "!" in type_:
                    self.written.update(program.slots[slot]["storage"] for slot in slots_in(value))
        self.sharing = collections.defaultdict(list)
        for number, slot in enumerate(program.slots):
            if slot.get("external"):
                self.sharing[slot["storage"]].append(number)
        self.layouts, self.numbers, self.spoiled = {}, {}, set()
        self.kept, self.refused, self.assumed = {}, {}, {}
        self.journal, self.waiting, self.steps, self.goal = [], [], 0, self.first * PRIME

    def _layout(self, slot):
        sizes = tuple(slot.get("sizes", ()))
        dense = tuple(math.prod(max(size, 1) for size in sizes[dim + 1:]) for dim in range(len(sizes)))
        return Layout(sizes, tuple(slot.get("strides", dense)), slot.get("offset", 0))

    def _units(self):
        """Numbers of the instructions to run: those below an operator that this LibTorch lacks run in its place."""
        units, hidden = [], None
        for number, call in enumerate(self.calls):
            depth = call.get("body", 0)
            if hidden is not None and depth > hidden:
                continue
            hidden = None
            has_body = number + 1 < len(self.calls) and self.calls[number + 1].get("body", 0) > depth
            if "op" in call and has_body and not self.program.is_known(call):
                continue
            units.append(number)
            hidden = depth
        return units

    def _parameters(self, call):
        """(type, name) of each parameter of its schema."""
        if call.get("schema") is None:
            return []
        return self.parameters_of(self.program.schemas[call["schema"]])

    # What is set is written to a journal, so that an attempt can be taken back.

    def _set(self, table, key, value):
        self.journal.append((table, key, table.get(key)))
        _put(table, key, value)

    def _take_back(self, mark):
        while len(self.journal) > mark:
            _put(*self.journal.pop())

    def layout(self, slot):
        return self.layouts.get(slot, self.recorded[slot])

    def _set_layout(self, slot, layout):
        if layout != self.layout(slot):
            self._set(self.layouts, slot, layout if layout != self.recorded[slot] else None)
            for other in self.readers[slot] + (self.makers[slot] if len(self.makers[slot]) > 1 else []):
                heapq.heappush(self.waiting, other)

    def _set_external(self, slot, dim, size):
        """Other views of the same memory follow."""
        was, value = self.recorded[slot], self.program.slots[slot].get("value", {})
        if value.get("rule") == "offsets" and dim == 0:  # what they divide: as much more of it
            parts = {other for reader in self.readers[slot] for other in slots_in(self.calls[reader].get("args", []))
                     if self.program.slots[other].get("external") and self.recorded[other].sizes == (value.get("high"),)}
            for other in parts - {slot}:
                self._set_layout(other, Layout((value["high"] * PRIME,), self.recorded[other].strides, self.recorded[other].offset))
        for other in self.sharing[self.program.slots[slot]["storage"]]:
            layout = self.recorded[other]
            for at, (length, stride) in enumerate(zip(layout.sizes, layout.strides)):
                if (length, stride) == (was.sizes[dim], was.strides[dim]) and (other != slot or at == dim):
                    now = list(self.layout(other).sizes)
                    now[at] = size
                    self._set_layout(other, stretched(layout, now))

    # One instruction.

    def _arguments(self, number, decided=None):
        """The arguments with the numbers that were decided."""
        arguments = list(self.calls[number].get("args", []))
        for (argument, item), value in (self.numbers.get(number, {}) if decided is None else decided).items():
            if item is None:
                arguments[argument] = value
            else:
                arguments[argument] = list(arguments[argument])
                arguments[argument][item] = value
        return arguments

    def _changed(self, number):
        return [slot for slot in slots_in(self.calls[number].get("args", [])) if slot in self.layouts]

    def _run(self, number):
        """Sets the layouts of the instruction's results. Throws NoSizes."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NoSizes("the search takes too long")
        call = self.calls[number]
        changed = self._changed(number)
        if any(slot in self.spoiled for slot in slots_in(call.get("args", []))):
            self.spoiled.update(slots_in(call.get("results", [])))
            return
        if "op" not in call:
            if "alias" in call:
                self._alias(call)
            elif changed and "marker" not in call and "wait" not in call:
                raise NoSizes("only operators follow another size")
            return
        results = tensors_in(call.get("results", []))
        if not changed and not self.numbers.get(number):
            for slot in results:
                if slot is not None:
                    self._set_result(call, slot, self.recorded[slot])
            return
        inputs = tensors_in(call.get("args", []))
        before = self.call(number, call.get("args", []), self.recorded.__getitem__)
        if before.get("fails") or (before.get("why_not") and results and not self.program.is_known(call)):
            raise NoSizes(before["why_not"])
        if before.get("why_not") or len(before["tensors"]) != len(results):  # data decides
            if results:
                self._keep(number, before.get("why_not", "other results than recorded"))
            for slot in results:
                if slot is not None:
                    self._set_result(call, slot, self.layout(slot) if slot in inputs else self.recorded[slot])
            return
        after = self.call(number, self._arguments(number), self.layout)
        if after.get("why_not"):
            raise NoSizes(after["why_not"])
        if len(after["tensors"]) != len(results):
            raise NoSizes(f"{len(after['tensors'])} results for {len(results)}")
        self._compare_arguments(number, changed, before)
        for slot, was, now in zip(results, before["tensors"], after["tensors"]):
            if slot is not None:
                self._set_result(call, slot, self._follow(number, slot, inputs, was, now))

    def _compare_arguments(self, number, changed, before):
        """Throws NoSizes if an argument keeps a size that another one has changed, and no result shows that size: then both must agree,
        which few operators check on the meta device. A table may have as many rows as there are indices."""
        call, grown, still = self.calls[number], {}, {}
        moved = {slot: {was for was, now in zip(self.recorded[slot].sizes, self.layout(slot).sizes) if was != now} for slot in changed}
        all_moved = set().union(*moved.values())
        by_index = all(self.program.slots[slot]["dtype"].startswith(("int", "uint")) for slot in changed)
        for (_, name), value in zip(self._parameters(call), call.get("args", [])):
            for slot in slots_in(value) if not (by_index and name in TABLES) else ():
                for table, sizes in ((grown, all_moved), (still, all_moved - moved.get(slot, set()))):
                    if sizes.intersection(self.recorded[slot].sizes):
                        table[slot] = stretched(self.recorded[slot], [
                            was * PRIME if was in sizes and was == now else was
                            for was, now in zip(self.recorded[slot].sizes, self.layout(slot).sizes)])
        for larger in (still, grown) if still else ():  # by themselves, and with what is as large by chance
            alone = self.call(number, call.get("args", []), lambda slot, larger=larger: larger.get(slot, self.recorded[slot]))
            if alone.get("why_not") or [each["sizes"] for each in alone["tensors"]] != [each["sizes"] for each in before["tensors"]]:
                return
        if still:
            raise NoSizes(f"{list(self.recorded[next(iter(still))].sizes)} beside {list(self.layout(changed[0]).sizes)}")

    def _follow(self, number, slot, inputs, was, now):
        """The recorded layout with what differs between two answers."""
        recorded = self.recorded[slot]
        if "elements" in was:
            self.recorded[slot] = recorded._replace(strides=tuple(was["elements"]))
            return recorded._replace(strides=tuple(now["elements"]))
        if was["sizes"] == now["sizes"] and was["strides"] == now["strides"]:
            sizes, strides = recorded.sizes, recorded.strides
            if tuple(was["sizes"]) != sizes:
                self._keep(number, f"{was['sizes']} where {list(sizes)} was recorded")
        elif len(was["sizes"]) != len(recorded.sizes) or len(now["sizes"]) != len(recorded.sizes):
            raise NoSizes(f"{now['sizes']}, of other dimensions than recorded")
        else:
            sizes = []
            for size, old, new in zip(recorded.sizes, was["sizes"], now["sizes"]):
                if old != new and size != old:
                    self._keep(number, f"{old} where {size} was recorded")
                    new = old = size
                sizes.append(new if size == old else size)
            strides = now["strides"] if was["strides"] == list(recorded.strides) else stretched(recorded, sizes).strides
        offset = recorded.offset + self._start(now, inputs, self.layout) - self._start(was, inputs, self.recorded.__getitem__)
        return Layout(tuple(sizes), tuple(strides), offset)

    def _start(self, told, inputs, layout):
        start = told.get("offset_from", 0)
        if "storage_of" in told and not told.get("offset_is_absolute"):
            start += layout(inputs[told["storage_of"]]).offset
        return start

    def _set_result(self, call, slot, layout):
        is_fixed = self.program.slots[slot].get("external") or slot in slots_in(call.get("args", [])) or \
            (slot in self.layouts and len(self.makers[slot]) > 1)
        if is_fixed and layout != self.layout(slot):
            raise NoSizes(f"{list(self.layout(slot).sizes)} would become {list(layout.sizes)}")
        self._set_layout(slot, layout)

    def _alias(self, call):
        given, seen = slots_in(call["args"]), slots_in(call["results"])
        if given and seen:
            self._set_result(call, seen[0], self._seen(given[0], self.recorded[seen[0]]))

    def _seen(self, slot, seen):
        """Another layout of the same memory: dimensions are known by their strides, or by their elements."""
        was, now = self.recorded[slot], self.layout(slot)
        if was == now:
            return seen
        sizes, grown = list(seen.sizes), [dim for dim in range(len(was.sizes)) if was.sizes[dim] != now.sizes[dim]]
        found = set()
        for dim, at in itertools.product(range(len(sizes)), grown):
            if (seen.sizes[dim], seen.strides[dim]) == (was.sizes[at], was.strides[at]):
                sizes[dim] = now.sizes[at]
                found.add(at)
        if len(found) < len(grown):
            sizes = self._reshaped(was.sizes, now.sizes, seen.sizes)
        return stretched(seen, sizes)

    def _reshaped(self, was, now, seen):
        sizes = list(seen)
        for ours, theirs in grouped(was, seen) if math.prod(was) == math.prod(seen) else ():
            more = Fraction(math.prod(now[dim] for dim in ours), math.prod(was[dim] for dim in ours) or 1)
            if more != 1:
                grown = next(dim for dim in ours if was[dim] != now[dim])
                outer = math.prod(was[dim] for dim in ours if dim < grown)
                holder = min(theirs, key=lambda dim: (seen[dim] != self.first, seen[dim] % self.first != 0, seen[dim] == 1, dim))
                if was[grown] == self.first:  # where the elements of its dimension are
                    holder = next(dim for dim in theirs if math.prod(seen[theirs[0]:dim + 1]) > outer)
                sizes[holder] = int(seen[holder] * more)
        if math.prod(sizes) != math.prod(now):
            raise NoSizes(f"a view {list(seen)} of what becomes {list(now)}")
        return sizes

    def _keep(self, number, why):
        self._set(self.kept, number, why)

    # With TO.

    def _value(self, was, found):
        """What a number that the search found is with TO."""
        for power in (1, 2, 3):
            if found == was * PRIME ** power:
                value = Fraction(was) * Fraction(self.last, self.first) ** power
                break
        else:
            value = was + Fraction(found - was, self.goal - self.first) * (self.last - self.first)
        if value.denominator != 1:
            raise NoSizes(f"{was} is no multiple of {self.first}, and no part of {self.last} is as large a share")
        return int(value)

    def _run_decided(self):
        """Runs the program with TO."""
        externals = {slot: layout for slot, layout in self.layouts.items() if self.program.slots[slot].get("external")}
        numbers, self.numbers, self.layouts, self.waiting, self.kept = self.numbers, {}, {}, [], {}
        for slot, layout in externals.items():
            try:
                sizes = [self._value(was, now) if was != now else was for was, now in zip(self.recorded[slot].sizes, layout.sizes)]
                self._set_layout(slot, stretched(self.recorded[slot], sizes))
            except NoSizes as why:
                self.refused[self.readers[slot][0]] = str(why)
        for number, decided in numbers.items():
            arguments = self.calls[number]["args"]
            try:
                self.numbers[number] = {
                    (argument, item): self._value(arguments[argument] if item is None else arguments[argument][item], value)
                    for (argument, item), value in decided.items()}
                heapq.heappush(self.waiting, number)
            except NoSizes as why:
                self.refused[number] = str(why)
                self.spoiled.update(slots_in(self.calls[number].get("results", [])))
        while self.waiting:
            number = heapq.heappop(self.waiting)
            if number in self.refused:
                continue
            try:
                self._run(number)
            except NoSizes as why:
                self.refused[number] = str(why)
                self.spoiled.update(slots_in(self.calls[number].get("results", [])))
