"""What happens when an action runs on symbols: its guards, limits and updates are written down."""

import difflib
import inspect
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar

from .citing import check_rule
from .errors import caller, mistake
from .refusals import Helper
from .sources import line_of
from .symbols import Symbol, coerce, truth
from .terms import Term, conjuncts, free_locals, state, term, variables
from .types import BOOL, MapType, ScalarType, SeqType, Type, scalar


@dataclass(frozen=True)
class Guard:
    """One conjunct that enables an action."""

    condition: Term
    rule: str | None
    line: tuple[str, int]


@dataclass(frozen=True)
class Update:
    """One assignment.  ``keys``: terms for one entry of a map; ``bound``: variables for all entries; neither: a whole scalar,
    or, with ``appends``, one more entry of a sequence."""

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
    """Collects one action.  Reading a variable after assigning it is refused: readings would have to agree on which value."""

    check_rule: ClassVar[Any] = staticmethod(check_rule)

    def __init__(self, types: dict[str, Type], ghosts: frozenset[str]) -> None:
        self.types, self.ghosts = types, ghosts
        self.rule: str | None = None
        self.guards: list[Guard] = []
        self.limits: list[Term] = []
        self.updates: list[Update] = []

    def __enter__(self) -> "Recorder":
        _active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _active.pop()

    def guard(self, condition: Term, number: str | None) -> None:
        if number is not None:
            check_rule(number)
        if read := variables(condition) & self.ghosts:
            raise mistake(f"a guard reads the ghost {min(read)}", "ghosts record history for properties; no rule may depend on them")
        if self.updates:
            raise mistake("require() stands after an assignment", "put all guards before the first update")
        self.guards.extend(Guard(c, number or self.rule, caller()) for c in conjuncts(condition))

    def limit(self, condition: Term) -> None:
        self.limits.append(condition)

    def reading(self, variable: str) -> None:
        if any(u.variable == variable for u in self.updates):
            raise mistake(f"{variable} is read after it was assigned in this action", "read it into a local name before assigning")

    def _write(self, update: Update) -> None:
        read = variables(update.value) | {v for k in update.keys for v in variables(k)}
        if update.variable not in self.ghosts and (hidden := read & self.ghosts):
            raise mistake(f"{update.variable} depends on the ghost {min(hidden)}", "only ghosts may be computed from ghosts")
        self.updates.append(update)

    def point(self, variable: str, keys: tuple[Term, ...], value: Term) -> None:
        self._write(Update(variable, value, self.rule, caller(), keys=keys))

    def append(self, variable: str, value: Term) -> None:
        if any(u.variable == variable for u in self.updates):
            raise mistake(f"{variable} is appended to twice in one action", "one step appends one entry; let an entry hold both")
        self._write(Update(variable, value, self.rule, caller(), appends=True))

    def whole(self, variable: str, value: Any) -> None:
        from .vocabulary import Each, abstract

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
            raise mistake(f"{given} is assigned to {variable}, a map", "use s.map[key] = … or s.map = each(lambda key: …)")
        bound, body = abstract(value.body, list(kind.keys))
        self._write(Update(variable, coerce(body, kind.value, f"an entry of {variable}"), self.rule, caller(), bound=bound))


class StateProxy:
    """``s``: reads state variables and constants, calls the protocol's own helper methods, records assignments."""

    def __init__(self, owner: Any, recorder: Recorder | None, primed: bool = False) -> None:
        object.__setattr__(self, "_owner", owner)
        object.__setattr__(self, "_recorder", recorder)
        object.__setattr__(self, "_primed", primed)

    def __getattr__(self, name: str) -> Any:
        owner, recorder = self._owner, self._recorder
        if name in owner.constants:
            return Symbol(term("constant", (), name, owner.constants[name]))
        if name in owner.types:
            kind = owner.types[name]
            if recorder is not None and not isinstance(kind, MapType | SeqType):
                recorder.reading(name)
            return Symbol(state(name, kind, self._primed), recorder)
        helper = owner.helpers.get(name)
        if helper is None:
            raise mistake(f"{owner.name} has no variable or helper {name!r}", self._near(name))
        return Helper(name, helper, self)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._recorder is None:
            raise mistake(f"{name} is assigned outside an action", "properties and axioms only read")
        if name in self._owner.constants:
            raise mistake(f"the constant {name} is assigned", "declare it as a variable, or say with @axiom what is known of it")
        if name not in self._owner.types:
            raise mistake(f"{self._owner.name} has no variable {name!r} to assign", self._near(name))
        self._recorder.whole(name, value)

    def _near(self, name: str) -> str:
        """What may have been meant."""
        owner = self._owner
        near = difflib.get_close_matches(name, [*owner.types, *owner.constants, *owner.helpers], n=3)
        return f"the nearest are {', '.join(near)}" if near else f"it has {', '.join(sorted(owner.types))}; another action is Class.action(s, ...)"


def condition(value: Any, role: str, where: tuple[str, int] | None = None) -> Term:
    """The Bool term that a property returned."""
    if value is None:
        raise mistake(f"{role} returns nothing", "end it with `return <condition>`", where)
    if not isinstance(value, bool) and not (isinstance(value, Symbol) and value.term.type == BOOL):
        raise mistake(f"{role} returns {value!r}", "return a condition", where)
    return truth(value, role)


def sorted_parameters(body: Callable[..., Any], name: str, skip: int) -> tuple[tuple[str, ScalarType], ...]:
    """Names and sorts of a method's parameters after the first ``skip``, which stand for states."""
    found = []
    for p in list(inspect.signature(body, eval_str=True).parameters.values())[skip:]:
        if p.kind is not p.POSITIONAL_OR_KEYWORD or p.default is not p.empty:
            raise mistake(f"parameter {p.name} of {name} has a default or a star", f"write {p.name}: Broker", line_of(body))
        if p.annotation is p.empty:
            raise mistake(f"parameter {p.name} of {name} has no sort", f"write {p.name}: Broker", line_of(body))
        found.append((p.name, scalar(p.annotation, f"parameter {p.name}", line_of(body))))
    return tuple(found)


def check_locals(known: AbstractSet[str], *roots: Term, where: tuple[str, int]) -> None:
    """A quantifier's variable that was carried out of its function means nothing outside."""
    for root in roots:
        if stray := free_locals(root) - known:
            name = min(stray).split(".", maxsplit=1)[0]
            raise mistake(f"{name} is used outside the function that it is an argument of", "quantify where it is used", where)
