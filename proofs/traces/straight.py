"""The source of one loop over whole lanes, event by event: what each kind of event means as straight-line code for
numba, over the cells of one state, which stay in the processor's first cache.

The loop only says which lanes it does not follow to their end.  `lockstep.py` then looks at these, and says which event
does not fit, and why; so a lane may be left to it for whatever is not worth its code here: a sum beyond ``LARGEST``, a
key outside of its map.  Every other lane was held against the same phases, term by term.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import TRUE, Term, free_locals
from fencepost.model.language.tree.types import BoolType, EnumType, MapType, ScalarType, Type
from fencepost.proofs.readings.columns import ColumnsError
from fencepost.proofs.traces.observed import Phase

LARGEST = 1 << 61
"""No number is larger in magnitude: sums of two of these are within int64, and are looked at one by one."""

GIVEN = "s, b, d, c, i"
"""Of every function: the cells of the state; as many to work with; domains, constants and first cells (`Straight`); the
columns, a row for each; and the event."""


@dataclass
class Straight:
    """The code for one protocol: ``source``, and what its numbers are, in order, that differ from run to run.

    ``kinds``: the code of each kind of event, in the order in which the loop numbers them; ``columns``: of the events;
    ``domains``, ``constants`` and ``variables``: of what ``d`` has the domain, the value, and the first cell.
    """

    kinds: tuple[int, ...]
    columns: tuple[str, ...]
    types: Mapping[str, Type]
    source: str = ""
    domains: dict[ScalarType, int] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)

    def place(self, what: ScalarType | str) -> int:
        """Where ``d`` has the domain of a type, or the value of a constant."""
        table: dict[ScalarType, int] | dict[str, int] = self.constants if isinstance(what, str) else self.domains
        if what not in table:
            table[what] = len(self.variables) + len(self.domains) + len(self.constants)  # type: ignore[index]
        return table[what]  # type: ignore[index]


def straight(types: Mapping[str, Type], columns: Sequence[str], phases: Mapping[int, tuple[Phase, ...]]) -> Straight:
    """The code for phases by kind of event.  ``types``: of the variables that are held, without ghosts.  Raises
    `ColumnsError` for what it can't hold."""
    made = Straight(tuple(phases), tuple(columns), types)
    made.variables.update({name: place for place, name in enumerate(types)})
    parts = [_HEAD]
    for place, of_kind in enumerate(phases.values()):
        parts += ["", "", _DECORATOR, f"def kind_{place}({GIVEN}):"]
        parts += [f"    {line}" for line in _Function(made).lines(of_kind)]
    parts += ["", "", _DECORATOR, f"def step(kind, {GIVEN}):"]
    parts += [
        line
        for place in range(len(phases))
        for line in (f"    if kind == {place}:", f"        return kind_{place}({GIVEN})")
    ]
    made.source = "\n".join([*parts, "    return False", _LOOP])
    return made


_HEAD = '''"""Made by fencepost for one protocol; safe to delete."""
import numba
import numpy as np
'''
_DECORATOR = "@numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)"
_LOOP = f"""

@numba.njit(cache=True, nogil=True)
def follow(starts, kind, first, s, b, d, c, left):
    for lane in range(starts.size - 1):
        s[:] = first
        for i in range(starts[lane], starts[lane + 1]):
            if not step(kind[i], {GIVEN}):
                left[lane] = True
                break
"""


class _Scope:
    """A body of code: a function's, or of a loop over the values of some variables, within another.  ``refers``: what
    of its surroundings it may use by name."""

    def __init__(self, bound: frozenset[str] = frozenset(), outer: "_Scope | None" = None) -> None:
        self.bound, self.outer = bound, outer
        self.lines: list[str] = []
        self.names: dict[Term | tuple[object, ...], str] = {}
        self.locals: dict[str, str] = dict(outer.locals) if outer else {}

    def home(self, needed: frozenset[str]) -> "_Scope":
        """The outermost body in which these variables have values."""
        return self if self.outer is None or needed & self.bound else self.outer.home(needed)


class _Function:
    """What one kind of event means."""

    def __init__(self, straight: Straight) -> None:
        self.straight, self.used = straight, dict[int, str]()
        self.places = {name: place for place, name in enumerate(straight.columns)}
        self._names = 0

    def lines(self, phases: Sequence[Phase]) -> list[str]:
        body = [line for phase in phases for line in self.phase(phase)]
        heads = [f"{name} = d[{place}]" for place, name in sorted(self.used.items())]
        return [*heads, *body, "return True"]

    def phase(self, phase: Phase) -> list[str]:
        """Its checks, each as soon as it is known; then all new values; then they are stored."""
        scope, inner = _Scope(), list[str]()
        when = TRUE if phase.when is TRUE else phase.when
        test = "" if when is TRUE else self.value(when, scope)
        before, scope.lines = scope.lines, inner
        for column, sort, _ in phase.members:
            self.require(f"{self.column(column, sort, scope)} < {self.domain(sort)}", scope)
        for condition in phase.conditions:
            self.require(self.value(condition, scope), scope)
        stores = [self.store(update, scope) for update in phase.updates]
        inner += [line for lines in stores for line in lines]
        if not test:
            return [*before, *inner]
        return [*before, f"if {test}:", *(f"    {line}" for line in inner or ["pass"])]

    def require(self, text: str, scope: _Scope) -> None:
        if text != "True":
            scope.lines += [f"if not ({text}):", "    return False"]

    def store(self, update: Update, scope: _Scope) -> list[str]:
        """Computes the new value now; the lines that store it, for after all values are known."""
        if update.appends:
            raise ColumnsError(f"{update.variable} is a sequence, which no straight code holds")
        kind = self.straight.types[update.variable]
        if update.bound:
            assert isinstance(kind, MapType)
            inner, heads = self.loop(update.bound, scope)
            at = self.index(update.variable, kind, tuple(inner.locals[name] for name, _ in update.bound), inner)
            inner.lines.append(f"b[{at}] = {self.value(update.value, inner)}")
            self.nest(heads, inner.lines, scope)
            again, heads = self.loop(update.bound, scope)
            at = self.index(update.variable, kind, tuple(again.locals[name] for name, _ in update.bound), again)
            lines = [*again.lines, f"s[{at}] = b[{at}]"]
            return [*heads, *(f"{'    ' * len(heads)}{line}" for line in lines)]
        keys = []
        for key in update.keys:
            text = self.value(key, scope)
            assert not isinstance(key.type, MapType)
            self.require(f"0 <= {text} < {self.domain(key.type)}", scope)  # type: ignore[arg-type]
            keys.append(text)
        at = self.index(update.variable, kind, tuple(keys), scope)
        return [f"s[{at}] = {self.value(update.value, scope)}"]

    def loop(self, bound: tuple[tuple[str, ScalarType], ...], scope: _Scope) -> tuple[_Scope, list[str]]:
        """The body of a loop over all values of these variables, and the lines that begin it."""
        inner, heads = _Scope(frozenset(name for name, _ in bound), scope), []
        for depth, (name, kind) in enumerate(bound):
            at = self.fresh()
            heads.append(f"{'    ' * depth}for {at} in range({self.domain(kind)}):")
            inner.locals[name] = at
        return inner, heads

    def nest(self, heads: list[str], lines: list[str], scope: _Scope) -> None:
        scope.lines += [*heads, *(f"{'    ' * len(heads)}{line}" for line in lines)]

    def value(self, node: Term, scope: _Scope) -> str:
        """The name or literal of a term's value, computed once where all that it depends on is known."""
        if node.op == "const":
            return (
                "0"
                if node.data is None
                else str(node.data)
                if node.data is True or node.data is False
                else str(int(node.data))
            )
        home = scope.home(free_locals(node))
        if node not in home.names:
            text = self.text(node, home)
            if text.isidentifier():
                home.names[node] = text
            else:
                home.names[node] = self.assign(text, home)
                if node.op in ("add", "sub", "some"):
                    self.require(f"{-LARGEST} < {home.names[node]} < {LARGEST}", home)
        return home.names[node]

    def text(self, node: Term, scope: _Scope) -> str:
        match node.op:
            case "constant":
                return self.given("k", self.straight.place(node.data))
            case "local":
                return self.local(node, scope)
            case "forall" | "exists":
                return self.quantifier(node, scope)
            case "state":
                return self.read(node, (), scope)
            case "select":
                return self.read(node.args[0], tuple(self.key(key, scope) for key in node.args[1:]), scope)
        a = [self.value(part, scope) for part in node.args]
        match node.op:
            case "add" | "sub":
                return f"{a[0]} {'+' if node.op == 'add' else '-'} {a[1]}"
            case "some":
                return f"{a[0]} + 1"
            case "monus":
                return f"max({a[0]} - {a[1]}, 0)"
            case "eq" | "lt" | "le":
                return f"{a[0]} {({'eq': '==', 'lt': '<', 'le': '<='})[node.op]} {a[1]}"
            case "and" | "or":
                return f" {node.op} ".join(a)
            case "not":
                return f"not {a[0]}"
            case "ite":
                return f"{a[1]} if {a[0]} else {a[2]}"
        raise ColumnsError(f"{node.op} has no straight code; histories are followed without it")

    def local(self, node: Term, scope: _Scope) -> str:
        if node.data not in scope.locals:
            return self.column(node.data, node.type, scope)
        at = scope.locals[node.data]
        return f"{at} != 0" if isinstance(node.type, BoolType) else at

    def column(self, name: str, kind: Type, scope: _Scope) -> str:
        """A column of the event."""
        text = f"c[{self.places[name]}, i]"
        outermost = scope.home(frozenset())
        if ("column", name) not in outermost.names:
            outermost.names["column", name] = self.assign(
                f"{text} != 0" if isinstance(kind, BoolType) else text, outermost
            )
        return outermost.names["column", name]

    def read(self, node: Term, keys: tuple[str, ...], scope: _Scope) -> str:
        name, primed = node.data
        kind = self.straight.types[name]
        if primed or (isinstance(kind, MapType) and not keys):
            raise ColumnsError(f"{name} has no straight code here: only entries of one state have")
        value = kind.value if isinstance(kind, MapType) else kind
        text = f"s[{self.index(name, kind, keys, scope)}]"
        return f"{text} != 0" if isinstance(value, BoolType) else text

    def key(self, node: Term, scope: _Scope) -> str:
        """A key, or the number of the cell that holds the zero value if it lies outside."""
        text = self.value(node, scope)
        if node.op == "const" and isinstance(node.type, EnumType | BoolType):
            return str(int(node.data))
        if text in scope.locals.values():
            return text
        domain, home = self.domain(node.type), scope.home(free_locals(node))  # type: ignore[arg-type]
        if ("key", text) not in home.names:
            kept = f"{text} if 0 <= {text} < {domain} else {domain}"
            home.names["key", text] = self.assign(kept, home)
        return home.names["key", text]

    def index(self, name: str, kind: Type, keys: tuple[str, ...], scope: _Scope) -> str:
        text = ""
        for sort, key in zip(kind.keys if isinstance(kind, MapType) else (), keys, strict=True):
            text = f"({text}) * ({self.domain(sort)} + 1) + {key}" if text else key
        first = self.given("o", self.straight.variables[name])
        return f"{first} + {text}" if text else first

    def quantifier(self, node: Term, scope: _Scope) -> str:
        found = self.assign(str(node.op == "forall"), scope)
        inner, heads = self.loop(node.data, scope)
        body = self.value(node.args[0], inner)
        ends = [f"if {'not ' if node.op == 'forall' else ''}{body}:", f"    {found} = {node.op != 'forall'}"]
        if len(heads) == 1:
            ends.append("    break")
        self.nest(heads, [*inner.lines, *ends], scope)
        return found

    def domain(self, kind: ScalarType) -> str:
        """How many values a type of keys has."""
        if isinstance(kind, BoolType | EnumType):
            return str(2 if isinstance(kind, BoolType) else len(kind.members))
        return self.given("n", self.straight.place(kind))

    def given(self, letter: str, place: int) -> str:
        return self.used.setdefault(place, f"{letter}{place}")

    def assign(self, text: str, scope: _Scope) -> str:
        name = self.fresh()
        scope.lines.append(f"{name} = {text}")
        return name

    def fresh(self) -> str:
        self._names += 1
        return f"t{self._names}"
