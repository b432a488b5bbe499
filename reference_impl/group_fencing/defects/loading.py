"""What can be wrong with a coordinator that takes over: what it takes from the log of the one before, and what it says
while it loads."""

from typing import Any

from fencepost.reference_impl.group_fencing.brokers.classic_group import ClassicGroup, State
from fencepost.reference_impl.group_fencing.brokers.classic_group import Member as ClassicMember
from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator
from fencepost.reference_impl.group_fencing.brokers.modern_group import ModernGroup
from fencepost.reference_impl.group_fencing.brokers.offsets import GroupOffsetsLog
from fencepost.reference_impl.group_fencing.errors import ErrorCode
from fencepost.reference_impl.group_fencing.messages import TxnOffsetCommitRequest
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.messages import Batch, ProduceResponse, WriteTxnMarkersResponse


class TakeoverUnstored(ClassicGroup):
    """That a static member has taken another one's place is in the coordinator's memory only, where no rebalance
    follows: the next coordinator knows the one before under its instance id."""

    def join_static(self, message: Message, request: Any) -> None:
        stored = self.coordinator.stored
        super().join_static(message, request)
        if self.state is State.STABLE:
            self.coordinator.stored = stored


class OneOffsetLoaded(GroupOffsetsLog):
    """Of the offsets that a transaction has pending a load takes up the one written last."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> "OneOffsetLoaded":
        fresh = super().rebuilt(leader_epoch, restart)
        for producer, offsets in fresh.pending.items():
            newest = max(offsets, key=lambda key: offsets[key].base_offset)
            fresh.pending[producer] = {newest: offsets[newest]}
        return fresh


class OpennessNotLoaded(GroupOffsetsLog):
    """Markers find what a load has taken up as pending, and fetches do not."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.unheld: set[int] = set()

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> "OpennessNotLoaded":
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.unheld = set(fresh.pending)
        return fresh

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.unheld.discard(batch.producer_id)

    def is_stable(self, key: int = 0) -> bool:
        return not any(key in offsets for producer, offsets in self.pending.items() if producer not in self.unheld)


class MarkerTakenWhileLoading(GroupCoordinator):
    """A marker that comes before the partition is loaded is answered as if it were written, and forgotten."""

    def answer_loading(self, message: Message) -> None:
        if message.kind == "marker":
            self.reply(message, WriteTxnMarkersResponse(ErrorCode.NONE))
        else:
            super().answer_loading(message)


class LoadingIsUnexpected(GroupCoordinator):
    """A commit that comes before the partition is loaded is refused with an error that clients take for fatal."""

    def answer_loading(self, message: Message) -> None:
        if message.kind == "produce":
            self.reply(message, ProduceResponse(ErrorCode.UNKNOWN_SERVER_ERROR))
        else:
            super().answer_loading(message)


class SecondCommitFails(GroupCoordinator):
    """A commit of a producer that has some pending already runs into an error, where the later one should count.
    (nisshi PR 716)"""

    def commit_refused(self, commit: TxnOffsetCommitRequest) -> int:
        if self.log.pending.get(commit.producer_id):
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return super().commit_refused(commit)


class MembersLoadedForEver(ClassicGroup):
    """Members from the log have no session until they are heard of."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self.is_loaded = False
        super().__init__(coordinator)
        self.is_loaded = True

    def keep(self, member: ClassicMember) -> None:
        if self.is_loaded:
            super().keep(member)


class EpochsLoadedForEver(ModernGroup):
    """The same under the new protocol."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self.is_loaded = False
        super().__init__(coordinator)
        self.is_loaded = True

    def keep(self, member: int) -> None:
        if self.is_loaded:
            super().keep(member)


class TargetNotLoaded(ModernGroup):
    """Who was to have what is in the coordinator's memory only."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        super().__init__(coordinator)
        self.target = {}
