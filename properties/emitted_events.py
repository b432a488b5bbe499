"""What the steps of a model show: which rows of a history each of them is.  Observations say the opposite.

    EMITTED = {Kraft: EmittedEvents("kraft", {
        "ask": [Row("request_sent", broker="b", request=Number("request", at="r"))],
        "take": [Row("answer_taken", broker="b", request=Remembered("request", at=lambda s, p: s.original[p.r]), …)],
    })}

A table is by the protocol that it is of, and is that of every protocol which extends it, mistaken ones included; the
first that fits counts.  An action without rows is not observed.  What a column holds is written as a model is: ``s`` is
the state before the step, ``p`` has the action's parameters by name, ``t``, a third, is the state after it.  A column
that is not named is absent.

Two things are in histories and in no model, and are stored next to the state: ``Number``, how things are numbered over
a whole history while the model uses its few members again, and ``Remembered``, what was noted when a thing was begun.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.properties.registry import Found

Written = Callable[..., Any]
"""Of the state before a step and its parameters, and, where it takes three, of the state after it."""

At = int | str | tuple[str, ...] | Written
"""Where something is noted: at a member of a sort or a number, or at several parameters together."""


@dataclass(frozen=True)
class Number:
    """The next number in the history, counted from ``first``, and noted under a name ``at`` some place; ``of``: what is
    counted, where several names share their numbers."""

    name: str
    at: At = 0
    first: int = 0
    of: str = ""


@dataclass(frozen=True)
class Remembered:
    """What was noted last under that name ``at`` some place, and ``plus`` so much; ``none`` where nothing was."""

    name: str
    at: At
    plus: int = 0
    none: int = -1


Emitted = int | str | Written | Number | Remembered
"""A number, a parameter by its name, or what is written of the state."""


class Row:
    """One row of a step, of a kind, with what its columns hold; ``when``: only where that is so before the step;
    ``each``: one row for every choice of further parameters, by name, where ``when`` holds.  (Tables put rows together
    from parts, so that types are seen where a row is read.)"""

    def __init__(self, kind: str, when: Any = None, each: Any = None, **columns: Any) -> None:
        self.kind = kind
        self.when: Written | None = when
        self.each: Mapping[str, Any] = each or {}
        self.columns: Mapping[str, Emitted] = columns


@dataclass(frozen=True)
class Note:
    """No row: a value is noted under a name, for rows to come.  ``when`` and ``each`` as of a row."""

    name: str
    at: At
    value: Emitted
    when: Written | None = None
    each: Mapping[str, Any] = field(default_factory=dict)


def _as_given(bounds: Mapping[str, int]) -> Mapping[str, Any]:
    return bounds


@dataclass(frozen=True)
class EmittedEvents:
    """Of one way in which a system works, its ``mode``: the rows by action.

    ``at_once``: after an action another is taken in the same step, with the same parameters, since a history has one
    event for both; the second is taken at no other time.  ``never``: actions that are not taken, since histories have
    no events for what follows; ``only``: those that are where that is so alone, of the state and the parameters.
    ``config``: what the manifest says, of the bounds; ``bounds``: those that are other than in exploration.
    ``undecidable``: history properties that do not speak of such a system, each with the reason.  ``narrower``:
    protocols that let less happen than that which histories of the mode are held against.
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
"""By protocol of a model: what its steps show, or why no history has them."""
