"""Live Kafka recorded: what clients were told beside what lies in the logs, held by properties and in plain Python.

The checks here that are plain Python use none of the kernels that judge histories, so that the two can be held against
each other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pyarrow.parquet as pq
import pytest
from fencepost.proofs.recording import RecordedTransactions, record_transactions
from fencepost.proofs.recording.transactions.client_events import write_seen
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.transactions.events.kinds import COMMIT, Kind, State
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from recorded_runs import Run, clean, killed, zombies

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

Row = dict[str, int]


@dataclass(frozen=True)
class Taken:
    """A recording, what replay says of it, and its events by kind, in order of steps."""

    recorded: RecordedTransactions
    report: ReplayReport
    rows: dict[Kind, list[Row]]

    @classmethod
    def of(cls, cluster: KafkaCluster, run: Run, folder: Path) -> Taken:
        """Record what lies in the logs of a cluster at work, and what a run's clients saw."""
        write_seen(folder / "seen.jsonl", run.system, quiet_end=True)
        recorded = record_transactions(cluster.log_dirs, folder / "seen.jsonl", folder / "out")
        rows: dict[Kind, list[Row]] = {kind: [] for kind in Kind}
        for row in pq.read_table(folder / "out" / "part-00000.parquet").to_pylist():
            rows[Kind(row["kind"])].append(row)
        conformance = {"conformance": conformance_of(recorded.manifest)}
        return cls(recorded, replay(folder / "out", cores=1, further=conformance), rows)

    def is_a_run(self) -> bool:
        """Was it followed through the model to its end?"""
        return bool(self.report.judged["conformance"]) and not self.report.undecided.get("conformance")

    def lying(self) -> dict[tuple[int, int], Row]:
        """What lies at each (partition, offset)."""
        there = [*self.rows[Kind.batch_appended], *self.rows[Kind.marker_appended]]
        return {(row["partition"], row["offset"]): row for row in there}

    def decided(self) -> dict[int, int]:
        """By record in the logs: the outcome of the marker that follows it, of its producer id on its partition."""
        found = {}
        for row in self.rows[Kind.batch_appended]:
            after = [
                marker
                for marker in self.rows[Kind.marker_appended]
                if (marker["partition"], marker["producer_id"]) == (row["partition"], row["producer_id"])
                and marker["offset"] > row["offset"]
            ]
            found[row["record"]] = min(after, key=lambda marker: marker["offset"])["outcome"]
        return found


@pytest.fixture(scope="module")
def zombie(kafka_v2: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    """Eight rounds of an instance that is paused, fenced and goes on."""
    run = Run.start(kafka_v2.bootstrap, 890)
    zombies(run, 8)
    return Taken.of(kafka_v2, run, tmp_path_factory.mktemp("zombie"))


def test_a_zombie_is_judged_clean(zombie: Taken) -> None:
    """It was fenced and tried on; every property that can be decided holds, and is judged on something."""
    assert zombie.report.holds, zombie.report.violations
    assert len(zombie.recorded.decidable) == 35
    assert zombie.is_a_run(), zombie.report.undecided
    rare = {"clients_get_on"}  # no transaction fails three times in a row
    assert all(count for name, count in zombie.report.judged.items() if name not in rare), zombie.report.judged
    assert any(row["error"] for row in zombie.rows[Kind.end_told] + zombie.rows[Kind.record_failed])
    assert len(zombie.rows[Kind.init_taken]) >= 16


def test_what_was_acknowledged_lies_where_clients_were_told(zombie: Taken) -> None:
    """Each acknowledgement with an offset names the very record, with the pair and sequence that it was sent with."""
    lying = zombie.lying()
    sent = {row["record"]: row for row in zombie.rows[Kind.record_sent]}
    placed = [row for row in zombie.rows[Kind.record_acked] if row["offset"] >= 0]
    assert len(placed) > 20
    for row in placed:
        there = lying[row["partition"], row["offset"]]
        names = ("record", "producer_id", "epoch", "sequence", "partition")
        assert [there[name] for name in names] == [sent[row["record"]][name] for name in names]


def test_readers_get_what_is_committed_and_all_of_it(zombie: Taken) -> None:
    """read_committed readers were given exactly the records of data whose transaction the markers commit."""
    decided = zombie.decided()
    data = {row["record"] for row in zombie.rows[Kind.batch_appended] if row["sequence"] >= 0}
    read = {row["record"] for row in zombie.rows[Kind.record_read]}
    assert read == {record for record in data if decided[record] == COMMIT}
    assert {row["record"] for row in zombie.rows[Kind.record_seen]} == data


def test_ends_are_as_told(zombie: Taken) -> None:
    """Who was told of an end without an error finds its Prepare in the log, one epoch up, and its markers."""
    prepared = {
        (row["producer_id"], row["epoch"], row["state"] == State.PrepareCommit)
        for row in zombie.rows[Kind.txn_logged]
        if row["state"] in (State.PrepareCommit, State.PrepareAbort)
    }
    asked = {row["request"]: row for row in zombie.rows[Kind.end_sent]}
    decided, owners = zombie.decided(), {row["record"]: row["txn"] for row in zombie.rows[Kind.record_sent]}
    reported = [row for row in zombie.rows[Kind.end_told] if row["error"] == 0]
    assert len(reported) > 10
    for row in reported:
        pair = asked[row["request"]]
        assert (pair["producer_id"], pair["epoch"] + 1, row["outcome"] == COMMIT) in prepared
        assert {decided[record] for record, txn in owners.items() if txn == row["txn"] and record in decided} <= {
            row["outcome"]
        }


def test_fenced_pairs_write_nothing_more(zombie: Taken) -> None:
    """On each partition the epochs of a producer id never go back, by offset."""
    latest: dict[tuple[int, int], int] = {}
    lying = zombie.lying()
    for (partition, offset), row in sorted(lying.items()):
        epoch = latest.setdefault((partition, row["producer_id"]), 0)
        assert row["epoch"] >= epoch, (partition, offset)
        latest[partition, row["producer_id"]] = row["epoch"]


def test_a_broker_at_work_can_be_recorded(kafka_v2: KafkaCluster, tmp_path: Path) -> None:
    """Again and again while transactions run: torn tails and all, what is decidable of the logs holds."""
    run = Run.start(kafka_v2.bootstrap, 5)
    sizes: list[int] = []
    enough = Event()

    def drive() -> None:
        while not enough.is_set():
            clean(run, 10)

    with ThreadPoolExecutor(1) as context:
        driven = context.submit(drive)
        try:
            while len(sizes) < 3:
                recorded = record_transactions(kafka_v2.log_dirs, None, tmp_path / str(len(sizes)))
                report = replay(tmp_path / str(len(sizes)), cores=1)
                assert report.holds, report.violations
                assert "markers_as_prepared" in recorded.decidable
                sizes.append(report.events)
        finally:
            enough.set()
        driven.result()
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1], "it was at work"


def test_v1_is_recorded_as_such(kafka_v1: KafkaCluster, tmp_path: Path) -> None:
    """The same clients with transaction.version 0: one epoch for many transactions, and no promise of v2 is judged."""
    run = Run.start(kafka_v1.bootstrap, 98, mode="v1")
    clean(run, 12)
    taken = Taken.of(kafka_v1, run, tmp_path)
    assert taken.report.holds, taken.report.violations
    assert "mode v1 does not promise it" in taken.recorded.not_promised["ends_bump_epoch"]
    assert taken.is_a_run(), taken.report.undecided
    assert len({row["epoch"] for row in taken.rows[Kind.batch_appended]}) < 12


def test_a_killed_node_loses_nothing(three_nodes: KafkaCluster, tmp_path: Path) -> None:
    """SIGKILL in the midst of a transaction: three replicas, compared, tell one history, and it holds."""
    run = Run.start(three_nodes.bootstrap, 618)
    killed(run, three_nodes, 1)
    taken = Taken.of(three_nodes, run, tmp_path)
    assert taken.report.holds, taken.report.violations
    assert taken.is_a_run(), taken.report.undecided
    lying = taken.lying()
    for row in taken.rows[Kind.record_acked]:
        if row["offset"] >= 0:
            assert lying[row["partition"], row["offset"]]["record"] == row["record"]
