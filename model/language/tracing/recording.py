"""This module records the guards, limits and updates of an action that runs on symbols."""

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fencepost.model.language.checks.errors import caller, mistake
from fencepost.model.language.checks.rule_references import check_rule
from fencepost.model.language.tracing.symbols import coerce
from fencepost.model.language.tree.terms import Term, conjuncts, variables
from fencepost.model.language.tree.types import MapType, ScalarType, SeqType, Type

if TYPE_CHECKING:
    from fencepost.model.language.specs import Call


@dataclass(frozen=True)
class Guard:
    """A `Guard` is one conjunct that enables an action."""

    condition: Term
    rule: str | None
    line: tuple[str, int]


@dataclass(frozen=True)
class Update:
    """An `Update` is one assignment. ``keys`` has terms for one entry of a map, and ``bound`` has variables for all
    entries. Without either, the update assigns a whole scalar or, with ``appends``, adds an entry to a sequence."""

    variable: str
    value: Term
    rule: str | None
    line: tuple[str, int]
    keys: tuple[Term, ...] = ()
    bound: tuple[tuple[str, ScalarType], ...] = ()
    appends: bool = False


_active: list["Recorder"] = []


def current(word: str) -> "Recorder":
    if not _active:
        raise mistake(f"{word}() is used outside an action", "properties return a condition instead")
    return _active[-1]


class Recorder:
    """A `Recorder` collects one action. It refuses to read a variable after assigning it, since the engines would have
    to agree on which value is meant."""

    check_rule: ClassVar[Any] = staticmethod(check_rule)

    def __init__(self, types: dict[str, Type], ghosts: frozenset[str]) -> None:
        self.types, self.ghosts = types, ghosts
        self.rule: str | None = None
        self.guards: list[Guard] = []
        self.limits: list[Term] = []
        self.updates: list[Update] = []
        self.calls: list[Call] = []
        self.assigned: set[str] = set()
        """``assigned`` has the variables of parts that the actions taken assign."""

    def __enter__(self) -> "Recorder":
        _active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _active.pop()

    def guard(self, condition: Term, number: str | None) -> None:
        if number is not None:
            check_rule(number)
        if read := variables(condition) & self.ghosts:
            raise mistake(
                f"a guard reads the ghost {min(read)}",
                "ghosts record history for properties; no rule may depend on them",
            )
        if self.updates or self.calls:
            raise mistake("require() stands after an assignment", "put all guards before the first update")
        self.guards.extend(Guard(c, number or self.rule, caller()) for c in conjuncts(condition))

    def limit(self, condition: Term) -> None:
        self.limits.append(condition)

    def reading(self, variable: str) -> None:
        if variable in self.assigned or any(u.variable == variable for u in self.updates):
            raise mistake(
                f"{variable} is read after it was assigned in this action", "read it into a local name before assigning"
            )

    def _write(self, update: Update) -> None:
        if "." in update.variable:
            part = update.variable.partition(".")[0]
            instead = f"take an action of the part: s.{part}.action(...)"
            raise mistake(f"{update.variable} is assigned outside its part", instead)
        read = variables(update.value) | {v for k in update.keys for v in variables(k)}
        if update.variable not in self.ghosts and (hidden := read & self.ghosts):
            raise mistake(
                f"{update.variable} depends on the ghost {min(hidden)}", "only ghosts may be computed from ghosts"
            )
        self.updates.append(update)

    def point(self, variable: str, keys: tuple[Term, ...], value: Term) -> None:
        self._write(Update(variable, value, self.rule, caller(), keys=keys))

    def append(self, variable: str, value: Term) -> None:
        if any(u.variable == variable for u in self.updates):
            raise mistake(
                f"{variable} is appended to twice in one action", "one step appends one entry; let an entry hold both"
            )
        self._write(Update(variable, value, self.rule, caller(), appends=True))

    def whole(self, variable: str, value: Any) -> None:
        from fencepost.model.language.tracing.vocabulary import Each, abstract

        kind = self.types[variable]
        if any(u.variable == variable for u in self.updates):
            raise mistake(f"{variable} is assigned twice in one action", "assign it once, with when(condition, a, b)")
        if isinstance(kind, SeqType):
            raise mistake(f"{variable}, a sequence, is assigned as a whole", "grow it with append(s.sequence, entry)")
        if not isinstance(kind, MapType):
            if isinstance(value, Each):
                raise mistake(f"{variable} is {kind}, not a map", "assign a single value")
            self._write(Update(variable, coerce(value, kind, f"the value of {variable}"), self.rule, caller()))
            return
        if not isinstance(value, Each):
            given = f"the function {value.__name__}" if inspect.isfunction(value) else repr(value)
            raise mistake(
                f"{given} is assigned to {variable}, a map", "use s.map[key] = … or s.map = each(lambda key: …)"
            )
        bound, body = abstract(value.body, list(kind.keys))
        self._write(
            Update(variable, coerce(body, kind.value, f"an entry of {variable}"), self.rule, caller(), bound=bound)
        )
