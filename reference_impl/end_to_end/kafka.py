"""The one Kafka of the whole system, with the group that copies: what `reference_impl.group_fencing` drives, on brokers
that have Connect's partitions too, and producer ids from blocks.
"""

from collections.abc import Callable
from typing import Any

from fencepost.reference_impl.end_to_end.environment import Copied, Environment
from fencepost.reference_impl.end_to_end.events import Kind
from fencepost.reference_impl.group_fencing import system as copying
from fencepost.reference_impl.group_fencing.events import Kind as GroupKind
from fencepost.reference_impl.task_counts import brokers as connect
from fencepost.reference_impl.task_counts.permissions import Acls
from fencepost.reference_impl.task_counts.tasks.producers import Client
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.producer_state import NO_GUARD
from fencepost.reference_impl.transactions.brokers.states import PREPARED
from fencepost.reference_impl.transactions.clients.admin import Admin, Fenced
from fencepost.reference_impl.transactions.clients.roles import ReaderRole
from fencepost.reference_impl.transactions.events import TransactionEventLog
from fencepost.reference_impl.transactions.messages import ProduceRequest

FIRST_OF_OFFSETS = 10
"""Readers are numbered from here on that read offsets topics: the first ones read the input and the sink."""
FIRST_CONNECT_ID = 1 << 10
"""Transactional ids of Connect are numbered from here on, those of the group's applications below."""


class StuckError(RuntimeError):
    """Kafka answers a client no more."""


class Silent:
    """An environment in which nothing is told."""

    emit = staticmethod(TransactionEventLog.unheard)


class Kafka(copying.System):
    """Brokers, and the group."""

    env: Environment

    @property
    def coordinator(self) -> Coordinator:
        """The transaction coordinator of the moment."""
        return self.brokers.coordinator

    def audit(self, auditor: int = 0) -> tuple[list[tuple[int, int]], list[int]]:
        """As below; each record of the sink is told end to end as well."""
        env, ends = self.env, self.env.ends
        found: list[tuple[int, int]] = []
        for output in range(env.options.outputs):
            for position, record in self.brokers.read(auditor, env.output_partition(output)):
                place = env.contents[record]
                env.tell(
                    GroupKind.OUTPUT_READ, client=auditor, output=output, position=position,
                    partition=place.partition, offset=place.offset,
                )  # fmt: skip
                assert isinstance(place, Copied), "what stands in the sink is a copy"
                source = place.source
                connector = env.connector_of(source.partition)
                ends.emit(
                    Kind.SINK_READ, connector=connector, partition=source.partition, offset=source.offset,
                    topic=output, position=position,
                )  # fmt: skip
                found.append((place.partition, place.offset))
        offsets = self.committed_offsets()
        for partition, offset in enumerate(offsets):
            env.tell(GroupKind.AUDITED, client=auditor, partition=partition, offset=offset)
        return found, offsets


class ConnectBrokers(connect.Brokers):
    """The same Kafka as Connect's workers have it: each of their calls takes until it is done, and everything else on
    Kafka's clock goes on meanwhile, faults included.

    A commit is done when its markers are written: what follows reads to the end of a topic, and waits for them there.
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
        while not env.has_producer_id():  # whoever waits for it may find that another one has taken it
            self.run(env.has_producer_id)
        env.content = content
        request = ProduceRequest(-1, partition, env.next_producer_id(), 0, 0, env.next_record(), False)
        return self.log(partition).append(request, NO_GUARD).offset

    def append_beside(self, partition: int, content: Any) -> None:
        """One record beside any transaction, by a producer that is not known again."""
        position = self.append_plainly(partition, content)
        log = self.log(partition)
        del log.producers[log.batches[position].producer_id]

    def permit(self, *_: object) -> None:
        """Everybody may do everything here."""

    def new_reader(self) -> ReaderRole:
        """A consumer of offsets topics at their beginning. What it reads stands beside transactions too, of which the
        log of transactions has nothing: so it is not told there."""
        self.readers += 1
        silent: Any = Silent()
        return self.kafka.brokers.parts.reader(silent, FIRST_OF_OFFSETS + self.readers)

    def run(self, done: Callable[[], bool]) -> None:
        kernel = self.env.kernel
        until_us = kernel.now + connect.MAX_WAIT_MS * 1000
        if not (kernel.wait(done, until_us) and kernel.wait(self.is_complete, until_us)):
            raise StuckError(f"a call of a client is not answered within {connect.MAX_WAIT_MS} ms: Kafka is stuck")

    def is_complete(self) -> bool:
        """Whether no transaction of Connect is decided and not yet ended on every partition."""
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
        """Nothing waits for a driver: Kafka goes on by itself."""
