"""This module writes one definition for each action of the model, and the initial state.

The explorer takes an action where its guards and limits hold, its budget is not used up, and every assigned key and
value is within its bounds. All of these are conditions of the definition, except those that follow from the types.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, constant, rewrite, zero
from fencepost.model.language.tree.types import NAT, MapType, ScalarType, SeqType
from fencepost.proofs.readings.tla.blocks import Block, closed, hang, indented, noted, remark
from fencepost.proofs.readings.tla.expressions import SUM, Expressions, Scope
from fencepost.proofs.readings.tla.folding import Folding
from fencepost.proofs.readings.tla.identifiers import Identifiers

ROOM = 92
"""A condition of an action has this many columns."""


@dataclass(frozen=True)
class Actions:
    """An `Actions` writes the actions of one protocol."""

    spec: Spec
    names: Identifiers
    expressions: Expressions
    folding: Folding

    @property
    def budgets(self) -> dict[str, str]:
        """Return, by budget, the variable that counts how much of it is used."""
        found = {a.budget: "" for a in self.spec.actions.values() if a.budget is not None}
        return {name: self.names.named("budget", name, f"{name}_used") for name in found}

    @property
    def variables(self) -> list[str]:
        return [*map(self.names.variable, self.spec.types), *self.budgets.values()]

    def initial(self) -> Block:
        """Return ``Init``, which is zero everywhere except for what init() assigns."""
        lines = ["Init =="]
        for name in self.spec.types:
            updates = [of_zero_state(u) for u in self.spec.initial if u.variable == name]
            lines += indented(
                hang(rf"/\ {self.names.variable(name)} = ", self._value(name, updates, {}, self._zero(name)))
            )
        return [*lines, *(rf"    /\ {used} = 0" for used in self.budgets.values())]

    def _zero(self, variable: str) -> str:
        kind = self.spec.types[variable]
        if isinstance(kind, SeqType):
            return "<<>>"
        if isinstance(kind, MapType):
            keys = self._keys(kind)
            return f"[{self.names.bindings(iter(keys))} |-> {self.names.zero(kind.value)}]"
        return self.names.zero(kind)

    def _keys(self, kind: MapType) -> list[tuple[str, ScalarType]]:
        found: list[tuple[str, ScalarType]] = []
        for key in kind.keys:
            letter = next((sign.lower() for sign in str(key) if sign.isalpha()), "k")
            found.append((self.names.free(letter, [name for name, _ in found]), key))
        return found

    def scope(self, action: Action) -> dict[str, str]:
        return self.expressions.bind(action.parameters, {})

    def definition(self, action: Action) -> Block:
        """Return the action with its sentences as a comment, and with the values that it names before it uses them."""
        scope = self.scope(action)
        head = self.names.action(action.name)
        if action.parameters:
            head += f"({', '.join(scope[name] for name, _ in action.parameters)})"
        with self.folding.within(action.name, scope) as lets:
            inner = scope | {f"LET {name}": name for name in lets.named.values()}  # nothing may be bound under these
            body = list(self._conjuncts(action, inner))
            body = _let(lets.definitions(self.expressions, inner), body)
        about = [action.doc, *self._about(action)]
        return [*(line for text in about for line in remark(text)), f"{head} ==", *indented(body)]

    def _about(self, action: Action) -> Iterator[str]:
        if action.rule:
            yield f"The whole of it is rule {action.rule}."
        if action.budget is not None:
            yield f"A fault: at most {self.names.bound(action.budget)} times."
        if action.dangers:
            yield f"Danger: {', '.join(action.dangers)}."

    def _conjuncts(self, action: Action, scope: Scope) -> Iterator[str]:
        for guard in action.guards:
            yield from noted(hang(r"/\ ", self.condition(guard.condition, scope)), guard.rule or "")
        for limit in action.limits:
            yield from noted(hang(r"/\ ", self.condition(limit, scope)), "a limit of exploration")
        if action.budget is not None:
            yield rf"/\ {self.budgets[action.budget]} < {self.names.bound(action.budget)}"
        for bound in self.fits(action, scope):
            yield from hang(r"/\ ", bound)
        written = dict.fromkeys(u.variable for u in action.updates)
        for name in written:
            updates = [u for u in action.updates if u.variable == name]
            rules = ", ".join(dict.fromkeys(u.rule for u in updates if u.rule))
            there = self.names.variable(name)
            yield from noted(hang(rf"/\ {there}' = ", self._value(name, updates, scope, there)), rules)
        if action.budget is not None:
            used = self.budgets[action.budget]
            yield rf"/\ {used}' = {used} + 1"
        stored = [self.names.variable(name) for name in self.spec.types if name not in written]
        stored += [used for name, used in self.budgets.items() if name != action.budget]
        if stored:
            yield from unchanged(stored)

    def condition(self, node: Term, scope: Scope) -> Block:
        """Return a condition of a step, written so that TLC counts the step once."""
        if _splits(node):
            self.expressions.used.add("Holds")
            return closed(hang("Holds(", self.expressions.block(node, scope, ROOM - 8)), ")")
        return self.expressions.block(node, scope, ROOM)

    def fits(self, action: Action, scope: Scope) -> list[Block]:
        """Return the conditions that assigned values stay within the bounds, where the types do not guarantee it."""
        found = (block for u in action.updates for block in self._fits(u, scope))
        return list({tuple(block): block for block in found}.values())

    def _fits(self, update: Update, scope: Scope) -> Iterator[Block]:
        kind, inner = self.spec.types[update.variable], self.expressions.bind(update.bound, scope)
        inside = self.expressions.inside
        if isinstance(kind, SeqType):
            yield [f"Len({self.names.variable(update.variable)}) < {self.names.limit(kind.bound)}"]
        keys = kind.keys if isinstance(kind, MapType) else ()
        for key, of in zip(update.keys, keys, strict=False):
            if not inside(key, of):
                yield self._member(key, of, inner)
        of = kind.value if isinstance(kind, MapType) else kind.entry if isinstance(kind, SeqType) else kind
        if not inside(update.value, of):
            held = self._member(update.value, of, inner)
            bound = self.names.bindings((inner[n], k) for n, k in update.bound)
            if not bound:
                yield held
            elif len(held) == 1 and len(bound) + len(held[0]) < ROOM - 6:
                yield [rf"\A {bound} : {held[0]}"]
            else:
                yield [rf"\A {bound} :", *indented(held, 3)]

    def _member(self, node: Term, kind: ScalarType, scope: Scope) -> Block:
        there = self.names.set_of(kind)
        return closed(self.expressions.block(node, scope, ROOM - len(there) - 8, SUM), f" \\in {there}")

    def _value(self, variable: str, updates: Sequence[Update], scope: Scope, before: str) -> Block:
        """Return what a variable is after some assignments to it, of which a later one wins."""
        made: Block = [before]
        while updates:
            first, *rest = updates
            if first.keys:
                points = [u for u in updates if u.keys] if all(u.keys for u in updates) else [first]
                made, rest = self._except(made, points, scope), list(updates[len(points) :])
            elif first.bound:
                inner = self.expressions.bind(first.bound, scope)
                head = f"[{self.names.bindings((inner[n], k) for n, k in first.bound)} |->"
                made = self._function(head, first.value, inner)
            elif first.appends:
                made = closed(hang(f"Append({made[0]}, ", self.expressions.block(first.value, scope, ROOM - 20)), ")")
            else:
                room = ROOM - len(variable) - 6
                made = self.expressions.value(first.value, scope, room)
            updates = rest
        return made

    def _function(self, head: str, value: Term, scope: Scope) -> Block:
        line = f"{head} {self.expressions.text(value, scope)}]"
        if len(line) <= ROOM - 10:
            return [line]
        return [head, *closed(indented(self.expressions.block(value, scope, ROOM - 14)), "]")]

    def _except(self, before: Block, points: Sequence[Update], scope: Scope) -> Block:
        entries: list[Block] = []
        for u in points:
            keys = ", ".join(self.expressions.text(k, scope) for k in u.keys)
            entries.append(hang(f"![{keys}] = ", self.expressions.block(u.value, scope, ROOM - len(keys) - 24)))
        entries = [closed(e, ",") if n + 1 < len(entries) else e for n, e in enumerate(entries)]
        flat = " ".join(line for entry in entries for line in entry)
        if len(before) == 1 and all(len(e) == 1 for e in entries) and len(flat) + len(before[0]) < ROOM - 20:
            return [f"[{before[0]} EXCEPT {flat}]"]
        opened = closed(hang("[", before), " EXCEPT")
        return closed([*opened, *indented([line for entry in entries for line in entry])], "]")


def _let(definitions: Sequence[Block], body: Block) -> Block:
    if not definitions:
        return body
    return [*hang("LET ", [line for block in definitions for line in block]), *hang("IN  ", body)]


def unchanged(names: Sequence[str]) -> Block:
    """Return ``UNCHANGED <<a, b>>``, broken where it is too long."""
    if len(names) == 1:
        return [rf"/\ UNCHANGED {names[0]}"]
    lines, line = [], ""
    for name in names:
        further = f"{line}, {name}" if line else name
        if len(further) > ROOM - 18:
            lines.append(f"{line},")
            further = name
        line = further
    return closed(hang(r"/\ UNCHANGED <<", [*lines, line]), ">>")


def _splits(node: Term) -> bool:
    """Return whether TLC would take a condition for several ways to take the step."""
    match node.op:
        case "or":
            implies = len(node.args) == 2 and node.args[0].op == "not"
            return not implies or _splits(node.args[1])
        case "exists":
            return True
        case "forall":
            return _splits(node.args[0])
        case "and":
            return any(map(_splits, node.args))
        case "ite":
            return any(map(_splits, node.args[1:]))
    return False


def of_zero_state(update: Update) -> Update:
    """Return an assignment of init(), in which every variable that it reads is at its zero value."""

    def change(node: Term) -> Term:
        if node.op in ("select", "at") or (node.op == "state" and not isinstance(node.type, MapType | SeqType)):
            return zero(node.type)  # type: ignore[arg-type]
        return constant(0, NAT) if node.op in ("length", "latest") else node

    def of_zero(root: Term) -> Term:
        return rewrite(root, change)

    return replace(update, value=of_zero(update.value), keys=tuple(map(of_zero, update.keys)))
