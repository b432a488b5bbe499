"""This module writes the properties of a variant, and the conditions in which dangers are present, as definitions."""

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.properties import Property
from fencepost.model.language.specs import Presence
from fencepost.model.language.tree.terms import FALSE, Term, both
from fencepost.model.language.tree.types import ScalarType
from fencepost.proofs.readings.tla.blocks import Block, closed, hang, indented, remark
from fencepost.proofs.readings.tla.expressions import Expressions, Scope
from fencepost.proofs.readings.tla.identifiers import Identifiers

ROOM = 94


@dataclass(frozen=True)
class Statements:
    """A `Statements` writes the properties of one variant."""

    names: Identifiers
    expressions: Expressions

    def invariant(self, item: Property) -> Block:
        return self._defined(self.names.property(item.name), item.term, _about(item, item.role))

    def witness(self, item: Property) -> Block:
        """Return a witness, and its negation, which TLC refutes with a run that reaches the witness."""
        name = self.names.property(item.name)
        never = self.names.named("never", item.name, f"never_{name}")
        about = _about(item, f"a witness of {item.of}, to be reached")
        return [*self._defined(name, item.term, about), f"{never} == ~{name}"]

    def presence(self, item: Presence) -> Block:
        about = f"Where the danger {item.danger} is present. {item.doc}"
        return self._defined(self.names.presence(item.name), item.term, about)

    def step(self, item: Property) -> list[Block]:
        """Return a property of every step, for a refinement with the steps of its core before it."""
        if isinstance(item, Refinement):
            return self._refinement(item)
        body = closed(hang("[][", self.expressions.block(item.term, {}, ROOM - 10)), "]_vars")
        return [[*remark(_about(item, "of every step")), f"{self.names.property(item.name)} ==", *indented(body)]]

    def _defined(self, name: str, body: Term, about: str) -> Block:
        return [*remark(about), f"{name} ==", *indented(self.expressions.block(body, {}, ROOM))]

    def _refinement(self, item: Refinement) -> list[Block]:
        """Return each step of the core as a condition on two states, and that every step is one of these."""
        name, core = self.names.property(item.name), item.core.name
        seen = self.expressions.bind(item.each, {})
        view = f"({', '.join(seen[n] for n, _ in item.each)})" if item.each else ""
        unchanged = f"{self.names.named('kept', item.name, f'{name}_kept')}{view}"
        found = [[*remark(f"{core} is left as it is."), f"{unchanged} ==", *indented(self._all(item.unchanged, seen))]]
        ways = [unchanged]
        for action, taken in item.steps.items():
            inner = self.expressions.bind(taken.parameters, seen)
            body = self.expressions.block(both(*taken.guards, *taken.effects.values()), inner, ROOM - 3)
            if taken.parameters:
                bound = self.names.bindings((inner[n], kind) for n, kind in taken.parameters)
                body = [rf"\E {bound} :", *indented(body, 3)]
            ways.append(f"{self.names.named('core step', f'{item.name} {action}', f'{name}_{action}')}{view}")
            found.append([*remark(f"The step {action} of {core}."), f"{ways[-1]} ==", *indented(body)])
        each = [rf"\/ {way}" for way in ways]
        if item.each:
            each = hang(rf"\A {self._bound(item.each, seen)} : ", each)
        start = f"{core} may start as this does."
        found.append(self._defined(self.initially(item), item.initially or FALSE, start))
        about = _about(item, f"a refinement: every step is one of {core}, or leaves it as it is")
        return [*found, [*remark(about), f"{name} ==", *indented(closed(hang("[][", each), "]_vars"))]]

    def initially(self, item: Property) -> str:
        """Return the name of a refinement's demand on the initial state, which TLC prints if the demand fails."""
        return self.names.named("initially", item.name, f"{self.names.property(item.name)}_initially")

    def _all(self, conditions: Mapping[str, Term], scope: Scope) -> Block:
        return self.expressions.block(both(*conditions.values()), scope, ROOM)

    def _bound(self, bound: tuple[tuple[str, ScalarType], ...], scope: Scope) -> str:
        return self.names.bindings((scope[n], kind) for n, kind in bound)


def _about(item: Property, role: str) -> str:
    rule = f" {item.rule}" if item.rule else ""
    return f"{role[0].upper()}{role[1:]}{rule}. {item.doc}"
