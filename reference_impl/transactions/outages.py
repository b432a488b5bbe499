"""Faults of a cluster that a driver cannot inject: upgrades, partitions without a leader, leaders that forget,
coordinators that overlap.

    leave(system, 0)                 # partition 0 has no leader; what is sent to it is lost
    come_back(system, 0)             # its log is as it was

The drivers of the plug bring none of it about; the scripts of known bugs do (`scenarios.py`).
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from fencepost.reference_impl.transactions.brokers.transaction_log import Append, TransactionLog
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
