"""Faults of a cluster that scripts of known bugs inject at a place of their own: upgrades, partitions without a leader,
leaders that forget, or that lack the end of the log, coordinators that overlap.

    leave(system, 0)                 # partition 0 has no leader; what is sent to it is lost
    come_back(system, 0)             # its log is as it was

Of these the plug of drivers has partitions without a leader, and unclean elections (`System`).
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from fencepost.reference_impl.transactions.brokers.transaction_log import Append, TransactionLog
from fencepost.reference_impl.transactions.messages import WriteTxnMarkersRequest
from fencepost.reference_impl.transactions.system import System

DEPOSED = "deposed-coordinator"  # address of the coordinator that was replaced and does not know it


def raise_version(system: System) -> None:
    """The cluster goes on in v2 (transaction.version 2); to be called while no client is in a transaction."""
    system.env.config = replace(system.env.config, mode="v2")


def leave(system: System, partition: int) -> None:
    """All replicas of a partition are down: it has no leader, and the metadata says so."""
    system.leave(partition)


def come_back(system: System, partition: int) -> None:
    """A replica is up again, and leads with what is in its log."""
    system.come_back(partition)


def elect_unclean(system: System, partition: int, end: int) -> None:
    """A replica that is out of sync leads (unclean.leader.election.enable): its log ends at this offset, of a batch or
    a marker, and what is behind it is gone. It knows of producers what its log tells. (ProducerStateManager.java)

    Raises ValueError for an offset within a batch.
    """
    leader = system.leaders[partition]
    if leader.log.first_of_batch(end) != end:
        raise ValueError(f"a log ends before or behind a batch, and offset {end} is within one")
    leader.cut_off(end)


def abort_hanging(system: System, partition: int) -> None:
    """An operator aborts each transaction that is open here while the coordinator has the partition in none of that
    producer (kafka-transactions.sh find-hanging and abort). The marker has the epochs that the leader tells, and is of
    no transaction version, so that an epoch that is not newer will do. (TransactionsCommand, AbortTransactionHandler)
    """
    leader = system.leaders[partition]
    known = [metadata.now for metadata in system.coordinator.transactions.values()]
    awaited = {now.producer_id for now in known if partition in now.topic_partitions}
    for producer_id in sorted(leader.log.open.keys() - awaited):
        entry = leader.log.producers[producer_id]
        coordinator_epoch = max(0, entry.coordinator_epoch)
        request = WriteTxnMarkersRequest(producer_id, entry.epoch, False, partition, coordinator_epoch)
        leader.emit_marker(request, leader.log.append_marker(request))
        leader.note_stable_offset()


def expire_producers(system: System, partition: int) -> None:
    """A leader looks for producers that have been idle for a day, and not only when ten minutes are over."""
    system.leaders[partition].log.forget_idle()


def depose(system: System) -> None:
    """Another node takes over the transaction log; the old coordinator is cut off, and answers from its cache.

    What it appends from now on is never acknowledged by anyone; what it was appending is lost.
    """
    deposed = system.coordinator
    while system.transaction_log.finish(ok=False) is not None:
        pass
    deposed.transaction_log = TransactionLog()
    system.env.network.nodes[DEPOSED] = deposed
    system.replace_coordinator()


def misdirect(system: System, numbers: Iterable[int]) -> None:
    """Whoever sent these messages has not heard yet that there is a new coordinator."""
    for number in numbers:
        system.env.network.in_flight[number].target = DEPOSED


def fail_over_uncovered(system: System) -> None:
    """Another node takes over, whose log has the appends that were under way, although the high watermark has not."""
    system.coordinator.crash()
    log = system.transaction_log
    log.unfinished = deque(Append(append.record, nobody_waits) for append in log.unfinished)
    system.replace_coordinator()


def nobody_waits(ok: bool) -> None:
    """Who appended the record is gone."""
