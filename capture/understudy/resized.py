"""A program whose tensors get other sizes, an operator at a time, by calling it on the meta device.

An operator is called with what was recorded, and with what its arguments have become. What differs between both answers changes in the
recorded result, so a result that PyTorch tells otherwise than recorded stays as recorded.
"""

import collections
import heapq
import itertools
import math
from fractions import Fraction

PRIME = 1009
TABLES = ("self", "weight")  # parameters that indices read
MOST_STEPS = 200_000

Layout = collections.namedtuple("Layout", "sizes strides offset")  # a sparse tensor's strides are its dimensions and elements, if known


def tensors_in(value):
    """Numbers of the slots that arguments or results hold, in order; None for an undefined tensor."""
    if isinstance(value, list):
        return [slot for item in value for slot in tensors_in(item)]
    text = str(value)
    return [int(text[1:])] if text.startswith("%") else [None] * (text == "undefined")


def slots_in(value):
    """As tensors_in(), without undefined ones."""
    return [slot for slot in tensors_in(value) if slot is not None]


class Instruction:
    """A recorded instruction: what it takes and makes, and its numbers."""

    def __init__(self, number, record, parameters):
        self.number, self.record, self.op = number, record, record.get("op", "")
        self.parameters = parameters  # (type, name) of each
        self.arguments, self.depth = record.get("args", []), record.get("body", 0)
        self.inputs, self.results = tensors_in(self.arguments), tensors_in(record.get("results", []))  # None: undefined
        self.given, self.made = slots_in(self.arguments), slots_in(record.get("results", []))
        self.at = {name: place for place, ((_, name), _) in enumerate(zip(parameters, self.arguments))}

    def is_a(self, *kinds):
        return any(kind in self.record for kind in kinds)

    def named(self, name):
        """The argument of this name; None if it has none."""
        return self.arguments[self.at[name]] if name in self.at else None

    def numbers(self):
        """(place, type, name, number) of each integer among its arguments. A place is an argument, and an item of a list or None."""
        for argument, ((type_, name), value) in enumerate(zip(self.parameters, self.arguments)):
            for item, one in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if type(one) is int:
                    yield (argument, item), type_, name, one

    def number_at(self, place):
        argument, item = place
        return self.arguments[argument] if item is None else self.arguments[argument][item]

    def with_numbers(self, decided):
        """The arguments with other numbers at these places."""
        arguments = list(self.arguments)
        for (argument, item), value in decided.items():
            if item is not None:
                value = [*arguments[argument][:item], value, *arguments[argument][item + 1:]]
            arguments[argument] = value
        return arguments

    def becomes(self, place, value):
        """The line that says what a number becomes (et_schema/formats/call_results/other_sizes.h)."""
        return {"argument": place[0], "number": value} | ({} if place[1] is None else {"item": place[1]})


def stretched(layout, sizes):
    """The layout with other sizes: strides around a dimension grow with it."""
    strides = list(layout.strides)
    for was, now, inner in zip(layout.sizes, sizes, layout.strides):
        for dim, stride in enumerate(layout.strides):
            if stride > inner > 0 and was != now:
                strides[dim] = strides[dim] * now // was
    return layout._replace(sizes=tuple(sizes), strides=tuple(strides))


def grouped(sizes, others):
    """Splits two shapes of as many elements, and of some, into the shortest stretches of dimensions that have as many elements."""
    i = o = 0
    while i < len(sizes) and o < len(others):
        first, second, a, b = i, o, sizes[i], others[o]
        i, o = i + 1, o + 1
        while a != b:
            if a < b:
                a, i = a * sizes[i], i + 1
            else:
                b, o = b * others[o], o + 1
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
        self.program, self.call = program, call
        self.first, self.last, self.anywhere = size["from"], size["to"], size["anywhere"]
        parameters = {None: [], **{number: parameters_of(text) for number, text in enumerate(program.schemas)}}
        self.calls = [Instruction(number, record, parameters[record.get("schema")]) for number, record in enumerate(program.instructions)]
        self.recorded = [self._layout(slot) for slot in program.slots]
        self.readers, self.makers = collections.defaultdict(list), collections.defaultdict(list)
        self.order = self._units()
        for number in self.order:
            for slot in self.calls[number].given:
                self.readers[slot].append(number)
            for slot in self.calls[number].made:
                self.makers[slot].append(number)
        self.written = {program.slots[slot]["storage"] for call in self.calls for (type_, _), value in zip(call.parameters, call.arguments)
                        if "!" in type_ for slot in slots_in(value)}
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
        units, number = [], 0
        while number < len(self.calls):
            call = self.calls[number]
            after = next((later for later in range(number + 1, len(self.calls)) if self.calls[later].depth <= call.depth), len(self.calls))
            if call.op and after > number + 1 and not self.program.is_known(call.record):
                after = number + 1
            else:
                units.append(number)
            number = after
        return units

    # What is set is written to a journal, so that an attempt can be taken back.

    def _set(self, table, key, value):
        self.journal.append((table, key, table.get(key)))
        _put(table, key, value)

    def _take_back(self, mark):
        while len(self.journal) > mark:
            _put(*self.journal.pop())

    def _next(self):
        """Takes the first instruction that waits."""
        number = heapq.heappop(self.waiting)
        while self.waiting[:1] == [number]:
            heapq.heappop(self.waiting)
        return number

    def layout(self, slot):
        return self.layouts.get(slot, self.recorded[slot])

    def _set_layout(self, slot, layout):
        if layout != self.layout(slot):
            self._set(self.layouts, slot, layout if layout != self.recorded[slot] else None)
            for other in self.readers[slot] + (self.makers[slot][1:] and self.makers[slot]):
                heapq.heappush(self.waiting, other)

    def _set_external(self, slot, dim, size):
        """Other views of the same memory follow."""
        was, value = self.recorded[slot], self.program.slots[slot].get("value", {})
        if value.get("rule") == "offsets":  # what they divide: as much more of it
            parts = {other for reader in self.readers[slot] for other in self.calls[reader].given
                     if self.program.slots[other].get("external") and self.recorded[other].sizes == (value.get("high"),)}
            for other in parts - {slot}:
                self._set_layout(other, Layout((value["high"] * PRIME,), self.recorded[other].strides, self.recorded[other].offset))
        for other in self.sharing[self.program.slots[slot]["storage"]]:
            layout = self.recorded[other]
            for at, (length, stride) in enumerate(zip(layout.sizes, layout.strides)):
                if (length, stride) == (was.sizes[dim], was.strides[dim]):
                    now = list(self.layout(other).sizes)
                    now[at] = size
                    self._set_layout(other, stretched(layout, now))

    # One instruction.

    def _arguments(self, number):
        """The arguments with the numbers that were decided."""
        return self.calls[number].with_numbers(self.numbers.get(number, {}))

    def _changed(self, number):
        return [slot for slot in self.calls[number].given if slot in self.layouts]

    def _spoil(self, number, why):
        """What reads the results of an instruction that cannot follow is left out."""
        self.refused[number] = why
        self.spoiled.update(self.calls[number].made)

    def _run(self, number):
        """Sets the layouts of the instruction's results. Throws NoSizes."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NoSizes("the search takes too long")
        call, changed = self.calls[number], self._changed(number)
        if self.spoiled.intersection(call.given):
            self.spoiled.update(call.made)
        elif call.is_a("alias"):
            self._alias(call)
        elif call.op and (changed or self.numbers.get(number)):
            self._run_changed(number, changed)
        elif call.op:
            self._set_results(call, self.recorded.__getitem__)
        elif changed and not call.is_a("marker", "wait"):
            raise NoSizes("only operators follow another size")

    def _run_changed(self, number, changed):
        call = self.calls[number]
        before = self.call(number, call.arguments, self.recorded.__getitem__)
        if before.get("fails") or (before.get("why_not") and call.results and not self.program.is_known(call.record)):
            raise NoSizes(before["why_not"])
        if before.get("why_not") or len(before["tensors"]) != len(call.results):  # data decides
            if call.results:
                self._set(self.kept, number, before.get("why_not", "other results than recorded"))
            self._set_results(call, self.layout)
            return
        after = self.call(number, self._arguments(number), self.layout)
        if after.get("why_not") or len(after["tensors"]) != len(call.results):
            raise NoSizes(after.get("why_not", "another number of results than recorded"))
        self._compare_arguments(call, changed, before)
        told = {slot: pair for slot, *pair in zip(call.results, before["tensors"], after["tensors"])}
        self._set_results(call, lambda slot: self._follow(number, slot, *told[slot]))

    def _compare_arguments(self, call, changed, before):
        """Throws NoSizes if an argument keeps a size that another one has changed, and no result shows that size: then both must agree,
        which few operators check on the meta device. A table may have as many rows as there are indices."""
        grown, still = {}, {}
        moved = {slot: {was for was, now in zip(self.recorded[slot].sizes, self.layout(slot).sizes) if was != now} for slot in changed}
        all_moved = set().union(*moved.values())
        by_index = all(self.program.slots[slot]["dtype"].startswith(("int", "uint")) for slot in changed)
        tables = slots_in([call.named(name) for name in TABLES]) if by_index else ()
        for slot in (slot for slot in call.given if slot not in tables):
            for table, sizes in ((grown, all_moved), (still, all_moved - moved.get(slot, set()))):
                if sizes.intersection(self.recorded[slot].sizes):
                    table[slot] = stretched(self.recorded[slot], [
                        was * PRIME if was in sizes and was == now else was
                        for was, now in zip(self.recorded[slot].sizes, self.layout(slot).sizes)])
        if not still:
            return
        for larger in still, grown:  # by themselves, and with what is as large by chance
            alone = self.call(call.number, call.arguments, lambda slot, larger=larger: larger.get(slot, self.recorded[slot]))
            if alone.get("why_not") or [each["sizes"] for each in alone["tensors"]] != [each["sizes"] for each in before["tensors"]]:
                return
        raise NoSizes(f"{list(self.recorded[next(iter(still))].sizes)} beside {list(self.layout(changed[0]).sizes)}")

    def _follow(self, number, slot, was, now):
        """The recorded layout with what differs between two answers."""
        recorded, inputs = self.recorded[slot], self.calls[number].inputs
        if "elements" in was:
            self.recorded[slot] = recorded._replace(strides=tuple(was["elements"]))
            return recorded._replace(strides=tuple(now["elements"]))
        told, become = tuple(was["sizes"]), tuple(now["sizes"])
        if told != recorded.sizes:
            self._set(self.kept, number, f"{was['sizes']} where {list(recorded.sizes)} was recorded")
        sizes = recorded.sizes
        if told != become:
            if not len(told) == len(become) == len(sizes):
                raise NoSizes(f"{now['sizes']}, of other dimensions than recorded")
            sizes = tuple(new if size == old else size for size, old, new in zip(sizes, told, become))
        strides = now["strides"] if was["strides"] == list(recorded.strides) else stretched(recorded, sizes).strides
        offset = recorded.offset + self._start(now, inputs, self.layout) - self._start(was, inputs, self.recorded.__getitem__)
        return Layout(sizes, tuple(strides), offset)

    def _start(self, told, inputs, layout):
        start = told.get("offset_from", 0)
        if "storage_of" in told and not told.get("offset_is_absolute"):
            start += layout(inputs[told["storage_of"]]).offset
        return start

    def _set_results(self, call, layout_of):
        for slot in call.made:
            self._set_result(call, slot, layout_of(slot))

    def _set_result(self, call, slot, layout):
        is_fixed = self.program.slots[slot].get("external") or slot in call.given or (slot in self.layouts and len(self.makers[slot]) > 1)
        if is_fixed and layout != self.layout(slot):
            raise NoSizes(f"{list(self.layout(slot).sizes)} would become {list(layout.sizes)}")
        self._set_layout(slot, layout)

    def _alias(self, call):
        for given, seen in zip(call.given[:1], call.made[:1]):
            self._set_result(call, seen, self._seen(given, self.recorded[seen]))

    def _seen(self, slot, seen):
        """Another layout of the same memory: dimensions are known by their strides, or by their elements."""
        was, now = self.recorded[slot], self.layout(slot)
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
        for ours, theirs in grouped(was, seen) if math.prod(was) == math.prod(seen) > 0 else ():
            more = Fraction(math.prod(now[dim] for dim in ours), math.prod(was[dim] for dim in ours))
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

    # With TO.

    def _value(self, was, found):
        """What a number that the search found is with TO."""
        scaled = {was * PRIME ** power: was * Fraction(self.last, self.first) ** power for power in (1, 2, 3)}
        value = scaled.get(found, was + Fraction(found - was, self.goal - self.first) * (self.last - self.first))
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
            heapq.heappush(self.waiting, number)
            try:
                self.numbers[number] = {place: self._value(self.calls[number].number_at(place), value) for place, value in decided.items()}
            except NoSizes as why:
                self._spoil(number, str(why))
        while self.waiting:
            number = self._next()
            try:
                if number not in self.refused:
                    self._run(number)
            except NoSizes as why:
                self._spoil(number, str(why))
