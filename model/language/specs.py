"""A spec is the result of tracing a protocol: the frozen description that every engine reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from fencepost.model.dangers import DANGERS
from fencepost.model.language.tracing.recording import Guard, Update
from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import ScalarType, Type

if TYPE_CHECKING:
    from fencepost.model.language.tracing.composing import PartSpec


@dataclass(frozen=True)
class Call:
    """A `Call` is an action of a part that an action of the composition takes, with terms for its parameters."""

    part: str
    action: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True)
class Action:
    """An `Action` is one step: it is enabled where all guards hold, and all updates happen at once, from the old state.

    ``fair`` is weak, strong or empty. ``budget`` names, for a fault, the bound on how often it may happen in
    exploration. ``rule`` is the mechanism that the action as a whole is, if it is one. ``dead`` states why no reachable
    state enables it, for a defence that only a mistake elsewhere would trigger; this is then proved, and without it a
    vacuous action is an error. ``dangers`` names the dangers that taking this step is, and ``calls`` has the actions of
    parts that it takes. ``by`` and ``to`` name who takes the step, and whom it reaches: a parameter, a variable that
    maps parameters to a member of a sort, or one of the protocol's ``actors``. ``by`` is empty where the first
    parameter of a sort takes the step, and ``to`` is None where parameters and changes show it. Only pages read them.
    """

    name: str
    parameters: tuple[tuple[str, ScalarType], ...]
    guards: tuple[Guard, ...]
    limits: tuple[Term, ...]
    updates: tuple[Update, ...]
    fair: str
    budget: str | None
    rule: str | None
    dead: str | None
    doc: str
    line: tuple[str, int]
    dangers: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    by: str = ""
    to: str | None = None


Standing = Literal["excused", "not of this protocol", "excluded by Kafka", "open"]


@dataclass(frozen=True)
class Outside:
    """An `Outside` is the reason why a model does not have a danger, or has it only under a condition (``excused``).
    ``source`` is where Kafka excludes it, for that kind of reason."""

    danger: str
    standing: Standing
    why: str
    source: str = ""

    def __str__(self) -> str:
        words = {
            "excused": f"excused: {self.why}",
            "not of this protocol": f"not of this protocol: {self.why}",
            "excluded by Kafka": f"Kafka excludes it because {self.why}, {self.source}",
            "open": f"open: {self.why}",
        }
        return words[self.standing]


@dataclass(frozen=True)
class Presence:
    """A `Presence` is a condition in which a danger is present. ``term`` is true in the states that have the danger."""

    name: str
    danger: str
    term: Term
    doc: str


@dataclass(frozen=True)
class Spec:
    """A `Spec` is a protocol after tracing. ``types`` are in order of declaration, and ``ghosts`` may be read by
    properties only. ``presences`` has by name the conditions in which dangers are present, and ``outside`` by danger
    the reasons why the model leaves them out. For a protocol with ``parts``, ``own`` is what it adds to them, before
    joint actions are spelled out."""

    name: str
    doc: str
    types: dict[str, Type]
    ghosts: frozenset[str]
    constants: dict[str, ScalarType]
    axioms: tuple[Term, ...]
    initial: tuple[Update, ...]
    actions: dict[str, Action]
    helpers: Mapping[str, Callable[..., Any]] = field(repr=False, default_factory=dict)
    presences: Mapping[str, Presence] = field(default_factory=dict)
    outside: Mapping[str, Outside] = field(default_factory=dict)
    parts: Mapping[str, "PartSpec"] = field(repr=False, default_factory=dict)
    own: "Spec | None" = field(repr=False, default=None)

    @property
    def dangers(self) -> tuple[str, ...]:
        """Return the dangers that the model claims, by a tagged action or a condition, in the order of the list."""
        tagged = {d for a in self.actions.values() for d in a.dangers} | {p.danger for p in self.presences.values()}
        return tuple(name for name in DANGERS if name in tagged)


def without_limits(spec: Spec) -> Spec:
    return replace(spec, actions={name: replace(a, limits=()) for name, a in spec.actions.items()})
