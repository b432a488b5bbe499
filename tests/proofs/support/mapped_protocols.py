"""A desk that serves one request at a time, whose events show everything, or all but what has to be chosen; and random
histories of it, some of which do what the desk does not."""

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from fencepost.model.language import Bool, Map, Nat, Option, Protocol, Sort, action, implies, require
from fencepost.model.language.observations import Do, Observation
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary


class Customer(Sort, bound="customers"):
    """Who asks."""


class Slip(Sort, bound="slips"):
    """A request."""


class Turn(Nat, upto="turns"):
    """How many requests were served."""


class Desk(Protocol):
    """Customers hand in slips, and are served one at a time, the first of whom costs ``start``."""

    by: Map[Slip, Option[Customer]]
    served: Option[Slip]
    turns: Turn

    @action
    def ask(s, r: Slip, c: Customer):
        require(s.by[r] == None, rule="730.2")  # noqa: E711
        s.by[r] = c

    @action
    def serve(s, r: Slip):
        require(s.served == None, rule="730.4")  # noqa: E711
        require(s.by[r] != None, rule="730.19")  # noqa: E711
        s.served = r
        s.turns = s.turns + 1

    @action
    def leave(s, r: Slip):
        require(s.served == r, rule="730.5")
        s.by[r] = None
        s.served = None


class Kind(EventKind):
    """What happens at the desk."""

    asked = 1, "customer number"
    called = 2, "number turn"
    left = 3, "number"
    closed = 4, ""


DESK = Vocabulary(
    "desk",
    Kind,
    (
        Column("customer", "int64", "who asks"),
        Column("number", "int64", "what stands on the slip"),
        Column("turn", "int64", "how many were called"),
    ),
    (),
)

COLUMNS = {"customer": Customer, "slip": Slip, "turn": Turn}

_SLIP = {"r": "slip"}
TABLE = (
    Observation("asked", (Do("ask", {"r": "slip", "c": "customer"}),)),
    Observation("called", (Do("serve", _SLIP),), after=lambda s, e: s.turns == e.turn, rule="730.8"),
    Observation("left", (Do("leave", _SLIP),)),
    Observation("closed"),
)
GIVEN = {"customers": 3}
MAPPING = EventMapping(DESK, {"plain": Desk}, COLUMNS, {"plain": TABLE}, {"slip": "number"}, {"slip": ("left",)})

CHOSEN = EventMapping(
    DESK,
    {"plain": Desk},
    {**COLUMNS, "which": Slip, "waits": Bool},
    {
        "plain": (
            TABLE[0],
            Observation(
                "called",
                (Do("serve", {"r": "which"}),),
                before=lambda s, e: implies(e.waits, s.by[e.which] != None),  # noqa: E711
                after=lambda s, e: s.turns == e.turn,
                rule="730.8",
            ),
            TABLE[2],
            TABLE[3],
        )
    },
    {"slip": "number"},
    {"slip": ("left",)},
    ("which", "waits"),
)
"""Whose slip is called, is not shown."""


def histories(count: int, mistakes: float = 0.0) -> dict[str, np.ndarray]:
    """So many histories of 60 events, as columns; each event is with this probability one that the desk does not
    do."""
    rows = [(h, step, *row) for h in range(count) for step, row in enumerate(_history(Random(h), mistakes))]
    names = ("history", "step", "kind", "customer", "number", "turn")
    table = np.array(rows, np.int64)
    return {name: table[:, place] for place, name in enumerate(names)} | {"time_us": table[:, 1] * 1000}


def _history(random: Random, mistakes: float) -> list[tuple[int, int, int, int]]:
    waiting: list[int] = []
    served, turn, numbers, made = -1, 0, 100, list[tuple[int, int, int, int]]()
    while len(made) < 60:
        wrong, what = random.random() < mistakes, random.random()
        if what < 0.4 and len(waiting) < 6:
            numbers += random.randrange(1, 3)
            waiting.append(numbers)
            made.append((Kind.asked, random.randrange(3), numbers, -1))
        elif what < 0.7 and waiting and (served < 0 or wrong):
            served = waiting.pop(random.randrange(len(waiting)))
            turn += 1
            made.append((Kind.called, -1, served, turn + (wrong and random.random() < 0.5)))
        elif served >= 0 or (wrong and waiting):
            gone = served if served >= 0 else waiting[0]
            made.append((Kind.left, -1, gone, -1))
            served = -1
        elif wrong:
            made.append((random.choice([Kind.closed, 9]), -1, -1, -1))
    return made


def events_of(columns: Mapping[str, np.ndarray], history: int) -> list[dict[str, Any]]:
    """One history as an implementation would show it."""
    rows = np.flatnonzero(columns["history"] == history)
    names = {kind.value: kind.name for kind in Kind}
    return [
        {name: int(columns[name][row]) for name in DESK.names} | {"kind": names.get(int(columns["kind"][row]), "?")}
        for row in rows
    ]
