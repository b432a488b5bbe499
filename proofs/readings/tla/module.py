"""This module writes the whole module of a variant under bounds, and the configuration by which TLC checks it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.model.language.properties import Properties, Property
from fencepost.model.language.protocol import Protocol, Spec
from fencepost.model.language.tree.types import AtomsType, BoolType, Bounds, SeqType, bound_of
from fencepost.proofs.readings.ground import ground
from fencepost.proofs.readings.ground.layout import highest, lay_out
from fencepost.proofs.readings.tla.actions import Actions
from fencepost.proofs.readings.tla.blocks import Block, hang, indented, noted, remark
from fencepost.proofs.readings.tla.calls import Notes, notes_of
from fencepost.proofs.readings.tla.expressions import DEFINITIONS, Expressions
from fencepost.proofs.readings.tla.folding import Folding
from fencepost.proofs.readings.tla.identifiers import Identifiers
from fencepost.proofs.readings.tla.liveness import Liveness
from fencepost.proofs.readings.tla.statements import Statements

RULER = 78
MARK = "Written by fencepost export"
"""The first comment of every exported file has these words, so that only such a file is replaced."""


@dataclass(frozen=True)
class Exported:
    """An `Exported` has a module and its configuration, the module of progress (empty, if no progress property is
    exported), and, in sentences, what of the variant is not in them."""

    stem: str
    module: str
    configuration: str
    liveness: str
    actions: int
    invariants: tuple[str, ...]
    steps: tuple[str, ...]
    progress: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A `Source` is what is exported, which is a settled protocol, and its properties, within bounds. ``title`` is
    protocol/variant, ``says`` describes the variant in a sentence, and ``reasons`` has, by bound, why it is as it is.
    ``protocol`` and ``stated`` are the classes that were traced, which have names for long expressions. ``symmetry``
    lets TLC identify states that differ only in the names of elements."""

    stem: str
    title: str
    says: str
    spec: Spec
    properties: Mapping[str, Property]
    bounds: Bounds
    reasons: Mapping[str, str]
    protocol: type[Protocol] | None = None
    stated: type[Properties] | None = None
    symmetry: bool = False

    def notes(self) -> Notes:
        """Return what the traced classes have names for."""
        return Notes() if self.protocol is None else notes_of(self.protocol, self.spec, self.stated)


def exported(source: Source) -> Exported:
    """Return a variant's module and configuration. Errors: BoundsError for bounds that the explorer refuses."""
    return _Module(source).exported()


class _Module:
    """A `_Module` has the pieces of one variant's module, which share their names and folded expressions."""

    def __init__(self, source: Source) -> None:
        self.source, self.bounds = source, source.bounds
        explored = [p for p in source.properties.values() if p.kind != "eventually"]
        self.spec = without_unread_ghosts(source.spec, explored)
        lay_out(self.spec, self.bounds)
        ground(replace(self.spec, actions={}, presences={}), {}, self.bounds)  # checks that axioms and init() fit
        self.names = Identifiers(self.spec, self.bounds, source.properties)
        self.folding = Folding(self.names, self.source.notes())
        self.expressions = Expressions(self.names, self.folding.rendered, self.folding.grouped)
        self.folding.expressions = self.expressions
        self.actions = Actions(self.spec, self.names, self.expressions, self.folding)
        self.statements = Statements(self.names, self.expressions)
        self.always = [p for p in explored if p.kind == "always"]
        self.steps = [p for p in explored if p.kind == "step"]
        self.witnesses = [p for p in explored if p.kind == "sometimes"]
        self.liveness = Liveness(self.actions, [p for p in source.properties.values() if p.kind == "eventually"])

    def exported(self) -> Exported:
        body = list(self._body())
        liveness = list(self._liveness())
        operators = self._part("What the model has names for", self.folding.definitions())
        body = [*self._variables(), *operators, *body]
        head = self._head()
        return Exported(
            self.source.stem,
            "\n".join([*head, *body, "=" * RULER, ""]),
            "\n".join([*self._configuration(), ""]),
            "\n".join([*liveness, "=" * RULER, ""]) if liveness else "",
            len(self.spec.actions),
            tuple(p.name for p in self.always),
            tuple(p.name for p in self.steps),
            tuple(p.name for p in self.liveness.stated()),
            self.left_out,
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return what of the variant is not exported."""
        found = []
        ghosts = [name for name in self.source.spec.types if name not in self.spec.types]
        if ghosts:
            found.append(f"ghosts that no property of states or steps reads: {', '.join(ghosts)}")
        return (*found, *self.liveness.left_out())

    def _body(self) -> Iterator[str]:
        yield from self._part("What holds of the variables at any time", [self._types()])
        yield from self._part("The start", [self.actions.initial()])
        yield from self._part("Steps", [self.actions.definition(a) for a in self.spec.actions.values()])
        yield from self._part("All steps", [self._next()])
        yield from self._part("What holds in every state", map(self.statements.invariant, self.always))
        yield from self._part("What holds of every step", [b for p in self.steps for b in self.statements.step(p)])
        yield from self._part("What is to be reached", map(self.statements.witness, self.witnesses))
        presences = self.spec.presences.values()
        yield from self._part("Where dangers are present", map(self.statements.presence, presences))

    def _part(self, title: str, blocks: Iterator[Block] | Sequence[Block]) -> Iterator[str]:
        found = list(blocks)
        if found:
            yield from ("", "-" * RULER, rf"\* {title}")
        for block in found:
            yield ""
            yield from block

    def _variables(self) -> Iterator[str]:
        yield "VARIABLES"
        names = self.actions.variables
        noting = {self.names.variable(n): "a ghost, which properties alone read" for n in self.spec.ghosts}
        noting |= {used: f"how many of the {name} there were" for name, used in self.actions.budgets.items()}
        for n, name in enumerate(names):
            yield from indented(noted([name + ("," if n + 1 < len(names) else "")], noting.get(name, "")))
        yield ""
        yield from hang("vars == <<", _listed(names, ">>"))

    def _types(self) -> Block:
        lines = ["TypeOK =="]
        for name, kind in self.spec.types.items():
            there = self.names.variable(name)
            lines.append(rf"    /\ {there} \in {self.names.values_of(kind)}")
            if isinstance(kind, SeqType):
                lines.append(rf"    /\ Len({there}) <= {self.names.limit(kind.bound)}")
        for name, used in self.actions.budgets.items():
            lines.append(rf"    /\ {used} \in 0..{self.names.bound(name)}")
        return lines

    def _next(self) -> Block:
        lines = ["Next =="]
        for action in self.spec.actions.values():
            scope, name = self.actions.scope(action), self.names.action(action.name)
            if action.parameters:
                bound = self.names.bindings((scope[n], kind) for n, kind in action.parameters)
                given = ", ".join(scope[n] for n, _ in action.parameters)
                lines.append(rf"    \/ \E {bound} : {name}({given})")
            else:
                lines.append(rf"    \/ {name}")
        return [*lines, "", "Spec == Init /\\ [][Next]_vars"]

    def _liveness(self) -> Iterator[str]:
        if not self.liveness.stated():
            return
        stem = self.source.stem
        yield _opening(f"{stem}Liveness")
        yield from remark(f"{MARK} {self.source.title}: what comes in the end, under fairness.")
        names = " ".join(self.names.property(p.name) for p in self.liveness.stated())
        how = f"the constants of {stem}.cfg, SPECIFICATION FairSpec, and PROPERTIES {names}"
        yield from [r"\*", *remark(f"Checked by TLC with a configuration that has {how}."), "", f"EXTENDS {stem}"]
        yield from self.liveness.body()

    def _head(self) -> Block:
        lines = [_opening(self.source.stem)]
        lines += remark(f"{MARK} {self.source.title}: {self.source.says.rstrip('.')}.")
        lines += [r"\*", *remark(self.spec.doc)]
        lines += [r"\*", *remark(self._how())]
        for sentence in self.left_out:
            lines += [r"\*", *remark(f"Not exported: {sentence}.")]
        lines += ["", f"EXTENDS Integers, Sequences{', TLC' if self._symmetric() else ''}", ""]
        plain = Expressions(self.names, used=self.expressions.used)  # helpers are defined further down
        axioms = [plain.block(axiom, {}, RULER + 10) for axiom in self.spec.axioms]
        lines += self._constants()
        for axiom in axioms:
            lines += ["", *hang("ASSUME ", axiom)]
        sets = [f"{name} == 0..{_operand(key[1])}" for key, name in self.names.numbers.items()]
        for kind, name in self.names.enumerations.items():
            quoted = [f'"{m}"' for m in kind.members]
            sets += [*hang(f"{name} == {{", _listed(quoted, "}"))]
        lines += [""] * bool(sets) + sets
        for name, text in DEFINITIONS.items():
            if name in self.expressions.used:
                lines += ["", *text]
        if symmetric := self._symmetric():
            lines += ["", "Symmetry == " + r" \cup ".join(f"Permutations({name})" for name in symmetric)]
        return [*lines, ""]

    def _how(self) -> str:
        stem = self.source.stem
        return (
            f"Checked by: java -cp tla2tools.jar tlc2.TLC -deadlock -workers 1 -config {stem}.cfg {stem}.  An action "
            "is taken within the bounds alone: what its types do not say of them is a condition of it."
        )

    def _symmetric(self) -> list[str]:
        """Return the sorts whose elements differ only by name."""
        fixed = {*self.names.firsts, *self.spec.constants.values()}
        return [name for kind, name in self.names.sorts.items() if kind not in fixed] if self.source.symmetry else []

    def _constants(self) -> Block:
        named = {name: f"the elements of the sort: {kind.bound} many" for kind, name in self.names.sorts.items()}
        named |= dict.fromkeys(self.names.firsts.values(), "the first of its sort, which a variable of it starts as")
        named |= {name: self.source.reasons.get(key, "") for key, name in self.names.constants.items()}
        named |= {"None": "no value"} if self.names.options else {}
        lines = ["CONSTANTS"] if named else []
        for n, (name, about) in enumerate(named.items()):
            lines += indented(noted([name + ("," if n + 1 < len(named) else "")], _plain(about)))
        return lines

    def _configuration(self) -> Block:
        lines = [rf"\* {MARK} {self.source.title}", "CONSTANTS"]
        elements: dict[str, list[str]] = {}
        for kind, name in self.names.sorts.items():
            count = highest(kind, self.bounds, kind.name) + 1
            elements[kind.name] = [self.names.free(f"{kind.name.lower()}{n}") for n in range(count)]
            lines.append(f"    {name} = {{{', '.join(elements[kind.name])}}}")
        lines += [f"    {name} = {elements[kind.name][0]}" for kind, name in self.names.firsts.items()]
        for key, name in self.names.constants.items():
            of, value = self.spec.constants.get(key), bound_of(self.bounds, key)
            text = elements[of.name][value] if isinstance(of, AtomsType) else str(value)
            text = ("TRUE" if value else "FALSE") if isinstance(of, BoolType) else text
            lines.append(f"    {name} = {text}")
        lines += ["    None = None"] if self.names.options else []
        lines += ["INIT Init", "NEXT Next", "INVARIANTS", "    TypeOK"]
        lines += [f"    {self.names.property(p.name)}" for p in self.always]
        if self.steps:
            starts = [self.statements.initially(p) for p in self.steps if p.initially is not None]
            lines += [
                "PROPERTIES",
                *(f"    {n}" for n in (*starts, *(self.names.property(p.name) for p in self.steps))),
            ]
        return lines + (["SYMMETRY Symmetry"] if self._symmetric() else [])


def _opening(stem: str) -> str:
    ruler = "-" * max(4, (RULER - len(stem) - 9) // 2)
    return f"{ruler} MODULE {stem} {ruler}"


def _operand(limit: str) -> str:
    return f"({limit})" if " " in limit else limit


def _plain(text: str) -> str:
    return " ".join(line.removeprefix(r"\* ") for line in remark(text))


def _listed(words: Sequence[str], end: str) -> Block:
    lines, line = [], ""
    for word in words:
        further = f"{line}, {word}" if line else word
        if len(further) > RULER - 10:
            lines.append(f"{line},")
            further = word
        line = further
    return [*lines, line + end]
