"""A session is one variant within bounds, perhaps with a rule got wrong, and describes the end of a path through it.

A path is text, ``start(c=0);begin(c=0,t=1,e=1)``, as a link contains it. Every report on it is computed by taking its
steps again from its beginning, so that a link to a run that the model does not have is noticed and reported. A path
begins in the initial state, or in a state that breaks an attempt at a proof.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import AtomsType, MapType, ScalarType, bound_of
from fencepost.proofs.explorer.choices import Choices, written
from fencepost.proofs.pages.stories import (
    CENTRE,
    Standing,
    lanes_of,
    others_of,
    process,
    rules_of,
    standing_of,
    steps_of,
    with_actors,
)
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.ground.layout import highest, lay_out
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.words import name_in_words, say, say_state
from fencepost.proofs.results import Event, State, Trace
from fencepost.properties.catalogue import CatalogueError, ProtocolEntry, Variant, bounds_of, find
from fencepost.properties.nearest import instead
from fencepost.properties.registry import called

MOST_STEPS = 400
"""A path has at most this many steps, since a longer link was not made by a person."""
MOST_LANES = 8
"""If there are more than this many processes, only processes that a step names or changes have a lane."""
MOST_CHOICES = 20_000
"""One action has at most this many parameter choices, and a map at most this many entries."""
LARGEST = 4096
"""A bound is at most this large, as on the command line."""
PLAIN = "/:;,=()"
"""A link contains these characters of a path unquoted."""
PROMISED = ("promise", "step", "refinement")
"""Properties with these roles must not break on any run."""


class NoSuchRun(InputError):
    """This error is about a path that the model does not have. ``fits`` counts the possible steps before."""

    def __init__(self, why: str, fits: int) -> None:
        super().__init__(why)
        self.fits = fits


@dataclass(frozen=True)
class Place:
    """A `Place` is a variant as it is walked through. ``name`` is PROTOCOL/VARIANT, ``without`` the rule that is got
    wrong, and how, and ``bounds`` has those that differ from the variant's smallest. ``since`` is the number of the
    start, where that is not the initial state."""

    name: str
    without: tuple[str, str] | None = None
    bounds: tuple[tuple[str, int], ...] = ()
    since: int | None = None


@dataclass(frozen=True)
class Start:
    """A `Start` is a state in which paths begin besides the initial one, with a sentence that describes it."""

    state: State
    says: str


class Session:
    """A `Session` is one variant to walk through, with its ``properties``, and the ``start`` of its place, if any."""

    def __init__(self, place: Place, start: Start | None = None) -> None:
        entry, variant = find(place.name)
        if variant is None:
            raise CatalogueError(
                f"{place.name} is a protocol; name a variant of it, such as {entry.name}/{entry.variants[0].name}"
            )
        self.place, self.entry, self.variant, self.start = place, entry, variant, start
        self.bounds = bounds_of(variant, "smoke", dict(place.bounds))
        if large := [name for name, size in self.bounds.items() if not 0 <= size <= LARGEST]:
            raise BoundsError(f"the bound {large[0]} is {self.bounds[large[0]]}; choose one from 0 to {LARGEST}")
        self.spec = _spec(entry, variant, place.without)
        self.properties: Mapping[str, Property] = variant.asked
        _require_few(self.spec, self.bounds)
        lay_out(self.spec, self.bounds)
        constants = {name: bound_of(self.bounds, name) for name in self.spec.constants}
        self.plain = Plain(self.spec, constants, self.bounds)
        self.choices = Choices(self.plain)
        for axiom in self.spec.axioms:
            if not self.plain.holds(axiom, {}):
                raise BoundsError(f"{variant.name} needs {say(axiom)}; choose other bounds")

    @cached_property
    def initial(self) -> State:
        state = self.plain.initial() if self.start is None else self.start.state
        if not self.plain.within(state):
            what = self.variant.name if self.start is None else "this path"
            raise BoundsError(f"{what} begins beyond these bounds; choose larger ones")
        return state

    def run(self, path: str) -> Trace:
        """Return the states of a path. Errors: NoSuchRun names the first step that is not possible, and why."""
        words = [word.strip() for word in path.split(";") if word.strip()]
        if len(words) > MOST_STEPS:
            raise NoSuchRun(f"the path has {len(words):,} steps; {MOST_STEPS} are the most", 0)
        states, events = [self.initial], list[Event]()
        for number, word in enumerate(words, 1):
            event = self._event(word, number)
            if (why := self.choices.why_not(states[-1], event, self.spent(events))) is not None:
                raise NoSuchRun(f"step {number} of the path, {word}, is not possible there: {why}", number - 1)
            after = self.plain.step(states[-1], event)
            assert after is not None  # `why_not` has excluded this
            events.append(event)
            states.append(after)
        return Trace(tuple(states), tuple(events))

    def _event(self, word: str, number: int) -> Event:
        action = word.partition("(")[0]
        if action not in self.spec.actions:
            meant = instead(action, self.spec.actions, f"fencepost list {called(self.place.name)}")
            raise NoSuchRun(f"step {number} of the path, {word[:80]}, is of no action here; {meant}", number - 1)
        found = self.choices.by_text(action).get(word.replace(" ", ""))
        if found is None:
            some = next(iter(self.choices.by_text(action)), "none within these bounds")
            what = f"step {number} of the path, {word[:80]}, has no such parameters within these bounds"
            raise NoSuchRun(f"{what}; one of {action} is {some}", number - 1)
        return found

    def spent(self, events: "tuple[Event, ...] | list[Event]") -> dict[str, int]:
        """Return how much of each budget of faults the steps of a path use."""
        spent: dict[str, int] = {}
        for event in events:
            if (budget := self.spec.actions[event.action].budget) is not None:
                spent[budget] = spent.get(budget, 0) + 1
        return spent

    def narrate(self, trace: Trace, at: int, loop: int | None = None) -> dict[str, Any]:
        """Return what the page displays of a path after ``at`` of its steps."""
        if loop is not None and not (0 <= loop <= len(trace) and trace.states[loop] == trace.states[-1]):
            raise NoSuchRun(f"the path does not come back to where it was after step {loop}", len(trace))
        lanes = self._lanes(trace)
        steps = list(steps_of(self.spec, trace, lanes))
        standings = [(n, one) for n, p in self.properties.items() if (one := standing_of(self.plain, p, trace))]
        holding = [self.properties[n] for n, one in standings if one.role in PROMISED and one.holds[at]]
        spent = self.spent(trace.events[:at])
        return {
            "at": at, "loop": loop, "path": [written(event) for event in trace.events],
            "lanes": lanes, "steps": [asdict(step) for step in steps], "rules": rules_of(steps),
            "states": [list(say_state(self.spec, state)) for state in trace.states],
            "properties": [self._property(n, one) for n, one in standings] + self._progress(),
            **self.choices.at(trace.states[at], spent, holding),
        }  # fmt: skip

    def _lanes(self, trace: Trace) -> list[str]:
        """Return the lanes of all processes, if they are few, because lanes that come and go are hard to follow."""
        sorts = [kind for a in self.spec.actions.values() for _, kind in a.parameters if isinstance(kind, AtomsType)]
        every = {f"{process(kind)} {n}": kind for kind in sorts if process(kind) for n in self.plain.domain(kind)}
        reported = lanes_of(self.spec, trace)
        others = others_of(self.spec)
        if len(every) >= MOST_LANES or not set(reported) <= {*every, *others, CENTRE}:
            return reported
        return with_actors(list(every), others) or [CENTRE]

    def _property(self, name: str, one: Standing) -> dict[str, Any]:
        return asdict(one) | {"id": name, "kind": self.properties[name].kind}

    def _progress(self) -> list[dict[str, Any]]:
        return [
            {
                "id": name, "name": name_in_words(name), "says": " ".join(p.doc.split()), "rule": p.rule or "",
                "role": "progress", "kind": p.kind, "holds": None, "broken_at": None,
            }
            for name, p in self.properties.items() if p.kind == "eventually"
        ]  # fmt: skip


def _spec(entry: ProtocolEntry, variant: Variant, without: tuple[str, str] | None) -> Spec:
    if without is None:
        return variant.spec
    from fencepost.proofs.variants import without_rule

    return without_rule(entry, variant, without)


def _require_few(spec: Spec, bounds: Mapping[str, int]) -> None:
    """Raise BoundsError where steps or variables are so many that even listing them takes long."""
    for action in spec.actions.values():
        kinds = [kind for _, kind in action.parameters]
        _require_product(action.name, "parameter choices", kinds, bounds)
    for name, kind in spec.types.items():
        if isinstance(kind, MapType):
            _require_product(name, "entries", kind.keys, bounds)


def _require_product(what: str, of: str, kinds: Iterable[ScalarType], bounds: Mapping[str, int]) -> None:
    count = math.prod(highest(kind, bounds, what) + 1 for kind in kinds)
    if count > MOST_CHOICES:
        raise BoundsError(f"{what} has {count:,} {of} within these bounds, too many to be listed; choose smaller ones")


def place_of(name: str, variant: Variant, bounds: Mapping[str, int], since: int | None = None) -> Place:
    """Return the place at the beginning of a variant within bounds, or at a numbered start."""
    return Place(name, None, changes(variant, bounds), since)


def link(place: Place, events: Iterable[Event]) -> str:
    """Return the fragment of an address by which the page finds a path from a place, and opens it at its end."""
    parts = {
        "at": place.name, "without": " ".join(place.without or ()),
        "bounds": ",".join(f"{name}={size}" for name, size in place.bounds),
        "from": "" if place.since is None else str(place.since), "path": ";".join(map(written, events)),
    }  # fmt: skip
    return "#" + "&".join(f"{name}={quote(text, safe=PLAIN)}" for name, text in parts.items() if text)


def changes(variant: Variant, bounds: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return which bounds differ from the variant's smallest."""
    least = bounds_of(variant, "smoke")
    return tuple(sorted((name, size) for name, size in bounds.items() if least.get(name) != size))


def about(session: Session) -> dict[str, Any]:
    """Return what can be chosen besides the steps: other variants of the protocol, rules to get wrong, and bounds."""
    from fencepost.model.language.derived.mutations import mutations
    from fencepost.model.rules import RULES

    entry, variant, place = session.entry, session.variant, session.place
    wrong = [] if variant.reading is not None else mutations(variant.properties.protocol.spec)
    least = bounds_of(variant, "smoke")
    left_out = sorted(session.spec.outside.items())
    return {
        "name": place.name, "protocol": entry.name, "says": variant.says, "rule": variant.rule or "",
        "without": place.without, "changed": dict(place.bounds), "since": place.since,
        "begins": session.start.says if session.start else "",
        "variants": [{"name": f"{entry.name}/{v.name}", "says": v.says, "main": v.main} for v in entry.variants],
        "wrong": [{"rule": m.rule, "name": m.name, "says": RULES[m.rule].says} for m in wrong],
        "wrong_already": " ".join(variant.reading or ()),
        "bounds": [
            {"name": name, "size": size, "least": least[name], "says": entry.reasons.get(name, "")}
            for name, size in session.bounds.items()
        ],
        "left_out": [f"{name_in_words(name)}: {outside}" for name, outside in left_out],
    }  # fmt: skip
