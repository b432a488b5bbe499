"""What can be wrong with clients: consumers that know too much of their offsets, loops that forget a line."""

from fencepost.reference_impl.group_fencing.clients.application import Application, Work
from fencepost.reference_impl.group_fencing.clients.classic_consumer import ClassicConsumer
from fencepost.reference_impl.group_fencing.clients.modern_consumer import MemberState, ModernConsumer
from fencepost.reference_impl.group_fencing.clients.producer import GroupProducer, GroupSends
from fencepost.reference_impl.group_fencing.errors import COMMIT_FAILED, ErrorCode
from fencepost.reference_impl.group_fencing.messages import GroupMetadata, OffsetFetchResponse
from fencepost.reference_impl.transactions.clients.client_errors import Verdict
from fencepost.reference_impl.transactions.clients.sends import SentBatch


class NoSeekBack(Application):
    """After an abort the loop goes on behind the records of the aborted transaction."""

    def seek_back(self, work: Work) -> None:
        pass


class PositionsKept(ClassicConsumer):
    """A partition that comes back is read from where this consumer was, and not from what is committed."""

    def give_up(self, partitions: tuple[int, ...], lost: bool) -> None:
        kept = dict(self.positions)
        super().give_up(partitions, lost)
        self.positions |= kept


class DoesNotWait(ClassicConsumer):
    """OffsetFetch without require_stable."""

    def waits_for_stable(self) -> bool:
        return False


class AssignedTwice(ClassicConsumer):
    """The leader gives every member the first partition."""

    def assignments(self) -> dict[int, tuple[int, ...]]:
        return {member: tuple({0, *partitions}) for member, partitions in super().assignments().items()}


class DeafSends(GroupSends):
    """A refused commit of offsets passes for one that was taken."""

    def verdict(self, batch: SentBatch, error: int) -> Verdict:
        return Verdict.FINE if error in COMMIT_FAILED else super().verdict(batch, error)


class RefusalIgnored(GroupProducer):
    """Its transactions commit without the offsets that were refused."""

    sends_class = DeafSends


class RevokesInBackground(ModernConsumer):
    """Partitions are revoked, and the epoch acknowledged, while the application still works on them (KAFKA-20332)."""

    def reconcile(self, in_poll: bool) -> None:
        super().reconcile(in_poll=in_poll or self.listener is None)


class AcknowledgesTooEarly(ModernConsumer):
    """It says that it has given up its partitions as soon as it is told to."""

    def reconcile(self, in_poll: bool) -> None:
        if self.state is MemberState.RECONCILING and not in_poll:
            kept = self.assignment
            self.assignment = tuple(partition for partition in kept if partition in self.target)
            self.heartbeat()
            self.assignment = kept
        super().reconcile(in_poll)


class GoesBackInOne(Application):
    """After an abort of inputs of several partitions it goes back in one of them."""

    def seek_back(self, work: Work) -> None:
        self.consumer.seek_to_committed(list(work.offsets)[:1])


class FirstErrorCounts(ClassicConsumer):
    """Of an answer with the offsets of several partitions the error of one is looked at; where another one has none to
    tell yet, it begins at the beginning."""

    def told_offsets(self, request: int, answer: OffsetFetchResponse) -> None:
        heard = tuple((error if place == 0 else 0, offset) for place, (error, offset) in enumerate(answer.offsets))
        super().told_offsets(request, answer._replace(offsets=heard))


class KeepsItsId(ClassicConsumer):
    """A member that the coordinator does not know asks to join under the id that is not known, again and again."""

    def reset(self, forget_member: bool) -> None:
        super().reset(forget_member=False)


class AsksAsBefore(ModernConsumer):
    """Offsets that are refused to an older epoch are asked for again, and under that epoch."""

    asks_as = GroupMetadata()

    def find_positions(self) -> None:
        if not self.fetching.outstanding:
            self.asks_as = self.metadata
        super().find_positions()

    def fetch_metadata(self) -> GroupMetadata:
        return self.asks_as

    def told_offsets(self, request: int, answer: OffsetFetchResponse) -> None:
        if answer.error_code == ErrorCode.STALE_MEMBER_EPOCH:
            answer = answer._replace(error_code=ErrorCode.NOT_COORDINATOR)
        super().told_offsets(request, answer)
