"""What can be wrong with the draft's InitProducerId, at the transaction coordinator and at the client."""

from collections.abc import Callable

from fencepost.reference_impl.group_fencing.brokers.transaction_coordinator import FIRST_KEY, GroupAwareCoordinator
from fencepost.reference_impl.group_fencing.clients.application import Application
from fencepost.reference_impl.group_fencing.messages import GroupInitProducerIdRequest
from fencepost.reference_impl.transactions.brokers.states import (
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
)


class OthersLeftAlone(GroupAwareCoordinator):
    """Nobody is fenced: the pair is given at once."""

    def others_are_out(self, request: GroupInitProducerIdRequest) -> bool:
        return True


class SameSetOnly(GroupAwareCoordinator):
    """Only who was assigned the very same partitions is fenced."""

    def assigned_before(self, request: GroupInitProducerIdRequest) -> list[int]:
        wanted = frozenset(request.partitions)
        return [other for other in super().assigned_before(request) if self.assignments[other].partitions == wanted]


class IdleKeepEpoch(GroupAwareCoordinator):
    """Who is remembered and has no transaction is struck off, and may go on all the same."""

    def fence_idle(self, metadata: TransactionMetadata, fenced: Callable[[], object]) -> None:
        self.idle_fenced(metadata.transactional_id, fenced, True)


class AbortsWithoutFencing(GroupAwareCoordinator):
    """A transaction that is in the way is aborted, and its producer may go on with the next one."""

    def put_out(self, metadata: TransactionMetadata, request: GroupInitProducerIdRequest) -> None:
        if metadata.now.state == TransactionState.ONGOING:
            self.end(metadata, False, lambda *_: None)
        else:
            self.idle_fenced(metadata.transactional_id, lambda: None, True)


class AssignmentsForgotten(GroupAwareCoordinator):
    """Assignments are in the coordinator's memory only."""

    def recorded(self) -> dict[int, TransactionLogValue]:
        records = super().recorded()
        self.assignments = {}
        return records


class KeyedByGroup(GroupAwareCoordinator):
    """The log's key of an assignment is the group: that of one member replaces that of another."""

    def key_of(self, transactional_id: int) -> int:
        return FIRST_KEY


class FoundByTransactionalId(GroupAwareCoordinator):
    """As if there were two coordinators, found by transactional id as ever: each knows only the members that are its
    own."""

    def assigned_before(self, request: GroupInitProducerIdRequest) -> list[int]:
        return [other for other in super().assigned_before(request) if (other - request.transactional_id) % 2 == 0]


class OlderGenerationTaken(GroupAwareCoordinator):
    """A late InitProducerId of an older generation fences the newer one's producer."""

    def is_older_generation(self, request: GroupInitProducerIdRequest) -> bool:
        return False


class FetchesBeforeInit(Application):
    """The offsets to begin with are fetched while initTransactions() is still under way."""

    def on_assigned(self, partitions: tuple[int, ...]) -> None:
        super().on_assigned(partitions)
        self.consumer.blocked = False
