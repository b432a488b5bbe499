"""Histories of consumer groups: exact on what was planted, silent on what shipped and on the repaired drafts, and not
on what an application, a text or an implementation gets wrong."""

from pathlib import Path
from typing import Any

import pytest
from command_line import read_json
from fencepost.proofs.necessity.killers import found_plants
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.properties.catalogue import find
from fencepost.properties.group_fencing.histories import BED, HISTORY, PLANTS, RECORDINGS
from fencepost.properties.group_fencing.variants import CONFIG, RIGHT, SIMULATORS
from fencepost.properties.history import Manifest
from fencepost.reference_impl.defects.group_fencing import REGISTRY

PLANTED = "fencepost.properties.group_fencing.histories:simulate_many"
RARE = {"held_while_pending", "initialised_when_settled", "lone_client_not_fenced", "no_other_error_ends_it"}
"""What few histories say anything of."""


def simulated(place: Path, variant: str, histories: int, seed: int = 1, **config: Any) -> ReplayReport:
    """The report on what the reference implementation does, with all faults, until everything is copied."""
    function, usual = next((function, said) for name, function, said in SIMULATORS if name == variant)
    generate(
        place, function, histories=histories, seed=seed, config={**usual, **config}, protocol="group-fencing",
        variant=variant, cores=1,
    )  # fmt: skip
    return replay(place, cores=1)


def test_the_example_keeps_every_promise() -> None:
    """As it is, and whatever mode it is taken for."""
    findings, figures = HISTORY.check(BED.bent(""), config=BED.config)
    assert {name for name, found in findings.items() if found.violations} == set()
    assert {name for name, found in findings.items() if not found.judged} <= RARE
    assert figures["offsets_taken"] == 20 and figures["fetches_held"] > 0 and figures["offsets_refused"] > 0


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_is_found_by_what_it_breaks_alone(name: str) -> None:
    """To the last violation."""
    findings, _ = HISTORY.check(BED.bent(name), config=BED.config)
    assert {n: found.violations for n, found in findings.items() if found.violations} == PLANTS[name].found


def test_every_property_can_fail() -> None:
    """There is a plant for each."""
    assert found_plants("group-fencing").keys() == HISTORY.properties.keys()


def test_planted_violations_are_counted(tmp_path: Path) -> None:
    """In thousands of histories, exactly what was planted."""
    config = {"bent": 0.2, **BED.config}
    generate(tmp_path, PLANTED, histories=1_500, seed=1, config=config, protocol="group-fencing", many=True, cores=1)
    faults = dict(read_json(tmp_path / "manifest.json")["faults"])
    report = replay(tmp_path, cores=1)
    assert {name: found["count"] for name, found in report.violations.items()} == {
        name: count for name, count in faults.items() if name not in report.not_promised
    }
    assert set(report.not_promised) == {"lone_client_not_fenced", "initialised_when_settled"}


@pytest.mark.parametrize("variant", RIGHT)
def test_what_is_right_keeps_its_promises(tmp_path: Path, variant: str) -> None:
    """Under every fault, and in the end everything is copied."""
    report = simulated(tmp_path, variant, 50)
    assert report.violations == {}
    assert set(report.not_promised.values()) <= {f"mode {variant} does not promise it"}
    assert set(report.vacuous) <= RARE and report.unknown.keys() <= RARE


TWICE = {"nothing_twice", "newest_owner_commits"}
BROKEN = {
    "draft": TWICE,
    "draft-static-members": {"nothing_twice", "one_producer_commits"},
    "group-id-only": TWICE,
    "new-protocol-metadata-at-send": TWICE,
    "new-protocol-relaxed-metadata-at-send": TWICE,
}


@pytest.mark.parametrize("variant", BROKEN)
def test_what_is_wrong_copies_twice(tmp_path: Path, variant: str) -> None:
    """The draft's hole (H1 of the known ones, in which a zombie commits before the new owner), static members of its
    repair, clients that name the group alone, and members that ask for their metadata as they send."""
    report = simulated(tmp_path, variant, 120)
    assert report.violations.keys() >= BROKEN[variant]


DEFECTS = {
    "any_generation_commits": {"nothing_twice", "newest_owner_commits", "stale_never_commits"},
    "pending_ignored": {"nothing_twice", "fetches_are_stable"},
    "abort_keeps_pending": {"everything_copied"},
    "abort_commits_offsets": {"nothing_skipped"},
    "offsets_outside": {"nothing_twice"},
    "positions_kept": {"nothing_twice"},
    "assigned_twice": {"nothing_twice", "one_producer_commits"},
    "one_of_several_commits": {"last_written_counts", "nothing_twice"},
    "loading_is_unexpected": {"no_other_error_ends_it"},
    "second_commit_fails": {"no_other_error_ends_it"},
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(tmp_path: Path, name: str) -> None:
    """By the properties that say what is wrong with it."""
    needs = dict(REGISTRY[name].needs)
    report = simulated(tmp_path, needs.pop("mode", "shipped"), 60, broken=name, **needs)
    assert report.violations.keys() >= DEFECTS[name]


def test_what_can_be_decided_of_recordings() -> None:
    """Of what instances and an auditor log, that nothing is copied twice or skipped, and with the log of the group's
    offsets whose commits are taken."""
    config = {**CONFIG, "mode": "shipped"}

    def decided(recording: str) -> set[str]:
        manifest = Manifest("group-fencing", RECORDINGS[recording], (), config=config, ordered=True)
        return set(HISTORY.names) - HISTORY.undecidable(manifest).keys() - HISTORY.unpromised(manifest).keys()

    clients = {"nothing_twice", "nothing_skipped", "offsets_agree", "everything_copied", "no_other_error_ends_it"}
    assert decided("clients") == clients
    of_offsets = {"one_producer_commits", "newest_owner_commits", "stale_never_commits"}
    assert decided("clients and offsets") == clients | of_offsets
    assert decided("all") == clients | of_offsets | {
        "fetches_are_stable", "held_while_pending", "last_written_counts",
    }  # fmt: skip


def test_simulated_variants_are_in_the_catalogue() -> None:
    """Each by the name under which its model is."""
    entry, _ = find("group-fencing")
    assert all(entry.variant(variant).main for variant in RIGHT)
    assert not any(entry.variant(variant).main for variant in BROKEN)
    assert {variant for variant, _, _ in entry.simulators} == {*RIGHT, *BROKEN}
    assert {variant for variant, _, _ in entry.verified_simulators} == set(RIGHT)
    assert {variant for _, variant in entry.verified_implementations} == set(RIGHT)
