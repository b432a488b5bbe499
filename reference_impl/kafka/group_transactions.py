"""This module has the transaction coordinator of KIP-447's draft, which learns the assignments of producers and fences
by input partition.

It is found by the group's id, so it knows the assignments of all members (447.3). `InitProducerId` with a group first
stores what is assigned, then ends the other producers of these partitions, and then gives a pair (447.5). Until all of
that is done the request is answered with CONCURRENT_TRANSACTIONS, and the client asks again. Assignments are in the
transaction log, by group and transactional id (447.6).

The draft's text considers only *ongoing* transactions. In the variant repaired by assignment, a producer that was
assigned one of the partitions before is fenced, and an older generation is refused.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

from fencepost.reference_impl.kafka.errors import GroupErrorCode
from fencepost.reference_impl.kafka.group_environment import Environment, Kind
from fencepost.reference_impl.kafka.messages import GroupInitProducerIdRequest, InitProducerIdRequest
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.kafka.transaction_states import (
    PREPARED,
    Append,
    LogRecord,
    TransactionLog,
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
)
from fencepost.reference_impl.kafka.transaction_transitions import Transitions
from fencepost.reference_impl.simulation import Message

FIRST_KEY = -2
"""The log's keys of assignments go down from this key, so they differ from transactional ids and from -1."""


class Assigned(NamedTuple):
    """An `Assigned` is the assignment of a producer at its last initialisation."""

    generation: int
    partitions: frozenset[int]


class GroupTransitions(Transitions):
    """These transitions append both kinds of records to the log: transactions and assignments."""

    __slots__ = ()

    def write_assignment(self, key: int, value: Assigned | None, done: Callable[[bool], object]) -> None:
        record: Any = value
        self._append(LogRecord(key, record), done)

    def emit_durable(self, append: Append) -> None:
        if append.record.transactional_id > FIRST_KEY:
            super().emit_durable(append)


class GroupAwareCoordinator(Coordinator):
    """A `GroupAwareCoordinator` is the draft's coordinator from taking over to resigning. ``assignments`` are by
    transactional id, as there is one group. ``leaving`` has the ids that are fenced while they have no transaction,
    until their assignment is deleted."""

    __slots__ = ("assignments", "is_writing", "leaving")

    transitions_type: ClassVar[type[Transitions]] = GroupTransitions
    transitions: GroupTransitions
    env: Environment

    def __init__(self, env: Environment, transaction_log: TransactionLog, coordinator_epoch: int) -> None:
        super().__init__(env, transaction_log, coordinator_epoch)
        self.assignments: dict[int, Assigned] = {}
        self.is_writing = False  # an assignment is on its way into the log: no other one is looked at
        self.leaving: set[int] = set()

    def recorded(self) -> dict[int, TransactionLogValue]:
        records: dict[int, Any] = dict(super().recorded())
        self.assignments = {self.id_of(key, value): value for key, value in records.items() if key <= FIRST_KEY}
        return {key: value for key, value in records.items() if key > FIRST_KEY}

    def key_of(self, transactional_id: int) -> int:
        """Return the log's key of an assignment: the one group and the transactional id (447.6)."""
        return FIRST_KEY - transactional_id

    def id_of(self, key: int, value: Assigned) -> int:
        return FIRST_KEY - key

    # InitProducerId with a group

    def receive_init(self, message: Message) -> None:
        request: Any = message.body.data
        if not isinstance(request, GroupInitProducerIdRequest):
            super().receive_init(message)
            return
        error = self.group_init_refused(request)
        if error:
            self.env.report(Kind.INIT_REFUSED, generation=request.generation, error=error)
            self.answer_init(message, error)
        elif self.is_completing(request):
            super().receive_init(message)
        elif self.assignments.get(request.transactional_id) == self.assigned(request):
            self.receive_claimed(message)
        else:
            self.is_writing = True
            written = partial(self.assignment_written, message)
            key = self.key_of(request.transactional_id)
            self.transitions.write_assignment(key, self.assigned(request), written)

    def receive_claimed(self, message: Message) -> None:
        """Give the pair once all other producers are fenced. The assignment is in the log before that. Otherwise a
        fenced producer of an older generation could initialise again before this one is answered, again and again."""
        if self.others_are_out(message.body.data):
            super().receive_init(message)
        else:
            self.answer_init(message, GroupErrorCode.CONCURRENT_TRANSACTIONS)

    def group_init_refused(self, request: GroupInitProducerIdRequest) -> int:
        """Return the error for a request that cannot be handled now or ever, or 0 for none."""
        if self.env.options.old_brokers:
            return GroupErrorCode.UNSUPPORTED_VERSION
        if error := self.unavailable(request.transactional_id):
            return error
        if self.is_writing or request.transactional_id in self.leaving:
            return GroupErrorCode.CONCURRENT_TRANSACTIONS  # or what comes next would be forgotten with what was before
        return GroupErrorCode.ILLEGAL_GENERATION if self.is_older_generation(request) else GroupErrorCode.NONE

    def is_older_generation(self, request: GroupInitProducerIdRequest) -> bool:
        """Return whether the generation is older, which only the repaired draft checks (447.19)."""
        newest = max((assigned.generation for assigned in self.assignments.values()), default=request.generation)
        return self.env.options.fences_by_assignment and request.generation < newest

    def is_completing(self, request: GroupInitProducerIdRequest) -> bool:
        """Return whether the last transaction of the transactional id is not complete. Until it is, the former
        assignment stays stored, because otherwise the next owner of the partitions would not wait for it (447.2)."""
        metadata = self.find(request.transactional_id)
        return metadata is not None and metadata.now.state in (TransactionState.ONGOING, *PREPARED)

    def assigned(self, request: GroupInitProducerIdRequest) -> Assigned:
        return Assigned(request.generation, frozenset(request.partitions))

    def assignment_written(self, message: Message, ok: bool) -> None:
        """Go on if the log has the assignment. Otherwise the client has to ask again."""
        self.is_writing = False
        request: GroupInitProducerIdRequest = message.body.data
        if ok:
            self.assignments[request.transactional_id] = self.assigned(request)
            self.receive_claimed(message)
        else:
            self.answer_init(message, GroupErrorCode.COORDINATOR_NOT_AVAILABLE)

    # The others

    def others_are_out(self, request: GroupInitProducerIdRequest) -> bool:
        """Return whether no other producer works on the partitions any more, and fence each one that does."""
        concerned = [self.find(other) for other in self.assigned_before(request)]
        waits = [metadata for metadata in concerned if metadata is not None and self.is_in_the_way(metadata)]
        for metadata in waits:
            leaves = metadata.transactional_id in self.leaving
            if not leaves and metadata.pending_state is None and metadata.now.state not in PREPARED:
                self.put_out(metadata, request)
        return not waits

    def assigned_before(self, request: GroupInitProducerIdRequest) -> list[int]:
        """Return the other transactional ids that were assigned some of the partitions."""
        wanted = set(request.partitions)
        return [
            other
            for other, assigned in self.assignments.items()
            if other != request.transactional_id and assigned.partitions & wanted
        ]

    def is_in_the_way(self, metadata: TransactionMetadata) -> bool:
        """Return whether the producer must be ended first. In the draft that is one with an ongoing transaction, until
        it is complete. In the repaired draft it is every remembered producer."""
        ongoing = metadata.now.state == TransactionState.ONGOING or metadata.now.state in PREPARED
        return ongoing or self.env.options.fences_by_assignment

    def put_out(self, metadata: TransactionMetadata, request: GroupInitProducerIdRequest) -> None:
        """Abort the producer's transaction or else fence it, and report that once it is in the log."""
        now, moved = metadata.now, self.assignments[metadata.transactional_id].partitions & set(request.partitions)
        fenced = partial(
            self.env.report, Kind.PRODUCER_FENCED, producer_id=now.producer_id, epoch=now.producer_epoch,
            generation=request.generation, partition=min(moved),
        )  # fmt: skip
        if metadata.now.state == TransactionState.ONGOING:
            self.fence_and_abort(metadata, lambda error: None if error else fenced())
        else:
            self.fence_idle(metadata, fenced)

    def fence_idle(self, metadata: TransactionMetadata, fenced: Callable[[], object]) -> None:
        """Move the id to its next pair, which no client gets, and then delete its assignment."""
        now, transactional_id = metadata.now, metadata.transactional_id
        pair = self.next_pair(now, InitProducerIdRequest(transactional_id, now.txn_timeout_ms))
        assert pair is not None, "who names no pair is never fenced"
        target = now._replace(
            state=TransactionState.EMPTY, producer_id=pair[0], producer_epoch=pair[1], last_producer_epoch=-1,
            topic_partitions=frozenset(), txn_start_timestamp=-1, txn_last_update_timestamp=self.env.now_ms,
        )  # fmt: skip
        metadata.prepare(target.state)
        self.leaving.add(transactional_id)
        self.transitions.write(metadata, target, partial(self.idle_fenced, transactional_id, fenced))

    def idle_fenced(self, transactional_id: int, fenced: Callable[[], object], ok: bool) -> None:
        """Delete the assignment of a fenced producer, which has to initialise before it can do anything again."""
        if ok:
            fenced()
            self.transitions.write_assignment(
                self.key_of(transactional_id), None, partial(self.forgotten, transactional_id)
            )
        else:
            self.leaving.discard(transactional_id)

    def forgotten(self, transactional_id: int, ok: bool) -> None:
        self.leaving.discard(transactional_id)
        if ok:
            self.assignments.pop(transactional_id, None)
