"""This module makes many runs of a model side by side: in each turn every run takes one of its steps, chosen at random.

Each action that is enabled in a run is equally likely, and then each choice of its parameters. The random numbers
depend on the seed, the number of the history and that of the step alone, not on which runs are made together."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from fencepost.proofs.scale.from_model.emission import Kernels, dtype_of
from fencepost.proofs.scale.seeds import mixed, seeds_of
from fencepost.properties.history.vocabulary import COMMON_COLUMNS, Vocabulary

_STEP = np.uint64(0xD1342543DE82EF95)
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


def drawn(stream: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two random numbers of 32 bits for the step of that number, in each history."""
    both = mixed(stream + np.uint64((step + 1) * int(_STEP) % 2**64))
    return both >> _HALF, both & _LOW


@dataclass
class Rows:
    """A `Rows` has what runs have emitted so far: for each line the runs, the index of the row in each run, and the
    given values."""

    runs: int
    count: np.ndarray = field(init=False)
    emitted: list[tuple[int, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.count = np.zeros(self.runs, np.int32)

    def show(self, line: int, runs: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        place = self.count.take(runs)
        self.count[runs] = place + 1
        self.emitted.append((line, runs, place, values))

    def columns(self, kernels: Kernels, vocabulary: Vocabulary, first: int) -> dict[str, np.ndarray]:
        """Return the rows as columns, sorted by history (numbered from ``first`` on) and step. A run has no clock, so a
        row's time is its step."""
        starts = np.cumsum(self.count) - self.count
        sizes = [len(runs) for _, runs, _, _ in self.emitted]
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if sizes else 0
        order, line = np.empty(total, np.int32), np.empty(total, np.int16)
        at = 0
        for number, runs, place, _ in self.emitted:
            end = at + len(runs)
            line[at:end] = number
            order[starts.take(runs) + place] = np.arange(at, end)
            at = end
        step = np.arange(total, dtype=np.int32) - np.repeat(starts, self.count).astype(np.int32)
        found: dict[str, np.ndarray] = {
            "history": np.repeat(np.arange(first, first + self.runs), self.count), "step": step,
            "time_us": step.astype(np.int64),
        }  # fmt: skip
        kinds = np.array([one.kind for one in kernels.lines], np.int16)
        found["kind"] = kinds.take(line).take(order)
        for column in vocabulary.columns:
            table = np.full(len(kernels.lines), column.absent, column.dtype)
            given = dict[int, int]()
            for number, one in enumerate(kernels.lines):
                table[number] = dict(one.fixed).get(column.name, column.absent)
                if column.name in one.given:
                    given[number] = one.given.index(column.name)
            if not given:
                found[column.name] = table.take(line.take(order)) if np.ptp(table) else np.full(total, table[0])
                continue
            values = table.take(line)
            for (number, _, _, of_row), end, size in zip(self.emitted, ends, sizes, strict=True):
                if number in given:
                    values[end - size : end] = of_row[given[number]]
            found[column.name] = values.take(order)
        return {column.name: found[column.name] for column in (*COMMON_COLUMNS, *vocabulary.columns)}


@dataclass(frozen=True)
class Runs:
    """A `Runs` has the columns of finished runs. ``broken`` has, by promise, the runs in which it broke; ``taken``
    counts how often each action was taken, and ``steps`` all steps."""

    columns: dict[str, np.ndarray]
    broken: Mapping[str, np.ndarray]
    taken: Mapping[str, int]
    steps: int


def run(kernels: Kernels, vocabulary: Vocabulary, seed: int, first: int, count: int, steps: int) -> Runs:
    """Return the runs that are the histories ``first``, ``first`` + 1 …, each of at most so many steps."""
    made, names = kernels.ground, (*kernels.ground.always, *kernels.ground.steps)
    fields = [np.full(count, start, dtype_of(f)) for f, start in zip(made.layout.fields, made.initial, strict=True)]
    noted = {name: np.full((most, count), none, np.int32) for name, (most, none) in kernels.noted.items()}
    counters = {name: np.full(count, begin, np.int32) for name, begin in kernels.first.items()}
    broken = np.zeros((len(names), count), bool)
    taken = np.zeros(len(kernels.steps), np.int64)
    rows, choice = Rows(count), _Choice(kernels, count)
    stream = seeds_of(seed, first, count)
    made_steps = 0
    for step in range(steps):
        kernels.choose(fields, choice.enabled, broken)
        high, low = drawn(stream, step)
        moved = 0
        for number, runs in choice.made(high, low):
            kernels.takes[number](fields, noted, counters, runs, rows.show, broken)
            taken[number] += len(runs)
            moved += len(runs)
        made_steps += moved
        if not moved:
            break
    else:
        kernels.choose(fields, choice.enabled, broken)  # of the states in which they end
    by_action = dict[str, int]()
    for number, done in enumerate(kernels.steps):
        for action in done.actions:
            by_action[action] = by_action.get(action, 0) + int(taken[number])
    return Runs(
        rows.columns(kernels, vocabulary, first), dict(zip(names, broken, strict=True)), by_action, made_steps
    )  # fmt: skip


class _Choice:
    """A `_Choice` draws which enabled step is taken. ``enabled`` has a row for each step and a column for each run."""

    def __init__(self, kernels: Kernels, runs: int) -> None:
        self.enabled = np.zeros((len(kernels.steps), runs), bool)
        groups: dict[str, list[int]] = {}
        for number, step in enumerate(kernels.steps):
            groups.setdefault(step.actions[0], []).append(number)
        self.groups = [(numbers[0], numbers[-1] + 1) for numbers in groups.values()]
        assert sum(end - begin for begin, end in self.groups) == len(kernels.steps)
        self._any = np.zeros((len(self.groups), runs), bool)

    def made(self, high: np.ndarray, low: np.ndarray) -> "list[tuple[int, np.ndarray]]":
        for place, (begin, end) in enumerate(self.groups):
            if end - begin == 1:
                self._any[place] = self.enabled[begin]
            else:
                np.logical_or.reduce(self.enabled[begin:end], axis=0, out=self._any[place])
        many = np.add.reduce(self._any.view(np.uint8), axis=0, dtype=np.uint16)
        which = ((high * many) >> _HALF).astype(np.uint16)
        seen = np.zeros(len(many), np.uint16)
        found = []
        for place, (begin, end) in enumerate(self.groups):
            here = self._any[place]
            runs = np.flatnonzero(here & (seen == which))
            seen += here
            if not len(runs):
                continue
            if end - begin == 1:
                found.append((begin, runs))
            else:
                found += self._among(begin, end, runs, low)
        return found

    def _among(self, begin: int, end: int, runs: np.ndarray, low: np.ndarray) -> "list[tuple[int, np.ndarray]]":
        upto = np.add.accumulate(self.enabled[begin:end].take(runs, axis=1).view(np.uint8), axis=0, dtype=np.uint16)
        which = ((low.take(runs) * upto[-1]) >> _HALF).astype(np.uint16)
        number = np.add.reduce(upto <= which, axis=0, dtype=np.uint16)
        order = np.argsort(number, kind="stable")
        counts = np.bincount(number, minlength=end - begin)
        ends = np.cumsum(counts)
        return [
            (begin + place, runs[order[stop - size : stop]])
            for place, (stop, size) in enumerate(zip(ends.tolist(), counts.tolist(), strict=True))
            if size
        ]
