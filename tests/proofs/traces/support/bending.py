"""Histories that fit, bent in many places at once: what each comparison of a table of observations must notice.

    python tests/script.py tests/proofs/traces/support/bending.py [PROTOCOL/VARIANT...]   # data/comparisons.json anew

The file has every comparison of each variant whose histories are verified, and how often bent histories fail it first:
*often* in the few of every run, *seldom* in the many of a night, or *never*: then a guard of a step fails before it, an
earlier comparison does, or the answer that it is about is rarer than these histories.  Of *when* a step is taken
nothing fails by itself.  What leaves a table leaves this file by a deliberate act alone.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.model.language.tree.terms import TRUE, conjuncts
from fencepost.proofs.readings.words import say
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.traces import ConformanceKernel, conformance_of, kernel
from fencepost.properties.catalogue import protocols
from fencepost.properties.history import VOCABULARIES, HistoryDirectory, Manifest, read_piece
from fencepost.properties.history.location import Location
from fencepost.properties.trace_spec import CONFORMING

KEPT = Path(__file__).parent / "data" / "comparisons.json"
Columns = dict[str, np.ndarray]
Comparison = tuple[str, str]
"""Whether it is of the state before or after, and what must be so, in words."""
FOLLOWING = 40
"""Events that a bent history goes on for: a column may be read by a later event alone."""
FEW, MANY = (6, 120, 2), (24, 300, 25)
"""Histories, events of each, and copies: of every run, and of a night."""
SIMULATED = {
    f"{name}/{variant}": (simulator, config)
    for name, entry in protocols().items()
    if name in CONFORMING
    for variant, simulator, config in entry.verified_simulators
    if config.get("mode", variant) not in ("migration-sentinel",)  # of which there is no model
}


def kept() -> dict[str, dict[str, str]]:
    """By variant: its comparisons, and how often bent histories fail each."""
    read: dict[str, dict[str, str]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return read


def judge_of(name: str) -> ConformanceKernel:
    """What judges histories of a variant, of which everything is shown."""
    protocol, _, variant = name.partition("/")
    observed = tuple(CONFORMING[protocol].vocabulary.codes)
    judge = conformance_of(Manifest(protocol, observed, (), config=dict(SIMULATED[name][1]), variant=variant))
    assert isinstance(judge, ConformanceKernel)
    return judge


def found_in(name: str, place: Path, size: tuple[int, int, int]) -> tuple[set[str], dict[str, int]]:
    """The comparisons of a variant, and how many bent histories fail each first."""
    protocol, _, variant = name.partition("/")
    histories, events, copies = size
    columns, judge = simulated(place, protocol, variant, *SIMULATED[name], histories=histories, events=events)
    found = noticed(columns, judge, copies)
    return stated_by(judge), {" ".join(one): count for one, count in found.items()}


def stated_by(judge: ConformanceKernel) -> set[str]:
    """All that a table says, as it is kept."""
    return {" ".join(one) for one in comparisons(judge)} | whens(judge)


def comparisons(judge: ConformanceKernel) -> dict[Comparison, set[int]]:
    """What events themselves say of the state, beside the guards of the steps that they are: the kinds that say so."""
    found: dict[Comparison, set[int]] = {}
    for kind, phases in kernel.model(judge.protocol, judge.variant)[1].items():
        for check in (check for phase in phases for check in phase.checks if check.role in ("before", "after")):
            found.setdefault((check.role, check.says), set()).add(kind)
    return found


def whens(judge: ConformanceKernel) -> set[str]:
    """When which kind of event is which step: conjunct by conjunct."""
    conforming = CONFORMING[judge.protocol]
    names = {int(code): name for name, code in {**conforming.vocabulary.codes, **conforming.between}.items()}
    return {
        f"{names[kind]} {phase.action} when {say(part)}"
        for kind, phases in kernel.model(judge.protocol, judge.variant)[1].items()
        for phase in phases if phase.action is not None
        for part in conjuncts(phase.when) if part is not TRUE
    }  # fmt: skip


def simulated(
    place: Path, protocol: str, variant: str, simulator: str, config: Mapping[str, Any], histories: int, events: int
) -> tuple[Columns, ConformanceKernel]:
    """A few histories of the reference, and what judges them."""
    generate(
        place, simulator, histories=histories, seed=3, config={**config, "events": events}, protocol=protocol,
        variant=variant, cores=1,
    )  # fmt: skip
    opened, vocabulary = HistoryDirectory.open(Location.of(place)), VOCABULARIES[protocol]
    columns, _ = read_piece(opened.pieces[0], vocabulary, vocabulary.schema.names)
    judge = conformance_of(opened.manifest)
    assert isinstance(judge, ConformanceKernel)
    return columns, judge


def noticed(columns: Columns, judge: ConformanceKernel, copies: int) -> dict[Comparison, int]:
    """How many of the bent copies each comparison is the first to find wrong; ``copies``: for each column of a kind of
    event that is compared with something."""
    compared = {kind for kinds in comparisons(judge).values() for kind in kinds}
    bending = _Bending(columns, VOCABULARIES[judge.protocol].names, np.random.default_rng(1))
    parts = []
    for kind in np.unique(columns["kind"]).tolist():
        parts += bending.moved(kind, copies)
        if kind in compared:
            parts += bending.changed(kind, copies)
    for number, part in enumerate(parts):
        part["history"][:], part["step"] = number, np.arange(len(part["step"]), dtype=np.int32)
    found: dict[Comparison, int] = {}
    for misfit in judge.misfits({name: np.concatenate([part[name] for part in parts]) for name in columns}):
        reported = misfit.check.role, misfit.check.says
        found[reported] = found.get(reported, 0) + 1
    return found


@dataclass
class _Bending:
    columns: Columns
    names: tuple[str, ...]
    chance: np.random.Generator

    def moved(self, kind: int, copies: int) -> Iterator[Columns]:
        """Copies of histories with one event of this kind left out, said once more elsewhere, or moved a little."""
        for row in self.chance.choice(np.flatnonzero(self.columns["kind"] == kind), 2 * copies).tolist():
            yield self._bent(row, drop=True)
            yield self._bent(row, to=self._elsewhere(row))
            yield self._bent(row, drop=True, to=row - 1 - int(self.chance.integers(4)))

    def changed(self, kind: int, copies: int) -> Iterator[Columns]:
        """Copies in which a record has another value in one of its columns, where it is or elsewhere."""
        rows = np.flatnonzero(self.columns["kind"] == kind)
        for name in self.names:
            values = self.columns[name][rows]
            if not (there := rows[values != -1]).size:
                continue
            others = np.unique(self.columns[name] if name == "error" else values)
            for row in self.chance.choice(there, copies).tolist():
                reported = int(self.columns[name][row])
                other = int(self.chance.choice(others[others != reported])) if len(others) > 1 else reported + 1
                for value in (reported + 1, max(reported - 1, 0), other):
                    yield self._bent(row, to=row, drop=True, **{name: value})
                yield self._bent(row, to=self._elsewhere(row), **{name: other})

    def _elsewhere(self, row: int) -> int:
        """Another place of the same history."""
        return int(self.chance.choice(np.flatnonzero(self.columns["history"] == self.columns["history"][row])))

    def _bent(self, row: int, *, to: int | None = None, drop: bool = False, **values: int) -> Columns:
        """The history of a row, up to some events behind what is changed: ``drop`` the row, and put it ``to`` a
        place."""
        span = np.flatnonzero(self.columns["history"] == self.columns["history"][row])
        first, at = int(span[0]), row - int(span[0])
        order = np.delete(span, at) if drop else span
        place = at if to is None else min(max(to - first, 0), len(order))
        if to is not None:
            order = np.insert(order, place, row)
        part = {name: column[order[: max(at, place) + FOLLOWING]] for name, column in self.columns.items()}
        for name, value in values.items():
            part[name][place] = value
        return part


def main() -> None:
    """Makes the file anew, or what it says of the variants that are named."""
    made = {name: reported for name, reported in (kept() if sys.argv[1:] else {}).items() if name in SIMULATED}
    for name in sys.argv[1:] or SIMULATED:
        with tempfile.TemporaryDirectory() as place:
            there, often = found_in(name, Path(place) / "few", FEW)
            _, seldom = found_in(name, Path(place) / "many", MANY)
        made[name] = {
            one: "when"
            if " when " in one and not one.startswith(("before ", "after "))
            else "often"
            if often.get(one, 0) >= 4
            else "seldom"
            if seldom.get(one, 0) >= 3
            else "never"
            for one in sorted(there)
        }
        print(name, *(f"{count} {how}" for how, count in Counter(made[name].values()).items()), flush=True)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(
            json.dumps({name: made[name] for name in SIMULATED if name in made}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
