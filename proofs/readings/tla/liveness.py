"""This module writes progress properties, under fairness, in a module of their own in addition to the one that has the
steps.

Each choice of a fair action's parameters is owed by itself. A step that only a bound stops is still owed, as in
`fencepost.proofs.engines.progress`. A behaviour that waits there for ever does not count, so that a bound never makes a
livelock.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action
from fencepost.model.language.tree.terms import variables
from fencepost.proofs.readings.tla.actions import Actions
from fencepost.proofs.readings.tla.blocks import Block, hang, in_parentheses, indented, remark

ROOM = 88


@dataclass(frozen=True)
class Liveness:
    """A `Liveness` writes the progress properties of one variant, and the fairness that they rest on."""

    actions: Actions
    progress: Sequence[Property]

    def stated(self) -> list[Property]:
        """Return the properties that read only variables that are exported."""
        there = self.actions.spec.types.keys()
        return [p for p in self.progress if set().union(*map(variables, p.terms)) <= there]

    def left_out(self) -> Iterator[str]:
        """Yield why other properties are not exported."""
        there = self.actions.spec.types.keys()
        for item in self.progress:
            unread = sorted(set().union(*map(variables, item.terms)) - there)
            if unread:
                yield f"the progress property {item.name}, which alone reads the ghost {', '.join(unread)}"

    def body(self) -> Iterator[str]:
        """Yield the definitions, one after the other."""
        fair = [a for a in self.actions.spec.actions.values() if a.fair]
        for action in fair:
            if bounds := self._bounds(action):
                yield from ("", *self._stopped(action, bounds))
        lines = [line for action in fair for line in hang(r"/\ ", self._owed(action))]
        about = "What is owed in the end; where only a bound stops it, too, so that a bound never makes a livelock."
        yield from ("", *remark(about), "Fairness ==", *indented(lines or ["TRUE"]))
        yield from ("", r"FairSpec == Spec /\ Fairness")
        for item in self.stated():
            yield from ("", *self._progress(item))

    def _bounds(self, action: Action) -> list[Block]:
        scope = self.actions.scope(action)
        limits = [self.actions.expressions.block(limit, scope, ROOM) for limit in action.limits]
        return [*limits, *self.actions.fits(action, scope)]

    def _called(self, action: Action, ending: str = "") -> str:
        scope, name = self.actions.scope(action), self.actions.names.action(action.name)
        if ending:
            name = self.actions.names.named(ending, action.name, f"{name}_{ending}")
        given = ", ".join(scope[parameter] for parameter, _ in action.parameters)
        return f"{name}({given})" if given else name

    def _stopped(self, action: Action, bounds: Sequence[Block]) -> Block:
        scope, block = self.actions.scope(action), self.actions.expressions.block
        guards = [line for g in action.guards for line in hang(r"/\ ", block(g.condition, scope, ROOM))]
        held = [line for bound in bounds for line in hang(r"/\ ", bound)] if len(bounds) > 1 else bounds[0]
        head = f"{self._called(action, 'stopped')} =="
        return [head, *indented([*guards, *hang(r"/\ ~", in_parentheses(held))])]

    def _owed(self, action: Action) -> Block:
        taken, bound = self._called(action), self._for_all(action)
        if not self._bounds(action):
            return [f"{bound}{'WF' if action.fair == 'weak' else 'SF'}_vars({taken})"]
        allowed = rf"({self._called(action, 'stopped')} \/ ENABLED <<{taken}>>_vars)"
        pauses = f"[]<>~{allowed}" if action.fair == "weak" else f"<>[]~{allowed}"
        ways = [rf"\/ {pauses}", rf"\/ []<><<{taken}>>_vars"]
        return [bound.rstrip(), *indented(ways, 3)] if bound else ways

    def _for_all(self, action: Action) -> str:
        scope = self.actions.scope(action)
        bound = self.actions.names.bindings((scope[n], kind) for n, kind in action.parameters)
        return rf"\A {bound} : " if bound else ""

    def _progress(self, item: Property) -> Block:
        expressions = self.actions.expressions
        scope = expressions.bind(item.parameters, {})
        first, then = (in_parentheses(expressions.block(t, scope, ROOM - 8)) for t in item.terms)
        body = [*first, *hang("~> ", then)]
        if item.parameters:
            bound = self.actions.names.bindings((scope[n], kind) for n, kind in item.parameters)
            body = [rf"\A {bound} :", *indented(body, 3)]
        ceasing = [self.actions.spec.actions[name] for name in item.ceasing if name in self.actions.spec.actions]
        if ceasing:
            stop = [rf"/\ {self._for_all(a)}<>[][~{self._called(a)}]_vars" for a in ceasing]
            body = [*in_parentheses(stop), *hang("=> ", in_parentheses(body))]
        rule = f" {item.rule}" if item.rule else ""
        return [
            *remark(f"Progress{rule}. {item.doc}"),
            f"{self.actions.names.property(item.name)} ==",
            *indented(body),
        ]
