"""This module defines which rows of a history each step of a model emits, which is the inverse of observations.

    EMITTED = {Kraft: EmittedEvents("kraft", {
        "ask": [Row("request_sent", broker="b", request=Number("request", at="r"))],
        "take": [Row("answer_taken", broker="b", request=Remembered("request", at=lambda s, p: s.original[p.r]), …)],
    })}

A table belongs to one protocol and to every protocol which extends it, wrong ones included; the first that fits counts.
An action without rows is not observed. The value of a column is written as in a model: ``s`` is the state before the
step, ``p`` has the action's parameters by name, and ``t``, a third, is the state after it. A column that is not named
is absent.

Two things are in histories and in no model, and are stored next to the state: ``Number``, how things are numbered over
a whole history while the model reuses its few members, and ``Remembered``, a value that was noted when a thing began.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.properties.registry import Found

Written = Callable[..., Any]
"""A `Written` is a function of the state before a step and its parameters, and, if it takes three arguments, of the
state after it."""

At = int | str | tuple[str, ...] | Written
"""An `At` is the place at which a value is noted: a member of a sort, a number, or several parameters together."""


@dataclass(frozen=True)
class Number:
    """A `Number` is the next number in the history, counted from ``first`` and noted under a name ``at`` some place.
    ``of`` names what is counted, where several names share their numbers."""

    name: str
    at: At = 0
    first: int = 0
    of: str = ""


@dataclass(frozen=True)
class Remembered:
    """A `Remembered` is the value that was last noted under that name ``at`` some place, increased by ``plus``; it is
    ``none`` where no value was noted."""

    name: str
    at: At
    plus: int = 0
    none: int = -1


Emitted = int | str | Written | Number | Remembered
"""The value of a column is a number, a parameter by its name, or what is written of the state."""


class Row:
    """A `Row` is one row of a step, with its kind and the values of its columns. It is emitted only if ``when`` holds
    before the step. With ``each`` there is one row for every choice of further parameters, by name, for which ``when``
    holds. (Tables assemble rows from parts, so that types are checked where a row is read.)"""

    def __init__(self, kind: str, when: Any = None, each: Any = None, **columns: Any) -> None:
        self.kind = kind
        self.when: Written | None = when
        self.each: Mapping[str, Any] = each or {}
        self.columns: Mapping[str, Emitted] = columns


@dataclass(frozen=True)
class Note:
    """A `Note` emits no row but notes a value under a name, for later rows. ``when`` and ``each`` are as of a row."""

    name: str
    at: At
    value: Emitted
    when: Written | None = None
    each: Mapping[str, Any] = field(default_factory=dict)


def _as_given(bounds: Mapping[str, int]) -> Mapping[str, Any]:
    return bounds


@dataclass(frozen=True)
class EmittedEvents:
    """An `EmittedEvents` has the rows by action for one ``mode`` in which a system works.

    ``at_once`` maps an action to another that is taken in the same step, with the same parameters, since a history has
    one event for both; the second is taken at no other time. ``never`` names actions that are not taken, since
    histories have no events for what follows. ``only`` restricts actions to those states and parameters of which its
    function is true. ``config`` returns the manifest's config for given bounds, and ``bounds`` has those that are other
    than in exploration. ``undecidable`` has the history properties that do not apply to such a system, each with the
    reason. ``narrower`` has protocols that allow less than the one with which histories of the mode are compared.
    """

    mode: str
    rows: Mapping[str, Sequence[Row | Note]]
    at_once: Mapping[str, str] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    only: Mapping[str, Written] = field(default_factory=dict)
    config: Callable[[Mapping[str, int]], Mapping[str, Any]] = _as_given
    bounds: Mapping[str, int] = field(default_factory=dict)
    undecidable: Mapping[str, str] = field(default_factory=dict)
    narrower: tuple[type, ...] = ()


EMISSIONS: Found[Mapping[type, EmittedEvents | str]] = Found(
    ("translator.emitted", "translator", "events"),
    "EMITTED",
    write="{name} = {{Protocol: EmittedEvents(…)}} in events.py",
)
"""Each protocol of a model has the rows that its steps emit, or the reason why no history has them."""
