"""The steps of a model under bounds that runs are made of, each with the rows of a history that it shows.

A step is one instance of an action, or of two that a history tells as one.  What its rows hold are ground nodes over
the fields of the state before it, and what is kept beside the state.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.model.language.protocol import Spec
from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.symbols import Symbol, coerce
from fencepost.model.language.tree.terms import Term, local
from fencepost.model.language.tree.types import INT, NAT, BOOL, OptionType, ScalarType, scalar
from fencepost.proofs.readings.ground import Ground, Instance, Node
from fencepost.properties.history import HistoryError, Vocabulary
from fencepost.properties.showing import Kept, Note, Number, Row, Showing, Shown, Written


@dataclass(frozen=True)
class Told:
    """What is kept under ``name`` at ``key``; ``fresh``: the next number, from that one on, which is noted there."""

    name: str
    key: Node
    fresh: int | None = None


Value = Node | Told


@dataclass(frozen=True)
class Deed:
    """A row of the kind with that code, or a note where ``note`` is its name and ``key``; ``when``: where before the
    step; ``values``: of the columns, or of the note."""

    when: Node
    values: Mapping[str, Value]
    kind: int = 0
    note: Told | None = None


@dataclass(frozen=True)
class Step:
    """``instance`` is grounded; ``names`` are of the actions that are taken."""

    instance: Instance
    actions: tuple[str, ...]
    deeds: tuple[Deed, ...]


def steps_of(made: Ground, showing: Showing, vocabulary: Vocabulary) -> list[Step]:
    """The steps of a protocol, those of one action together.  HistoryError where the table does not fit it."""
    spec, second = made.spec, set(showing.at_once.values())
    for name in spec.parts and () or showing.at_once:
        if name in spec.actions and showing.at_once[name] not in spec.actions:
            raise HistoryError(f"{spec.name} has {name} and no {showing.at_once[name]}, which follows it at once")
    telling = _Telling(made, vocabulary)
    found = []
    for instance in made.instances:
        if instance.action in showing.never or instance.action in second:
            continue
        actions: tuple[str, ...] = (instance.action,)
        follower = showing.at_once.get(instance.action)
        if follower is not None:
            actions = (*actions, follower)
            both = [_joined(made, instance, i) for i in made.instances if i.action == follower]
            both = [j for j, i in zip(both, (i for i in made.instances if i.action == follower), strict=True)
                    if i.parameters == instance.parameters]  # fmt: skip
            if not both:
                continue
            instance = both[0]
        if instance.enabled is made.table.false:
            continue
        rows = [row for action in actions for row in showing.rows.get(action, ())]
        found.append(Step(instance, actions, tuple(telling.deeds(spec, actions[0], instance, rows))))
    if not any(deed.note is None for step in found for deed in step.deeds):
        raise HistoryError(f"{spec.name}: none of its actions shows anything: {', '.join(spec.actions)}")
    return found


def _joined(made: Ground, first: Instance, second: Instance) -> Instance:
    """Two steps taken at once."""
    table, later = made.table, made.primed(first)
    fields = made.layout.fields
    moved = {i: node for i, node in first.updates}
    after = table.substitution({i: moved.get(i) or table.field(i, f.high, f.truth) for i, f in enumerate(fields)})
    del later
    guard = table.both((first.guard, after(second.guard)))
    limit = table.both((first.limit, after(second.limit)))
    fits = table.both((first.fits, after(second.fits)))
    moved |= {i: after(node) for i, node in second.updates}
    return replace(
        first, action=f"{first.action} and {second.action}", guard=guard, limit=limit, fits=fits,
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
class _Telling:
    """Writes rows out as nodes.  What is written of one action is traced once."""

    made: Ground
    vocabulary: Vocabulary
    _traced: dict[tuple[str, int], Term] = field(default_factory=dict)

    def deeds(self, spec: Spec, action: str, instance: Instance, rows: Sequence[Row | Note]) -> Iterator[Deed]:
        kinds = dict(spec.actions[action].parameters)
        lowering = self.made.lowering
        assert lowering is not None
        for row in rows:
            each = {name: scalar(kind) for name, kind in row.each.items()} if isinstance(row, Row) else _each(row)
            domains = [lowering.domain(kind, f"{action}: {name}") for name, kind in each.items()]
            names = {n: lowering.literal(_raw(instance.parameters[n], k), k) for n, k in kinds.items()}
            for choice in itertools.product(*domains):
                here = _Here(self, action, instance, {**kinds, **each},
                             {**names, **dict(zip(each, choice, strict=True))})  # fmt: skip
                when = self.made.table.true if row.when is None else here.node(row.when)
                if when is self.made.table.false:
                    continue
                if isinstance(row, Note):
                    note = Told(row.name, here.key(row.at))
                    yield Deed(when, {"": here.value(row.value)}, note=note)
                    continue
                code = self.vocabulary.codes.get(row.kind)
                if code is None:
                    raise HistoryError(f"{action} shows {row.kind}, which is no kind of event")
                if odd := [name for name in row.columns if name not in code.columns]:
                    raise HistoryError(f"{action}: {row.kind} has no column {odd[0]!r}")
                yield Deed(when, {name: here.value(shown) for name, shown in row.columns.items()}, int(code))


def _each(note: Note) -> dict[str, ScalarType]:
    return {name: scalar(kind) for name, kind in note.each.items()}


def _raw(value: Any, kind: ScalarType) -> int:
    if isinstance(kind, OptionType):
        return 0 if value is None else 1 + _raw(value, kind.of)
    return int(value)


@dataclass(frozen=True)
class _Here:
    """In one step, for one choice of further parameters."""

    telling: _Telling
    action: str
    instance: Instance
    kinds: Mapping[str, ScalarType]
    names: Mapping[str, Node]

    def value(self, shown: Shown) -> Value:
        if isinstance(shown, Number):
            return Told(shown.name, self.key(shown.at), shown.first)
        if isinstance(shown, Kept):
            return Told(shown.name, self.key(shown.at))
        return self.node(shown)

    def key(self, at: str | Written) -> Node:
        return self.node(at)

    def node(self, shown: int | str | Written) -> Node:
        """Of an Option the value, and -1 for none."""
        table, spec = self.telling.made.table, self.telling.made.spec
        if isinstance(shown, int):
            return table.const(int(shown))
        if isinstance(shown, str):
            if shown not in self.names:
                raise HistoryError(f"{spec.name}.{self.action} has no parameter {shown!r}")
            return self._plain(self.names[shown], self.kinds[shown])
        lowering = self.telling.made.lowering
        assert lowering is not None
        term = self._term(shown)
        later = self.telling.made.primed(self.instance)
        return self._plain(later(lowering.lower(term, self.names)), term.type)

    def _plain(self, node: Node, kind: Any) -> Node:
        return self.telling.made.table.add(node, self.telling.made.table.const(-1)) if isinstance(kind, OptionType) else node

    def _term(self, written: Callable[..., Any]) -> Term:
        known, spec = self.telling._traced, self.telling.made.spec
        key = self.action, id(written)
        if key not in known:
            states = [StateProxy(spec, None), StateProxy(spec, None, True)]
            given = [states[0], _Parameters(self.kinds)]
            given += [states[1]] if len(inspect.signature(written).parameters) > 2 else []
            made = written(*given)
            kind = BOOL if isinstance(made, bool) else INT if isinstance(made, int) and made < 0 else NAT
            known[key] = made.term if isinstance(made, Symbol) else coerce(made, kind, "what a row shows")
        return known[key]
