"""Known bugs of markers that come late, or to a partition that takes them for something else: see `scenarios.py`."""

from typing import Any

from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.log import PRODUCER_EXPIRATION_MS
from fencepost.reference_impl.transactions.defects.partition import NotWaitingForMarker
from fencepost.reference_impl.transactions.defects.successors import ChecksByFeature, LeaderlessTakenForDeleted
from fencepost.reference_impl.transactions.outages import (
    come_back,
    elect_unclean,
    expire_producers,
    leave,
    raise_version,
)
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    KNOWN,
    TXN_TIMEOUT_MS,
    Script,
)
from fencepost.reference_impl.transactions.system import Parts


@KNOWN.shown("late-marker-v1", {"mode": "v1"}, {"mode": "v2"})
@KNOWN.defect("KIP-1228", "equal_epoch_marker_accepted")
def committed_by_a_late_copy(script: Script) -> None:
    """The marker of a commit comes twice, the second time when the next transaction has a record at the partition.

    That one is aborted by its owner.  In v1 nothing tells the two transactions apart (one of the reasons for KIP-890);
    in v2 the next one has a newer epoch than the marker.  Before KIP-1228 a marker only had to be of an epoch that is
    not older than the partition's, and in v2 that is the one in which the next transaction writes.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker")
    late = script.copy("marker")
    script.settle()
    script.begin(0, 0)
    script.release(late)
    script.read()
    script.abort(0)
    script.read()


@KNOWN.shown(
    "KAFKA-19446",
    {"parts": Parts(log=ChecksByFeature), "mode": "v1-verified"},
    {"mode": "v1-verified"},
    reference=True,
)
def marker_from_before_the_upgrade(script: Script) -> None:
    """KAFKA-19446: transaction.version is raised to 2 while a marker of a transaction of version 1 is under way.

    A partition that goes by the feature refuses it, since it does not raise the epoch; the coordinator takes that for
    being overtaken, and the transaction never ends. Correct: the marker says of which version it is.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    raise_version(script.system)
    script.release(marker)
    script.settle(CLIENT_TIMEOUT_MS)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


def _leaderless(coordinator: type[Coordinator], mode: str) -> dict[str, Any]:
    """Leaders are as Kafka's: they leave it to the coordinator whether an older transaction is still open (txn.16)."""
    return {"parts": Parts(coordinator=coordinator, leader=NotWaitingForMarker), "mode": mode}


@KNOWN.shown(
    "KAFKA-20734", _leaderless(LeaderlessTakenForDeleted, "v2"), _leaderless(Coordinator, "v2"), reference=True
)
@KNOWN.shown(
    "KAFKA-20734-v1", _leaderless(LeaderlessTakenForDeleted, "v1"), _leaderless(Coordinator, "v1"), reference=True
)
def partition_away_at_its_marker(script: Script) -> None:
    """KAFKA-20734: while its partition has no leader, the transaction's marker counts as written, and is never sent.

    The first transaction is aborted, and stays open at the partition; the commit of the next decides both.  Correct:
    the marker waits for the partition.
    """
    script.start(0)
    script.begin(0, 0)
    leave(script.system, 0)
    script.abort(0)
    come_back(script.system, 0)
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@KNOWN.shown("KAFKA-20716", _leaderless(Coordinator, "v2"), _leaderless(Coordinator, "v2"), reference=True)
def marker_lost_by_an_unclean_election(script: Script) -> None:
    """KAFKA-20716: a replica leads that has the record of an aborted transaction, and not its marker.

    The record is open again, and no marker is due: the commit of the next transaction decides both.  Correct: a replica
    that has the whole log leads (unclean.leader.election.enable is false).
    """
    script.start(0)
    script.begin(0, 0)
    script.abort(0)
    if script.broken:
        elect_unclean(script.system, 0, 1)
    else:
        script.system.change_leader(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@KNOWN.shown("forgotten-fence", {"mode": "v1"}, {"mode": "v1-verified"}, reference=True)
def fence_that_is_forgotten(script: Script) -> None:
    """A marker has brought the partition news of a fence, and a day later the partition has forgotten the producer.

    What the fenced instance sent comes so late that it is taken for the beginning of something new. Its record is part
    of the next transaction, and committed with it. With verification the coordinator is asked, and it remembers.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.system.restart_client(0)
    script.start(1)
    script.system.advance(PRODUCER_EXPIRATION_MS)
    expire_producers(script.system, 0)
    script.release(late)
    script.begin(1, 0)
    script.commit(1)
    script.read()
