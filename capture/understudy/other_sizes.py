"""Finds the sizes of a program's tensors for another batch or another length.

Nothing but calls tells what a dimension means: the first size of the data that the step reads becomes another one, and a further dimension
or number follows only if a call fails otherwise (resized.py).

The search takes a size that is FROM times a large prime, which no other dimension can equal. What it decides is then run with TO.
"""

import collections
import heapq
import itertools
import math

from resized import PRIME, Layout, NoSizes, Resized, slots_in, stretched  # type: ignore[import-not-found]  # beside it, not in the package

FAR, MOST_MOVES, FEW_MOVES, MOST_CHOICES = 3, 60, 6, 48
# Names of parameters that are no sizes; old schemas call both kinds int.
NO_SIZES = set("""padding dilation groups group padding_idx index kernel_size shifts storage_offset start step output_padding num_weights
    num_heads ignore_index k dim dims dim0 dim1 start_dim end_dim dtype layout memory_format reduction correction normalization mode diagonal
    source destination chunks num_chunks sections hidden_size num_layers scale_grad_by_freq""".split())


class Search(Resized):
    """What changes with the size."""

    def _choices(self, number):
        """For each number among the arguments that may be a size: its place, and what it may become, the likeliest first."""
        call = self.calls[number]
        parameters = self._parameters(call)
        has_sizes = any(name in ("size", "sizes") for _, name in parameters)
        inputs = [(self.recorded[slot], self.layout(slot)) for slot in slots_in(call.get("args", [])) if slot in self.layouts]
        places = []
        for argument, ((type_, name), value) in enumerate(zip(parameters, call.get("args", []))):
            is_size = type_.startswith(("SymInt", "int")) or name == "end"
            if not is_size or name in NO_SIZES or (name == "stride" and not has_sizes):
                continue
            items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for item, one in items:
                if isinstance(one, int) and not isinstance(one, bool) and one > 1 and name != "stride":
                    places.append(((argument, item), self._values(one, inputs)))
        return [(place, values) for place, values in places if values]

    def _values(self, number, inputs):
        """What a number may become, with how unlikely that is."""
        values = [(0, self.goal)] if number == self.first else []
        for was, now in inputs:
            for first, end in itertools.combinations(range(len(was.sizes) + 1), 2):
                if math.prod(was.sizes[first:end]) == number:
                    values.append((1, math.prod(now.sizes[first:end])))
            all_, more = math.prod(was.sizes), math.prod(now.sizes)
            if all_ and number * more % all_ == 0:
                values.append((3, number * more // all_))
        if number % self.first == 0:
            values.append((2, number * PRIME))
        elif self.first % number == 0:
            values.append((4, number * PRIME))
        return {value: rank for rank, value in sorted(values, reverse=True) if value != number}

    def _assignments(self, number):
        """What the numbers of a call may become: as few of them as possible, the likeliest first."""
        single = sorted(((rank, place, value) for place, values in self._choices(number) for value, rank in values.items()),
                        key=lambda one: (one[0], one[1][0], one[1][1] or 0))
        for count in range(1, len({place for _, place, _ in single}) + 1):
            for several in itertools.combinations(single, count):
                if len({place for _, place, _ in several}) == count:
                    yield {place: value for _, place, value in several}

    def _with_followers(self, number, assignment):
        """Adds what other numbers of a call become with these: strides that it is given, and where one of several equal parts starts."""
        args, names = self.calls[number].get("args", []), [name for _, name in self._parameters(self.calls[number])]
        at = {name: names.index(name) for name in ("size", "sizes", "stride", "start", "length", "end") if name in names[:len(args)]}
        sizes_at = at.get("size", at.get("sizes"))
        more = {}
        if assignment and "stride" in at and sizes_at is not None:
            sizes = [assignment.get((sizes_at, item), size) for item, size in enumerate(args[sizes_at])]
            strides = stretched(Layout(tuple(args[sizes_at]), tuple(args[at["stride"]]), 0), sizes).strides
            more = {(at["stride"], item): new for item, (old, new) in enumerate(zip(args[at["stride"]], strides)) if old != new}
        end = (at.get("length", at.get("end")), None)
        start = args[at["start"]] if "start" in at else None
        if end in assignment and isinstance(start, int) and start > 0:
            was, now = args[end[0]], assignment[end]
            length = was if "length" in at else was - start
            if length > 1 and start % length == 0 and (length % self.first == 0 or self.first % length == 0):
                more[at["start"], None] = start * now // was
        return assignment | more

    def _wanted(self, number):
        """The numbers of a view whose memory has changed, and those that say "up to the end" of a dimension."""
        call, names = self.calls[number], [name for _, name in self._parameters(self.calls[number])]
        given, seen = slots_in(call.get("args", [])), slots_in(call.get("results", []))
        if not given or not seen or given[0] not in self.layouts:
            return {}
        was, now, made = self.recorded[given[0]], self.layout(given[0]), self.recorded[seen[0]]
        sizes_at = next((names.index(name) for name in ("size", "shape") if name in names), None)
        try:
            if sizes_at is not None and isinstance(call["args"][sizes_at], list) and len(call["args"][sizes_at]) == len(made.sizes):
                followed = self._seen(given[0], made) if "stride" in names else \
                    stretched(made, self._reshaped(was.sizes, now.sizes, made.sizes))
                return {(sizes_at, item): new for item, (old, new) in enumerate(zip(made.sizes, followed.sizes))
                        if old != new and call["args"][sizes_at][item] == old}
        except NoSizes:
            return {}
        wanted = {}
        if call.get("op") == "aten::div.Scalar":  # of a mean: by the elements that its gradient was expanded over
            repeated = [size for size, stride in zip(was.sizes, was.strides) if stride == 0]
            if call["args"][1] == math.prod(repeated) and repeated:
                return {(1, None): math.prod(size for size, stride in zip(now.sizes, was.strides) if stride == 0)}
        for name in ("end", "length"):
            if name in names and "dim" in names and names.index(name) < len(call["args"]):
                dim, value = call["args"][names.index("dim")], call["args"][names.index(name)]
                if isinstance(value, int) and isinstance(dim, int) and -len(was.sizes) <= dim < len(was.sizes) and \
                        was.sizes[dim] != now.sizes[dim] and value == was.sizes[dim]:
                    wanted[names.index(name), None] = now.sizes[dim]
        return wanted

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
        if why is not None and "op" in self.calls[number]:
            for assignment in itertools.islice(self._assignments(number), MOST_CHOICES):
                if self._try(number, assignment) is None:
                    return None
            if self.numbers.get(number) and self._try(number, {}) is None:
                return None
        return why

    def _moves(self, number):
        """What may become larger so that the instruction can: data that it reads, and numbers of calls before it, the nearest first. Then
        what has this size and is near, together."""
        seen, queue = set(), collections.deque((slot, 1) for slot in slots_in(self.calls[number].get("args", [])))
        moves, late, direct, near = [], [], [], ([], [])
        lengths = {size for slot in slots_in(self.calls[number].get("args", [])) for size, now in
                   zip(self.recorded[slot].sizes, self.layout(slot).sizes) if size != now}
        while queue and len(moves) < MOST_MOVES:
            slot, steps = queue.popleft()
            if slot in seen:
                continue
            seen.add(slot)
            if self.program.slots[slot].get("external"):
                was, now = self.recorded[slot].sizes, self.layout(slot).sizes
                for dim, size in enumerate(was):
                    if now[dim] == size and size > 1 and not self.program.slots[slot].get("sparse"):
                        value = self.goal if size == self.first else size * PRIME if size % self.first == 0 else \
                            self._along(number, size) if size in lengths else None
                        is_late = self.program.slots[slot]["storage"] in self.written or (size != self.first and size not in lengths)
                        (late if is_late else moves).extend([[("external", slot, dim, value)]] if value else [])
            elif self.makers[slot] and self.makers[slot][0] != number:
                maker = self.makers[slot][0]
                assignments = [assignment for assignment in itertools.islice(self._assignments(maker), 8)
                               if assignment != self.numbers.get(maker)]
                moves += [[("numbers", maker, assignment, None)] for assignment in assignments]
                if steps <= FAR and not self.numbers.get(maker):
                    exact = [assignment for assignment in assignments if list(assignment.values()) == [self.goal]]
                    for together, assignment in zip(near, exact[:1] + exact[-1:]):
                        together.append(("numbers", maker, assignment, None))
                    direct += [("numbers", maker, exact[0], None)] if steps == 1 and exact and assignments[0] == exact[0] else []
                queue.extend((given, steps + 1) for given in slots_in(self.calls[maker].get("args", [])))
        return ([direct] if len(direct) > 1 else []) + moves, [together for together in near if len(together) > 1], late

    def _along(self, number, size):
        """What a changed dimension of this size among the arguments has become."""
        return next(new for slot in slots_in(self.calls[number].get("args", []))
                    for old, new in zip(self.recorded[slot].sizes, self.layout(slot).sizes) if old == size and new != old)

    def _spread(self, until=None, depth=0, again=False):
        """Runs what waits, up to an instruction. Returns the first that cannot be run, and why. `depth`: how often more may be moved;
        `again`: for that instruction itself, too."""
        while self.waiting and (until is None or self.waiting[0] <= until):
            number = heapq.heappop(self.waiting)
            while self.waiting and self.waiting[0] == number:
                heapq.heappop(self.waiting)
            why = self._settle(number)
            if why is not None and (depth == 0 or (number == until and not again) or not self._move(number, depth - 1)):
                return number, why
        return None

    def _move(self, number, depth=1):
        """Makes an instruction possible that could not be run. Returns true if it could."""
        waiting = list(self.waiting)
        first, near, late = self._moves(number)
        moves = first + near + late if depth else first[:FEW_MOVES] + near
        attempts = [(together, False) for together in moves] + [(together, True) for together in moves if depth]
        for together, again in attempts:
            mark, failed = len(self.journal), None
            self.waiting = [number]
            for kind, what, how, value in together:
                if kind == "external":
                    self._set_external(what, how, value)
                else:
                    failed = failed or self._try(what, how)
            failed = failed or self._spread(number, depth, again)
            if failed is None:
                self.waiting = list(set(self.waiting + waiting))
                heapq.heapify(self.waiting)
                return True
            self._take_back(mark)
        self.waiting = waiting
        return False

    def _grow(self):
        """Runs what waits. Returns the instructions that cannot follow, with reasons; what reads their results is left out."""
        failures = {}
        while (failed := self._spread()) is not None:
            number, why = failed
            if not self._move(number):
                failures[number] = why
                self.spoiled.update(slots_in(self.calls[number].get("results", [])))
        return failures

    # The whole program.

    def _candidates(self):
        """The data that the step reads and does not write, by first use: what has this size, and all sizes."""
        position = {}
        for number in self.order:
            for slot in slots_in(self.calls[number].get("args", [])):
                position.setdefault(slot, number)
        found, known = [], set()
        for slot, made in enumerate(self.program.slots):
            if made.get("external") and made["storage"] not in self.written:
                for dim, size in enumerate(self.recorded[slot].sizes):
                    if dim == 0 or self.anywhere:
                        known.add(size)
                        if size == self.first and slot in position:
                            found.append((position[slot], slot, dim))
        drawn = {self.recorded[slot].sizes[0] for number in self.order if not slots_in(self.calls[number].get("args", []))
                 for slot in slots_in(self.calls[number].get("results", [])) if self.recorded[slot].sizes}
        return sorted(found), sorted(known or drawn)

    def _has_two(self, since):
        """True if a tensor grows in two dimensions by what was set since then."""
        return any(table is self.layouts and sum(a != b for a, b in zip(self.recorded[key].sizes, self.layout(key).sizes)) > 1
                   for table, key, _ in self.journal[since:])

    def _decide(self):
        """Decides what follows. Returns false, with `refused`, if something cannot."""
        candidates, self.known = self._candidates()
        is_first = True
        for _, slot, dim in candidates:
            self._set_external(slot, dim, self.goal)
        if self._grow() or (self._has_two(0) and not self.anywhere):  # some of it may be of this size by chance
            self._take_back(0)
            self.spoiled, self.waiting = set(), []
        for _, slot, dim in candidates:
            if self.layout(slot).sizes[dim] != self.first:
                continue
            mark, spoiled = len(self.journal), set(self.spoiled)
            self.waiting = []
            self._set_external(slot, dim, self.goal)
            failures = self._grow()
            if not failures and (is_first or self.anywhere or not self._has_two(mark)):
                is_first = False
                continue
            self._take_back(mark)
            self.spoiled = spoiled
            if is_first:  # what is read first is the data
                self.refused = failures
                return False
        # Memory that the step makes for itself, if nothing tells what its first number is: together, or one after the other. Where no
        # data but a view of some has the size, its multiples are of the batch.
        makers = [number for number in self.order if self._may_make(number, lambda size: size == self.first)]
        if not makers and not self.layouts and any(layout.sizes[:1] == (self.first,) for layout in self.recorded):
            makers = [number for number in self.order if self._may_make(number, lambda size: size % self.first == 0)]
        for together in [makers, *([number] for number in makers)]:
            mark, spoiled = len(self.journal), set(self.spoiled)
            self.waiting = []
            for number in together:
                if number not in self.numbers:
                    self._try(number, self._of_batch(number))
                    self._set(self.assumed, number, True)
            if self._grow() or (self._has_two(mark) and not self.anywhere):
                self._take_back(mark)
                self.spoiled = spoiled
        return bool(self.layouts)

    def _may_make(self, number, fits):
        """True if the instruction makes a tensor of such a size from numbers, and nothing changed it."""
        call = self.calls[number]
        made = slots_in(call.get("results", []))
        makes = "op" in call and (not slots_in(call.get("args", [])) or call["op"].startswith(("aten::expand", "aten::new_")))
        return makes and made and number not in self.numbers and not self._changed(number) and made[0] not in self.layouts and \
            any(map(fits, self.recorded[made[0]].sizes[:1])) and self._of_batch(number)

    def _of_batch(self, number):
        """The first of its numbers that decides the result's sizes, or all if any size is meant, multiplied."""
        def sizes(decided):
            return self.call(number, self._arguments(number, decided), self.recorded.__getitem__).get("tensors")

        places = {place: min(values, key=values.get) for place, values in self._choices(number) if min(values.values()) < 3}
        places = {place: value for place, value in places.items() if sizes({place: value}) not in (None, sizes({}))}
        return places if self.anywhere else dict(itertools.islice(places.items(), 1))

    def lines(self):
        """The answer: a line for each slot, number, kept size and refusal (et_schema/formats/call_results/other_sizes.h)."""
        if self._decide():
            self.refused = {}
            self._run_decided()
        elif not self.refused:
            return [{"known": self.known}]
        if self.refused:
            return [{"instruction": number, "refused": why} for number, why in sorted(self.refused.items())]
        lines = [{"slot": slot, "sizes": layout.sizes, "strides": layout.strides, "offset": layout.offset}
                 for slot, layout in sorted(self.layouts.items()) if not self.program.slots[slot].get("sparse")]
        for number, decided in sorted(self.numbers.items()):
            lines += [{"instruction": number, "argument": argument, "number": value} | ({} if item is None else {"item": item})
                      for (argument, item), value in sorted(decided.items(), key=str)]
        return lines + [{"instruction": number, "kept": why} for number, why in sorted(self.kept.items())] + \
            [{"instruction": number, "assumed": True} for number in sorted(self.assumed)]
