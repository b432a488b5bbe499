"""Apache Kafka itself, held to the promises of producer id blocks while its nodes are killed (about 45 seconds).

The checks here are plain Python over what one run recorded. They do not use the kernels that judge histories, so that
the two can be held against each other.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from chaos import Run, run_under_fire
from fencepost.proofs.recording import UNANSWERED
from fencepost.properties.id_blocks.events import Kind
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.brokers import TRANSACTION, Brokers
from fencepost.reference_impl.live.tcp.reading import Patience, build, milliseconds

pytestmark = [pytest.mark.kafka, pytest.mark.nightly, pytest.mark.timeout(400)]

REQUESTS = 12_000
ASKED, LOADING, UNKNOWN = 200, 14, 105
Row = dict[str, int]


@pytest.fixture(scope="module")
def run(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run: 12,000 requests or more, nine SIGKILLs in five rounds, one of them of all three nodes."""
    return run_under_fire(jars, tmp_path_factory.mktemp("kafka"), requests=REQUESTS, seed=730, rounds=5)


@pytest.fixture(scope="module")
def rows(run: Run) -> dict[Kind, list[Row]]:
    """The recorded events by kind, in order of steps."""
    by_kind: dict[Kind, list[Row]] = {kind: [] for kind in Kind}
    for row in pq.read_table(run.out / "part-00000.parquet").to_pylist():
        by_kind[Kind(row["kind"])].append(row)
    return by_kind


def test_the_run_was_hard_enough(run: Run, rows: dict[Kind, list[Row]]) -> None:
    """At least 10,000 answers, ten blocks, nine kills, three fail-overs, and a snapshot that holds blocks."""
    answered = len(rows[Kind.id_handed_out]) + len(rows[Kind.id_refused])
    assert answered >= 10_000
    assert len(rows[Kind.block_committed]) >= 10
    assert len(rows[Kind.broker_stopped]) == 9
    assert len(rows[Kind.broker_started]) == 3 + 9
    assert len(rows[Kind.controller_elected]) >= 4
    assert any(row["first"] > 0 for row in rows[Kind.snapshot_taken])
    assert {row["broker"] for row in rows[Kind.id_handed_out]} == {1, 2, 3}
    assert run.summary.offsets[0] == 0, "the log was followed from its first record on"


def test_ids_are_unique(rows: dict[Kind, list[Row]]) -> None:
    """730.P1: no producer id was given twice, over all brokers, kills and fail-overs."""
    counts = Counter(row["producer_id"] for row in rows[Kind.id_handed_out])
    assert [(number, times) for number, times in counts.items() if times > 1] == []


def test_blocks_are_disjoint_and_contiguous(rows: dict[Kind, list[Row]]) -> None:
    """730.P2, 730.8: each block begins where the one before it ended, and the first one at 0."""
    blocks = rows[Kind.block_committed]
    assert blocks[0]["first"] == 0
    assert [one["first"] + one["length"] for one, _ in pairwise(blocks)] == [block["first"] for block in blocks[1:]]


def test_each_id_is_of_its_own_brokers_block(rows: dict[Kind, list[Row]]) -> None:
    """730.9: the audit log accounts for each id: it lies in a block committed for the very broker that gave it."""
    owner = {block["first"] // 1000: block["broker"] for block in rows[Kind.block_committed]}
    strangers = [row for row in rows[Kind.id_handed_out] if owner.get(row["producer_id"] // 1000) != row["broker"]]
    assert strangers == []


def test_every_block_was_granted_to_a_registered_incarnation(rows: dict[Kind, list[Row]]) -> None:
    """730.18: broker and broker epoch of each block are those of a registration."""
    registered = {(row["broker"], row["broker_epoch"]) for row in rows[Kind.broker_started]}
    assert {(row["broker"], row["broker_epoch"]) for row in rows[Kind.block_committed]} <= registered


def test_gaps_are_accounted_for(run: Run, rows: dict[Kind, list[Row]]) -> None:
    """730.3: a broker leaves ids out only at its life's end, in answers that were lost, or as a block leaked whole."""
    seen = {row["producer_id"] for row in rows[Kind.id_handed_out]}
    lost_answers = Counter(each.broker for each in run.observations if each.error == UNANSWERED)
    lives: dict[tuple[int, int], list[range]] = {}
    for row in rows[Kind.block_committed]:
        block = range(row["first"], row["first"] + row["length"])
        lives.setdefault((row["broker"], row["broker_epoch"]), []).append(block)
    skipped: Counter[int] = Counter()
    for (broker, _), blocks in lives.items():
        used = [block for block in blocks if seen.intersection(block)]
        # One may be prefetched and not begun; and with each fail-over the answer with a committed block may be lost.
        assert len(blocks) - len(used) <= 1 + len(rows[Kind.controller_elected])
        if used:
            reached = max(seen.intersection(used[-1]))
            skipped[broker] += sum(len(set(block) - seen) for block in used[:-1])
            skipped[broker] += len(set(range(used[-1].start, reached)) - seen)
    assert all(skipped[broker] <= lost_answers[broker] for broker in skipped), (skipped, lost_answers)


def test_snapshots_carry_the_next_free_id(rows: dict[Kind, list[Row]]) -> None:
    """730.10: every controller's snapshots say the end of the last block before them in the log."""
    events = sorted(rows[Kind.block_committed] + rows[Kind.snapshot_taken], key=lambda row: row["step"])
    free = 0
    for event in events:
        if event["kind"] == Kind.snapshot_taken:
            assert event["first"] == free, event
        else:
            free = event["first"] + event["length"]


def test_the_recording_names_what_it_cannot_know(run: Run) -> None:
    """The manifest says recorded, unordered across clocks, and which kinds it shows."""
    manifest = json.loads((run.out / "manifest.json").read_text())
    reported = [manifest[name] for name in ("protocol", "variant", "source", "ordered")]
    assert reported == ["id-blocks", "kraft", "recorded", False]
    assert "block_committed" in manifest["observable"]
    assert "answer_sent" not in manifest["observable"]
    assert manifest["faults"] == {"killed": 9}


def test_no_block_without_a_quorum(jars: Path, tmp_path: Path) -> None:
    """730.7, 730.P3 (H11): two of three controllers are down, so that no block is committed, and AllocateProducerIds is
    not answered. A producer without an id is told COORDINATOR_LOAD_IN_PROGRESS, again and again, at once, and gets an
    id when they are back: the first one of the cluster."""
    values = {"num.partitions": 20, "replication.factor": 1, "min.isr": 1}
    settings = {f"transaction.state.log.{name}": value for name, value in values.items()}
    with KafkaCluster(jars, tmp_path, size=4, controllers=3, settings=settings) as cluster:
        asking = Brokers(cluster.bootstrap, 30.0)
        name = next(name for name in map(str, range(100)) if asking.coordinator(TRANSACTION, name) == 4)
        # Until it has loaded the name's partition, it answers that it is not the coordinator, or that it loads.
        assert any(asking.transaction(name)[0] == UNKNOWN for _ in Patience(60.0))
        for number in (2, 3):
            cluster.kill(number)
        request = build(
            "init_producer_id", 4, transactional_id=name, transaction_timeout=milliseconds(60_000), producer_id=-1,
            producer_epoch=-1,
        )  # fmt: skip
        assert {int(asking.ask(4, request).error_code) for _ in range(ASKED)} == {LOADING}
        for number in (2, 3):
            cluster.start(number)
        cluster.wait_until_ready()
        answer = next(each for _ in Patience(60.0) if not (each := asking.ask(4, request)).error_code)
        assert int(answer.producer_id) == 0
        asking.close()
