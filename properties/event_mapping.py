"""A protocol of which all steps are observed provides only its table of observations to be followed through driven runs
and through histories.

    MAPPING = EventMapping(LOCKS, {"plain": Lock}, {"client": Client, "token": Nat}, {"plain": TABLE})

    AGREEING = Agreeing(…, follow=MAPPING.follow)      # properties/<protocol>/scenarios.py
    CONFORMING = MAPPING.conforming                    # properties/<protocol>/translator.py

A column of the table is the event's column of that name, or of the one in ``stored``. Two sorts of columns have a
further meaning:

- ``names`` are the implementation's own numbers, such as of requests. Each stands for a member of the model's sort
  from the first event that has it until an event of one of the given kinds ends it. Then the member is free for
  another number, so that at that time the model's state of it must be the initial one.
- ``chosen`` columns are revealed by no event. Any member that fits is tried; its conditions are in ``before``.

Where nothing is chosen, histories are laid out in columns and followed many at a time. Where something is, each is
followed with the set of states in which the model may be, as a driven run is.

Where events and steps of the model differ in grain, a translator defines the rows of the table that the events stand
for (`translation.py`); its columns are those of the table.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from fencepost.model.language.checks.errors import ModelError, caller, mistake
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.observations import Do, Observation
from fencepost.model.language.protocol import ActionMethod
from fencepost.model.language.specs import Spec, without_limits
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    EnumType,
    MapType,
    NumberType,
    ScalarType,
    evaluate_bound,
    scalar,
    scalars,
    unlimited,
)
from fencepost.properties.column_ops import numbered, renumbered
from fencepost.properties.conformance_spec import UNKNOWN, Allowed, Beyond, Followed, PlainInterpreter, Row, Seen, State
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.history import HistoryError, Manifest, Vocabulary
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.nearest import instead
from fencepost.properties.registry import PROTOCOLS, has, imported
from fencepost.properties.trace_spec import MAPPED_IN, Conforming, Laid, LaidOut, Settings
from fencepost.properties.translation import FIRST_CODE, Translator, reading_of, translated_columns

ROOM = 32
"""At most this many members of a sort with names are in use at one time in a driven run."""

SOME = 6
"""At most this many numbers are tried for coverage."""

Given = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


def _as_configured(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config


@dataclass(frozen=True, eq=False)
class EventMapping:
    """An `EventMapping` relates the events of a vocabulary to the steps of models; ``models`` and ``observations`` are
    by variant, and ``columns`` has the type of each column that the table reads.

    ``stored`` gives the event's column by the table's, where the two differ in name. ``names`` gives the kinds that end
    a name, by column, and ``chosen`` the columns that no event has. ``given`` returns the model's constants and the
    number of members of each sort for a variant and a config (default: the config's keys of these names). ``calls``
    gives the unobserved events that each call allows (default: none). ``mode`` is the key of the config that names the
    variant. ``translator`` makes, from a variant and its sizes, the translator of one system's events to rows.
    ``row_kinds`` are kinds of its rows that are no kinds of events, ``read`` the kinds of events that it reads, if not
    all, and ``additional`` the sizes that are given for it alone. ``lanes`` is the column of the rows that identifies a
    part, where the model is of a part of a system, and ``numbered`` has columns in which such a part has numbers of its
    own for what events name.
    """

    vocabulary: Vocabulary
    models: Mapping[str, type]
    columns: Mapping[str, Any]
    observations: Mapping[str, tuple[Observation, ...]]
    stored: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    given: Given = _as_configured
    calls: Mapping[str, Allowed] = field(default_factory=lambda: defaultdict(Allowed))
    mode: str = "mode"
    translator: Callable[[str, Mapping[str, int]], Translator] | None = None
    row_kinds: tuple[str, ...] = ()
    read: frozenset[str] = frozenset()
    additional: tuple[str, ...] = ()
    lanes: str = ""
    numbered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (*self.stored, *self.names, *self.chosen):
            if name not in self.columns:
                raise self._mistake(f"{name} is no column of the table", f"it has {', '.join(self.columns)}")
        for observation in (each for table in self.observations.values() for each in table):
            if observation.kind not in self.codes:
                there = ", ".join(self.codes)
                raise self._mistake(
                    f"{observation.kind!r} is no kind of event of {self.vocabulary.protocol}", f"it has {there}"
                )
            for do in observation.steps:
                self._require_known(observation.kind, do)
        for name in self.names:
            if not isinstance(self.types[name], AtomsType):
                raise self._mistake(
                    f"{name} has names and is a {self.types[name]}", "names stand for members of a sort"
                )
        for name in self.chosen:
            if not isinstance(self.types[name], AtomsType | BoolType | EnumType):
                advice = "what is tried is every member of a sort, of an Enumeration, or both of Bool"
                raise self._mistake(f"{name} is chosen and is a {self.types[name]}", advice)
        if self.translator is not None and self.chosen:
            raise self._mistake("a translator leaves nothing to choose", "let it report what no event has, or drop it")
        for name in set(self.columns).difference(self.chosen) if self.translator is None else ():
            if self.column(name) not in self.vocabulary.names:
                has = f"they have {', '.join(self.vocabulary.names)}"
                raise self._mistake(f"events have no column {self.column(name)!r}", f"{has}; or let {name} be chosen")

    def _mistake(self, what: str, otherwise: str) -> ModelError:
        return mistake(what, otherwise, caller(__file__))

    def _require_known(self, kind: str, do: Do) -> None:
        """Raise `ModelError` unless some model has the action. A model without it leaves the event out, as tables are
        shared; nothing is traced for this."""
        models = dict.fromkeys(self.models.values())
        if "." in do.action or any(isinstance(getattr(model, do.action, None), ActionMethod) for model in models):
            return
        actions = [n for model in models for n in dir(model) if isinstance(getattr(model, n), ActionMethod)]
        names = " or ".join(model.__name__ for model in models)
        what = f"{kind} is a step {do.action!r}, and there is no such action in {names}"
        raise mistake(what, instead(do.action, dict.fromkeys(actions), "the model"), do.where)

    @property
    def types(self) -> dict[str, ScalarType]:
        return {name: scalar(declared) for name, declared in self.columns.items()}

    def column(self, name: str) -> str:
        return self.stored.get(name, name)

    @property
    def between(self) -> dict[str, int]:
        """These are the codes of rows that are no events."""
        return {name: FIRST_CODE + place for place, name in enumerate(self.row_kinds)}

    @property
    def codes(self) -> dict[str, int]:
        return {**{name: int(kind) for name, kind in self.vocabulary.codes.items()}, **self.between}

    @property
    def renamed(self) -> frozenset[str]:
        """These are the bounds of the sorts with names."""
        types = self.types
        return frozenset(kind.bound for name in self.names if isinstance(kind := types[name], AtomsType))

    def spec(self, variant: str) -> Spec:
        return settle(self.models[variant].spec)  # type: ignore[attr-defined]

    def needed(self, variant: str) -> frozenset[str]:
        """Return the kinds that have to be observed, which are those that are steps of the model."""
        return frozenset(o.kind for o in self.observations[variant] if o.steps).difference(self.row_kinds)

    # Driven runs

    def follow(self, variant: str, config: Mapping[str, Any]) -> Followed:
        return self.followed(variant, self.settings_of(variant, config))

    def followed(self, variant: str, settings: Settings) -> Followed:
        """Return the model of a system with the settings that are made of a configuration. Raise `HistoryError` if a
        size is missing."""
        return _followed(self, variant, settings)

    # Histories

    @property
    def conforming(self) -> Conforming:
        """This is the way in which histories are compared with the model."""
        return Conforming(
            self.vocabulary, self.models, self.columns, self.observations, self.variant_of, self.settings_of,
            self.lay_out, self.between, follow=self.followed if self.chosen else None,
        )  # fmt: skip

    def variant_of(self, manifest: Manifest) -> str:
        """Return the variant that the config names, or the first where it names none. Raise `HistoryError` if there is
        no model of it."""
        named = str(manifest.config.get(self.mode, manifest.variant or next(iter(self.models))))
        if named not in self.models:
            raise HistoryError(f"no model for {self.mode} {named!r}; known: {', '.join(self.models)}")
        return named

    def settings_of(self, variant: str, config: Mapping[str, Any]) -> Settings:
        """Return the constants of the model, the sizes of its sorts as far as they are given (for a sort with names,
        the number of members in use at one time in a driven run), and the largest of the numbers that maps have as
        keys. Raise `HistoryError` if a constant is missing."""
        spec, given = self.spec(variant), self.given(variant, config)
        if missing := [name for name in spec.constants if not isinstance(given.get(name), int)]:
            raise HistoryError(f"the config does not say {', '.join(missing)}, which the model of {variant} needs")
        wanted = [*spec.constants, *sorted(_sorts(spec)), *sorted(_numbers(spec)), *self.additional]
        return tuple((name, int(given[name])) for name in wanted if isinstance(given.get(name), int))

    def lay_out(self, columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
        """Return the events of histories laid out in lanes, where a history is one lane, or one for each value of
        ``lanes``, and every event is in it."""
        undecided: Mapping[int, str] = {}
        events = columns
        if self.translator is not None:
            wanted, translator = (
                [self.column(name) for name in self.columns if name not in self.chosen],
                self.translator,
            )
            columns, undecided = translated_columns(
                self.vocabulary, lambda: translator(variant, dict(settings)), self.codes,
                [*wanted, self.lanes] if self.lanes else wanted, columns, self.read,
            )  # fmt: skip
        starts = starts_of(columns["history"])
        lane = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(columns["history"]))))
        if self.lanes:
            order = np.lexsort((columns[self.lanes], lane))
            columns, lane = {name: column[order] for name, column in columns.items()}, lane[order]
            parts = np.stack((lane, columns[self.lanes]))
            lane = np.cumsum((parts != np.roll(parts, 1, axis=1)).any(axis=0) & (np.arange(len(lane)) > 0))
        values = {name: columns[self.column(name)] for name in self.columns if name not in self.chosen}
        values |= self._renumbered(values) | self._numbered(columns, lane)
        spec, given = self.spec(variant), dict(settings)
        sizes = {bound: given.get(bound, 1) for bound in _sorts(spec)}
        sizes |= {bound: given.get(bound, 0) for bound in _numbers(spec)}
        for name, kind in self.types.items():
            most = int(values[name].max(initial=0)) if name in values else 0
            if isinstance(kind, NumberType) and (bound := _bound_of(kind)) in sizes and bound not in given:
                sizes[bound] = max(sizes[bound], most - evaluate_bound(str(kind.upto), {bound: 0}))
            if isinstance(kind, AtomsType) and name in values and (name in self.names or kind.bound not in given):
                sizes[kind.bound] = max(sizes.get(kind.bound, 1), most + 1)
        constants = {name: given[name] for name in spec.constants}
        rows = columns.get("row", np.arange(len(lane)))
        names = partial(self._stand_for, columns, lane, {name: events[name][rows] for name in self.numbered})
        return LaidOut((Laid(rows, lane, columns["kind"], values, sizes, constants, names),), undecided)

    def _stand_for(
        self, columns: Mapping[str, np.ndarray], lanes: np.ndarray, events: Mapping[str, np.ndarray], lane: int
    ) -> str:
        if not self.numbered:
            return ""
        of_lane = np.flatnonzero(lanes == lane)
        pairs = {
            (number, f"{name} {stands_for}")
            for name, stored in events.items()
            for number, stands_for in zip(columns[name][of_lane].tolist(), stored[of_lane].tolist(), strict=True)
            if number > 0 and stands_for >= 0
        }
        words = ", ".join(f"{number} is {stands_for}" for number, stands_for in sorted(pairs))
        of = f" of {self.lanes} {columns[self.lanes][of_lane[0]]}" if self.lanes else ""
        return f"in the model{of}: {words or f'no {self.numbered[0]} yet'}"

    def _renumbered(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the columns of sorts without names, renumbered where some members are large, because maps are as wide
        as the largest."""
        by_sort = dict[ScalarType, list[str]]()
        for name, kind in self.types.items():
            if isinstance(kind, AtomsType) and name in values and name not in self.names:
                by_sort.setdefault(kind, []).append(name)
        return {
            name: column
            for names in by_sort.values()
            for name, column in zip(names, renumbered(np.stack([values[name] for name in names])), strict=True)
        }

    def _numbered(self, columns: Mapping[str, np.ndarray], lane: np.ndarray) -> dict[str, np.ndarray]:
        """Return the members that names stand for, which the columns of one sort share."""
        by_sort: dict[ScalarType, list[str]] = {}
        for name in self.names:
            by_sort.setdefault(self.types[name], []).append(name)
        found = {}
        for names in by_sort.values():
            ends = [int(self.vocabulary.codes[kind]) for name in names for kind in self.names[name]]
            stacked = np.stack([columns[self.column(name)] for name in names], axis=1)
            members = numbered(stacked, lane, np.isin(columns["kind"], ends))
            found.update({name: members[:, place] for place, name in enumerate(names)})
        return found


def mapping_of(protocol: str) -> EventMapping | None:
    """Return the object under the name MAPPING of a protocol, or None where it has none."""
    there = [module for module in MAPPED_IN if has(protocol, module)]
    found = (getattr(imported(f"{PROTOCOLS[protocol]}.{module}"), "MAPPING", None) for module in there)
    return next((mapping for mapping in found if mapping is not None), None)


def _sorts(spec: Spec) -> frozenset[str]:
    kinds = [*spec.types.values(), *(kind for action in spec.actions.values() for _, kind in action.parameters)]
    return frozenset(part.bound for kind in kinds for part in scalars(kind) if isinstance(part, AtomsType))


def _numbers(spec: Spec) -> frozenset[str]:
    keys = [key for kind in spec.types.values() if isinstance(kind, MapType) for key in kind.keys]
    return frozenset(_bound_of(key) for key in keys if isinstance(key, NumberType) and key.upto is not None)


def _bound_of(kind: NumberType) -> str:
    """Return the name in the largest value of a number, such as n of `n - 1`; empty where there is none."""
    return str(kind.upto or "").partition(" ")[0]


@lru_cache(maxsize=256)
def _followed(mapping: EventMapping, variant: str, settings: Settings) -> Followed:
    spec, given = mapping.spec(variant), dict(settings)
    if missing := sorted(_sorts(spec) - mapping.renamed - given.keys()):
        raise HistoryError(f"the config does not say how many {', '.join(missing)} there are")
    sizes = {bound: given.get(bound, ROOM) for bound in _sorts(spec)}
    sizes |= {name: given[name] for name in (*_numbers(spec), *mapping.additional) if name in given}
    return Followed(
        variant=variant,
        spec=without_limits(spec),
        constants={name: given[name] for name in spec.constants},
        bounds=unlimited(spec.types, sizes),
        columns=mapping.columns,
        observations=mapping.observations[variant],
        calls=mapping.calls,
        interpreter=partial(Reader, mapping, mapping.needed(variant), sizes, variant),
        errors=mapping.vocabulary.errors,
    )


class Reader(PlainInterpreter):
    """A `Reader` reads one system or one history, and stores the member of the model's sorts that each name stands
    for."""

    def __init__(self, mapping: EventMapping, needed: frozenset[str], sizes: Mapping[str, int], variant: str) -> None:
        self.mapping, self.needed, self.sizes = mapping, needed, sizes
        self.translator = mapping.translator(variant, sizes) if mapping.translator else None
        self.reading = reading_of(mapping.vocabulary)
        self.columns, self.types = mapping.columns, mapping.types
        self.initial: State = {}
        self.members: dict[tuple[str, int], int] = {}  # by bound and number
        self.ended: list[tuple[str, int]] = []

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """Yield each event with its row or rows. Raise `Beyond` unless all kinds that are steps of the model are
        observed."""
        if absent := sorted(self.needed - observed):
            raise Beyond(f"it does not show {', '.join(absent)}")
        if self.translator is None:
            return super().reported(made, observed)
        return self._translated(self.translator, made.events)

    def _translated(self, translator: Translator, events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
        known = [event for event in events if read(event, "kind") in self.mapping.vocabulary.codes]
        for place, row in translator.translate([self.reading(event) for event in known]):
            yield known[place], row
        yield from ((event, event) for event in events if read(event, "kind") not in self.mapping.vocabulary.codes)

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        """Return the row that an event reveals. Raise `Beyond` if it has more names than there are members."""
        self.initial = self.initial or states[0]
        for name in self.ended:
            self.members.pop(name, None)
        self.ended = []
        kind, row = read(event, "kind"), dict.fromkeys(self.columns, UNKNOWN)
        row["error"] = read(event, "error", 0)
        for column in self.columns:
            if column in self.mapping.chosen:
                continue
            value = read(event, self.mapping.column(column), -1)
            if column in self.mapping.names and value >= 0:
                sort = self.types[column]
                assert isinstance(sort, AtomsType)
                if kind in self.mapping.names[column]:
                    self.ended.append((sort.bound, value))
                value = self._member(sort.bound, value, states)
            row[column] = value != 0 if isinstance(self.types[column], BoolType) else value
        return row

    def _member(self, bound: str, number: int, states: Sequence[State]) -> int:
        if (bound, number) not in self.members:
            self.members[bound, number] = self._free(bound, states)
        return self.members[bound, number]

    def _free(self, bound: str, states: Sequence[State]) -> int:
        """Return the first member that stands for no name and that no state uses."""
        used = {member for (of, _), member in self.members.items() if of == bound}
        for state in states:
            used |= self.used(state, bound)
        free = next((member for member in range(self.sizes[bound]) if member not in used), None)
        if free is None:
            raise Beyond(f"more than {self.sizes[bound]} {bound} at one time")
        return free

    def used(self, state: State, bound: str) -> set[int]:
        """Return the members of a sort that a state uses, which are the keys whose entries differ from the initial
        state."""
        found = set[int]()
        for name, places in _keyed(self.mapping, bound):
            now, was = state.get(name, {}), self.initial.get(name, {})
            if now is not was:
                changed = [key for key in now.keys() | was.keys() if now.get(key) != was.get(key)]
                found.update(key[place] for key in changed for place in places)
        return found

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """Yield the row with every combination of its unobserved columns: members that the state uses, and one that it
        does not, since these are all alike."""
        open_columns = [name for name in self.mapping.chosen if name in seen.columns and row[name] is UNKNOWN]
        ranges = [self._range(self.types[name], state) for name in open_columns]
        for values in product(*ranges):
            yield {**row, **dict(zip(open_columns, values, strict=True))}

    def _range(self, kind: ScalarType, state: State) -> Iterable[Any]:
        if isinstance(kind, BoolType):
            return (False, True)
        if isinstance(kind, EnumType):
            return range(len(kind.members))
        assert isinstance(kind, AtomsType)
        if kind.bound not in self.mapping.renamed:
            return range(self.sizes[kind.bound])
        return [*sorted(self.used(state, kind.bound)), self._free(kind.bound, [state])]

    def some(self, kind: ScalarType, state: State) -> Sequence[Any]:
        if isinstance(kind, AtomsType):
            return range(min(3, self.sizes[kind.bound]))
        if isinstance(kind, NumberType):  # the numbers that the state has, and the next ones
            known = {value for value in state.values() if type(value) is int}
            return sorted({0, 1, *known, *(value + 1 for value in known)})[-SOME:]
        return range(len(kind.members)) if isinstance(kind, EnumType) else range(2)


@lru_cache(maxsize=256)
def _keyed(mapping: EventMapping, bound: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the maps of a protocol's models that have members of a sort in their keys, and their places."""
    found = {}
    for variant in mapping.models:
        for name, kind in mapping.spec(variant).types.items():
            keys = kind.keys if isinstance(kind, MapType) else ()
            if places := tuple(i for i, key in enumerate(keys) if isinstance(key, AtomsType) and key.bound == bound):
                found[name] = places
    return tuple(found.items())
