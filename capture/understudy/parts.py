"""Finds the sizes of a rank's parts of parameters (FSDP, ZeRO) for another number of ranks.

Communication tells which tensors are parts. Each call that takes or makes one is run: what else it takes is a part too if it fails
otherwise, and its numbers are those with which it results in what is known.
"""

import collections
import heapq
import itertools
import math

from other_sizes import INTEGERS, NO_SIZES  # beside it, not in the package
from resized import Layout, NoSizes, Resized, slots_in  # type: ignore[import-not-found]

MOST_ASSIGNMENTS = 300
KEPT = NO_SIZES - {"start", "storage_offset", "num_chunks", "stride"}
# A part's first dimension is divided. A table is a whole seen as [ranks, part].
SAME, PART, TABLE = ROLES = "same", "part", "table"


class Uneven(NoSizes):
    """Ranks cannot share a part evenly: the slot."""


class Parts(Resized):
    """What changes with the number of ranks."""

    def __init__(self, program, size, call, parameters_of):
        super().__init__(program, size, call, parameters_of)
        self.pairs, self.place, self.roles = size["parts"], 0, {}  # the new rank's place in its group
        self.in_memory, self.alike = collections.defaultdict(list), collections.defaultdict(list)
        for slot, layout in enumerate(self.recorded):
            self.in_memory[self._memory(slot)].append(slot)
            if layout.sizes and all(size == 1 or stride == math.prod(layout.sizes[dim + 1:])
                                    for dim, (size, stride) in enumerate(zip(layout.sizes, layout.strides))):
                self.alike[self._stretch(slot)].append(slot)
        self.in_place = {}  # of a part that is gathered in place, by memory: its elements, and those before it
        for part, whole in self.pairs if self.first > 1 else []:
            if self._memory(part) == self._memory(whole):
                self.in_place[self._memory(part)] = self._elements(part), self.recorded[part].offset - self.recorded[whole].offset

    def _units(self):
        """All instructions: what is recorded below an operator names tensors of its own."""
        return range(len(self.calls))

    def _memory(self, slot):
        return self.program.slots[slot]["storage"]

    def _elements(self, slot):
        return math.prod(self.recorded[slot].sizes)

    def _stretch(self, slot):
        return self._memory(slot), self.recorded[slot].offset, self._elements(slot)

    def _scaled(self, number):
        """The number divided anew; None if it cannot be."""
        scaled, rest = divmod(number * self.first, self.last)
        return None if rest else scaled

    def _moved(self, number, part=0, before=0):
        """A place in memory where parts of so many elements lie side by side."""
        within, part = self._scaled(number - before), self._scaled(part)
        return None if None in (within, part) or within < 0 else within + self.place * part

    def _as(self, slot, role):
        """The layout with a role; None if it cannot have it."""
        was = self.recorded[slot]
        if role == SAME:
            return was
        sizes, strides = (*map(self._scaled, was.sizes[:1]), *was.sizes[1:]), was.strides
        offset = self._moved(was.offset, *self.in_place.get(self._memory(slot), ()))
        if role == TABLE:
            if len(was.sizes) != 2 or was.sizes[0] != self.first:
                return None
            sizes, strides = (self.last, self._scaled(was.sizes[1])), (self._scaled(strides[0]), strides[1])
            offset = self._scaled(was.offset)
        return None if None in (*sizes, *strides, offset) else Layout(sizes, strides, offset)

    def _give(self, slot, role):
        """Sets a role, also for the same elements in other shapes. What takes or makes them is run."""
        if self.roles.get(slot, role) != role:
            raise NoSizes(f"{list(self.recorded[slot].sizes)} would be one rank's part and all ranks' parts")
        if slot in self.roles:
            return
        if self._as(slot, role) is None:
            raise Uneven(slot)
        self.roles[slot] = role
        for number in self.readers[slot] + self.makers[slot]:
            heapq.heappush(self.waiting, number)
        for other in self.alike[self._stretch(slot)] if role == PART else []:
            self._give(other, PART)

    # One instruction.

    def _solve(self, number):
        """Gives roles to what the instruction takes and makes. Throws NoSizes."""
        call = self.calls[number]
        if call.op:
            # What takes the sizes of another tensor alone gets one of its own if need be (shards.cpp).
            if not call.op.partition(".")[0].endswith("_like") or self.roles.keys() & set(call.given[:1]):
                self._solve_call(call)
        elif not call.is_a("alias", "wait", "marker"):
            self._communicate(call)

    def _communicate(self, call):
        """What is neither gathered nor scattered here is sent as it is."""
        if not call.is_a("comm"):
            raise NoSizes("only operators follow another size")
        for column in zip(*call.arguments):
            slots = slots_in(list(column))
            parts = [slot for slot in slots if self.roles.get(slot) == PART]
            if parts and slots not in self.pairs and slots[::-1] not in self.pairs:
                for slot in slots:
                    if self.recorded[slot].sizes != self.recorded[parts[0]].sizes:
                        raise NoSizes(f"with {list(self.recorded[slot].sizes)}, which is no part")
                    self._give(slot, PART)

    def _solve_call(self, call):
        before, reasons = self.call(call.number, call.arguments, self.recorded.__getitem__), []
        if before.get("why_not"):
            raise NoSizes(before["why_not"])
        for chosen in self._choices(call):
            for self.numbers[call.number] in self._ordered(call, before):
                try:
                    found = self._roles_of_results(call, chosen, before)
                except NoSizes as why:
                    reasons.append(why)
                    continue
                for slot, role in (chosen | found).items():
                    if role != SAME:
                        self._give(slot, role)
                return
        self.numbers.pop(call.number)
        for slot in self._without_role(call.given):
            if self._as(slot, PART) is None:
                raise Uneven(slot)
        raise reasons[0]

    def _without_role(self, slots):
        return [slot for slot in slots if slot not in self.roles and self._elements(slot) > 1]

    def _choices(self, call):
        """Roles of what has none: all stay, those of one argument follow, all do, or those of one shape."""
        groups, shapes = [], {}
        for argument in call.arguments:
            groups.append(self._without_role(slots_in(argument)))
            for slot in groups[-1]:
                shapes.setdefault(self.recorded[slot].sizes, []).append(slot)
        yield {}
        for slots in [*groups, list(itertools.chain(*groups)), *shapes.values()]:
            for role in (PART, TABLE):
                chosen = {slot: role for slot in slots if self._as(slot, role) is not None}
                if chosen:
                    yield chosen

    def _ordered(self, call, before):
        """A view of a part is a piece of it, though the recorded one may fit in a part that grew."""
        assignments = self._assignments(call)
        if any("storage_of" in told for told in before["tensors"]) and all(self.roles.get(slot) == PART for slot in call.given):
            assignments = itertools.chain(itertools.islice(assignments, 1, None), [{}])
        return itertools.islice(assignments, MOST_ASSIGNMENTS)

    def _assignments(self, call):
        """What the numbers may become: none, all, and fewer that are equal; then the first of lists, beside other numbers."""
        options = {}
        for place, type_, name, one in call.numbers():
            if one >= 0 and type_.startswith(INTEGERS) and name not in KEPT:
                new = [value for value in self._values(name, one) if value not in (None, one)]
                if new:
                    options.setdefault((place[0], one), ([], new))[0].append(place)
        yield {}
        firsts = [([place for place in places if place[1] in (None, 0)], new) for places, new in options.values()]
        for groups in (list(options.values()), [(places, new) for places, new in firsts if places]):
            for count in range(len(groups), 0, -1):
                for some in itertools.combinations(groups, count):
                    for chosen in itertools.product(*(new for _, new in some)):
                        yield {place: value for (places, _), value in zip(some, chosen) for place in places}

    def _values(self, name, number):
        """What a number of this name may become."""
        if name == "rank":
            return [self.place]
        if name in ("start", "end", "storage_offset"):
            return [*(self._moved(number, *place) for place in sorted(set(self.in_place.values()))), self._scaled(number)]
        return [self.last if number == self.first else None, self._scaled(number)]

    def _roles_of_results(self, call, chosen, before):
        """Runs the call. Throws NoSizes if it cannot be."""
        def role_of(slot):
            return self.roles.get(slot, chosen.get(slot, SAME))

        def layout(slot):
            return self._as(slot, role_of(slot))

        def fields(told, layout_of):
            return {"sizes": tuple(told["sizes"]), "strides": tuple(told["strides"]), "offset": self._start(told, inputs, layout_of)}
        after = self.call(call.number, self._arguments(call.number), layout)
        if after.get("why_not") or after.get("resizes"):
            raise NoSizes(after.get("why_not", "what it writes would get another size"))
        if len(after["tensors"]) != len(call.results):
            raise NoSizes("another number of results than recorded")
        inputs, found = call.inputs, {}
        for slot, was, now in zip(call.results, before["tensors"], after["tensors"]):
            if slot is not None:
                recorded = self.recorded[slot]._asdict()
                # What PyTorch tells otherwise than recorded tells nothing.
                told = {name: value for (name, old), value in zip(fields(was, self.recorded.__getitem__).items(), fields(now, layout).values())
                        if old == recorded[name]}
                known = [role_of(slot)] if slot in self.roles or slot in call.given else ROLES
                layouts = {role: self._as(slot, role) for role in known}
                found[slot] = next((role for role, each in layouts.items() if each is not None and told.items() <= each._asdict().items()), None)
                if found[slot] is None:
                    raise NoSizes(f"{list(self.recorded[slot].sizes)} would become {now['sizes']}")
        return found

    # The whole program.

    def _run_all(self, place):
        """Finds roles and numbers for a rank's place in the new group. Returns why instructions cannot follow."""
        self.place, self.roles, self.numbers, self.waiting, refused = place, {}, {}, [], {}
        for part, whole in self.pairs:
            self._give(part, PART)
            for slot in self.in_memory[self._memory(whole)]:
                if self.recorded[slot].sizes == (self.first, self._elements(part)):
                    self._give(slot, TABLE)
        while self.waiting:
            number = self._next()
            refused.pop(number, None)
            try:
                self._solve(number)
            except Uneven:
                raise
            except NoSizes as why:
                if not self.calls[number].depth:
                    refused[number] = str(why)
        for call in self.calls:
            if call.is_a("alias") and self._leaves_part(*call.given, *call.made):
                refused[call.number] = "a view of a part that is none"
        return refused

    def _leaves_part(self, given, made):
        """True if a view of a part is none. The memory of one that was freed may be that of a table (shards.cpp)."""
        return self.roles.get(given) == PART and self.roles.get(made) != PART and \
            (self._memory(made) in self.in_place or not any(self.roles.get(slot) == TABLE for slot in self.in_memory[self._memory(made)]))

    def lines(self):
        """The answer, as of other_sizes.Search: with the first place in the group, and what each further one adds."""
        try:
            refused = self._run_all(min(1, self.last - 1))
            offsets, numbers = {slot: self._as(slot, role).offset for slot, role in self.roles.items()}, self.numbers
            refused |= self._run_all(0)
        except Uneven as slot:
            return [{"slot": slot.args[0], "refused": "uneven"}]
        if refused:
            return [{"instruction": number, "refused": why} for number, why in sorted(refused.items())]
        layouts = {slot: self._as(slot, role) for slot, role in sorted(self.roles.items())}
        lines = [{"slot": slot, **layout._asdict(), "step": offsets[slot] - layout.offset} for slot, layout in layouts.items()]
        for number in sorted({*self.numbers, *numbers}):
            call = self.calls[number]
            for place in sorted({*self.numbers.get(number, ()), *numbers.get(number, ())}, key=str):
                first, second = (found.get(number, {}).get(place, call.number_at(place)) for found in (self.numbers, numbers))
                lines.append({"instruction": number, **call.becomes(place, first), "step": second - first})
        return lines
