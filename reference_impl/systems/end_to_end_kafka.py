"""This module is the one Kafka of the whole system, as the group and Connect's workers use it: configuration, events,
what all of them share, producer ids from blocks, and the connections between the topics."""

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from fencepost.reference_impl.connect import brokers, config
from fencepost.reference_impl.connect.brokers import OUTPUT_TOPIC, Acls, Client
from fencepost.reference_impl.connect.offsets.kafka import SEPARATE_TOPIC, Record
from fencepost.reference_impl.kafka import group_environment
from fencepost.reference_impl.kafka.clients.admin import Admin, Fenced
from fencepost.reference_impl.kafka.clients.roles import ReaderRole
from fencepost.reference_impl.kafka.environment import EPOCH_MAX, SeededPace, TransactionEventLog
from fencepost.reference_impl.kafka.environment import Config as TransactionsConfig
from fencepost.reference_impl.kafka.group_environment import Place
from fencepost.reference_impl.kafka.log import NO_GUARD
from fencepost.reference_impl.kafka.messages import ProduceRequest
from fencepost.reference_impl.kafka.producer_ids.environment import Config as IdBlocksConfig
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.kafka.transaction_states import PREPARED
from fencepost.reference_impl.simulation import EventLog, Kernel, LossyNetwork, Message
from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, Positive
from fencepost.reference_impl.systems import group_fencing as group
from fencepost.reference_impl.systems.id_blocks import System

if TYPE_CHECKING:
    from fencepost.reference_impl.systems.group_fencing import Parts


# Each layer has a configuration of its own, which is made from this one; a key that is missing here has that layer's
# default. Times are virtual milliseconds, short enough for histories of a few thousand events.

FIRST_OWN = SEPARATE_TOPIC + 1
"""Partitions below this number are those of Connect and of its source tasks."""
Needs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CopyingConfig(group_environment.Config):
    """A `CopyingConfig` is the configuration of the group that copies; its brokers are those of the whole system."""

    brokers: TransactionsConfig = field(default_factory=TransactionsConfig)

    @property
    def below(self) -> TransactionsConfig:
        return self.brokers


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """A `Config` is the configuration of one system."""

    seed: int = 0
    # The Connect cluster, whose tasks read the sources
    workers: Positive = 3
    connectors: Positive = 2
    max_tasks: Positive = 3
    sources: Positive = 3  # source partitions of each connector
    batch: Positive = 2  # records that a poll returns
    boundaries: tuple[str, ...] = ("interval", "poll")  # transaction.boundary, of one connector after the other
    interval_ms: Positive = 15  # transaction.boundary.interval.ms
    graceful_shutdown_ms: Positive = 30
    retry_backoff_ms: Positive = 20
    rest_timeout_ms: Positive = 300
    # Kafka: the topic that tasks write to, and the one that the group writes to
    inputs: Positive = 4  # partitions of the first, the group's input: more than members, some of which have several
    outputs: Positive = 2  # partitions of the second, which is the sink
    transaction_timeout_ms: Positive = 1_000
    request_timeout_ms: Positive = 100
    timeout_check_ms: Positive = 100
    expiration_ms: Positive = 4_000  # of idle transactional ids
    expiration_check_ms: Positive = 500
    # These are small, so that epochs and blocks of ids run out.
    max_epoch: Annotated[int, AtLeast(1), AtMost(EPOCH_MAX, "epochs are int16")] = 40
    block_size: Positive = 10  # of producer ids
    controllers: Positive = 3
    # The group that copies
    members: Positive = 3
    max_poll_records: Positive = 6
    session_timeout_ms: Positive = 300
    heartbeat_ms: Positive = 60
    max_poll_ms: Positive = 1_000
    initial_delay_ms: Positive = 30

    @property
    def input_partitions(self) -> list[int]:
        """Return the numbers of the partitions that tasks write to, Connect's output topic first."""
        return [OUTPUT_TOPIC, *range(FIRST_OWN, FIRST_OWN + self.inputs - 1)]

    @property
    def sink_partitions(self) -> list[int]:
        first = FIRST_OWN + self.inputs - 1
        return list(range(first, first + self.outputs))

    @property
    def brokers(self) -> TransactionsConfig:
        return TransactionsConfig(
            seed=self.seed, mode="v2", clients=1, partitions=FIRST_OWN + self.inputs - 1 + self.outputs,
            groups=1, keys=self.inputs, transaction_timeout_ms=self.transaction_timeout_ms, max_epoch=self.max_epoch,
            request_timeout_ms=self.request_timeout_ms, timeout_check_ms=self.timeout_check_ms,
            expiration_ms=self.expiration_ms, expiration_check_ms=self.expiration_check_ms,
        )  # fmt: skip

    def of_brokers(self, needs: Needs) -> TransactionsConfig:
        """Return Kafka's configuration; `needs` has, by layer, the keys that a defect needs."""
        return replace(self.brokers, **needs.get("transactions", {}))

    def of_group(self, needs: Needs) -> CopyingConfig:
        brokers = self.of_brokers(needs)
        return CopyingConfig(
            **{
                "seed": self.seed, "members": self.members, "inputs": self.inputs, "outputs": self.outputs,
                "max_poll_records": self.max_poll_records, "session_timeout_ms": self.session_timeout_ms,
                "heartbeat_ms": self.heartbeat_ms, "max_poll_ms": self.max_poll_ms,
                "initial_delay_ms": self.initial_delay_ms, "transaction_timeout_ms": self.transaction_timeout_ms,
                "request_timeout_ms": self.request_timeout_ms, "timeout_check_ms": self.timeout_check_ms,
                "transactions": brokers.mode, "brokers": brokers, **needs.get("group-fencing", {}),
            }
        )  # fmt: skip

    def of_connect(self, needs: Needs) -> config.Config:
        return config.Config(
            **{
                "seed": self.seed, "workers": self.workers, "connectors": self.connectors, "max_tasks": self.max_tasks,
                "support": "enabled", "graceful_shutdown_ms": self.graceful_shutdown_ms,
                "retry_backoff_ms": self.retry_backoff_ms, "rest_timeout_ms": self.rest_timeout_ms,
                "transaction_timeout_ms": self.transaction_timeout_ms,
                "transactions": self.of_brokers(needs).mode, **needs.get("task-counts", {}),
            }
        )  # fmt: skip

    def of_ids(self, needs: Needs) -> IdBlocksConfig:
        return IdBlocksConfig(
            **{
                "seed": self.seed, "brokers": 3, "controllers": self.controllers, "block_size": self.block_size,
                "controller_discovery": "at_sending", **needs.get("id-blocks", {}),
            }
        )  # fmt: skip


# The end-to-end events of the whole system are about what sources give, what is in the sink, and from where a restart
# resumes.
#
# `partition` and `offset` are of the source: partitions are numbered over all connectors, and an offset is the number
# of records up to and including this one. `position` is a place in the committed part of a Kafka partition.


class Kind:
    """`Kind` has the kinds of event as integers, which are the codes in column `kind`."""

    RESUMED, POLLED, GIVEN_UP = 1, 2, 3
    OUTPUT_READ, SINK_READ = 10, 11
    OWED = 20


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple("Event", "step time_us kind client connector task partition offset topic position")


class EndToEndLog(EventLog, kinds=Kind, event=Event):
    """An `EndToEndLog` is the event log of one history, end to end."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = EndToEndLog.kind_names
readable = EndToEndLog.readable


# Everything on the one Kafka shares this environment: clock, network, the content of records, and a log for each layer.
#
# All nodes but Connect's workers use the brokers' clock, on which the workers' calls take their time.


class Copied(Place):
    """A `Copied` is a place in the group's input, with the record at that place."""

    source: Record


class Net(LossyNetwork):
    """A `Net` is a network that delivers nothing to a node that is gone."""

    __slots__ = ()

    def _arrive(self, message: Message) -> None:
        node = self.nodes.get(message.target)
        if node is not None:
            node.arrive(message)


class Environment(group_environment.Environment):
    """There is one `Environment` per system. ``content`` is the content of the record numbered next that a task or a
    worker sends; the group's copies, and its offsets, are in ``writing``."""

    __slots__ = ("content", "ends", "ids", "inputs", "transactions", "whole")

    inputs: "Inputs"
    ids: "ProducerIds"

    def __init__(
        self, whole: Config, options: CopyingConfig, kernel: Kernel, network: Net, pace: SeededPace, parts: "Parts"
    ) -> None:
        super().__init__(options, kernel, network, pace, parts)
        self.whole = whole
        self.transactions = TransactionEventLog(kernel)
        self.emit = self.transactions.emit
        self.ends = EndToEndLog(kernel)
        self.content: Any = None

    # Of the group: where its partitions are, and what is in its input

    @property
    def offsets_partition(self) -> int:
        return self.config.partitions

    def output_partition(self, output: int) -> int:
        return self.whole.sink_partitions[output]

    def input_end(self, partition: int) -> int:
        return self.inputs.end(partition)

    def input_place(self, partition: int, offset: int) -> Place:
        return self.inputs.place(partition, offset)

    # Numbers

    def connector_of(self, partition: int) -> int:
        return partition // self.whole.sources

    def next_record(self) -> int:
        number = self.number("record")
        contents: dict[int, Any] = self.contents
        contents[number] = self.writing.popleft() if self.writing else self.content
        return number

    def has_producer_id(self) -> bool:
        return self.ids.at_hand()

    def next_producer_id(self) -> int:
        return self.ids.take()


# Producer ids come from blocks: the broker that coordinates transactional ids takes them from the block that it holds.
#
# The controllers and the brokers' halves of the protocol are those of `reference_impl.systems.id_blocks`, on the same
# clock. A broker without an id asks for a block, and its clients have to ask again (RPCProducerIdManager.java).


class ProducerIds:
    """A `ProducerIds` takes producer ids from the brokers. ``spare`` has, by broker, an id that was taken for a request
    that turned out not to need it, or not yet."""

    def __init__(self, kafka: "Kafka", system: System) -> None:
        self.kafka = kafka
        self.system = system
        self.spare: dict[int, int] = {}

    @property
    def broker(self) -> int:
        return self.kafka.brokers.coordinator.node_id

    def at_hand(self) -> bool:
        number = self.broker
        broker = self.system.brokers[number]
        if number in self.spare:
            return True
        if not broker.running or broker.paused:
            return False
        error, producer_id = broker.init_producer_id()
        if error:
            return False
        self.spare[number] = producer_id
        return True

    def take(self) -> int:
        """Return the id. Raise RuntimeError if none is available, because the caller has not asked before."""
        if not self.at_hand():
            raise RuntimeError(f"broker {self.broker} has no producer id at hand: ask has_producer_id() before")
        return self.spare.pop(self.broker)

    def restart(self, number: int) -> None:
        self.spare.pop(number, None)
        self.system.restart_broker(number)


# This is the one Kafka of the whole system, with the group that copies: what `reference_impl.systems.group_fencing`
# drives, on brokers that also have Connect's partitions, and producer ids from blocks.

FIRST_OF_OFFSETS = 10
"""Readers of offsets topics are numbered from here on; readers with smaller numbers read the input and the sink."""
FIRST_CONNECT_ID = 1 << 10
"""Transactional ids of Connect are numbered from here on, and those of the group's applications below."""


class StuckError(RuntimeError):
    """A `StuckError` is raised when Kafka answers a client no more."""


class Silent:
    """A `Silent` is an environment in which no event is reported."""

    emit = staticmethod(TransactionEventLog.unheard)


class Kafka(group.System):
    """A `Kafka` is the driven system of the brokers and the group."""

    env: Environment

    @property
    def coordinator(self) -> Coordinator:
        return self.brokers.coordinator

    def copy_read(self, place: Place, output: int, position: int) -> None:
        """Emit the end-to-end event of a record of the sink as well."""
        assert isinstance(place, Copied), "what stands in the sink is a copy"
        source = place.source
        self.env.ends.emit(
            Kind.SINK_READ, connector=self.env.connector_of(source.partition), partition=source.partition,
            offset=source.offset, topic=output, position=position,
        )  # fmt: skip


class ConnectBrokers(brokers.Brokers):
    """A `ConnectBrokers` is the same Kafka as Connect's workers use it: each of their calls takes until it is done, and
    everything else on Kafka's clock goes on meanwhile, faults included.

    A commit is done when its markers are written, because the next step reads to the end of a topic and waits for the
    markers there.
    """

    env: Environment  # type: ignore[assignment]

    def __init__(self, kafka: Kafka, producer: type[Client]) -> None:
        self.kafka = kafka
        self.producer = producer
        self.env = kafka.env
        self.acls = Acls()
        self.topics = {}
        self.policy_error = 0
        self.ids = {}
        self.clients = 0
        self.readers = 0
        self.leaders = kafka.brokers.leaders

    def fence(self, name: str, client: type[Admin] = Admin) -> Fenced:
        made: Any = self.kafka.brokers.parts.admin if client is Admin else client
        return super().fence(name, made)

    @property
    def coordinator(self) -> Coordinator:  # type: ignore[override]
        return self.kafka.coordinator

    def transactional_id(self, name: str) -> int:
        return self.ids.setdefault(name, FIRST_CONNECT_ID + len(self.ids))

    def append_plainly(self, partition: int, content: Any) -> int:
        env = self.env
        while not env.has_producer_id():  # a client that waits for it may find that another one has taken it
            self.run(env.has_producer_id)
        env.content = content
        request = ProduceRequest(-1, partition, env.next_producer_id(), 0, 0, env.next_record(), False)
        return self.log(partition).append(request, NO_GUARD).offset

    def append_directly(self, partition: int, content: Any) -> None:
        """Append one record outside any transaction, with a producer of which the log has no state afterwards."""
        position = self.append_plainly(partition, content)
        log = self.log(partition)
        del log.producers[log.batches[position].producer_id]

    def permit(self, *_: object) -> None:
        """Allow everything to every principal."""

    def new_reader(self) -> ReaderRole:
        """Return a consumer of offsets topics at their beginning. What it reads is partly written outside transactions
        and is not in the log of transactions, so its reads are not reported there."""
        self.readers += 1
        silent: Any = Silent()
        return self.kafka.brokers.parts.reader(silent, FIRST_OF_OFFSETS + self.readers)

    def run(self, done: Callable[[], bool]) -> None:
        kernel = self.env.kernel
        until_us = kernel.now + brokers.MAX_WAIT_MS * 1000
        if not (kernel.wait(done, until_us) and kernel.wait(self.is_complete, until_us)):
            raise StuckError(f"a call of a client is not answered within {brokers.MAX_WAIT_MS} ms: Kafka is stuck")

    def is_complete(self) -> bool:
        """Return whether no transaction of Connect is decided and not yet ended on every partition."""
        coordinator = self.coordinator
        if coordinator.loading:
            return False
        for number in self.ids.values():
            metadata = coordinator.transactions.get(number)
            if metadata is not None and metadata.now.state in PREPARED:
                return False
        return True

    def advance(self, ms: int) -> None:
        self.env.kernel.advance(ms * 1000)

    def settle(self) -> None:
        """Do nothing, because Kafka goes on by itself and waits for no driver."""


# The group's input is the committed part of the partitions that source tasks write to.
#
# A consumer's offset counts the records that it gets, from 0; markers and aborted records between them in the log have
# no such offset. So the offsets of a partition are dense, as the events of the group need them.

READER = 1
"""This is the number of the reader of the input; the sink's auditor is 0."""


class Inputs:
    """`Inputs` reads the group's input. ``found`` has the records of each partition, in order."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.env = kafka.env
        self.reader: ReaderRole = kafka.brokers._reader(READER)
        self.partitions = self.env.whole.input_partitions
        self.found: list[list[Record]] = [[] for _ in self.partitions]

    def end(self, partition: int) -> int:
        """Read on in a partition, and return the number of records read so far."""
        log = self.kafka.brokers.leaders[self.partitions[partition]].log
        found = self.found[partition]
        contents: dict[int, Record] = self.env.contents  # type: ignore[assignment]
        for _, number in self.reader.read(log, True):
            record = contents[number]
            connector = self.env.connector_of(record.partition)
            self.env.ends.emit(
                Kind.OUTPUT_READ, client=record.round, connector=connector, partition=record.partition,
                offset=record.offset, topic=partition, position=len(found),
            )  # fmt: skip
            found.append(record)
        return len(found)

    def place(self, partition: int, offset: int) -> Copied:
        """Return a place with its record, which is passed on with the copy."""
        place = Copied(partition, offset)
        place.source = self.found[partition][offset]
        return place
