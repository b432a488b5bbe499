"""The producer of an application that copies: the transactional one, with sendOffsetsToTransaction.

(KafkaProducer.java; TransactionManager.sendOffsetsToTransaction, txnOffsetCommitHandler)
"""

from typing import Any

from fencepost.reference_impl.group_fencing.environment import Environment, Place, producer_name
from fencepost.reference_impl.group_fencing.errors import from_group_coordinator
from fencepost.reference_impl.group_fencing.events import Kind
from fencepost.reference_impl.group_fencing.messages import (
    GroupInitProducerIdRequest,
    GroupMetadata,
    TxnOffsetCommitRequest,
)
from fencepost.reference_impl.transactions.clients.client_errors import Verdict
from fencepost.reference_impl.transactions.clients.producer import Producer, State
from fencepost.reference_impl.transactions.clients.sends import Sends, SentBatch
from fencepost.reference_impl.transactions.messages import NO_SEQUENCE, InitProducerIdResponse

BEFORE_METADATA = 2
"""The last version of TxnOffsetCommit without a generation."""


class GroupSends(Sends):
    """Records and offsets on their way. Metadata are fixed when the application sends the offsets."""

    metadata: dict[int, GroupMetadata]
    version: int

    def request(self, batch: SentBatch) -> Any:
        if batch.partition < self.env.config.partitions:
            return super().request(batch)
        sender = self.sender
        return TxnOffsetCommitRequest(
            sender.txn_id, 0, sender.producer_id, sender.epoch, batch.record, batch.more, self.metadata[batch.record],
            self.version,
        )  # fmt: skip

    def verdict(self, batch: SentBatch, error: int) -> Verdict:
        return from_group_coordinator(error) if batch.sequence == NO_SEQUENCE else super().verdict(batch, error)


class GroupProducer(Producer):
    """One producer; `number` is that of its address, which is its own until its slot has another instance."""

    sends_class: type[Sends] = GroupSends
    sends: GroupSends
    env: Environment

    def __init__(self, env: Environment, slot: int, number: int, txn_id: int, client: int, version: int) -> None:
        super().__init__(env, slot, txn_id)
        self.application = client
        self.slot = slot
        self.fatal_error = 0
        self.group_assignment: tuple[int, tuple[int, ...]] | None = None
        self.sends.metadata = {}
        self.sends.version = version
        self.name = producer_name(number)
        env.network.nodes[self.name] = self

    def init_with(self, metadata: GroupMetadata, partitions: tuple[int, ...]) -> bool:
        """initTransactions(groupAssignment) of the draft, which may be called again (447.1)."""
        if self.state not in (State.UNINITIALIZED, State.READY):
            return False
        self.group_assignment = metadata.generation, partitions
        self.initialize()
        return True

    def ask_init(self, request: int) -> Any:
        asked: Any = super().ask_init(request)
        if self.group_assignment is None:
            return asked
        return GroupInitProducerIdRequest(asked.transactional_id, asked.transaction_timeout_ms, *self.group_assignment)

    def begin(self) -> bool:
        begun = super().begin()
        if begun:
            self.tell(Kind.TXN_BEGUN)
        return begun

    def copy(self, output: int, place: Place) -> bool:
        """send() of the copy of one input record."""
        if self.state is not State.IN_TRANSACTION:
            return False
        self.tell(Kind.OUTPUT_SENT, output=output, partition=place.partition, offset=place.offset)
        self.env.writing.append(place)
        return self.send(self.env.output_partition(output))

    def send_offsets(self, offsets: dict[int, int], metadata: GroupMetadata) -> bool:
        """sendOffsetsToTransaction(offsets, groupMetadata)."""
        if self.state is not State.IN_TRANSACTION:
            return False
        first = self.env.upcoming_record
        for partition, offset in offsets.items():
            self.env.writing.append(Place(partition, offset))
            self.tell(
                Kind.OFFSET_SENT, partition=partition, offset=offset, generation=metadata.generation,
                member=metadata.member, instance=metadata.instance,
            )  # fmt: skip
        self.sends.metadata[first] = metadata
        return self.send(self.env.offsets_partition, len(offsets))

    def ask_end(self, request: int) -> Any:
        self.tell(Kind.END_SENT, outcome=self.outcome)
        return super().ask_end(request)

    def tell_end(self, request: int, error: int, producer_id: int, epoch: int) -> None:
        self.tell(Kind.END_TOLD, outcome=self.outcome, error=error)
        super().tell_end(request, error, producer_id, epoch)

    def told_init(self, request: int, answer: InitProducerIdResponse) -> None:
        super().told_init(request, answer)
        self.tell(Kind.INIT_TOLD, error=answer.error_code)

    def fail(self, verdict: Verdict, error: int) -> None:
        super().fail(verdict, error)
        if verdict is Verdict.FATAL:
            self.fatal_error = error

    def tell(self, kind: int, **columns: int) -> None:
        """An event of this producer's."""
        self.env.tell(
            kind, slot=self.slot, client=self.application, txn=self.txn, producer_id=self.producer_id, epoch=self.epoch,
            **columns,
        )  # fmt: skip
