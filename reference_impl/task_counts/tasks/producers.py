"""Producers as Connect uses them: every call blocks until it is done, and raises what it is refused with.

`TransactionalProducer` is `transactions.Producer` (states, epochs, requests) with the brokers run to the end of every
call. A refused producer is of no further use: Connect closes it.
"""

from typing import Any

from fencepost.reference_impl.task_counts.brokers import Brokers
from fencepost.reference_impl.task_counts.permissions import Permission
from fencepost.reference_impl.task_counts.tasks.threads import Refused
from fencepost.reference_impl.transactions.clients.client_errors import Verdict
from fencepost.reference_impl.transactions.clients.producer import Producer, State
from fencepost.reference_impl.transactions.environment import client_name
from fencepost.reference_impl.transactions.errors import FACTS, ErrorCode
from fencepost.reference_impl.transactions.messages import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

# Kafka's names for being fenced: by the coordinator, and by a partition (or an older coordinator).
FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})


class KafkaError(Refused):
    """A call was refused; `code` is Kafka's error code."""

    def __init__(self, code: int, what: str) -> None:
        name = FACTS[code].name if code in FACTS else f"error {code}"
        super().__init__(f"{what}: {name}")
        self.code = code


class Client(Producer):
    """The producer below, which remembers with which error it failed."""

    error = ErrorCode.NONE

    def fail(self, verdict: Verdict, error: int) -> None:
        """Move to one of the error states."""
        self.error = self.error or error
        super().fail(verdict, error)


class TransactionalProducer:
    """One instance. `needed` are the permissions that its principal must have (618.47)."""

    def __init__(self, brokers: Brokers, name: str, needed: tuple[Permission, ...]) -> None:
        self.brokers = brokers
        self.name = name
        self.needed = needed
        slot = brokers.next_client()
        made: Any = brokers.producer or Client
        self.client: Client = made(brokers.env, slot, brokers.transactional_id(name))
        brokers.env.network.nodes[client_name(slot)] = self.client
        self.closed = False
        # The pair of `open`, by which this producer is told from the others of its name; -1 before. In v2 each of its
        # transactions has an epoch of its own, above this one.
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_PRODUCER_EPOCH

    def open(self) -> None:
        """initTransactions(): every earlier producer of the name is fenced. Raises KafkaError."""
        self.check_open("initTransactions")
        error = self.brokers.acls.error(self.needed)
        if error:
            raise KafkaError(error, f"initTransactions of {self.name}")
        self.client.init()
        self.finish("initTransactions", State.INITIALIZING)
        self.producer_id, self.epoch = self.client.producer_id, self.client.epoch

    def begin(self) -> None:
        """beginTransaction()."""
        self.check_open("beginTransaction")
        if not self.client.begin():
            raise KafkaError(self.client.error or ErrorCode.INVALID_TXN_STATE, f"beginTransaction of {self.name}")

    def send(self, partition: int, content: Any) -> None:
        """send() of one record, and its answer. Raises KafkaError."""
        self.check_open("send")
        self.brokers.env.content = content
        self.client.send(partition)
        self.brokers.run(lambda: self.client.error != 0 or not self.client.sends.outstanding)
        self.check("send")

    def commit(self) -> None:
        """commitTransaction(). Raises KafkaError."""
        self.check_open("commitTransaction")
        self.client.commit()
        self.finish("commitTransaction", State.COMMITTING_TRANSACTION)

    def abort(self) -> None:
        """abortTransaction(). Raises KafkaError."""
        self.check_open("abortTransaction")
        self.client.abort()
        self.finish("abortTransaction", State.ABORTING_TRANSACTION)

    def close(self) -> None:
        """close(Duration.ZERO): an open transaction stays open, until another producer takes the id or it times out."""
        if not self.closed:
            self.closed = True
            self.client.crash()
            del self.brokers.env.network.nodes[self.client.name]  # nothing of its is in flight between two calls

    def finish(self, call: str, state: State) -> None:
        """Run until the state is left."""
        self.brokers.run(lambda: self.client.error != 0 or self.client.state is not state)
        self.check(call)

    def check(self, call: str) -> None:
        """Raise the error that there was."""
        if self.client.error:
            raise KafkaError(self.client.error, f"{call} of {self.name}")

    def check_open(self, call: str) -> None:
        """A closed producer throws IllegalStateException."""
        if self.closed:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{call} of {self.name} after close")
