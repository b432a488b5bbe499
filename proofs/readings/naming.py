"""This module prints a protocol as a table of rules in which a long expression that occurs in several places is named
once.

The name is that of the protocol's own helper method that returned the expression, such as ``size(latest_set)``, and so
leads to its place in the model. An expression that no helper returned is called x1, x2, … within one action.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fencepost.model.language.protocol import Action, ActionMethod, Protocol, Spec
from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.recording import Guard, Recorder, Update
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import Term, free_locals, local, rewrite, substitute, with_args
from fencepost.model.language.tree.types import ScalarType
from fencepost.proofs.readings.words import say, say_action

LONG = 40
"""An expression with more than this many characters that occurs in several places is named."""

Fold = dict[Term, Term]
"""A `Fold` maps expressions to terms that are printed as their names."""


def say_actions(protocol: type[Protocol], spec: Spec) -> Iterator[str]:
    """Yield the lines of every action as `say_action` does, with names, each explained by the first action that uses
    it. ``spec`` is the protocol settled, or a mutant of it, whose changed expressions are no longer what a helper
    returns."""
    names = Names(protocol, spec)
    for action in spec.actions.values():
        folded, further = numbered(names.folded(action), names.fold)
        yield from say_action(folded)
        yield from (f"    where  {name} is {say(node)}" for node, name in further)
        yield from (f"    where  {line}" for line in names.explained())


@dataclass(frozen=True)
class Call:
    """A `Call` is one call of a helper, with its arguments by parameter and the term that it returned."""

    helper: str
    given: tuple[tuple[str, Any], ...]
    returned: Term


class Names:
    """A `Names` has the names of a protocol's expressions. The protocol's actions are run once more on symbols, with
    helpers that record what they return. Equal terms are one object, so that each is found again wherever it occurs."""

    def __init__(self, protocol: type[Protocol], spec: Spec) -> None:
        self.spec = protocol.spec
        self.owner = replace(self.spec, helpers={n: self._noting(n, body) for n, body in self.spec.helpers.items()})
        self.calls: dict[Term, Call] = {}
        self.fold: Fold = {}
        self._used: dict[Term, None] = {}
        self._explained: set[tuple[str, int]] = set()
        for name, action in self.spec.actions.items():
            method = getattr(protocol, name, None)
            if isinstance(method, ActionMethod):
                with Recorder(self.spec.types, self.spec.ghosts) as recorder:
                    method.body(StateProxy(self.owner, recorder), *_symbols(action.parameters))
        counts = _occurrences(root for action in spec.actions.values() for root in _roots(action))
        repeated = [node for node in self.calls if counts[node] > 1 and node.args and len(say(node)) > LONG]
        self.helpers = {self.calls[node].helper for node in repeated}
        for call in list(self.calls.values()):
            self._name(call)
        self._used.clear()

    def folded(self, action: Action) -> Action:
        """Return an action with names for the largest expressions that have one."""
        return _with_roots(action, self._fold)

    def explained(self) -> Iterator[str]:
        """Yield the definitions, in other names, of names that were used since the last call and not yet explained."""
        while self._used:
            node = next(iter(self._used))
            del self._used[node]
            call = self.calls[node]
            if (form := (call.helper, len(call.given))) not in self._explained:
                self._explained.add(form)
                yield self._definition(call)

    def _noting(self, name: str, body: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(body).parameters)[1:]

        def helper(s: Any, *given: Any) -> Any:
            returned = body(s, *given)
            if isinstance(returned, Symbol):
                call = Call(name, tuple(zip(parameters, given, strict=False)), _settled(returned.term))
                if call.returned not in self.calls or len(given) < len(self.calls[call.returned].given):
                    self.calls[call.returned] = call
            return returned

        return helper

    def _name(self, call: Call) -> None:
        """Name a call's result, if its helper is one whose results are named. The arguments of the call were computed
        and named before."""
        kind = call.returned.type
        if call.helper in self.helpers and call.returned not in self.fold and isinstance(kind, ScalarType):
            given = ", ".join(self._stated(value) for _, value in call.given)
            self.fold[call.returned] = local(call.helper + (f"({given})" if given else ""), kind)

    def _stated(self, value: Any) -> str:
        return say(self._fold(_settled(value.term))) if isinstance(value, Symbol) else str(value)

    def _fold(self, root: Term) -> Term:
        if root in self.fold:
            self._used[root] = None
            for _, value in self.calls[root].given:
                self._stated(value)  # the name contains the arguments' names
            return self.fold[root]
        return with_args(root, tuple(map(self._fold, root.args))) if root.args else root

    def _definition(self, call: Call) -> str:
        """Return ``size(g) is …`` for any arguments, or for those of this call where the helper examines them."""
        body = self.spec.helpers[call.helper]
        symbols = {n: _settled(v.term) for n, v in call.given if isinstance(v, Symbol)}
        free = {n: Symbol(local(n, node.type)) for n, node in symbols.items() if isinstance(node.type, ScalarType)}
        before = set(self.calls)
        returned = body(StateProxy(self.owner, None), *(free.get(n, value) for n, value in call.given))
        meaning, head = _settled(returned.term), ", ".join(n if n in free else self._stated(v) for n, v in call.given)
        if substitute(meaning, symbols) is not call.returned:
            meaning, head = call.returned, ", ".join(self._stated(value) for _, value in call.given)
        for node in self.calls.keys() - before - {meaning}:
            self._name(self.calls[node])
        inside = with_args(meaning, tuple(map(self._fold, meaning.args)))
        return f"{call.helper}{f'({head})' if head else ''} is {say(inside)}"


def _symbols(parameters: Iterable[tuple[str, Any]]) -> Iterator[Symbol]:
    return (Symbol(local(name, kind)) for name, kind in parameters)


def _settled(root: Term) -> Term:
    return rewrite(root, lambda node: node.args[0] if node.op == "choice" else node)


def _roots(action: Action) -> list[Term]:
    return [*(g.condition for g in action.guards), *(t for u in action.updates for t in (u.value, *u.keys))]


def _with_roots(action: Action, changed: Callable[[Term], Term]) -> Action:
    def guard(g: Guard) -> Guard:
        return replace(g, condition=changed(g.condition))

    def update(u: Update) -> Update:
        return replace(u, value=changed(u.value), keys=tuple(map(changed, u.keys)))

    return replace(action, guards=tuple(map(guard, action.guards)), updates=tuple(map(update, action.updates)))


def _occurrences(roots: Iterable[Term]) -> Counter[Term]:
    counts: Counter[Term] = Counter()
    left = list(roots)
    while left:
        node = left.pop()
        counts[node] += 1
        left += node.args
    return counts


def numbered(action: Action, fold: Fold) -> tuple[Action, list[tuple[Term, str]]]:
    """Return an action in which long repeated expressions are called x1, x2, …, and what these are."""
    parameters = {name for name, _ in action.parameters}
    known = parameters | {name.data for node, name in fold.items() if free_locals(node) <= parameters}
    further: list[tuple[Term, str]] = []
    while True:
        counts = _occurrences([*_roots(action), *(node for node, _ in further)])
        found = [n for n, count in counts.items() if count > 1 and n.args and free_locals(n) <= known]
        longest = max(found, key=lambda n: len(say(n)), default=None)
        if longest is None or len(say(longest)) <= LONG or not isinstance(longest.type, ScalarType):
            return action, further
        name = local(f"x{len(further) + 1}", longest.type)
        known.add(name.data)
        named = {longest: name}
        action = _with_roots(action, lambda root: _replaced(root, named))  # noqa: B023
        further = [*((_replaced(node, named), called) for node, called in further), (longest, name.data)]


def _replaced(root: Term, by: Fold) -> Term:
    return rewrite(root, lambda node: by.get(node, node))
