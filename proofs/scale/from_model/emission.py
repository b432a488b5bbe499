"""This module turns the steps of a model into NumPy functions over the columns of many runs, emitted and executed once.

A run's state is a column entry for each field: bytes where the range allows. ``choose`` finds where each step is
enabled, in all runs. A step is then taken, and its rows are reported, in those runs that have chosen it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.proofs.engines.explore.emit import NAMES, Writer, compile_source, function, kind_of
from fencepost.proofs.engines.explore.packing import Packing
from fencepost.proofs.readings.ground import Field, Ground, Node
from fencepost.proofs.scale.from_model.steps import Deed, Noted, Step, Value

Columns = list[np.ndarray]
NO_WORDS = Packing(0, (), (), ())


def dtype_of(field: Field) -> Any:
    return NAMES["U8" if field.truth else kind_of(0, field.high)]


class _Columns(Writer):
    def __init__(self, roots: Iterable[Iterable[Node]], chosen: str = "") -> None:
        super().__init__(NO_WORDS, roots)
        self._chosen = chosen

    def _field(self, node: Node) -> str:
        text = f"f[{node.data}]{self._chosen}"
        return f"{text}.view(B)" if node.truth else text

    def column(self, node: Node) -> str:
        return self.value(node) if node.op != "const" else f"np.full(n, {self.value(node)})"


def emit_choose(steps: Sequence[Step], conditions: Mapping[str, Node]) -> str:
    """Return the source of ``choose(f, e, broken)``, which writes to the rows of ``e`` where each step is enabled, and
    to those of ``broken`` where each condition is broken already or does not hold."""
    roots = [[step.instance.enabled] for step in steps] + [[node] for node in conditions.values()]
    writer = _Columns(roots)
    for number, step in enumerate(steps):
        node = step.instance.enabled
        writer.line(f"e[{number}] = {writer.value(node)}")
        writer.end_turn(number)
    for place, node in enumerate(conditions.values()):
        writer.line(f"broken[{place}] |= ~{writer.value(node)}" if node.op != "const" else
                    f"broken[{place}] |= {not node.data}")  # fmt: skip
        writer.end_turn(len(steps) + place)
    return function("choose", "f, e, broken", writer.lines)


@dataclass(frozen=True)
class Line:
    """A `Line` is a row without its values: its kind, the columns that are given, and ``fixed`` for those that are
    always the same."""

    kind: int
    fixed: tuple[tuple[str, int], ...]
    given: tuple[str, ...]


class _Taking:
    """A `_Taking` is the source of one step: ``take_N(f, m, c, i, show, broken)``, for the runs ``i``."""

    def __init__(self, number: int, step: Step, broken: Mapping[int, Node], lines: list[Line]) -> None:
        self.number, self.step, self.broken, self.lines = number, step, broken, lines
        deeds, updates = step.deeds, step.instance.updates
        nodes = [n for deed in deeds for n in (deed.when, *map(_node, deed.values.values()))]
        nodes += [deed.note.key for deed in deeds if deed.note] + [n for _, n in updates] + list(broken.values())
        self.writer = _Columns([nodes], ".take(i)")

    def source(self, fields: Sequence[Field]) -> str:
        """Return the source. Every value is read in the state before the step; stored values change in the order in
        which they are written."""
        writer = self.writer
        writer.line("n = i.size")
        for place, node in self.broken.items():
            writer.line(f"broken[{place}, i] |= {writer.column(node)}")
        for deed in self.step.deeds:
            self._deed(deed)
        writes = []
        for index, node in self.step.instance.updates:
            kind = "U8" if fields[index].truth else kind_of(0, fields[index].high)
            value = writer.value(node, None if node.truth else kind)
            writes.append(f"f[{index}][i] = {value}")
        for write in writes:
            writer.line(write)
        return function(f"take_{self.number}", "f, m, c, i, show, broken", writer.lines)

    def _deed(self, deed: Deed) -> None:
        writer = self.writer
        where, suffix = "i", ""
        if deed.when.op != "const":
            j = writer.assign(("rows", deed.when.number), f"{writer.value(deed.when)}.nonzero()[0]")
            where, suffix = writer.assign(("runs", deed.when.number), f"i[{j}]"), f"[{j}]"
        if deed.note is not None:
            writer.line(f"{self._cell(deed.note, where, suffix)} = {self._value(deed.values[''], where, suffix)}")
            return
        fixed = {n: v.data for n, v in deed.values.items() if isinstance(v, Node) and v.op == "const"}
        given = {n: self._value(v, where, suffix) for n, v in deed.values.items() if n not in fixed}
        writer.line(f"show({len(self.lines)}, {where}, ({''.join(f'{v}, ' for v in given.values())}))")
        self.lines.append(Line(deed.kind, tuple(fixed.items()), tuple(given)))

    def _value(self, value: Value, where: str, suffix: str) -> str:
        writer = self.writer
        if isinstance(value, Node):
            text = writer.value(value)
            return text if value.op == "const" else f"{text}{suffix}"
        if value.fresh is None:
            name = f"k{len(writer.lines)}"
            writer.line(f"{name} = {self._cell(value, where, suffix)}{f' + {value.plus}' if value.plus else ''}")
            return name
        name, counter = f"k{len(writer.lines)}", f"c[{value.counted!r}]"
        writer.line(f"{name} = {counter}[{where}]")
        writer.line(f"{counter}[{where}] = {name} + 1")
        writer.line(f"{self._cell(value, where, suffix)} = {name}")
        return name

    def _cell(self, note: Noted, where: str, suffix: str) -> str:
        key = note.key.data if note.key.op == "const" else f"{self.writer.value(note.key)}{suffix}"
        return f"m[{note.name!r}][{key}, {where}]"


def _node(value: Value) -> Node:
    return value if isinstance(value, Node) else value.key


@dataclass(frozen=True)
class Kernels:
    """A `Kernels` has the emitted functions ``choose`` and ``takes``. ``lines`` has the rows by number, ``noted`` the
    number of things stored under each name, with their initial value, and ``first`` the first of the numbers of each
    counter."""

    ground: Ground
    steps: list[Step]
    choose: Callable[[Columns, np.ndarray, np.ndarray], None]
    takes: list[Callable[..., None]]
    lines: list[Line]
    noted: Mapping[str, tuple[int, int]]
    first: Mapping[str, int]
    source: str


def kernels_of(made: Ground, steps: Sequence[Step]) -> Kernels:
    """Return functions for the steps, with those of one action next to each other."""
    lines: list[Line] = []
    sources = [emit_choose(steps, made.always)]
    for number, step in enumerate(steps):
        broken = {
            len(made.always) + place: bad
            for place, name in enumerate(made.steps)
            if (bad := made.table.negate(made.after(name, step.instance))) is not made.table.false
        }
        sources.append(_Taking(number, step, broken, lines).source(made.layout.fields))
    source = "\n".join(sources)
    choose, *takes = compile_source(source, "choose", *(f"take_{number}" for number in range(len(steps))))
    noted, first = dict[str, tuple[int, int]](), dict[str, int]()
    for note in (t for step in steps for t in _noted_in(step)):
        most, none = noted.get(note.name, (0, -1))
        noted[note.name] = max(most, note.key.high + 1), max(none, note.none)
        if note.fresh is not None:
            first[note.counted] = note.fresh
    return Kernels(made, list(steps), choose, takes, lines, noted, first, source)


def _noted_in(step: Step) -> Iterable[Noted]:
    for deed in step.deeds:
        yield from ([deed.note] if deed.note else [])
        yield from (value for value in deed.values.values() if isinstance(value, Noted))
