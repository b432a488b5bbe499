"""Known bugs of markers that come late, or to a partition that takes them for something else: see `scenarios.py`."""

from collections.abc import Callable

from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.log import PRODUCER_EXPIRATION_MS
from fencepost.reference_impl.transactions.defects.outages import ChecksByFeature, TakesLeaderlessForDeleted
from fencepost.reference_impl.transactions.defects.partition import NotWaitingForMarker
from fencepost.reference_impl.transactions.events import Event
from fencepost.reference_impl.transactions.outages import come_back, expire_producers, leave, raise_version
from fencepost.reference_impl.transactions.scenarios.playing import CLIENT_TIMEOUT_MS, TXN_TIMEOUT_MS, played
from fencepost.reference_impl.transactions.scenarios.script import Script
from fencepost.reference_impl.transactions.system import Parts


def late_marker_of_v1(broken: bool) -> list[Event]:
    """A second copy of a marker comes late, in the next transaction of the same epoch, and ends it there.

    In v1 nothing tells the two transactions apart (one of the reasons for KIP-890); in v2 the next one has a newer
    epoch than the marker.
    """
    return committed_by_a_late_copy(Script(Parts(), mode="v1" if broken else "v2"))


def marker_of_the_same_epoch(broken: bool) -> list[Event]:
    """KIP-1228: before it a marker only had to be of an epoch that is not older than the partition's.

    In v2 the epoch of a marker is the one in which the next transaction writes: a late copy ends that one.
    """
    return committed_by_a_late_copy(played("equal_epoch_marker_accepted", broken))


def committed_by_a_late_copy(script: Script) -> list[Event]:
    """The marker of a commit comes twice, the second time when the next transaction has a record at the partition.

    That one is aborted by its owner.
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
    return script.told()


def marker_from_before_the_upgrade(broken: bool) -> list[Event]:
    """KAFKA-19446: transaction.version is raised to 2 while a marker of a transaction of version 1 is under way.

    A partition that goes by the feature refuses it, since it does not raise the epoch; the coordinator takes that for
    being overtaken, and the transaction never ends. Correct: the marker says of which version it is.
    """
    script = Script(Parts(log=ChecksByFeature) if broken else Parts(), mode="v1-verified")
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
    return script.told()


def partition_away_at_its_marker(mode: str) -> Callable[[bool], list[Event]]:
    """KAFKA-20734: while its partition has no leader, the transaction's marker counts as written, and is never sent."""

    def play(broken: bool) -> list[Event]:
        """The first transaction is aborted, and stays open at the partition; the commit of the next decides both.

        Leaders are as Kafka's: they leave it to the coordinator whether an older transaction is still open (txn.16).
        Correct: the marker waits for the partition.
        """
        coordinator = TakesLeaderlessForDeleted if broken else Coordinator
        script = Script(Parts(coordinator=coordinator, leader=NotWaitingForMarker), mode=mode)
        script.start(0)
        script.begin(0, 0)
        leave(script.system, 0)
        script.abort(0)
        come_back(script.system, 0)
        script.settle(CLIENT_TIMEOUT_MS)
        script.begin(0, 0)
        script.commit(0)
        script.read()
        return script.told()

    return play


def fence_that_is_forgotten(broken: bool) -> list[Event]:
    """A marker has told the partition of a fence, and a day later the partition has forgotten the producer.

    What the fenced instance sent comes so late that it is taken for the beginning of something new. Its record is part
    of the next transaction, and committed with it. With verification the coordinator is asked, and it remembers.
    """
    script = Script(Parts(), mode="v1" if broken else "v1-verified")
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
    return script.told()


MARKERS: dict[str, Callable[[bool], list[Event]]] = {
    "late-marker-v1": late_marker_of_v1,
    "KIP-1228": marker_of_the_same_epoch,
    "KAFKA-19446": marker_from_before_the_upgrade,
    "forgotten-fence": fence_that_is_forgotten,
    "KAFKA-20734": partition_away_at_its_marker("v2"),
    "KAFKA-20734-v1": partition_away_at_its_marker("v1"),
}
