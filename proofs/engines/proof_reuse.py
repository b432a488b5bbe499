"""This module lets a whole protocol inherit what was proved of a part alone, so that it is not proved again.

A `Fact` records a proof, with the verdict on each property of a protocol, and a hash of that protocol and of everything
stated about it. A whole inherits a property only if the fact of its part has it as holding, the hash is that of the
part as it is now, and each of the whole's steps is, in the part's variables, one of the part's or none.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.model.language.derived.inheritance import departure
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property, Source
from fencepost.model.language.specs import Spec
from fencepost.model.language.tree.terms import Term, rewrite, state
from fencepost.proofs.provenance import hash_of_stated
from fencepost.proofs.readings.solver.solving import Question
from fencepost.proofs.results import Verdict

if TYPE_CHECKING:
    from fencepost.proofs.engines.induction import Proof


Prove = Callable[[Spec, Mapping[str, Property]], "Proof"]


@dataclass(frozen=True)
class Fact:
    """A `Fact` is the proof of a protocol alone. ``model`` is the hash of the protocol and of what is stated about it.
    ``rests_on`` has, by property, those that its proof needs."""

    protocol: str
    model: str
    verdicts: Mapping[str, Verdict]
    rests_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Facts:
    """A `Facts` has proofs of parts, by the hash of the part."""

    def __init__(self, known: Iterable[Fact] = ()) -> None:
        self.known = {fact.model: fact for fact in known}

    def of(self, source: Source, prove: Prove) -> Fact:
        """Return the fact about a part as it is now, proving it if it is not known."""
        model = hash_of_stated(source.spec, source.properties.values())
        if model not in self.known:
            proof = prove(settle(source.spec), source.properties)
            asked = [name for name, item in source.properties.items() if item.kind in ("always", "step")]
            holding = {name: proof.rests_on(name) for name in asked if proof.verdict(name) == "holds"}
            verdicts = {name: proof.verdict(name) for name in asked}
            self.known[model] = Fact(source.spec.name, model, verdicts, holding)
        return self.known[model]

    def write(self, file: Path) -> None:
        file.write_text(json.dumps([asdict(fact) for fact in self.known.values()], indent=1, sort_keys=True) + "\n")

    @classmethod
    def read(cls, file: Path) -> "Facts":
        found = json.loads(file.read_text())
        return cls(Fact(**fact | {"rests_on": {n: tuple(r) for n, r in fact["rests_on"].items()}}) for fact in found)


@dataclass(frozen=True)
class Inherited:
    """An `Inherited` is a property that the whole has from its part of that name."""

    part: str
    name: str
    fact: Fact

    @property
    def rests_on(self) -> tuple[str, ...]:
        return tuple(f"{self.part}.{name}" for name in self.fact.rests_on[self.name])

    def as_dict(self) -> dict[str, str]:
        return {"part": self.part, "protocol": self.fact.protocol, "model": self.fact.model}


def inherited(
    spec: Spec, properties: Mapping[str, Property], facts: Facts, prove: Prove, rlimit: int
) -> dict[str, Inherited]:
    """Return the properties that a settled whole has from its parts, by name."""
    found: dict[str, Inherited] = {}
    for part in dict.fromkeys(item.source.part for item in properties.values() if item.source is not None):
        of_part = {n: p for n, p in properties.items() if p.source is not None and p.source.part == part}
        source = next(iter(of_part.values())).source
        assert source is not None
        if departure(spec, part, source.spec) is not None:
            continue
        fact = facts.of(source, prove)
        proved = {n: p for n, p in of_part.items() if fact.verdicts.get(p.name_in_part) == "holds"}
        states = {n: p for n, p in proved.items() if p.kind == "always"}
        found |= {n: Inherited(part, p.name_in_part, fact) for n, p in states.items()}
        assumed = [p.term for p in states.values()]
        for name, item in proved.items():
            # The whole may take a step without the part, which the part's own proof does not cover.
            if item.kind == "step" and _of_no_change(spec, item, assumed, rlimit):
                found[name] = Inherited(part, item.name_in_part, fact)
    return found


def _of_no_change(spec: Spec, item: Property, assumed: list[Term], rlimit: int) -> bool:
    question = Question.state(spec, assumed, rlimit)
    return question.proves(stuttering(item.term), assumed).verdict == "holds"


def stuttering(root: Term) -> Term:
    return rewrite(root, lambda node: state(node.data[0], node.type) if node.op == "state" else node)
