"""What tracing makes of a protocol: the frozen description that every engine reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .recording import Guard, Update
from .terms import Term
from .types import ScalarType, Type


@dataclass(frozen=True)
class Action:
    """One step: enabled where all guards hold, then all updates happen at once, from the old state.

    ``fair`` is weak, strong or empty; ``budget`` names, for a fault, the bound on how often it may happen in
    exploration; ``rule`` is the mechanism that the action as a whole is, if it is one; ``dead`` says why no reachable
    state enables it, for a defence that only another's mistake would call up (which is then proved, and else a vacuous
    action is an error).
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


@dataclass(frozen=True)
class Spec:
    """A protocol after tracing.  ``types`` in order of declaration; ``ghosts`` may be read by properties only."""

    name: str
    doc: str
    types: dict[str, Type]
    ghosts: frozenset[str]
    constants: dict[str, ScalarType]
    axioms: tuple[Term, ...]
    initial: tuple[Update, ...]
    actions: dict[str, Action]
    helpers: Mapping[str, Callable[..., Any]] = field(repr=False, default_factory=dict)
