"""This module searches sets of rules once and stores them. For each promise of a proved variant they are the minimal
sets that suffice for its proof, and the minimal cut sets, which are rules that taken out together make it fail within
the variant's bounds.

The search takes long and belongs to the nightly profile. The sets are stored in a file next to the variant's
properties, with the hash of the model. `read` refuses the file of another model. `faults` checks a file against the
model: the run of every cut set is replayed with its rules taken out, and every sufficient set is proved again, from its
lemmas alone.

The search is limited in several ways. Cut sets have three rules at most. All pairs are tried, but triples only where no
proof does without them. Each is explored within the variant's bounds of the smoke profile, up to a number of states. A
cut set is minimal except for smaller ones that these states did not decide.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fencepost.proofs.engines.explore import explore
from fencepost.proofs.necessity.killers import folder_of
from fencepost.proofs.necessity.rule_removal import OUT, rules_of, settled, taken_out
from fencepost.proofs.necessity.saved_runs import DoesNotFit, KeptRun, keep, replay
from fencepost.proofs.necessity.validity_cores import Cores, Proofs, Sufficient, cores
from fencepost.proofs.provenance import hash_of_model
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.solver.solving import RLIMIT
from fencepost.properties.catalogue import CatalogueError, ProtocolEntry, Variant, features_of

STATES = (1_000_000, 150_000, 150_000)
"""One exploration visits this many states without one rule, two and three, fewer where there are more sets."""


@dataclass(frozen=True)
class Sets:
    """A `Sets` has the sets of rules of one promise. ``cut_sets`` has a shortest run for each cut set, whose
    ``without`` names the rules. ``undecided`` has the sets that the explored states did not decide."""

    cores: Cores
    cut_sets: tuple[KeptRun, ...]
    undecided: tuple[tuple[str, ...], ...]

    @property
    def cuts(self) -> tuple[tuple[str, ...], ...]:
        return tuple(rules_taken(run) for run in self.cut_sets)

    def is_minimal(self, cut: tuple[str, ...]) -> bool:
        """Return whether it is known that no proper part of a cut set is a cut set."""
        return not any(set(part) < set(cut) for part in self.undecided)


@dataclass(frozen=True)
class SavedSets:
    """A `SavedSets` has the sets of one variant, the model's hash, and the states explored, by number of rules."""

    variant: str
    model: str
    states: tuple[int, ...]
    promises: Mapping[str, Sets]

    def of_rule(self, rule: str) -> dict[str, Any]:
        """Return the promises for whose proof the rule is *must* or *may*, and its cut sets."""
        standing = {name: sets.cores.standing(rule) for name, sets in self.promises.items()}
        cuts = [
            {"promise": name, "rules": list(cut), "steps": len(run.steps), "minimal": sets.is_minimal(cut)}
            for name, sets in self.promises.items()
            for cut, run in zip(sets.cuts, sets.cut_sets, strict=True)
            if rule in cut
        ]
        musts, mays = ([n for n, s in standing.items() if s == wanted] for wanted in ("must", "may"))
        return {"cut_sets": cuts, "must": musts, "may": mays}


def rules_taken(run: KeptRun) -> tuple[str, ...]:
    return tuple(rule for rule, _ in run.without)


def search(
    variant: Variant, report: Callable[[str], None] = lambda _: None, states: tuple[int, ...] = STATES
) -> SavedSets:
    """Search all sets of one variant that is proved."""
    found = cores(variant)
    for one in found:
        whole = "all" if one.complete else "not all"
        report(f"{variant.name}: {one.promise}: {len(one.sufficient)} sets suffice ({whole}, of {one.tried} tried)")
    cuts = _Cutting(variant, found, states, report).run()
    return SavedSets(variant.name, hash_of_model(variant), states, {c.promise: cuts[c.promise] for c in found})


class _Cutting:
    def __init__(
        self, variant: Variant, found: list[Cores], states: tuple[int, ...], report: Callable[[str], None]
    ) -> None:
        self.variant, self.found, self.states, self.report = variant, found, states, report
        self.runs: dict[str, list[KeptRun]] = {c.promise: [] for c in found}
        self.undecided: dict[str, list[tuple[str, ...]]] = {c.promise: [] for c in found}

    def run(self) -> dict[str, Sets]:
        rules = self.found[0].rules if self.found else ()
        for size in range(1, len(self.states) + 1):
            for chosen in itertools.combinations(rules, size):
                if asked := [c.promise for c in self.found if self._may_cut(c, chosen)]:
                    self._explore(chosen, asked)
        return {c.promise: Sets(c, tuple(self.runs[c.promise]), tuple(self.undecided[c.promise])) for c in self.found}

    def _may_cut(self, known: Cores, chosen: tuple[str, ...]) -> bool:
        """Return whether the rules may cut the promise, which is not proved without them and not cut by fewer."""
        if any(set(rules_taken(run)) <= set(chosen) for run in self.runs[known.promise]):
            return False
        if any(not set(one.rules) & set(chosen) for one in known.sufficient):
            return False
        return len(chosen) <= 2 or chosen in known.unproved

    def _explore(self, chosen: tuple[str, ...], asked: list[str]) -> None:
        left = {name: self.variant.promised[name] for name in asked}
        spec, whole = settled(self.variant.properties.protocol.spec, chosen), True
        for feature, bounds in features_of(self.variant, "smoke").items():
            if not left:
                break
            try:
                made = explore(spec, left, bounds, max_states=self.states[len(chosen) - 1], stop_when_violated="all")
            except BoundsError:  # the numbers do not fit into a state
                whole = False
                continue
            whole &= made.complete or not set(left) - set(made.violated)
            for name in made.violated:
                run = keep(name, [(rule, OUT) for rule in chosen], feature, made.traces[name])
                self.runs[name].append(run)
                del left[name]
                self.report(f"{self.variant.name}: {name} fails without {' and '.join(chosen)}: {len(run.steps)} steps")
        for name in left if not whole else ():
            self.undecided[name].append(chosen)


def file_of(variant: Variant) -> Path | None:
    folder = folder_of(variant)
    return None if folder is None else folder / f"sets-{variant.name}.json"


def asked(entry: ProtocolEntry) -> list[Variant]:
    """Return the variants of a protocol whose sets are searched, which are those that every run proves."""
    return [v for v in entry.variants if v.main and v.is_proved_in("smoke")]


def write(file: Path, sets: SavedSets) -> None:
    document = {
        "variant": sets.variant,
        "model": sets.model,
        "states": sets.states,
        "promises": {name: _promise(one) for name, one in sets.promises.items()},
    }
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _promise(one: Sets) -> dict[str, Any]:
    row = asdict(one.cores)
    del row["promise"]
    return {**row, "cut_sets": [run.as_dict() for run in one.cut_sets], "undecided": one.undecided}


def read(variant: Variant) -> SavedSets | None:
    """Return the stored sets of a variant, or None. Errors: CatalogueError if they are of another model."""
    file = file_of(variant)
    if file is None or not file.exists():
        return None
    document = json.loads(file.read_text(encoding="utf-8"))
    if document["model"] != hash_of_model(variant):
        raise CatalogueError(
            f"{file}: these sets are of the model with hash {document['model']}, and {variant.name} has "
            f"{hash_of_model(variant)} now; search them again: "
            "fencepost necessity PROTOCOL --mutations sets --profile nightly"
        )
    promises = {name: _read_promise(name, row) for name, row in document["promises"].items()}
    return SavedSets(document["variant"], document["model"], tuple(document["states"]), promises)


def _read_promise(name: str, row: Mapping[str, Any]) -> Sets:
    def tuples(lists: list[list[str]]) -> tuple[tuple[str, ...], ...]:
        return tuple(map(tuple, lists))

    sufficient = tuple(Sufficient(tuple(one["rules"]), tuple(one["lemmas"])) for one in row["sufficient"])
    of_proof = Cores(name, tuple(row["rules"]), sufficient, tuples(row["unproved"]), row["complete"], row["tried"])
    runs = tuple(
        KeptRun(name, tuple((rule, how) for rule, how in run["without"]), run["feature"], tuple(run["steps"]))
        for run in row["cut_sets"]
    )
    return Sets(of_proof, runs, tuples(row["undecided"]))


AGAIN = 10
"""Z3's effort varies from process to process, so that stored proofs are checked with this many times the limit."""


def faults(variant: Variant, sets: SavedSets) -> Iterator[str]:
    """Yield a sentence for each stored run that does not fit any more, and each stored set that proves nothing."""
    raw = variant.properties.protocol.spec
    outs = [taken_out(raw, rule) for rule in rules_of(raw)]
    every = [one for sets_of in sets.promises.values() for one in sets_of.cores.sufficient]
    lemmas = {*sets.promises, *(name for one in every for name in one.lemmas)}
    proofs = Proofs(variant, lemmas, minimal=False, rlimit=AGAIN * RLIMIT)
    for name, one in sets.promises.items():
        for run in one.cut_sets:
            try:
                replay(run, raw, variant.promised[name], features_of(variant, "smoke")[run.feature], known=outs)
            except DoesNotFit as why:
                yield f"{variant.name}: {name} without {' and '.join(rules_taken(run))}: {why}"
        for chosen in one.cores.sufficient:
            if not proofs.inductive_together((name, *chosen.lemmas), frozenset(chosen.rules)):
                yield f"{variant.name}: {name} is not proved from {', '.join(chosen.rules) or 'no rule'}"
        for cut in one.cuts:
            if any(not set(chosen.rules) & set(cut) for chosen in one.cores.sufficient):
                yield f"{variant.name}: {name} fails without {' and '.join(cut)}, and is proved without them"
