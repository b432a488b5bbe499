"""This module has the defects of group fencing in clients, offset commits and the draft's transaction coordinator."""

from collections.abc import Callable

from fencepost.reference_impl.kafka.clients.application import Application, GroupProducer, GroupSends, Work
from fencepost.reference_impl.kafka.clients.group_consumer import ClassicConsumer
from fencepost.reference_impl.kafka.clients.modern_consumer import MemberState, ModernConsumer
from fencepost.reference_impl.kafka.clients.sends import SentBatch
from fencepost.reference_impl.kafka.errors import COMMIT_FAILED, GroupErrorCode, Verdict
from fencepost.reference_impl.kafka.group_coordinator import GroupCoordinator, GroupOffsetsLog
from fencepost.reference_impl.kafka.group_transactions import FIRST_KEY, GroupAwareCoordinator
from fencepost.reference_impl.kafka.log import ProducerEntry
from fencepost.reference_impl.kafka.messages import (
    Batch,
    GroupInitProducerIdRequest,
    GroupMetadata,
    GroupTxnOffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    ProduceResponse,
)
from fencepost.reference_impl.kafka.transaction_states import TransactionLogValue, TransactionMetadata, TransactionState
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROGRESS, PROMISE, by_config, defect

# These are the defects of consumers and of the application's loop, and of the draft's InitProducerId at the transaction
# coordinator and at the client.


class DeafSends(GroupSends):
    """A refused commit of offsets counts as a successful one."""

    def verdict(self, batch: SentBatch, error: int) -> Verdict:
        return Verdict.FINE if error in COMMIT_FAILED else super().verdict(batch, error)


@defect("447.16", PROMISE)
class RefusalIgnored(GroupProducer):
    """The producer commits its transactions without the offsets that were refused."""

    sends_class = DeafSends


by_config("metadata_left_out", "447.16", PROMISE, metadata=False)


@defect("447.9", PROMISE, transaction_timeout_ms=1_500)
class ConsumerDoesNotWait(ClassicConsumer):
    """The consumer sends OffsetFetch without require_stable."""

    def waits_for_stable(self) -> bool:
        return False


@defect("447.18", PROMISE)
class NoSeekBack(Application):
    """After an abort the loop goes on behind the records of the aborted transaction."""

    def seek_back(self, work: Work) -> None:
        pass


@defect("447.17", PROMISE)
class PositionsKept(ClassicConsumer):
    """The consumer reads a returned partition from its own former position, and not from the committed offset."""

    def give_up(self, partitions: tuple[int, ...], lost: bool) -> None:
        stored = dict(self.positions)
        super().give_up(partitions, lost)
        self.positions |= stored


@defect("447.P2", PROMISE)
class AssignedTwice(ClassicConsumer):
    """The leader assigns the first partition to every member."""

    def assignments(self) -> dict[int, tuple[int, ...]]:
        return {member: tuple({0, *partitions}) for member, partitions in super().assignments().items()}


# 447.5, 447.6, 447.17, 447.19: the draft, repaired by assignment
@defect("447.5", PROMISE, mode="draft-repaired-by-assignment")
class OthersLeftAlone(GroupAwareCoordinator):
    """The coordinator fences no other producer and answers InitProducerId at once."""

    def others_are_out(self, request: GroupInitProducerIdRequest) -> bool:
        return True


@defect("447.3", PROMISE, mode="draft-repaired-by-assignment")
class FoundById(GroupAwareCoordinator):
    """The coordinator behaves like two coordinators that are found by transactional id, each of which knows only its
    own members."""

    def assigned_before(self, request: GroupInitProducerIdRequest) -> list[int]:
        return [other for other in super().assigned_before(request) if (other - request.transactional_id) % 2 == 0]


@defect("447.5", PROMISE, mode="draft-repaired-by-assignment")
class SameSetOnly(GroupAwareCoordinator):
    """The coordinator fences only producers that were assigned exactly the same partitions."""

    def assigned_before(self, request: GroupInitProducerIdRequest) -> list[int]:
        wanted = frozenset(request.partitions)
        return [other for other in super().assigned_before(request) if self.assignments[other].partitions == wanted]


@defect("447.5", PROMISE, mode="draft-repaired-by-assignment")
class IdleKeepEpoch(GroupAwareCoordinator):
    """The coordinator removes a former owner without an open transaction from its memory, but does not fence it."""

    def fence_idle(self, metadata: TransactionMetadata, fenced: Callable[[], object]) -> None:
        self.idle_fenced(metadata.transactional_id, fenced, True)


@defect("447.5", PROMISE, mode="draft-repaired-by-assignment", transactions="v1")
class AbortsWithoutFencing(GroupAwareCoordinator):
    """The coordinator aborts a former owner's open transaction, and its producer may go on with the next one."""

    def put_out(self, metadata: TransactionMetadata, request: GroupInitProducerIdRequest) -> None:
        if metadata.now.state == TransactionState.ONGOING:
            self.end(metadata, False, lambda *_: None)
        else:
            self.idle_fenced(metadata.transactional_id, lambda: None, True)


@defect("447.6", PROMISE, mode="draft-repaired-by-assignment")
class AssignmentsForgotten(GroupAwareCoordinator):
    """A new coordinator does not know the assignments of producers."""

    def recorded(self) -> dict[int, TransactionLogValue]:
        records = super().recorded()
        self.assignments = {}
        return records


@defect("447.6", PROMISE, mode="draft-repaired-by-assignment")
class KeyedByGroup(GroupAwareCoordinator):
    """The log's key of an assignment is the group, so one member's assignment replaces another's."""

    def key_of(self, transactional_id: int) -> int:
        return FIRST_KEY


@defect(
    "447.19",
    PROGRESS,
    "no two of them commit the same, but members of three generations fence one another for ever",
    mode="draft-repaired-by-assignment",
)
class OlderGenerationTaken(GroupAwareCoordinator):
    """A late InitProducerId of an older generation fences the producer of a newer one."""

    def is_older_generation(self, request: GroupInitProducerIdRequest) -> bool:
        return False


@defect("447.17", PROMISE, transaction_timeout_ms=1_500, group_aware=False)
class FetchesBeforeInit(Application):
    """The application fetches its starting offsets while initTransactions() is still in progress."""

    def on_assigned(self, partitions: tuple[int, ...]) -> None:
        super().on_assigned(partitions)
        self.consumer.blocked = False


by_config("ongoing_only", "447.5", PROMISE, mode="draft")


@defect("447.21", PROMISE, mode="new-protocol", listener=False, metadata_at="send")
class RevokesInBackground(ModernConsumer):
    """The consumer revokes partitions while the application still works on them (KAFKA-20332)."""

    def reconcile(self, in_poll: bool) -> None:
        super().reconcile(in_poll=in_poll or self.listener is None)


@defect("447.21", PROMISE, mode="new-protocol", metadata_at="send")
class AcknowledgesTooEarly(ModernConsumer):
    """The consumer acknowledges the revocation of its partitions as soon as the coordinator requests it."""

    def reconcile(self, in_poll: bool) -> None:
        if self.state is MemberState.RECONCILING and not in_poll:
            stored = self.assignment
            self.assignment = tuple(partition for partition in stored if partition in self.target)
            self.heartbeat()
            self.assignment = stored
        super().reconcile(in_poll)


@defect("447.9", PROMISE, transaction_timeout_ms=1_500)
class FirstErrorCounts(ClassicConsumer):
    """The consumer checks only the first partition's error in an OffsetFetch response, and begins at offset 0 in
    another partition that has an error."""

    def offsets_answered(self, request: int, answer: OffsetFetchResponse) -> None:
        heard = tuple((error if place == 0 else 0, offset) for place, (error, offset) in enumerate(answer.offsets))
        super().offsets_answered(request, answer._replace(offsets=heard))


@defect("447.18", PROMISE, fetch_records=1)
class GoesBackInOne(Application):
    """After an abort of inputs of several partitions the application seeks back in only one of them."""

    def seek_back(self, work: Work) -> None:
        self.consumer.seek_to_committed(list(work.offsets)[:1])


# An error that a client repeats
@defect("447.P3", PROGRESS)
class KeepsItsId(ClassicConsumer):
    """A member that the coordinator does not know repeats JoinGroup under its unknown member id."""

    def reset(self, forget_member: bool) -> None:
        super().reset(forget_member=False)


@defect("447.P3", PROGRESS, mode="new-protocol")
class AsksAsBefore(ModernConsumer):
    """A consumer repeats an OffsetFetch that was refused for a stale epoch under the same epoch."""

    asks_as = GroupMetadata()

    def find_positions(self) -> None:
        if not self.fetching.outstanding:
            self.asks_as = self.metadata
        super().find_positions()

    def fetch_metadata(self) -> GroupMetadata:
        return self.asks_as

    def offsets_answered(self, request: int, answer: OffsetFetchResponse) -> None:
        if answer.error_code == GroupErrorCode.STALE_MEMBER_EPOCH:
            answer = answer._replace(error_code=GroupErrorCode.NOT_COORDINATOR)
        super().offsets_answered(request, answer)


# These are the defects of offsets: when a commit is checked, who gets an offset, and what a marker does to it.
#
# A transaction time-out of 1.5 s is longer than a rebalance takes in a free-running history. In mode group-id-only two
# producers have pending offsets of one partition.


@defect("447.16", PROMISE)
class JudgedTooEarly(GroupCoordinator):
    """The group checks a commit when it arrives, and not when the transaction coordinator has answered."""

    def receive_commit(self, message: Message) -> None:
        commit: GroupTxnOffsetCommitRequest = message.body.data
        if error := super().commit_refused(commit):
            self.reply(message, ProduceResponse(error))
        else:
            super().receive_commit(message)

    def commit_refused(self, commit: GroupTxnOffsetCommitRequest) -> int:
        return 0


# 447.9: fetches wait for what is pending
@defect("447.9", PROMISE, transaction_timeout_ms=1_500)
class PendingIgnored(GroupCoordinator):
    """OffsetFetch returns an offset although a transaction may still change it."""

    def unstable(self, request: OffsetFetchRequest) -> int:
        return 0


@defect("447.9", PROMISE, transaction_timeout_ms=1_500)
class PendingForgotten(GroupOffsetsLog):
    """A new coordinator does not know the pending offsets."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> "PendingForgotten":
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.pending.clear()
        return fresh


@defect("447.9", PROMISE)
class ExpiryIgnoresPending(GroupOffsetsLog):
    """Offsets expire although a transaction is about to change them, and its pending offsets are deleted as well."""

    def expirable(self) -> list[int]:
        return sorted({*self.committed, *(partition for offsets in self.pending.values() for partition in offsets)})


@defect("447.9", PROMISE)
class AbortKeepsPending(GroupOffsetsLog):
    """An abort leaves its offsets pending, so fetches wait and the producer's next commit commits them."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        stored = self.pending.get(batch.producer_id)
        super().apply_marker(entry, batch)
        if batch.marker == 0 and stored is not None:
            self.pending[batch.producer_id] = stored


@defect("447.9", PROMISE)
class AbortCommitsOffsets(GroupOffsetsLog):
    """An abort makes the pending offsets visible, as a commit does."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        stored = self.pending.get(batch.producer_id, {})
        super().apply_marker(entry, batch)
        self.committed |= stored


@defect("447.9", PROMISE, mode="draft", old=1, transaction_timeout_ms=1_500)
class OldClientsNotHeld(GroupCoordinator):
    """Under the draft only clients that know the error for pending offsets have to wait for them."""

    def unstable(self, request: OffsetFetchRequest) -> int:
        return super().unstable(request) if request.require_stable else 0


# 447.18 and the loop
by_config("offsets_outside", "447.18", PROMISE, offsets_inside=False)


@defect("447.8", PROMISE, mode="draft", old=1)
class ReverseMapForgotten(GroupCoordinator):
    """A new coordinator does not know which producer committed last for a partition."""

    def load(self, _: object) -> None:
        self.contributors.clear()
        super().load(_)


@defect("447.8", PROMISE, mode="draft", old=1)
class UndefinedGenerationPasses(GroupCoordinator):
    """A commit without a generation is not checked against the last committer of its partition."""

    def is_overtaken(self, commit: GroupTxnOffsetCommitRequest, partition: int) -> bool:
        return commit.metadata.generation >= 0 and super().is_overtaken(commit, partition)


# Several partitions in one transaction, and several producers at one partition
@defect("447.18", PROMISE, fetch_records=1)
class OneOfSeveralCommits(GroupOffsetsLog):
    """Of the pending offsets of a committed transaction, only one becomes visible."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        for key in sorted(self.pending.get(batch.producer_id, ()))[1:] if batch.marker == 1 else ():
            del self.pending[batch.producer_id][key]
        super().apply_marker(entry, batch)


@defect("447.9", PROMISE)
class AbortDeletes(GroupOffsetsLog):
    """An abort removes the committed offset of each partition for which an offset was pending."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        gone = self.pending.get(batch.producer_id, {}) if batch.marker == 0 else {}
        super().apply_marker(entry, batch)
        for key in gone:
            self.committed.pop(key, None)


@defect("txn.21", CONFORMANCE, mode="group-id-only")
class LastMarkerCounts(GroupOffsetsLog):
    """Of the commits of two producers, the one whose transaction ends last counts, and not the one written last."""

    def is_newer(self, key: int, pending: Batch) -> bool:
        return True
