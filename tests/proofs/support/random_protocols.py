"""Random small protocols, built term by term, and a plain search of them: what the explorer is held against."""

import random
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Guard, Update
from fencepost.model.language.tree.terms import Term, boolean, conditional, constant, local, state, term
from fencepost.model.language.tree.types import (
    BOOL,
    NAT,
    AtomsType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    Type,
)
from fencepost.proofs.readings.plain import Plain, freeze
from fencepost.proofs.results import State

BOUNDS = {"procs": 2, "top": 3, "room": 2, "faults": 1, "size": 2}
PROC, NUM, COLOUR = AtomsType("Proc", "procs"), NumberType("Num", "top"), EnumType("Colour", ("RED", "GREEN", "BLUE"))
OPTION = OptionType(PROC)
VARIABLES: dict[str, Type] = {
    "n": NUM, "flag": BOOL, "who": OPTION, "hue": COLOUR,
    "count": MapType((PROC,), NUM), "held": MapType((PROC, COLOUR), BOOL), "log": SeqType(NUM, "room"),
}  # fmt: skip
HERE = ("random", 0)


class Maker:
    """Terms of a given type, drawn from the variables, the action's parameters and constants."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.names: list[tuple[str, ScalarType]] = []
        self.primes = False

    def read(self, name: str) -> Term:
        return state(name, VARIABLES[name], self.primes and self.draw.random() < 0.5)

    def make(self, kind: ScalarType, depth: int) -> Term:
        fitting = [local(n, k) for n, k in self.names if k == kind]
        if fitting and self.draw.random() < 0.4:
            return self.draw.choice(fitting)
        options = self.leaves(kind) if depth == 0 else [*self.leaves(kind), *self.branches(kind, depth - 1)]
        return self.draw.choice(options)()

    def leaves(self, kind: ScalarType) -> list[Any]:
        read = self.read
        match kind:
            case NumberType():
                zero = [lambda: constant(self.draw.randrange(4), NAT), lambda: term("constant", (), "size", NAT)]
                return [lambda: read("n"), *zero, lambda: term("length", (read("log"),), None, NAT)]
            case AtomsType():
                return [lambda: constant(0, PROC)]
            case EnumType():
                return [lambda: read("hue"), lambda: constant(self.draw.randrange(3), COLOUR)]
            case OptionType():
                return [lambda: read("who"), lambda: constant(None, OPTION)]
        return [lambda: read("flag"), lambda: constant(True, BOOL)]

    def branches(self, kind: ScalarType, d: int) -> list[Any]:
        make, read = self.make, self.read
        ite = [lambda: conditional(make(BOOL, d), make(kind, d), make(kind, d))]
        match kind:
            case NumberType():
                return [
                    *ite, lambda: term(self.draw.choice(("add", "monus")), (make(NUM, d), make(NUM, d)), None, NAT),
                    lambda: term("select", (read("count"), make(PROC, d)), None, NUM),
                    lambda: term("at", (read("log"), make(NUM, d)), None, NUM), lambda: self.latest(d),
                ]  # fmt: skip
            case OptionType():
                return [*ite, lambda: term("some", (make(PROC, d),), None, OPTION)]
            case AtomsType() | EnumType():
                return ite
        return [
            *ite, lambda: boolean("not", make(BOOL, d)), lambda: boolean("and", make(BOOL, d), make(BOOL, d)),
            lambda: boolean("or", make(BOOL, d), make(BOOL, d)), lambda: self.compare(d), lambda: self.compare(d),
            lambda: term("select", (read("held"), make(PROC, d), make(COLOUR, d)), None, BOOL),
            lambda: self.quantified(d),
        ]  # fmt: skip

    def compare(self, d: int) -> Term:
        kind = self.draw.choice((NUM, NUM, COLOUR, OPTION, PROC, BOOL))
        op = self.draw.choice(("eq", "lt", "le")) if kind is NUM else "eq"
        return boolean(op, self.make(kind, d), self.make(kind, d))

    def latest(self, d: int) -> Term:
        with_entry = self.bind("e", NUM)
        body = self.make(BOOL, d)
        self.names.remove(with_entry)
        return term("latest", (self.read("log"), self.make(NUM, d), body), with_entry, NAT)

    def quantified(self, d: int) -> Term:
        bound = self.bind("q", self.draw.choice((PROC, COLOUR, NUM)))
        body = self.make(BOOL, d)
        self.names.remove(bound)
        return term(self.draw.choice(("forall", "exists")), (body,), (bound,), BOOL)

    def bind(self, letter: str, kind: ScalarType) -> tuple[str, ScalarType]:
        self.names.append((f"{letter}.{len(self.names)}", kind))
        return self.names[-1]

    def update(self, name: str) -> Update:
        kind = VARIABLES[name]
        if isinstance(kind, SeqType):
            return Update(name, self.make(NUM, 1), None, HERE, appends=True)
        if not isinstance(kind, MapType):
            return Update(name, self.make(kind, 2), None, HERE)
        if self.draw.random() < 0.3:
            bound = tuple(self.bind("k", k) for k in kind.keys)
            value = self.make(kind.value, 2)
            for pair in bound:
                self.names.remove(pair)
            return Update(name, value, None, HERE, bound=bound)
        return Update(name, self.make(kind.value, 2), None, HERE, keys=tuple(self.make(k, 1) for k in kind.keys))

    def action(self, number: int) -> Action:
        kinds = self.draw.sample((PROC, NUM, COLOUR, OPTION), self.draw.randrange(3))
        self.names = [(f"p{i}", kind) for i, kind in enumerate(kinds)]
        parameters = tuple(self.names)
        guards = (Guard(self.make(BOOL, 2), None, HERE),)
        limits = (self.make(BOOL, 1),) if self.draw.random() < 0.2 else ()
        updates = tuple(self.update(v) for v in self.draw.sample(sorted(VARIABLES), self.draw.randrange(1, 4)))
        return Action(
            name=f"a{number}", parameters=parameters, guards=guards, limits=limits, updates=updates,
            fair="", budget=None, rule=None, dead=None, doc="", line=HERE,
        )  # fmt: skip


def random_protocol(seed: int) -> tuple[Spec, dict[str, Property]]:
    """A protocol of seven to eleven actions, with an always, a sometimes and a step property."""
    maker = Maker(seed)
    actions = {a.name: a for a in (maker.action(i) for i in range(maker.draw.randrange(7, 12)))}
    maker.names = []
    properties = {"p": Property("p", "lemma", None, (maker.make(BOOL, 3),), (), None, "")}
    properties["w"] = Property("w", "witness", None, (maker.make(BOOL, 3),), (), "p", "")
    maker.primes = True
    properties["s"] = Property("s", "step", None, (maker.make(BOOL, 3),), (), None, "")
    return Spec(f"Random{seed}", "", VARIABLES, frozenset(), {"size": NAT}, (), (), actions), properties


@dataclass
class PlainSearch:
    """What a search over dicts finds, level by level; ``first[name]`` is the number of states of a shortest trace
    that decides a property."""

    levels: list[int]
    generated: int = 1
    taken: dict[str, int] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)


def plain_search(spec: Spec, properties: dict[str, Property], bounds: dict[str, int]) -> PlainSearch:
    plain = Plain(spec, {n: bounds[n] for n in spec.constants}, bounds)
    result = PlainSearch([], 1, dict.fromkeys(spec.actions, 0), dict.fromkeys(spec.actions, 0))
    frontier, seen = [plain.initial()], {freeze(plain.initial())}
    while frontier:
        result.levels.append(len(frontier))
        result.states += frontier
        following = []
        for now in frontier:
            depth = len(result.levels)
            for name, prop in properties.items():
                if prop.role != "step" and plain.holds(prop, now) == (prop.role == "witness"):
                    result.first.setdefault(name, depth)
            for event, after in plain.successors(now):
                if after is None:
                    result.cut[event.action] += 1
                    continue
                result.generated += 1
                result.taken[event.action] += 1
                for name, prop in properties.items():
                    if prop.role == "step" and not plain.holds(prop, now, after):
                        result.first.setdefault(name, depth + 1)
                if freeze(after) not in seen:
                    seen.add(freeze(after))
                    following.append(after)
        frontier = following
    return result
