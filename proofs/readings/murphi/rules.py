"""Rules: one for each action of the model, and the start.

A rule is fired where the action's guards hold, its limits do, its budget is not used up, and every key and every value
that it assigns is within its bounds.  All of these are conditions of the rule; those that follow from the types are
left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, variables
from fencepost.model.language.tree.types import MapType, ScalarType, SeqType
from fencepost.proofs.readings.murphi.effects import ordered
from fencepost.proofs.readings.murphi.expressions import MurphiExpressions
from fencepost.proofs.readings.murphi.folding import COMMENT, MurphiFolding
from fencepost.proofs.readings.murphi.names import Names
from fencepost.proofs.readings.tla.actions import of_zero_state
from fencepost.proofs.readings.tla.blocks import Block, closed, hang, indented, noted, remark
from fencepost.proofs.readings.tla.expressions import NEGATION, Scope
from fencepost.proofs.readings.tla.folding import Lets

ROOM = 92
Loops = Sequence[tuple[str, str]]
"""Names, each with the type that it runs over."""


@dataclass(frozen=True)
class Rules:
    """Writes the actions of one protocol."""

    spec: Spec
    names: Names
    expressions: MurphiExpressions
    folding: MurphiFolding

    @property
    def budgets(self) -> dict[str, str]:
        """By budget, the variable that counts how much of it is used."""
        found = {a.budget: "" for a in self.spec.actions.values() if a.budget is not None}
        return {name: self.names.named("budget", name, f"{name}_used") for name in found}

    def variables(self) -> Iterator[tuple[str, str, str]]:
        """All variables: name, type, and what else is said of them."""
        for name, kind in self.spec.types.items():
            about = "a ghost, which properties alone read" if name in self.spec.ghosts else ""
            yield self.names.variable(name), self._type(name), about
            if isinstance(kind, SeqType):
                length = self.names.lengths[name]
                yield length, f"0 .. {self.names.limit(kind.bound)}", f"what is behind it in {name} is zero"
        for name, used in self.budgets.items():
            yield used, f"0 .. {self.names.bound(name)}", f"how many of the {name} there were"

    def _type(self, variable: str) -> str:
        kind = self.spec.types[variable]
        if isinstance(kind, SeqType):
            return f"array [{self.names.places(kind)}] of {self.names.set_of(kind.entry)}"
        if isinstance(kind, MapType):
            arrays = "".join(f"array [{self.names.set_of(key)}] of " for key in kind.keys)
            return arrays + self.names.set_of(kind.value)
        return self.names.set_of(kind)

    def initial(self) -> Block:
        """The start: zero everywhere, but for what init() assigns."""
        lines: Block = []
        for name, kind in self.spec.types.items():
            updates = [of_zero_state(u) for u in self.spec.initial if u.variable == name]
            if not any(not u.keys for u in updates):
                lines += self._zero(name, kind)
            for update in updates:
                lines += self._assignment(update, {})
        lines += [f"{used} := 0;" for used in self.budgets.values()]
        return ['startstate "Init"', "begin", *indented(lines, 2), "end;"]

    def _zero(self, variable: str, kind: object) -> Block:
        there = self.names.variable(variable)
        if isinstance(kind, SeqType):
            entry = f"{there}[place] := {self.names.zero(kind.entry)};"
            return [f"{self.names.lengths[variable]} := 0;", *_loops([("place", self.names.places(kind))], [entry])]
        if isinstance(kind, MapType):
            loops: list[tuple[str, str]] = []
            for key in kind.keys:
                letter = next((sign.lower() for sign in str(key) if sign.isalpha()), "k")
                loops.append((self.names.free(letter, [name for name, _ in loops]), self.names.set_of(key)))
            said = there + "".join(f"[{name}]" for name, _ in loops)
            return _loops(loops, [f"{said} := {self.names.zero(kind.value)};"])
        return [f"{there} := {self.names.zero(kind)};"]  # type: ignore[arg-type]

    def rule(self, action: Action) -> Block:
        """The action with its sentences as a comment, for each choice of its parameters."""
        scope = self.expressions.bind(action.parameters, {})
        conditions = list(self._conditions(action, scope))
        with self.folding.within(action.name, scope) as lets:
            inner = scope | {f"LET {name}": name for name in lets.named.values()}  # nothing may be bound under these
            declared, before, after = self._statements(action, inner, lets)
            types: dict[str, str] = {}
            named = lets.written(lambda node, name: self._named(node, name, inner, types))
            declared = {name: types[name] for name in lets.named.values() if name in types} | declared
        lines = [line for text in (action.doc, *self._about(action)) for line in remark(text, word=COMMENT)]
        lines.append(f'rule "{action.name}"')
        lines += indented(_conjunction(conditions), 2) if conditions else ["  true"]
        lines.append("==>")
        if declared:
            lines += ["var", *indented([f"{name}: {kind};" for name, kind in declared.items()], 2)]
        body = [*(line for block in named for line in block), *before, *after]
        lines += ["begin", *indented(body, 2), "end;"]
        if not action.parameters:
            return lines
        given = "; ".join(f"{scope[n]}: {self.names.set_of(kind)}" for n, kind in action.parameters)
        return [f"ruleset {given} do", *indented(lines, 2), "end;"]

    def _about(self, action: Action) -> Iterator[str]:
        if action.rule:
            yield f"The whole of it is rule {action.rule}."
        if action.budget is not None:
            yield f"A fault: at most {self.names.bound(action.budget)} times."
        if action.dangers:
            yield f"Danger: {', '.join(action.dangers)}."

    def _conditions(self, action: Action, scope: Scope) -> Iterator[tuple[Block, str]]:
        """The conditions of a rule, each with what is said of it."""
        for guard in action.guards:
            yield self.expressions.block(guard.condition, scope, ROOM, NEGATION), guard.rule or ""
        for limit in action.limits:
            yield self.expressions.block(limit, scope, ROOM, NEGATION), "a limit of exploration"
        if action.budget is not None:
            yield [f"{self.budgets[action.budget]} < {self.names.bound(action.budget)}"], ""
        fits = (block for u in action.updates for block in self._fits(u, scope))
        for block in {tuple(block): block for block in fits}.values():
            yield block, ""

    def _fits(self, update: Update, scope: Scope) -> Iterator[Block]:
        """The conditions that an assignment stays within the bounds, as far as the types do not say so."""
        kind, inner = self.spec.types[update.variable], self.expressions.bind(update.bound, scope)
        if isinstance(kind, SeqType):
            yield [f"{self.names.lengths[update.variable]} < {self.names.limit(kind.bound)}"]
        keys = kind.keys if isinstance(kind, MapType) else ()
        for key, of in zip(update.keys, keys, strict=False):
            yield from self.expressions.within(key, of, inner)
        value = kind.value if isinstance(kind, MapType) else kind.entry if isinstance(kind, SeqType) else kind
        for held in self.expressions.within(update.value, value, inner):
            head = " ".join(f"forall {inner[n]}: {self.names.set_of(k)} do" for n, k in update.bound)
            end = " end" * len(update.bound)
            if len(held) == 1 and len(head) + len(held[0]) < ROOM - 6:
                yield [f"{head} {held[0]}{end}".lstrip()]
            else:
                yield [head, *closed(indented(held, 2), end)] if head else held

    def _named(self, node: Term, name: str, scope: Scope, declared: dict[str, str]) -> Block:
        """A local name of the action, computed before anything is assigned."""
        declared[name] = self.folding.type_of(node)
        return closed(hang(f"{name} := ", self.expressions.block(node, scope, ROOM - len(name) - 6)), ";")

    def _statements(self, action: Action, scope: Scope, lets: Lets) -> tuple[dict[str, str], Block, Block]:
        """Variables of the rule, what is computed before anything is assigned, and the assignments."""
        declared: dict[str, str] = {}
        before: Block = []
        after: Block = []
        for update, first in ordered(action.updates, lambda root: self._reads(root, lets)):
            if not first:
                after += noted(self._assignment(update, scope), update.rule or "", COMMENT)
                continue
            kind = self.spec.types[update.variable]
            name = self.names.free(f"new_{self.names.variable(update.variable)}", [*scope.values(), *declared])
            keys = []
            for key, of in zip(update.keys, kind.keys if isinstance(kind, MapType) else (), strict=False):
                keys.append(self._first(f"at_{name}", key, of, scope, declared, before))
            if update.bound:
                declared[name] = self._type(update.variable)
                before += self._assignment(update, scope, name)
            else:
                of = kind.value if isinstance(kind, MapType) else kind.entry if isinstance(kind, SeqType) else kind
                name = self._first(name, update.value, of, scope, declared, before)
            after += noted(self._set(update, "".join(f"[{key}]" for key in keys), [name]), update.rule or "", COMMENT)
        if action.budget is not None:
            used = self.budgets[action.budget]
            after.append(f"{used} := {used} + 1;")
        return declared, before, after

    def _first(
        self, name: str, node: Term, kind: ScalarType, scope: Scope, declared: dict[str, str], before: Block
    ) -> str:  # fmt: skip
        """A value that is computed first, and its name."""
        found = self.names.free(name, [*scope.values(), *declared])
        declared[found] = self.names.set_of(kind)
        before += closed(hang(f"{found} := ", self.expressions.block(node, scope, ROOM - len(found) - 6)), ";")
        return found

    def _reads(self, root: Term, lets: Lets) -> set[str]:
        """The variables that the text of a term speaks of; a function speaks of all that its term does."""
        if root in lets.named:
            return set()
        if self.folding.call_of(root) is not None:
            return variables(root)
        if root.op == "state":
            return {root.data[0]}
        parts = self.folding.grouped(root.args) if root.op == "and" else root.args
        return {name for part in parts for name in self._reads(part, lets)}

    def _assignment(self, update: Update, scope: Scope, name: str | None = None) -> Block:
        """One assignment of the model; of a whole map, to another variable if its name is given."""
        if update.bound:
            inner = self.expressions.bind(update.bound, scope)
            there = name or self.names.variable(update.variable)
            head = there + "".join(f"[{inner[n]}]" for n, _ in update.bound) + " := "
            entry = closed(hang(head, self.expressions.block(update.value, inner, ROOM - len(head) - 4)), ";")
            return _loops([(inner[n], self.names.set_of(kind)) for n, kind in update.bound], entry)
        keys = "".join(f"[{self.expressions.text(key, scope)}]" for key in update.keys)
        room = ROOM - len(update.variable) - len(keys) - 6
        return self._set(update, keys, self.expressions.block(update.value, scope, room))

    def _set(self, update: Update, keys: str, value: Block) -> Block:
        there = self.names.variable(update.variable)
        if not update.appends:
            return closed(hang(f"{there}{keys} := ", value), ";")
        length = self.names.lengths[update.variable]
        entry = closed(hang(f"{there}[{length} + 1] := ", value), ";")
        return [*entry, f"{length} := {length} + 1;"]


def _loops(loops: Loops, body: Block) -> Block:
    """Statements for each choice of some names."""
    for name, kind in reversed(loops):
        body = [f"for {name}: {kind} do", *indented(body, 2), "end;"]
    return body


def _conjunction(conditions: Sequence[tuple[Block, str]]) -> Block:
    lines: Block = []
    for n, (block, note) in enumerate(conditions):
        lines += noted(hang("& " if n else "", block), note, COMMENT)
    return lines
