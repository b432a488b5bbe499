"""Replay: exact on seeded violations, the same on any number of cores and on Spark, and open to further checks."""

import json
import random
from pathlib import Path

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.spark import SparkUnavailable, session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import HistoryError, write_histories
from fencepost.properties.history.checking import Finding, Violation, merged
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.id_blocks.histories import HISTORY as id_blocks
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY
from fencepost.reference_impl.defects.id_blocks import DRIVEN, REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks
from history_makers import breaking, late_ids, refusing

SEEDED = "fencepost.properties.id_blocks.histories:simulate_many"
EVENTS_PER_HISTORY = 285


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million events in five pieces, 1 % of the histories edited."""
    path = tmp_path_factory.mktemp("replay") / "h"
    generate(path, SEEDED, histories=3600, seed=1, config={"share": 0.01}, many=True, cores=1)
    return path


@pytest.fixture(scope="module")
def report(directory: Path) -> ReplayReport:
    return replay(directory, cores=1)


def counts(report: ReplayReport) -> dict[str, int]:
    return {name: found["count"] for name, found in report.violations.items()}


def test_a_million_events(directory: Path, report: ReplayReport) -> None:
    """Replay counts exactly the violations that were seeded, and every piece."""
    manifest = json.loads((directory / "manifest.json").read_text())
    assert (report.events, report.histories) == (3600 * EVENTS_PER_HISTORY, 3600)
    assert report.pieces == manifest["totals"]["row_groups"] == 5
    assert counts(report) == manifest["faults"]
    assert not report.holds
    assert report.judged["ids_unique"] == 3600 * 240
    assert report.events_per_second > 0


def test_two_processes_give_the_same_report(directory: Path, report: ReplayReport) -> None:
    """Two cores find the same violations, witnesses and figures as one (starts processes: about 3 s)."""
    assert replay(directory, cores=2) == report


def test_spark_gives_the_same_report(directory: Path) -> None:
    """With a further check too; what a worker refuses is refused here in its words, and what breaks there is reported
    in one line (starts Spark: about 10 s)."""
    settings, further = SparkSettings("local[2]"), {"conformance": late_ids}
    with session(settings):
        assert replay(directory, spark=settings, further=further) == replay(directory, cores=1, further=further)
        with pytest.raises(HistoryError, match=r"^\d+ rows of no use$"):
            replay(directory, spark=settings, further={"x": refusing})
        with pytest.raises(SparkUnavailable, match=r"^Spark job failed: ZeroDivisionError: a mistake in a check$"):
            replay(directory, spark=settings, further={"x": breaking})


def test_a_worker_process_refuses_in_its_words(directory: Path) -> None:
    """A refusal in another process arrives as the same error (starts processes: about 3 s)."""
    with pytest.raises(HistoryError, match=r"^\d+ rows of no use$"):
        replay(directory, cores=2, further={"x": refusing})


def test_a_further_check_sees_all_columns(directory: Path) -> None:
    """Another engine's kernel is one more name in the report, with its own count and first witness."""
    report = replay(directory, cores=1, checks=["ids_unique"], further={"conformance": late_ids})
    assert set(report.judged) == {"ids_unique", "conformance"}
    assert report.judged["conformance"] == 3600
    # No violation moves an event beyond step 250, so every history has the same 34 hand-outs there.
    assert report.violations["conformance"]["count"] == 3600 * 34
    assert report.violations["conformance"]["first"] == Violation(0, 251, "late", "node -1")


def test_only_the_checks_asked_for(directory: Path, report: ReplayReport) -> None:
    """A selection gives the same findings as the whole."""
    some = replay(directory, cores=1, checks=["ids_increase", "blocks_disjoint"])
    assert set(some.judged) == {"ids_increase", "blocks_disjoint"}
    assert some.violations == {name: report.violations[name] for name in ("ids_increase", "blocks_disjoint")}


def test_what_was_not_recorded_is_unknown(tmp_path: Path) -> None:
    """A black-box recording answers what it shows, and says why it cannot answer the rest."""
    observable = ("request_sent", "answer_sent", "id_handed_out", "id_refused")
    write_histories(
        tmp_path, [SEEDED_HISTORY.seeded(1, 0, 50, share=1.0)[0]], ID_BLOCKS, source="recorded", observable=observable
    )
    report = replay(tmp_path, cores=1)
    assert set(report.judged) == {"ids_unique", "answers_disjoint"}
    assert set(report.unknown) == set(id_blocks.properties) - set(report.judged)
    assert report.unknown["ids_increase"] == "the histories do not show broker_started"
    assert set(report.violations) == {"ids_unique", "answers_disjoint"}


def test_a_property_with_nothing_to_judge_is_vacuous(tmp_path: Path) -> None:
    """It does not hold: it is unknown, and the report says why."""
    columns, _ = SEEDED_HISTORY.seeded(1, 0, 1, share=0.0)
    columns["kind"][columns["kind"] == 5] = 19
    write_histories(tmp_path / "some", [columns], ID_BLOCKS, config={"mode": "zookeeper"})
    report = replay(tmp_path / "some", cores=1, checks=["blocks_disjoint", "answers_disjoint"])
    assert report.vacuous == ()
    columns["kind"][columns["kind"] == 6] = 8
    write_histories(tmp_path / "none", [columns], ID_BLOCKS, config={"mode": "zookeeper"})
    report = replay(tmp_path / "none", cores=1, checks=["blocks_disjoint", "answers_disjoint"])
    assert (report.holds, report.vacuous) == (True, ("answers_disjoint",))


def test_the_order_of_pieces_does_not_matter() -> None:
    """Findings of pieces in any order come to the same counts and the same first witness."""
    witnesses = [Violation(history, step, "p", "told") for history in range(4) for step in range(3)]
    pieces = [{"p": Finding(2, 1, witness)} for witness in witnesses] + [{"p": Finding(5)}, {"q": Finding()}]
    whole = merged(pieces)
    assert whole == {"p": Finding(29, 12, Violation(0, 0, "p", "told")), "q": Finding()}
    for seed in range(20):
        random.Random(seed).shuffle(pieces)
        assert merged(pieces) == whole


def test_the_report_is_ready_for_json(report: ReplayReport) -> None:
    """Every field, the witnesses included, becomes plain JSON."""
    reported = json.loads(json.dumps(report.as_dict()))
    assert reported["violations"]["ids_unique"]["first"]["property"] == "ids_unique"
    assert reported["events"] == report.events


@pytest.mark.nightly
def test_a_hundred_million_events(tmp_path: Path) -> None:
    """On local[2], 100 million events cost their workers what two free cores do at 8 million a second (about 90 s)."""
    settings = SparkSettings("local[2]")
    with session(settings):
        manifest = generate(
            tmp_path / "h", SEEDED, histories=360_000, seed=3, config={"share": 1e-4}, many=True, spark=settings
        )
        report = replay(tmp_path / "h", spark=settings)
    assert report.events > 100_000_000
    assert counts(report) == manifest.faults
    # Processor time, not time: the machine that runs this is seldom free, and Spark adds less than a second.
    assert report.cpu_seconds / 2 < report.events / 8e6


SIMULATE = "fencepost.reference_impl.systems.id_blocks:simulate_with_stats"
ROUGHER = {
    "lost_requests_answered_later": {"fail_over": 0.2},
    "numbers_begin_again": {"restart": 0.3, "duplicate": 0.5},
}
"""What a defect needs so that it shows within as many histories."""


PROMISED = sorted(name for name in {*REGISTRY} - DRIVEN if REGISTRY[name].breaks is Breaks.PROMISE)
EVERY_RUN = {REGISTRY[name].rule: name for name in reversed(PROMISED)}
"""Of each rule the first defect; the others are of some nights."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in EVERY_RUN.values() else pytest.mark.nightly(nights=12)) for n in PROMISED],
)
def test_a_broken_implementation(tmp_path: Path, name: str) -> None:
    """What can break the promise does so within 300 histories under faults.  That what cannot never does is tried by
    tests/id_blocks/reference/test_id_blocks_broken.py."""
    broken = REGISTRY[name]
    config = {**dict(broken.needs), **ROUGHER.get(name, {}), "broken": name}
    generate(tmp_path, SIMULATE, histories=300, seed=1, config=config, notes=name, cores=1)
    assert "ids_unique" in replay(tmp_path, cores=1).violations


@pytest.mark.parametrize(
    ("name", "first_seen_as"),
    [
        ("answers_before_commit", "answered_after_commit"),
        ("advanced_one_too_little", "blocks_disjoint"),
        ("length_one_too_long", "answers_disjoint"),
        ("ids_shifted_everywhere", "ids_within_blocks"),
        ("shared_claim_counter", "ids_increase"),
        ("snapshot_writes_block_start", "blocks_contiguous"),
        ("ids_shifted_on_even_brokers", "handed_out_after_grant"),
    ],
)
def test_the_cause_is_named_too(tmp_path: Path, name: str, first_seen_as: str) -> None:
    """Beside the id that comes twice, or before it does, the property nearest to the defect is violated."""
    generate(tmp_path, SIMULATE, histories=100, seed=1, config={"broken": name}, cores=1)
    assert first_seen_as in replay(tmp_path, cores=1).violations
