"""This module has the configuration of a cluster of workers, and the kinds of its events."""

from collections import namedtuple
from dataclasses import dataclass
from typing import Annotated

from fencepost.reference_impl.kafka.environment import MODES as TRANSACTION_MODES
from fencepost.reference_impl.simulation import EventLog
from fencepost.reference_impl.simulation.config import Configuration, Natural, OneOf, Positive

# A history of Connect workers has events as rows of integers, in the order in which things happened.
#
# -1 is the value of a column that does not apply, and 0 in `error`.

SUPPORT_CODES = {"none": 0, "disabled": 1, "preparing": 2, "enabled": 3}


class Kind:
    """`Kind` has the kinds of event as integers, which are the codes in column `kind`."""

    # Workers and their users
    WORKER_STARTED, WORKER_STOPPED, WORKER_STALLED, WORKER_RESUMED, ASKED = range(1, 6)
    # The group
    JOINED, MEMBER_EXPIRED, ASSIGNMENT_MADE, ASSIGNED, TASK_ASSIGNED, TASK_REVOKED = range(10, 16)
    # The config topic
    (
        TOPIC_CLAIMED, CLAIM_FAILED, LEADERSHIP_LOST, CONNECTOR_WRITTEN, CONNECTOR_TOMBSTONED, TASK_CONFIG_WRITTEN,
        SET_WRITTEN, COUNT_WRITTEN, COUNT_TOMBSTONED, WRITE_REFUSED, TOPIC_READ, COMPACTED,
    ) = range(20, 32)  # fmt: skip
    # Rounds
    ROUND_ASKED, ROUND_STARTED, ID_FENCED, ROUND_CHECKED, ROUND_FAILED, ROUND_ANSWERED = range(40, 46)
    # Task threads
    (
        TASK_STARTING, TASK_CHECKED, PRODUCER_OPENED, TASK_CHECKED_AGAIN, TASK_RUNNING, TASK_ABANDONED, TASK_FAILED,
        TASK_STOPPED, TASK_LEFT_RUNNING,
    ) = range(50, 59)  # fmt: skip
    # What their producers write
    RECORDS_SENT, TRANSACTION_COMMITTED, TRANSACTION_REFUSED = range(60, 63)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind node connector task instance set count offset member producer_id epoch request support "
    "status error",
)  # fmt: skip


class ConnectEventLog(EventLog, kinds=Kind, event=Event):
    """A `ConnectEventLog` is the event log of one history of Connect workers."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = ConnectEventLog.kind_names
readable = ConnectEventLog.readable


MODES = ("A", "M", "B", "shipped")  # the three revisions of the document, and what Kafka ships
SUPPORT = OneOf(*SUPPORT_CODES)


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """A `Config` is the configuration of one cluster of workers, with times in virtual ms and Kafka's defaults."""

    seed: int = 0
    mode: Annotated[str, OneOf(*MODES)] = "shipped"
    workers: Positive = 2
    connectors: Positive = 1
    max_tasks: Positive = 2  # of one connector
    protocol: Annotated[str, OneOf("eager", "cooperative")] = "cooperative"  # how the group rebalances (618.41)
    # Of the cooperative protocol: one that goes by what members claim, or Kafka's, which remembers what it assigned.
    assignor: Annotated[str, OneOf("balanced", "released")] = "balanced"
    rebalance_delay_ms: Natural = 0  # scheduled.rebalance.max.delay.ms (default there 300000), of the released assignor
    starts_removed_tasks: bool = False  # as released: every assigned task for which there is a configuration (618.52)
    # The seed of workers' names, and of the hashes of member ids and of work, by which the coordinator finds another
    # leader, and its assignor what moves. 0: all of it goes by number, and the first to join leads.
    member_order: Natural = 0
    preemptive_stop: bool = True  # tasks of an old set are stopped before the worker joins again (618.22)
    group_id: str = "connect"
    support: str | tuple[str, ...] = "disabled"  # exactly.once.source.support, of all workers or of each (618.46)
    graceful_shutdown_ms: Natural = 5_000  # task.shutdown.graceful.timeout.ms (618.23)
    names: tuple[str, ...] = ()  # of connectors; default connector-0, connector-1, …
    rest_timeout_ms: Positive = 90_000  # of a request from worker to worker
    rest_idle_ms: Natural = 0  # a request to another worker fails after so long without an answer; 0: never by this
    one_forwarder: bool = False  # a worker sends its requests to the leader one after another, from one thread
    retry_backoff_ms: Positive = 250  # of what a worker tries again by itself
    heartbeat_ms: Natural = 0  # an expired member learns of it at the next multiple of this; 0: at once
    transaction_timeout_ms: Positive = 60_000  # of the tasks' producers and of the leader's
    offsets_topic: str = ""  # offsets.storage.topic of every connector: a separate one, created by the tasks (618.17)
    offset_partitions: Positive = 25  # offset.storage.partitions of the workers
    offset_replication: Positive = 3  # offset.storage.replication.factor of the workers
    # If internal.topics.automatic.creation.enable is off (4.4.0, KIP-1209), the operator creates the topics (618.54).
    creates_internal_topics: bool = True
    connector_partitions: Natural = 0  # of a separate offsets topic in a connector's configuration: no setting (618.48)
    transactional_id: str = ""  # a user's transactional.id for the leader's producer: ignored, with a warning (618.24)
    # This is the protocol of the brokers' transaction coordinator: Kafka 3.3, as shipped, had v1.
    transactions: Annotated[str, OneOf(*TRANSACTION_MODES)] = "v1"

    def relate(self) -> None:
        """Raise ValueError for an empty name, or for values that do not fit the numbers of workers and connectors."""
        if not self.group_id:
            raise ValueError(f"config group_id={self.group_id!r}: must be a name")
        if isinstance(self.support, tuple) and len(self.support) != self.workers:
            raise ValueError(f"config support={self.support!r}: one value, or {self.workers}, one for each worker")
        for value in self.support_of_workers:
            check_support(self.mode, value)
        if self.rebalance_delay_ms and self.assignor != "released":
            raise ValueError(
                f"config rebalance_delay_ms={self.rebalance_delay_ms}: only with assignor='released' does work wait"
            )
        if self.names and (len(self.names) != self.connectors or len(set(self.names)) != self.connectors):
            raise ValueError(f"config names={self.names!r}: must be {self.connectors} different names, or none")

    @property
    def support_of_workers(self) -> tuple[str, ...]:
        return self.support if isinstance(self.support, tuple) else (self.support,) * self.workers

    @property
    def connector_names(self) -> tuple[str, ...]:
        return self.names or tuple(f"connector-{number}" for number in range(self.connectors))


def check_support(mode: str, value: str) -> None:
    """Raise ValueError for a value of exactly.once.source.support that this revision does not have (618.46)."""
    if refusal := SUPPORT.refusal(value):
        raise ValueError(f"config support={value!r}: {refusal}")
    if value == "preparing" and mode != "shipped":
        raise ValueError(f"config support='preparing' with mode={mode!r}: a boolean flag, except in mode 'shipped'")
