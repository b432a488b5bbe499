"""Implementations that break one rule of the interface each: what a group's requests carry, and in which words they are
answered.

No promise needs these rules, so that neither histories nor a driver need find such a defect: tests that are marked with
the rule do. Each is reachable as `fencepost.reference_impl.group_fencing.defects.interface:<name>`.
"""

from functools import partial

from fencepost.reference_impl.group_fencing.brokers.classic_group import ClassicGroup
from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator
from fencepost.reference_impl.group_fencing.brokers.transaction_coordinator import GroupAwareCoordinator
from fencepost.reference_impl.group_fencing.defects.broken import Broken
from fencepost.reference_impl.group_fencing.errors import ErrorCode
from fencepost.reference_impl.group_fencing.messages import (
    GroupInitProducerIdRequest,
    GroupMetadata,
    TxnOffsetCommitRequest,
)
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import Breaks, Registry
from fencepost.reference_impl.transactions.messages import InitProducerIdRequest


class InitialisesOnce(GroupAwareCoordinator):
    """A producer that has been assigned something is refused when it comes again."""

    def group_init_refused(self, request: GroupInitProducerIdRequest) -> int:
        again = request.transactional_id in self.assignments and not self.is_completing(request)
        return super().group_init_refused(request) or (ErrorCode.INVALID_REQUEST if again else 0)


class GroupRequired(GroupAwareCoordinator):
    """A request that names a transactional id alone is refused."""

    def init_refused(self, request: InitProducerIdRequest) -> int:
        alone = not isinstance(request, GroupInitProducerIdRequest)
        return super().init_refused(request) or (ErrorCode.INVALID_REQUEST if alone else 0)


class MetadataNotRead(GroupCoordinator):
    """Of a commit in a transaction neither generation nor member is read."""

    def commit_refused(self, commit: TxnOffsetCommitRequest) -> int:
        return super().commit_refused(commit._replace(metadata=GroupMetadata()))


class MembersNotRead(ClassicGroup):
    """Nor does the group itself read them."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return super().commit_refused(GroupMetadata(), partitions, transactional)


class OlderBrokersTakeGroups(GroupAwareCoordinator):
    """A broker from before KIP-447 does as if it knew InitProducerId with a group."""

    def group_init_refused(self, request: GroupInitProducerIdRequest) -> int:
        error = super().group_init_refused(request)
        return 0 if error == ErrorCode.UNSUPPORTED_VERSION else error


class OlderBrokersTakeGenerations(GroupCoordinator):
    """A broker from before KIP-447 does as if it knew TxnOffsetCommit with a generation."""

    def receive_commit(self, message: Message) -> None:
        self.receive_produce(message)


class OldWordsForAll(GroupCoordinator):
    """Every version is answered in the words of the oldest: 22 for a stale epoch and an unknown group."""

    def commit_refused(self, commit: TxnOffsetCommitRequest) -> int:
        return super().commit_refused(commit._replace(version=min(commit.version, 5)))


class TopicsByName(GroupCoordinator):
    """An unknown topic is an unknown name in every version."""

    def receive_commit(self, message: Message) -> None:
        commit: TxnOffsetCommitRequest = message.body.data
        older = message.body._replace(data=commit._replace(version=min(commit.version, 5)))
        super().receive_commit(Message(message.number, message.kind, message.source, message.target, older))


NOTHING = Breaks.NOTHING
_BROKEN = (
    Broken("initialises_once", "447.1", NOTHING, Parts(transactions=InitialisesOnce)),
    Broken("group_required", "447.4", NOTHING, Parts(transactions=GroupRequired)),
    Broken("metadata_not_read", "447.7", NOTHING, Parts(coordinator=MetadataNotRead, classic_group=MembersNotRead)),
    Broken("older_brokers_take_groups", "447.11", NOTHING, Parts(transactions=OlderBrokersTakeGroups)),
    Broken("older_brokers_take_generations", "447.11", NOTHING, Parts(coordinator=OlderBrokersTakeGenerations)),
    Broken("old_words_for_all", "447.22", NOTHING, Parts(coordinator=OldWordsForAll)),
    Broken("topics_by_name", "447.22", NOTHING, Parts(coordinator=TopicsByName)),
)

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
