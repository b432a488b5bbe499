"""This module lists the steps of a model under bounds, each with the rows of a history that it emits.

A step is one instance of an action, or of two actions that a history reports as one. The values in its rows are ground
nodes over the fields of the state before it, and over what is stored next to the state."""

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.symbols import Symbol, coerce
from fencepost.model.language.tree.terms import Term, local
from fencepost.model.language.tree.types import BOOL, INT, NAT, OptionType, ScalarType, scalar
from fencepost.proofs.readings.ground import Ground, Instance, Lowering, Node
from fencepost.proofs.readings.ground.layout import raw
from fencepost.properties.emitted_events import At, Emitted, EmittedEvents, Note, Number, Remembered, Row, Written
from fencepost.properties.history import HistoryError, Vocabulary


@dataclass(frozen=True)
class Noted:
    """A `Noted` is the value stored under ``name`` at ``key``, increased by ``plus``; ``none`` is its initial value.
    With ``fresh`` the value is the next number of what is ``counted``, starting there, and is stored."""

    name: str
    key: Node
    fresh: int | None = None
    counted: str = ""
    plus: int = 0
    none: int = -1


Value = Node | Noted


@dataclass(frozen=True)
class Deed:
    """A `Deed` is a row of the kind with that code, or a value to store if ``note`` has its name and ``key``. The deed
    applies if ``when`` holds before the step; ``values`` has the columns of the row, or the value."""

    when: Node
    values: Mapping[str, Value]
    kind: int = 0
    note: Noted | None = None


@dataclass(frozen=True)
class Step:
    """A `Step` has the grounded ``instance``, and the names of the ``actions`` that are taken."""

    instance: Instance
    actions: tuple[str, ...]
    deeds: tuple[Deed, ...]


def steps_of(made: Ground, emitting: EmittedEvents, vocabulary: Vocabulary) -> list[Step]:
    """Return the steps of a protocol, with those of one action next to each other. Raise HistoryError where the table
    of rows does not fit the protocol."""
    spec, left_out = made.spec, {*emitting.never, *emitting.at_once.values()}
    telling = _Emitting(made, vocabulary)
    found = []
    for instance in made.instances:
        action = instance.action
        actions: tuple[str, ...] = (action,)
        if action in left_out:
            continue
        taken: Instance | None = instance
        if action in emitting.only:
            taken = _narrowed(made, instance, telling.condition(instance, emitting.only[action]))
        if taken is not None and action in emitting.at_once:
            actions = (action, emitting.at_once[action])
            taken = _followed(made, taken, actions[1])
        if taken is None or taken.enabled is made.table.false:
            continue
        rows = [row for name in actions for row in emitting.rows.get(name, ())]
        found.append(Step(taken, actions, tuple(telling.deeds(taken, action, rows))))
    if not any(deed.note is None for step in found for deed in step.deeds):
        raise HistoryError(f"{spec.name}: none of its actions shows anything: {', '.join(spec.actions)}")
    return found


def _narrowed(made: Ground, instance: Instance, condition: Node) -> Instance:
    both = made.table.both
    return replace(
        instance, guard=both((instance.guard, condition)), enabled=both((instance.enabled, condition))
    )  # fmt: skip


def _followed(made: Ground, first: Instance, action: str) -> Instance | None:
    """Return the instance combined with one of another action with the same parameters, or None if that is never
    possible."""
    table, fields = made.table, made.layout.fields
    second = next((i for i in made.instances if i.action == action and i.parameters == first.parameters), None)
    if second is None:
        return None
    moved = dict(first.updates)
    after = table.substitution({i: moved.get(i) or table.field(i, f.high, f.truth) for i, f in enumerate(fields)})
    guard, limit, fits = (
        table.both((mine, after(its)))
        for mine, its in ((first.guard, second.guard), (first.limit, second.limit), (first.fits, second.fits))
    )
    moved |= {i: after(node) for i, node in second.updates}
    return replace(
        first, action=f"{first.action} and {action}", guard=guard, limit=limit, fits=fits,
        enabled=table.both((guard, limit, fits)), updates=tuple(moved.items()),
    )  # fmt: skip


class _Parameters:
    def __init__(self, kinds: Mapping[str, ScalarType]) -> None:
        self._kinds = kinds

    def __getattr__(self, name: str) -> Symbol:
        if name not in self._kinds:
            raise HistoryError(f"there is no parameter {name!r}; there are {', '.join(self._kinds) or 'none'}")
        return Symbol(local(name, self._kinds[name]))


@dataclass
class _Emitting:
    made: Ground
    vocabulary: Vocabulary
    _traced: dict[tuple[str, int], Term] = field(default_factory=dict)

    def condition(self, instance: Instance, written: Written) -> Node:
        return self._here(instance, instance.action, {}, ()).node(written)

    def deeds(self, instance: Instance, action: str, rows: Sequence[Row | Note]) -> Iterator[Deed]:
        lowering, table = self.lowering, self.made.table
        for row in rows:
            each = {name: scalar(kind) for name, kind in row.each.items()}
            domains = [lowering.domain(kind, f"{action}: {name}") for name, kind in each.items()]
            for choice in itertools.product(*domains):
                here = self._here(instance, action, each, choice)
                when = table.true if row.when is None else here.node(row.when)
                if when is table.false:
                    continue
                if isinstance(row, Note):
                    yield Deed(when, {"": here.value(row.value)}, note=Noted(row.name, here.place(row.at)))
                else:
                    code = self._kind(action, row)
                    yield Deed(when, {name: here.value(emitted) for name, emitted in row.columns.items()}, code)

    @property
    def lowering(self) -> Lowering:
        assert self.made.lowering is not None
        return self.made.lowering

    def _here(self, instance: Instance, action: str, each: Mapping[str, ScalarType], choice: Sequence[Node]) -> "_Here":
        kinds = dict(self.made.spec.actions[action].parameters)
        names = {n: self.lowering.literal(raw(instance.parameters[n], k), k) for n, k in kinds.items()}
        return _Here(self, action, instance, {**kinds, **each}, {**names, **dict(zip(each, choice, strict=True))})

    def _kind(self, action: str, row: Row) -> int:
        code = self.vocabulary.codes.get(row.kind)
        if code is None:
            raise HistoryError(f"{action} shows {row.kind}, which is no kind of event")
        if odd := [name for name in row.columns if name not in code.columns]:
            raise HistoryError(f"{action}: {row.kind} has no column {odd[0]!r}")
        return int(code)


@dataclass(frozen=True)
class _Here:
    emitting: _Emitting
    action: str
    instance: Instance
    kinds: Mapping[str, ScalarType]
    names: Mapping[str, Node]

    def value(self, emitted: Emitted) -> Value:
        if isinstance(emitted, Number):
            return Noted(emitted.name, self.place(emitted.at), emitted.first, emitted.of or emitted.name)
        if isinstance(emitted, Remembered):
            return Noted(emitted.name, self.place(emitted.at), plus=emitted.plus, none=emitted.none)
        return self.node(emitted)

    def place(self, at: At) -> Node:
        """Return the node of a place. Several names together are the digits of one number."""
        if not isinstance(at, tuple):
            return self.node(at)
        lowering, table, place = self.emitting.lowering, self.emitting.made.table, self.emitting.made.table.const(0)
        for name in at:
            size = len(lowering.domain(self.kinds[name], name))
            place = reduce(table.add, [place] * size + [self.node(name)], table.const(0))
        return place

    def node(self, emitted: int | str | Written) -> Node:
        """Return the node of a value; an Option is its value, or -1 for none."""
        table, spec = self.emitting.made.table, self.emitting.made.spec
        if isinstance(emitted, int):
            return table.const(int(emitted))
        if isinstance(emitted, str):
            if emitted not in self.names:
                raise HistoryError(f"{spec.name}.{self.action} has no parameter {emitted!r}")
            return self._plain(self.names[emitted], self.kinds[emitted])
        term = self._term(emitted)
        later = self.emitting.made.primed(self.instance)
        return self._plain(later(self.emitting.lowering.lower(term, self.names)), term.type)

    def _plain(self, node: Node, kind: Any) -> Node:
        table = self.emitting.made.table
        return table.add(node, table.const(-1)) if isinstance(kind, OptionType) else node

    def _term(self, written: Callable[..., Any]) -> Term:
        known, spec = self.emitting._traced, self.emitting.made.spec
        key = self.action, id(written)
        if key not in known:
            states = [StateProxy(spec, None), StateProxy(spec, None, True)]
            given = [states[0], _Parameters(self.kinds)]
            given += [states[1]] if len(inspect.signature(written).parameters) > 2 else []
            made = written(*given)
            kind = BOOL if isinstance(made, bool) else INT if isinstance(made, int) and made < 0 else NAT
            known[key] = made.term if isinstance(made, Symbol) else coerce(made, kind, "what a row shows")
        return known[key]
