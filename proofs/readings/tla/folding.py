"""This module writes a long expression as the call of the model's helper that returned it, or by the local name that
the action gives it.

Each helper that is used becomes a definition, before all that use it, and each local name becomes a LET.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fencepost.model.language.tree.terms import Term, boolean, free_locals, local, substitute
from fencepost.model.language.tree.types import INT, NAT, NumberType
from fencepost.proofs.readings.tla.blocks import Block, hang, indented, remark
from fencepost.proofs.readings.tla.calls import Called, Form, Notes
from fencepost.proofs.readings.tla.expressions import Expressions, Scope
from fencepost.proofs.readings.tla.identifiers import Identifiers
from fencepost.proofs.readings.words import say

LONG = 24
"""An expression with more than this many characters is written by its name, where it has one."""
ROOM = 94


Key = tuple[str, tuple[str, ...], tuple[str, ...]]


@dataclass
class Lets:
    """A `Lets` has the local names of one action, with their identifiers and which of them were used."""

    named: dict[Term, str]
    used: set[Term] = field(default_factory=set)
    known: set[Term] = field(default_factory=set)
    defining: Term | None = None

    def rendered(self, node: Term) -> str | None:
        if node not in self.named or node is self.defining or node not in self.known:
            return None
        self.used.add(node)
        return self.named[node]

    def definitions(self, expressions: Expressions, scope: Scope) -> list[Block]:
        """Return the definitions of the used names, in order, each in terms of those before it."""

        def definition(node: Term, name: str) -> Block:
            return hang(f"{name} == ", expressions.block(node, scope, ROOM - len(name) - 12))

        return self.written(definition)

    def written(self, write: Callable[[Term, str], Block]) -> list[Block]:
        """Return what is written for each used name, in order. None refers to a later one."""
        found: dict[Term, Block] = {}
        for node in reversed(self.named):
            self.known.discard(node)
            if node in self.used:
                found[node] = write(node, self.named[node])
        return [found[node] for node in self.named if node in found]


class Folding:
    """A `Folding` has names for terms. `Expressions` calls ``rendered``, and ``expressions`` has to be set before."""

    expressions: Expressions

    def __init__(self, names: Identifiers, notes: Notes) -> None:
        self.names, self.locals = names, notes.locals
        self.calls: dict[Term, list[Called]] = {}
        for call in notes.calls:
            free = free_locals(call.returned)
            if not all(free_locals(argument) <= free for argument in call.arguments):
                continue  # the arguments have no names in other places of the term
            if call.returned.args and len(say(call.returned)) > LONG:
                known = self.calls.setdefault(call.returned, [])
                if call.form.key not in [other.form.key for other in known]:
                    known.append(call)
        for calls in self.calls.values():
            calls.sort(key=lambda call: len(call.arguments))
        called: dict[Key, list[Called]] = {}
        for call in (call for calls in self.calls.values() for call in calls):
            called.setdefault(call.form.key, []).append(call)
        self._forms = {key: self._form(called[key]) for key in sorted(called, key=lambda key: len(key[1]))}
        self._called = {key: self._name(key) for key in self._forms}
        self._defined: dict[Key, Block] = {}
        self._defining: list[Key] = []
        self._lets: Lets | None = None

    def _form(self, calls: Sequence[Called]) -> Form:
        return _widest([call.form for call in calls])

    def _name(self, key: Key) -> str:
        helper, given, _ = key
        further = [f"{helper}_{'_'.join(given)}"] if given else []
        return self.names.named("helper", repr(key), helper, *further)

    def rendered(self, node: Term, scope: Scope) -> str | None:
        """Return what stands for a term, if it has a name."""
        if self._lets is not None and (found := self._lets.rendered(node)) is not None:
            return found
        call = self.call_of(node)
        if call is None:
            return None
        self._define(call.form.key)
        given = ", ".join(self.expressions.text(a, scope) for a in call.arguments)
        return self._applied(self._called[call.form.key], given)

    def _applied(self, name: str, given: str) -> str:
        return f"{name}({given})" if given else name

    def call_of(self, node: Term) -> Called | None:
        """Return the call with the fewest arguments that returned this term, of helpers that are not being defined."""
        return next((c for c in self.calls.get(node, ()) if c.form.key not in self._defining), None)

    def grouped(self, parts: Sequence[Term]) -> list[Term]:
        """Return conjuncts, in which several in a row that a helper returned together are combined."""
        found: list[Term] = []
        start = 0
        while start < len(parts):
            ends = range(len(parts), start + 1, -1)
            rows = (boolean("and", *parts[start:end]) for end in ends if (start, end) != (0, len(parts)))
            named = next((row for row in rows if self.call_of(row) is not None), parts[start])
            found.append(named)
            start += len(named.args) if named is not parts[start] else 1
        return found

    def _define(self, key: Key) -> None:
        if key in self._defined:
            return
        form, lets = self._forms[key], self._lets
        self._lets = None
        self._defining.append(key)
        self._defined[key] = self._definition(self._called[key], form)
        self._defining.pop()
        self._lets = lets

    def _definition(self, name: str, form: Form) -> Block:
        scope = self.expressions.bind(form.parameters, {})
        head = self._applied(name, ", ".join(scope[n] for n, _ in form.parameters)) + " =="
        body = self.expressions.block(form.body, scope, ROOM)
        short = len(body) == 1 and len(head) + len(body[0]) < ROOM
        return [*remark(form.doc), *([f"{head} {body[0]}"] if short else [head, *indented(body)])]

    def definitions(self) -> Iterator[Block]:
        yield from self._defined.values()

    @contextmanager
    def within(self, action: str, scope: Scope) -> Iterator[Lets]:
        """Let terms also have the action's local names within the context."""
        parameters = frozenset(scope)
        named: dict[Term, str] = {}
        for name, node in self.locals.get(action, ()):
            fits = node.args and node.op != "select" and free_locals(node) <= parameters and len(say(node)) > LONG // 2
            if fits and node not in named:
                named[node] = self.names.free(name, [*scope.values(), *named.values()])
        self._lets = Lets(named, known=set(named))
        yield self._lets
        self._lets = None


def _widest(forms: Sequence[Form]) -> Form:
    """Return one form for all of a key, in which a number that has different types in them is any number."""
    first, *others = forms
    changes: dict[str, Term] = {}
    for place, (name, kind) in enumerate(first.parameters):
        if isinstance(kind, NumberType) and any(other.parameters[place][1] != kind for other in others):
            changes[name] = local(name, INT if kind.signed else NAT)
    parameters = tuple((n, changes[n].type if n in changes else kind) for n, kind in first.parameters)
    return Form(first.helper, parameters, first.fixed, substitute(first.body, changes), first.doc)  # type: ignore[arg-type]
