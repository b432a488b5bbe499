"""Offsets in a transaction, where the group's partition of `__consumer_offsets` is away when its marker is due."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from asking import ABORT, COMMIT
from gated import GatedCluster
from kio.schema.errors import ErrorCode as E
from routed import RoutedAsker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

COORDINATOR, LONELY = 1, 3


@pytest.mark.parametrize("first", [COMMIT, ABORT], ids=["commit", "abort"])
def test_pending_offsets_lose_their_marker(jars: Path, tmp_path: Path, first: bool) -> None:
    """A defect of Kafka (KAFKA-20734), against txn.10 and txn.21: what has no leader is taken for deleted.

    The offset stays pending (88) although its transaction is complete (txn.P10), until the producer's next transaction
    with an offset on the same partition of `__consumer_offsets`, here of another group: its abort drops an offset whose
    commit was acknowledged (txn.P2), and its commit commits an offset that was aborted.
    """
    with GatedCluster(jars, tmp_path, 2) as gated:
        ask, other = _two_groups(gated)
        assert ask.patiently(ask.init) == ("A", 0)
        assert ask.patiently(ask.produce, "A", 0, 0) == 0
        assert ask.patiently(ask.commit_offset, "A", 0, 10) == E.none
        _without_offsets_leader(gated, ask)
        assert ask.patiently(ask.end, "A", 0, first) == ("A", 1)
        assert ask.patiently(ask.settled) == ("CompleteCommit" if first else "CompleteAbort", 1)
        _with_offsets_leader(gated, ask, other)
        assert ask.patiently(ask.offset) == E.unstable_offset_commit
        assert ask.patiently(ask.offset, stable=False) == -1
        assert ask.patiently(other.commit_offset, "A", 1, 20) == E.none
        assert ask.patiently(ask.end, "A", 1, not first) == ("A", 2)
        assert ask.patiently(ask.settled) == ("CompleteAbort" if first else "CompleteCommit", 2)
        assert [ask.patiently(each.offset) for each in (ask, other)] == ([-1, -1] if first else [10, 20])
        assert ask.patiently(ask.read, 0) == (["A/0/0"] if first else [])


@pytest.mark.nightly
def test_in_4_0_the_marker_waits_for_the_offsets(jars_of: Callable[[str], Path], tmp_path: Path) -> None:
    """txn.10 as Kafka 4.0 keeps it: the offset is committed as soon as its partition is back."""
    with GatedCluster(jars_of("4.0.0"), tmp_path, 2) as gated:
        ask, other = _two_groups(gated)
        assert ask.patiently(ask.init) == ("A", 0)
        assert ask.patiently(ask.commit_offset, "A", 0, 10) == E.none
        _without_offsets_leader(gated, ask)
        assert ask.patiently(ask.end, "A", 0, COMMIT) == ("A", 1)
        assert ask.patiently(ask.described)[0] == "PrepareCommit"
        _with_offsets_leader(gated, ask, other)
        assert ask.patiently(ask.settled) == ("CompleteCommit", 1)
        assert ask.patiently(ask.offset) == 10


def _two_groups(gated: GatedCluster) -> tuple[RoutedAsker, RoutedAsker]:
    """One producer for two groups; what is not on the lonely node is on the coordinator's."""
    gated.create("__transaction_state", (COORDINATOR,), cleanup_policy="compact")
    gated.create("__consumer_offsets", (LONELY,), cleanup_policy="compact")
    ask = RoutedAsker(gated.cluster, "away", replicas=(COORDINATOR,))
    other = RoutedAsker(gated.cluster, "beside", replicas=(COORDINATOR,), names=ask.names)
    ask.prepare()
    other.prepare()
    other.txn = ask.txn
    return ask, other


def _without_offsets_leader(gated: GatedCluster, ask: RoutedAsker) -> None:
    gated.cluster.kill(LONELY)
    gated.cluster.wait_until_ready()
    ask.until(lambda: gated.leader("__consumer_offsets") == -1)


def _with_offsets_leader(gated: GatedCluster, *askers: RoutedAsker) -> None:
    gated.cluster.start(LONELY)
    gated.cluster.wait_until_ready()
    for each in askers:
        each.patiently(each.offset, stable=False)  # the group's coordinator has loaded its log
