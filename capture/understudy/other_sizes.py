"""Finds the sizes of a program's tensors for another batch or another length.

Nothing but calls tells what a dimension means: the first size of the data that the step reads becomes another one, and a further dimension
or number follows only if a call fails otherwise (resized.py).

The search takes a size that is FROM times a large prime, which no other dimension can equal. What it decides is then run with TO.
"""

import collections
import functools
import heapq
import itertools
import math

from resized import PRIME, Layout, NoSizes, Resized, stretched  # type: ignore[import-not-found]  # beside it, not in the package

FAR, MOST_MOVES, FEW_MOVES, MOST_CHOICES = 3, 60, 6, 48
# Names of parameters that are no sizes; old schemas call both kinds int.
NO_SIZES = set("""padding dilation groups group padding_idx index kernel_size shifts storage_offset start step output_padding num_weights
    num_heads ignore_index k dim dims dim0 dim1 start_dim end_dim dtype layout memory_format reduction correction normalization mode diagonal stride
    source destination chunks num_chunks sections hidden_size num_layers scale_grad_by_freq""".split())


INTEGERS = ("SymInt", "int")  # types of numbers that may be


class Search(Resized):
    """What changes with the size."""

    def _choices(self, number):
        """For each number among the arguments that may be a size: its place, and what it may become, the likeliest first."""
        call = self.calls[number]
        inputs = [(self.recorded[slot], self.layout(slot)) for slot in self._changed(number)]
        choices = {place: self._values(one, inputs) for place, type_, name, one in call.numbers()
                   if one > 1 and (type_.startswith(INTEGERS) or name == "end") and name not in NO_SIZES}  # of a range, a scalar
        return {place: values for place, values in choices.items() if values}

    def _values(self, number, inputs):
        """What a number may become, with how unlikely that is."""
        values = [(0, self.goal)] if number == self.first else []
        for was, now in inputs:
            for first, end in itertools.combinations(range(len(was.sizes) + 1), 2):
                if math.prod(was.sizes[first:end]) == number:
                    values.append((1, math.prod(now.sizes[first:end])))
        if number % self.first == 0:
            values.append((2, number * PRIME))
        elif self.first % number == 0:
            values.append((4, number * PRIME))
        return {value: rank for rank, value in sorted(values, reverse=True) if value != number}

    def _assignments(self, number):
        """What the numbers of a call may become: as few of them as possible, the likeliest first."""
        choices = self._choices(number)
        single = sorted(((rank, place, value) for place, values in choices.items() for value, rank in values.items()),
                        key=lambda one: (one[0], one[1][0], one[1][1] or 0))
        for count in range(1, len(choices) + 1):
            for several in itertools.combinations(single, count):
                if len({place for _, place, _ in several}) == count:
                    yield {place: value for _, place, value in several}

    def _with_followers(self, number, assignment):
        """Adds what other numbers of a call become with these: strides that it is given, and where one of several equal parts starts."""
        call, more = self.calls[number], {}
        strides, sizes = call.named("stride"), call.named("size")
        if assignment and strides and sizes:
            become = [assignment.get((call.at["size"], item), size) for item, size in enumerate(sizes)]
            moved = stretched(Layout(tuple(sizes), tuple(strides), 0), become).strides
            more = {(call.at["stride"], item): new for item, (old, new) in enumerate(zip(strides, moved)) if old != new}
        start = call.named("start") or 0
        for name, before in ("length", 0), ("end", start):
            end = call.at.get(name), None
            if start > 0 and end in assignment:
                was = call.arguments[end[0]]
                length = was - before
                if length > 1 and start % length == 0 and 0 in (length % self.first, self.first % length):
                    more[call.at["start"], None] = start * assignment[end] // was
        return assignment | more

    def _wanted(self, number):
        """The numbers of a view whose memory has changed, and those that say "up to the end" of a dimension."""
        call = self.calls[number]
        if not call.made:
            return {}
        slot, made = call.given[0], self.recorded[call.made[0]]
        was, now = self.recorded[slot], self.layout(slot)
        name = next((name for name in ("size", "shape") if isinstance(call.named(name), list)), None)
        if name is not None:
            try:
                sizes = self._seen(slot, made).sizes if "stride" in call.at else self._reshaped(was.sizes, now.sizes, made.sizes)
            except NoSizes:
                return {}
            return {(call.at[name], item): new for item, (told, old, new) in enumerate(zip(call.named(name), made.sizes, sizes))
                    if told == old != new}
        repeated = [dim for dim, stride in enumerate(was.strides) if stride == 0]
        if call.op == "aten::div.Scalar" and call.arguments[1] == math.prod(was.sizes[dim] for dim in repeated):
            return {(1, None): math.prod(now.sizes[dim] for dim in repeated)}  # of a mean: by the elements that its gradient was expanded over
        along = list(zip(was.sizes, now.sizes))
        return {(call.at[name], None): new for name in ("end", "length") if name in call.at
                for old, new in along[call.named("dim"):][:1] if call.named(name) == old != new}

    def _try(self, number, assignment):
        """Runs the instruction with these numbers. Returns why it cannot."""
        mark = len(self.journal)
        self._set(self.numbers, number, self._with_followers(number, assignment) or None)
        try:
            self._run(number)
        except NoSizes as why:
            self._take_back(mark)
            return str(why)
        return None

    def _settle(self, number):
        """Runs the instruction, with the fewest other numbers that make it possible. Returns why it cannot."""
        wanted = self._wanted(number) if self._changed(number) else {}
        if wanted and self._try(number, wanted) is None:
            return None
        why = self._try(number, self.numbers.get(number, {}))
        attempts = itertools.chain(itertools.islice(self._assignments(number), MOST_CHOICES), [{}])
        return None if why is None or any(self._try(number, assignment) is None for assignment in attempts) else why

    def _moves(self, number):
        """What may become larger so that the instruction can: data that it reads, and numbers of calls before it, the nearest first. Then
        what has this size and is near, together."""
        given, seen = self.calls[number].given, set()
        queue = collections.deque((slot, 1) for slot in given)
        moves, late, direct, near = [], [], [], ([], [])
        along = {was: now for slot in reversed(given) for was, now in zip(self.recorded[slot].sizes, self.layout(slot).sizes) if was != now}
        while queue and len(moves) < MOST_MOVES:
            slot, steps = queue.popleft()
            if slot in seen:
                continue
            seen.add(slot)
            maker = next(iter(self.makers[slot]), number)
            if self.program.slots[slot].get("external"):
                is_written = self.program.slots[slot]["storage"] in self.written
                for dim, size in self._still(slot):
                    value = size * PRIME if size % self.first == 0 else along.get(size)
                    is_late = is_written or size not in {self.first, *along}
                    (late if is_late else moves).extend([[functools.partial(self._set_external, slot, dim, value)]] if value else [])
            elif maker != number:
                assignments = [assignment for assignment in itertools.islice(self._assignments(maker), 8)
                               if assignment != self.numbers.get(maker)]
                moves += [[functools.partial(self._try, maker, assignment)] for assignment in assignments]
                if steps <= FAR and not self.numbers.get(maker):
                    exact = [assignment for assignment in assignments if list(assignment.values()) == [self.goal]]
                    for together, assignment in zip(near, exact[:1] + exact[-1:]):
                        together.append(functools.partial(self._try, maker, assignment))
                    direct += [functools.partial(self._try, maker, first) for first in assignments[:1] if steps == 1 and first in exact]
                queue.extend((slot, steps + 1) for slot in self.calls[maker].given)
        return [together for together in [direct] if len(together) > 1] + moves, [together for together in near if len(together) > 1], late

    def _still(self, slot):
        """The dimensions of data that did not change, and their sizes."""
        both = enumerate(zip(self.recorded[slot].sizes, self.layout(slot).sizes))
        return [(dim, was) for dim, (was, now) in both if was == now and was > 1 and not self.program.slots[slot].get("sparse")]

    def _spread(self, until=math.inf, depth=0):
        """Runs what waits, up to an instruction. Returns the first that cannot be run, and why. `depth`: how often more may be moved."""
        while self.waiting and self.waiting[0] <= until:
            number = self._next()
            why = self._settle(number)
            if why is not None and not (depth and self._move(number, depth - 1)):
                return number, why
        return None

    def _move(self, number, depth=1):
        """Makes an instruction possible that could not be run. Returns true if it could."""
        waiting = list(self.waiting)
        first, near, late = self._moves(number)
        moves = first + near + late if depth else first[:FEW_MOVES] + near
        for together in moves:
            mark = len(self.journal)
            self.waiting = [number]
            if not any(move() for move in together) and self._spread(number, depth) is None:
                self.waiting = list({*self.waiting, *waiting})
                heapq.heapify(self.waiting)
                return True
            self._take_back(mark)
        self.waiting = waiting
        return False

    def _grow(self):
        """Runs what waits. `refused`: the instructions that cannot follow, with reasons."""
        self.refused = {}
        while (failed := self._spread()) is not None:
            number, why = failed
            if not self._move(number):
                self._spoil(number, why)

    # The whole program.

    def _candidates(self):
        """The data that the step reads and does not write, by first use: what has this size, and all sizes."""
        data = [slot for slot, made in enumerate(self.program.slots) if made.get("external") and made["storage"] not in self.written]
        sizes = [(slot, dim, size) for slot in data for dim, size in enumerate(self.recorded[slot].sizes) if self.anywhere or dim == 0]
        found = [(self.readers[slot][0], slot, dim) for slot, dim, size in sizes if size == self.first and self.readers[slot]]
        drawn = [size for number in self.order if not self.calls[number].given
                 for slot in self.calls[number].made for size in self.recorded[slot].sizes[:1]]
        return sorted(found), sorted({size for *_, size in sizes} or {*drawn})

    def _has_two(self, since):
        """True if a tensor grows in two dimensions by what was set since then."""
        return any(table is self.layouts and sum(a != b for a, b in zip(self.recorded[key].sizes, self.layout(key).sizes)) > 1
                   for table, key, _ in self.journal[since:])

    def _attempt(self, begin, may_have_two=False):
        """Runs what waits once `begin` has set something. Returns false, and leaves nothing but `refused`, if something cannot follow, or by
        chance had this size."""
        mark, spoiled, self.waiting = len(self.journal), set(self.spoiled), []
        begin()
        self._grow()
        if not self.refused and (self.anywhere or may_have_two or not self._has_two(mark)):
            return True
        self._take_back(mark)
        self.spoiled = spoiled
        return False

    def _decide(self):
        """Decides what follows. Returns false, with `refused`, if something cannot."""
        candidates, self.known = self._candidates()
        self._attempt(lambda: [self._set_external(slot, dim, self.goal) for _, slot, dim in candidates])
        is_first = True
        for _, slot, dim in candidates:
            if self._attempt(lambda slot=slot, dim=dim: self._set_external(slot, dim, self.goal), may_have_two=is_first):
                is_first = False
            elif is_first:  # what is read first is the data
                return False
        # Memory that the step makes for itself, if nothing tells what its first number is: together, or one after the other. Where no
        # data but a view of some has the size, its multiples are of the batch.
        makers = self._makers(lambda size: size == self.first)
        if not makers and not self.layouts and any(layout.sizes[:1] == (self.first,) for layout in self.recorded):
            makers = self._makers(lambda size: size % self.first == 0)
        for together in [makers, *([number] for number in makers)]:
            self._attempt(lambda together=together: self._make(together))
        self.refused = {}
        return bool(self.layouts)

    def _make(self, numbers):
        for number in numbers:
            self._try(number, self._of_batch(number))
            self._set(self.assumed, number, True)

    def _makers(self, fits):
        """The instructions that make a tensor of such a size from numbers, and that nothing changed."""
        still = [call for call in (self.calls[number] for number in self.order if number not in self.numbers)
                 if call.op and not self.layouts.keys() & {*call.given, *call.made}]
        return [call.number for call in still if (not call.given or call.op.startswith(("aten::expand", "aten::new_")))
                and any(fits(size) for slot in call.made[:1] for size in self.recorded[slot].sizes[:1]) and self._of_batch(call.number)]

    def _of_batch(self, number):
        """The first of its numbers that decides the result's sizes, or all if any size is meant, multiplied."""
        def sizes(decided):
            return self.call(number, self.calls[number].with_numbers(decided), self.recorded.__getitem__).get("tensors")

        places = {place: min(values, key=values.get) for place, values in self._choices(number).items() if min(values.values()) < 3}
        places = {place: value for place, value in places.items() if sizes({place: value}) not in (None, sizes({}))}
        return dict(itertools.islice(places.items(), None if self.anywhere else 1))

    def lines(self):
        """The answer: a line for each slot, number, kept size and refusal (et_schema/formats/call_results/other_sizes.h)."""
        if self._decide():
            self._run_decided()
        elif not self.refused:
            return [{"known": self.known}]
        if self.refused:
            return [{"instruction": number, "refused": why} for number, why in sorted(self.refused.items())]
        lines = [{"slot": slot, **layout._asdict()} for slot, layout in sorted(self.layouts.items()) if not self.program.slots[slot].get("sparse")]
        for number, decided in sorted(self.numbers.items()):
            lines += [{"instruction": number, **self.calls[number].becomes(place, value)} for place, value in sorted(decided.items(), key=str)]
        return lines + [{"instruction": number, "kept": why} for number, why in sorted(self.kept.items())] + \
            [{"instruction": number, "assumed": True} for number in sorted(self.assumed)]
