"""A coordinator that takes over acts on a Prepare record which not all that may follow it have."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from asking import COMMIT, SOON, Asker
from fencepost.reference_impl.live.clusters.kafka import kafka_version
from gate import FETCH, WRITE_TXN_MARKERS
from gated import GatedCluster
from kio.schema.errors import ErrorCode as E

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

LAST, FIRST, SECOND = 1, 2, 3  # as they coordinate
LAGS = f"broker-{LAST}-fetcher"
LOG = Path("__transaction_state-0", f"{0:020}.log")


def test_a_prepare_past_the_high_watermark_is_acted_on(jars: Path, tmp_path: Path) -> None:
    """A defect of Kafka, against txn.8, txn.P2 and txn.P5: two coordinators fail, and of a transaction
    one half is committed.

    The third replica of the transaction log is in sync, as it lags no longer than it may; so Prepare is not durable,
    and EndTxn not answered, when the first coordinator fails. The second one loads its log to the end and sends markers
    at once; one of two arrives, and it fails. The third, which was in sync all the time, knows of no Prepare: when the
    client begins anew the transaction is aborted, and the other partition's marker says so. `min.insync.replicas` is 2,
    and no election was unclean.
    """
    settings = {"replica.lag.time.max.ms": 120_000}  # for a loaded machine: the default of 30 s would do
    with GatedCluster(jars, tmp_path, 2, **settings) as gated, ThreadPoolExecutor(1) as pool:
        gated.create("__transaction_state", (FIRST, SECOND, LAST), cleanup_policy="compact", min_insync_replicas="2")
        gated.create("halves", (LAST,), (SECOND,))
        names: dict[int, str] = {}
        last, first, second = (
            Asker(gated.cluster.address(number), "halves", names=names) for number in (LAST, FIRST, SECOND)
        )
        last.until(lambda: not isinstance(last.log(0), E))
        second.until(lambda: not isinstance(second.log(1), E))
        first.until(lambda: first.other("ready").init() not in SOON)
        names.clear()
        assert first.init() == ("A", 0)
        assert [last.produce("A", 0, 0), second.produce("A", 0, 0, partition=1)] == [0, 0]
        assert first.described() == ("Ongoing", "A", 0, [0, 1])

        gated.brokers[FIRST].hold(FETCH, client=LAGS)
        gated.brokers[SECOND].hold(FETCH, client=LAGS)
        gated.brokers[SECOND].hold(WRITE_TXN_MARKERS)
        gated.brokers[FIRST].wait_for(FETCH)
        before = _size(gated, FIRST)
        ended = pool.submit(first.end, "A", 0, COMMIT)
        last.until(lambda: _size(gated, SECOND) == _size(gated, FIRST) > before == _size(gated, LAST))

        gated.fence(FIRST)
        last.until(lambda: gated.leader("__transaction_state") == SECOND)
        gated.brokers[SECOND].wait_for(WRITE_TXN_MARKERS)
        last.until(lambda: last.log(0)[0] == ["A/0/0", "COMMIT"])
        assert last.read(0) == ["A/0/0"]
        second.until(lambda: second.described() == ("PrepareCommit", "A", 1, [1]))  # it hears of that marker
        assert _size(gated, LAST) == before
        assert ended.result(30) == E.not_coordinator

        gated.cluster.kill(SECOND)
        last.until(lambda: gated.leader("__transaction_state") == LAST)
        last.until(lambda: last.described() not in SOON)
        assert last.described() == ("Ongoing", "A", 0, [0, 1])

        gated.brokers[SECOND].release(WRITE_TXN_MARKERS)
        gated.heal()
        gated.cluster.start(SECOND)
        gated.cluster.wait_until_ready()
        reported = last.until(lambda: (answer := last.init()) not in (*SOON, E.concurrent_transactions) and answer)
        assert reported == ("A", 3 if kafka_version() == "4.0.0" else 2)  # KAFKA-19367: a fence took two epochs
        second.reconnect()
        assert [last.log(0)[0], second.log(1)[0]] == [["A/0/0", "COMMIT", "ABORT"], ["A/0/0", "ABORT"]]
        assert [last.read(0), second.read(1)] == [["A/0/0"], []]


def _size(gated: GatedCluster, number: int) -> int:
    """How long a node's copy of the transaction log is, in bytes."""
    return (gated.cluster.nodes[number].log_dir / LOG).stat().st_size
