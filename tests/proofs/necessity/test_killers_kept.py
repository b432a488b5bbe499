"""Kept files: every promise that holds has its killer, every proof its refusal, every history property a violation."""

from dataclasses import replace
from typing import Any

import pytest
from fencepost.proofs.necessity import killers as killers_module
from fencepost.proofs.necessity import proof_mutants
from fencepost.proofs.necessity.keeping import missing, wishes
from fencepost.proofs.necessity.killers import FoundViolation, Killers, file_of, found_violations
from fencepost.proofs.necessity.saved_runs import read_runs
from fencepost.properties.catalogue import ProtocolEntry, Variant, protocols
from fencepost.properties.history.checking import Rows
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.seeded_violations import SEEDED_HISTORIES

EVERY = [(entry, variant) for entry in protocols().values() if entry.verified for variant in entry.variants]
FIRST = {entry.name: entry.variants[0].name for entry, _ in EVERY}
"""Of each protocol, the one of every run. `verify` replays all runs as well, and a promise without one is vacuous there
(tests/test_readme.py)."""


@pytest.mark.parametrize(
    ("entry", "variant"),
    [
        pytest.param(
            entry, variant, id=f"{entry.name}/{variant.name}",
            marks=[] if variant.name == FIRST[entry.name] else pytest.mark.nightly(nights=12),
        )
        for entry, variant in EVERY
    ],
)  # fmt: skip
def test_every_promise_that_holds_has_its_killer(entry: ProtocolEntry, variant: Variant) -> None:
    """Each kept run replays within the bounds of the smallest profile; after a change of a model,
    `fencepost mutants --write` searches what is missing here."""
    found = {
        wanted.features: missing(wanted, killers)
        for killers in [Killers(variant, "smoke")]
        for wanted in wishes(variant, killers)
    }
    assert not any(found.values()), (
        f"{entry.name}/{variant.name}: run fencepost mutants --write {entry.name}/{variant.name}"
    )


def test_no_file_is_left_behind() -> None:
    """Each kept file is of a variant, and no two variants share one."""
    files = [file_of(variant) for _, variant in EVERY]
    assert len(set(files)) == len(files)
    of_proofs = {proof_mutants.file_of(variant) for _, variant in EVERY}
    there = {file for folder in {f.parent for f in files if f} for file in folder.glob("*.json")}
    assert {f for f in there if f.name.startswith("killers-")} <= set(files)
    assert {f for f in there if f.name.startswith("refusals-")} <= of_proofs
    assert all(read_runs(f) for f in there if f.name.startswith("killers-"))


@pytest.mark.parametrize("protocol", SEEDED_HISTORIES)
def test_every_history_property_finds_a_plant(protocol: str) -> None:
    """Exactly what was seeded is reported, of every property."""
    assert set(found_violations(protocol)) == set(properties_of(protocol).names)


def test_a_history_property_that_finds_nothing_has_no_plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that is blind, or reports more than there is, is known by that."""
    real = killers_module.properties_of("id-blocks")
    unique = real.properties["ids_unique"]

    def blind(view: Any) -> Rows:
        rows = unique.kernel(view)
        return Rows(rows.judged, rows.at[:0], rows.other[:0])

    properties = {**real.properties, "ids_unique": replace(unique, kernel=blind)}
    monkeypatch.setattr(killers_module, "properties_of", lambda _: replace(real, properties=properties))
    found = found_violations.__wrapped__("id-blocks")
    assert "ids_unique" not in found
    assert isinstance(found["ids_within_blocks"], FoundViolation)
