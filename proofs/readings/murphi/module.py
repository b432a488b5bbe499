"""Modules: the whole of a variant under bounds as one Murphi file, which Rumur makes into a program that checks it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.model.language.properties import Property
from fencepost.model.language.tree.terms import Term, subterms
from fencepost.model.language.tree.types import BoolType, NumberType, OptionType, bound_of, evaluate_bound
from fencepost.proofs.readings.ground import ground
from fencepost.proofs.readings.ground.layout import highest, lay_out
from fencepost.proofs.readings.murphi.expressions import MurphiExpressions
from fencepost.proofs.readings.murphi.folding import COMMENT, MurphiFolding
from fencepost.proofs.readings.murphi.names import Names, symmetric_sorts
from fencepost.proofs.readings.murphi.rules import ROOM, Rules
from fencepost.proofs.readings.tla.blocks import Block, closed, indented, noted, remark
from fencepost.proofs.readings.tla.module import MARK, Source

RULER = "-" * 78


@dataclass(frozen=True)
class Exported:
    """A module, the command that checks it, and in sentences what of the variant is not in it."""

    stem: str
    module: str
    command: str
    rules: int
    invariants: tuple[str, ...]
    left_out: tuple[str, ...]


def exported(source: Source) -> Exported:
    """The text of a variant's module.  BoundsError where the explorer would refuse the bounds, or where Murphi cannot
    say something."""
    return _Module(source).exported()


class _Module:
    """The pieces of one variant's module, which share their names and what is folded."""

    def __init__(self, source: Source) -> None:
        self.source, self.bounds = source, source.bounds
        self.explored = [p for p in source.properties.values() if p.kind != "eventually"]
        self.spec = without_unread_ghosts(source.spec, self.explored)
        lay_out(self.spec, self.bounds)
        ground(replace(self.spec, actions={}, presences={}), {}, self.bounds)  # its axioms and its init() fit
        symmetric = symmetric_sorts(self.spec) if source.symmetry else frozenset()
        self.names = Names(self.spec, self.bounds, symmetric)
        self.expressions = MurphiExpressions(self.names)
        self.notes = source.notes()
        self.folding = MurphiFolding(self.names, self.notes, self.expressions)
        self.rules = Rules(self.spec, self.names, self.expressions, self.folding)
        self.always = [p for p in self.explored if p.kind == "always"]

    @property
    def command(self) -> str:
        """How the module is checked."""
        stem = self.source.stem
        symmetry = " --symmetry-reduction exhaustive" if self.names.symmetric else ""
        options = f"--deadlock-detection off --threads 1 --value-type int32_t{symmetry}"
        return f"rumur {options} --output {stem}.c {stem}.m && cc -O2 {stem}.c -o {stem} -lpthread && ./{stem}"

    def exported(self) -> Exported:
        body = list(self._body())
        functions = list(_part("What the model has names for", self.folding.definitions()))
        lines = [*self._head(), *self._constants(), *self._types(), *self._variables(), *functions, *body]
        text = "\n".join([*lines, ""])
        return Exported(
            self.source.stem, text, self.command, len(self.spec.actions), tuple(p.name for p in self.always),
            self.left_out,
        )  # fmt: skip

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of the variant is not exported."""
        asked: Mapping[str, Property] = self.source.properties
        steps = [p for p in asked.values() if p.kind == "step"]
        ghosts = [name for name in self.source.spec.types if name not in self.spec.types]
        found = {
            "ghosts that no property of states or steps reads": ghosts,
            "properties of steps": [p.name for p in steps if not isinstance(p, Refinement)],
            "refinements": [p.name for p in steps if isinstance(p, Refinement)],
            "what is to be reached": [p.name for p in asked.values() if p.kind == "sometimes"],
            "what comes in the end": [p.name for p in asked.values() if p.kind == "eventually"],
            "where dangers are present": list(self.spec.presences),
        }  # fmt: skip
        if self.source.symmetry:
            held = [name for kind, name in self.names.sorts.items() if kind not in self.names.symmetric]
            found["the symmetry of sorts of which a variable or a constant holds an element"] = held
        return tuple(f"{what}: {', '.join(names)}" for what, names in found.items() if names)

    def _body(self) -> Iterator[str]:
        yield from _part("The start", [self.rules.initial()])
        yield from _part("Steps", [self.rules.rule(a) for a in self.spec.actions.values()])
        yield from _part("What holds in every state", map(self._invariant, self.always))

    def _invariant(self, item: Property) -> Block:
        rule = f" {item.rule}" if item.rule else ""
        about = f"{item.role[0].upper()}{item.role[1:]}{rule}. {item.doc}"
        body = self.expressions.block(item.term, {}, ROOM)
        return [*remark(about, word=COMMENT), f'invariant "{item.name}"', *indented(closed(body, ";"), 2)]

    def _head(self) -> Iterator[str]:
        yield from remark(f"{MARK} {self.source.title}: {self.source.says.rstrip('.')}.", word=COMMENT)
        for text in (self.spec.doc, *(f"Not exported: {sentence}." for sentence in self.left_out)):
            yield from ("--" for _ in text[:1])
            yield from remark(text, word=COMMENT)
        yield from ("--", "-- Checked by:", f"--   {self.command}", "--")
        yield from remark(
            "A rule is fired within the bounds alone: what its types do not say of them is a condition of it. A number "
            "or an element of a sort is a number from 0 on; all keys of a map, and all places of a sequence, have one.",
            word=COMMENT,
        )

    def _constants(self) -> Block:
        """The bounds that are read, each with why it is as it is."""
        lines = []
        for key, name in self.names.constants.items():
            value, kind = self.bounds[key], self.spec.constants.get(key)
            said = ("true" if value else "false") if isinstance(kind, BoolType) else str(value)
            about = " ".join(
                line.removeprefix(COMMENT) for line in remark(self.source.reasons.get(key, ""), word=COMMENT)
            )
            lines += noted([f"{name}: {said};"], about, COMMENT)
        if self.names.options:
            lines.append(f"None: -1;  {COMMENT}no value")
        return ["", "const", *indented(lines, 2)] if lines else []

    def _types(self) -> Block:
        lines = [f"{name}: {text};" for name, text in self.names.declarations()]
        if self.names.widest:
            low, high = self._reach()
            lines.append(f"Number: {low} .. {high};  {COMMENT}all that an expression comes to")
        return ["", "type", *indented(lines, 2)] if lines else []

    def _variables(self) -> Block:
        lines = []
        for name, kind, about in self.rules.variables():
            lines += noted([f"{name}: {kind};"], about, COMMENT)
        return ["", "var", *indented(lines, 2)]

    def _reach(self) -> tuple[int, int]:
        """The smallest and the largest number that an expression of the module comes to."""
        roots = [p.term for p in self.always]
        for action in self.spec.actions.values():
            roots += [*(g.condition for g in action.guards), *action.limits]
            roots += [term for u in action.updates for term in (u.value, *u.keys)]
        for call in self.notes.calls:
            roots += [call.returned, *call.arguments]
        roots += [term for names in self.notes.locals.values() for _, term in names]
        found: dict[Term, tuple[int, int]] = {}
        for root in roots:
            for node in subterms(root):
                if node not in found:
                    found[node] = self._span(node, found)
        return min((low for low, _ in found.values()), default=0), max((high for _, high in found.values()), default=0)

    def _span(self, node: Term, known: Mapping[Term, tuple[int, int]]) -> tuple[int, int]:
        spans = [known[a] for a in node.args]
        match node.op:
            case "const" if isinstance(node.data, int):
                return int(node.data), int(node.data)
            case "constant":
                value = bound_of(self.bounds, node.data)
                return value, value
            case "add":
                return spans[0][0] + spans[1][0], spans[0][1] + spans[1][1]
            case "sub":
                return spans[0][0] - spans[1][1], spans[0][1] - spans[1][0]
            case "monus":
                return 0, max(0, spans[0][1])
            case "ite":
                return min(spans[1][0], spans[2][0]), max(spans[1][1], spans[2][1])
            case "some":
                return spans[0]
            case "length" | "latest":
                return 0, evaluate_bound(node.args[0].type.bound, self.bounds)  # type: ignore[union-attr]
        kind = node.type
        low = -1 if isinstance(kind, OptionType) else 0
        if not isinstance(kind, NumberType | OptionType) or (isinstance(kind, NumberType) and kind.upto is None):
            return low, 1
        return low, highest(kind, self.bounds, "a number")


def _part(title: str, blocks: Iterable[Block]) -> Iterator[str]:
    """Definitions under a ruler; nothing, if there are none."""
    found = list(blocks)
    if found:
        yield from ("", RULER, f"-- {title}")
    for block in found:
        yield ""
        yield from block
