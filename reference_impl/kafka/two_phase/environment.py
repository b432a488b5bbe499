"""This module has the configuration and the events of a cluster with two-phase commit (KIP-939).

The events that transactions have anyway keep their codes. A transaction is identified by its own pair of producer id
and epoch, which is the one that its producer began it with; the client-facing pair of a retained transaction is another
one.
"""

from collections import namedtuple
from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.reference_impl.kafka import environment
from fencepost.reference_impl.kafka.environment import DrivenPace, SeededPace
from fencepost.reference_impl.simulation import EventLog, Kernel, Network
from fencepost.reference_impl.simulation.config import OneOf

NO_TIMEOUT_MS = 2**31 - 1
"""This transaction time-out marks a transaction that no time-out ends (isDistributedTwoPhaseCommitTxn)."""

MODES = RETAINED, UNGUARDED, EMPTY_PREPARED, NOT_RETAINED = "retained", "older-writer", "empty-prepared", "not-retained"


@dataclass(frozen=True, slots=True)
class Config(environment.Config):
    """A `Config` is the configuration of one cluster with its applications.

    In the ``mode`` "retained" coordinators are as in PR 21735, the outside store takes a decision only from the owner
    that claimed it last, and a transaction without records has no prepared state. The others differ in one thing:
    "older-writer", the store takes a decision from every instance; "empty-prepared", a transaction without records has
    a prepared state, as Kafka's producer gives it; "not-retained", coordinators are as on trunk, and refuse
    keepPreparedTxn.
    """

    mode: Annotated[str, OneOf(*MODES)] = RETAINED
    release: Annotated[str, OneOf("trunk")] = "trunk"
    two_phase_commit_enable: bool = True  # transaction.two.phase.commit.enable

    @property
    def transaction_version(self) -> int:
        return 2

    @property
    def is_v2(self) -> bool:
        """Return True, because two-phase commit needs KIP-890 part 2."""
        return True


class Kind:
    """A `Kind` is a kind of event, whose plain number is its code in column `kind`."""

    # Clients
    CLIENT_STARTED, CLIENT_STOPPED, INIT_SENT, INIT_TAKEN, TXN_BEGUN = range(1, 6)
    RECORD_SENT, RECORD_ACKED, RECORD_FAILED, END_SENT, END_TAKEN, CLIENT_FAILED, TERMINATION_TAKEN = range(8, 15)
    TXN_RECOVERED, TXN_PREPARED, COMPLETE_CALLED, COMMIT_CALLED = range(15, 19)
    # The coordinator of a transactional id
    INIT_HANDLED = 20
    END_HANDLED, TXN_LOGGED, APPEND_FAILED, TIMED_OUT, COORDINATOR_LOADED, PARTITION_CHECKED = range(22, 28)
    TXN_ENDED, TERMINATION_BEGUN = 30, 31
    # Leaders of partitions
    BATCH_APPENDED = 40
    BATCH_REFUSED, MARKER_APPENDED = 42, 43
    # Readers
    RECORD_READ = 51
    # The outside store
    DECISION_READ, DECISION_WRITTEN, DECISION_REFUSED, STORE_CLAIMED = range(60, 64)


Event = namedtuple(
    "Event",
    "step time_us kind client txn_id producer_id epoch next_producer_id next_epoch txn record partition offset request "
    "two_phase keep claim outcome state coordinator_epoch error",
)  # fmt: skip


class TwoPhaseEventLog(EventLog, kinds=Kind, event=Event, over=environment.TransactionEventLog):
    __slots__ = ()


KIND_NAMES, COLUMNS = TwoPhaseEventLog.kind_names, Event._fields
readable = TwoPhaseEventLog.readable


class Environment(environment.Environment):
    """An `Environment` is shared by one cluster. ``without_2pc`` has the transactional ids for which the ACL
    lacks TWO_PHASE_COMMIT."""

    __slots__ = ("without_2pc",)

    config: Config
    log_type: ClassVar[type[EventLog]] = TwoPhaseEventLog

    def __init__(self, config: Config, kernel: Kernel, network: Network, pace: DrivenPace | SeededPace) -> None:
        super().__init__(config, kernel, network, pace)
        self.without_2pc: set[int] = set()
