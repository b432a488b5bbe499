"""Clients, and brokers, after one thing of which a client never gets on again, though faults have stopped (txn.P11).

Most are a client's own: what restarts with an epoch, what is asked again, what wakes a waiting record.
"""

from fencepost.reference_impl.simulation import Message, Node
from fencepost.reference_impl.transactions.brokers.leader import PartitionLeader
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.clients.coordinator_call import NONE, CoordinatorCall
from fencepost.reference_impl.transactions.clients.producer import Producer, State
from fencepost.reference_impl.transactions.clients.sends import Sends, SentBatch
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import (
    AddPartitionsToTxnResponse,
    ProduceRequest,
)


class RenumbersTheLatestLane(Sends):
    """A new epoch restarts the numbers of the partition that was written to last, and of no other."""

    latest = NONE

    def transmit(self, batch: SentBatch) -> None:
        self.latest = batch.partition
        super().transmit(batch)

    def reset_sequences(self) -> None:
        if self.latest in self.lanes:
            self.lanes[self.latest].next_sequence = 0


class NumbersGoOn(Sends):
    """A new epoch restarts no numbers (txn.13)."""

    def reset_sequences(self) -> None:
        """They go on."""


class LostBatchesStayLost(Sends):
    """A batch without an answer is waited for, and not sent again."""

    def time_out(self, number: int) -> None:
        """Its answer may still come."""


class SleepsWhileOthersAreAdded(Sends):
    """What waits for its partition to be added is woken only by the last partition of the queue (before v2)."""

    def move(self, partition: int) -> None:
        sender = self.sender
        if not (isinstance(sender, AddsWithoutWaking) and sender.to_add and sender.is_adding):
            super().move(partition)


class RenumbersTheLatest(Producer):
    """A producer with `RenumbersTheLatestLane`."""

    sends_class = RenumbersTheLatestLane


class NeverRenumbers(Producer):
    """A producer with `NumbersGoOn`."""

    sends_class = NumbersGoOn


class SendsOnce(Producer):
    """A producer with `LostBatchesStayLost`."""

    sends_class = LostBatchesStayLost


class AddsWithoutWaking(Producer):
    """A producer with `SleepsWhileOthersAreAdded`."""

    sends_class = SleepsWhileOthersAreAdded
    is_adding = False

    def told_add(self, request: int, answer: AddPartitionsToTxnResponse) -> None:
        self.is_adding = True
        super().told_add(request, answer)
        self.is_adding = False


class ForgetsItsTimeOut(CoordinatorCall):
    """A request without an answer is not made again; one with an answer that says "try again" is."""

    def _send_if(self, attempt: int) -> None:
        if self.number == NONE:
            super()._send_if(attempt)


class AsksOnce(Producer):
    """A producer with `ForgetsItsTimeOut`."""

    def __init__(self, env: Environment, slot: int, txn_id: int | None = None) -> None:
        super().__init__(env, slot, txn_id)
        node: Node = self
        self.call = ForgetsItsTimeOut(env, node)


class BackOffIsNotSet(CoordinatorCall):
    """An answer that says "try again" takes the time-out away, and no back-off is set in its place."""

    def retry(self, backoff_us: int) -> None:
        self._attempt += 1
        self.number = NONE


class TriesNothingAgain(Producer):
    """A producer with `BackOffIsNotSet`."""

    def __init__(self, env: Environment, slot: int, txn_id: int | None = None) -> None:
        super().__init__(env, slot, txn_id)
        node: Node = self
        self.call = BackOffIsNotSet(env, node)


class WaitsForAnEpoch(Producer):
    """After an abort the producer waits for its next epoch, which it has been given already, or never asks for."""

    def end_transaction(self) -> None:
        aborting = self.state is State.ABORTING_TRANSACTION
        super().end_transaction()
        if aborting and self.state is State.READY:
            self.state = State.INITIALIZING


class LatchOpensOnce(Producer):
    """The latch on which a second transaction waits is the one that the end of the first has opened, and taken away."""

    commits = 0

    def end_transaction(self) -> None:
        self.commits += self.state is State.COMMITTING_TRANSACTION
        super().end_transaction()

    def begin(self) -> bool:
        return not self.commits and super().begin()


class SecondCommitIsAConflict(OffsetsLog):
    """A group takes one commit of offsets in a transaction; a later one is refused, where it should win."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        conflicts = request.producer_id in self.pending
        return ErrorCode.INVALID_TXN_STATE if conflicts else super().append_refused(entry, request, guard)


class WaitsForANameLost(PartitionLeader):
    """After a restart the leader knows that a transaction is open, and not whose: its marker waits until a batch says
    so, and none comes."""

    anonymous: frozenset[int] = frozenset()

    def change(self, restart: bool = False) -> None:
        if restart or self.env.config.leader_change == "restart":
            self.anonymous |= self.log.open.keys()
        super().change(restart)

    def receive_marker(self, message: Message) -> None:
        if message.body.data.producer_id not in self.anonymous:
            super().receive_marker(message)
