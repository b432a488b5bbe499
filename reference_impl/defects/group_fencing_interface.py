"""Implementations that break one rule of the interface each: what a group's requests carry, and in which words they are
answered.

No promise needs these rules, so that neither histories nor a driver need find such a defect: tests that are marked with
the rule do. Each is reachable as `fencepost.reference_impl.defects.group_fencing_interface:<name>`.
"""

from fencepost.reference_impl.kafka.classic_group import ClassicGroup
from fencepost.reference_impl.kafka.errors import GroupErrorCode
from fencepost.reference_impl.kafka.group_coordinator import GroupCoordinator
from fencepost.reference_impl.kafka.group_transactions import GroupAwareCoordinator
from fencepost.reference_impl.kafka.messages import (
    GroupInitProducerIdRequest,
    GroupMetadata,
    GroupTxnOffsetCommitRequest,
    InitProducerIdRequest,
)
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import (
    NOTHING,
    defect,
    registry,
)
from fencepost.reference_impl.systems.group_fencing import Parts, build


@defect("447.1", NOTHING)
class InitialisesOnce(GroupAwareCoordinator):
    """A producer that has been assigned something is refused when it comes again."""

    def group_init_refused(self, request: GroupInitProducerIdRequest) -> int:
        again = request.transactional_id in self.assignments and not self.is_completing(request)
        return super().group_init_refused(request) or (GroupErrorCode.INVALID_REQUEST if again else 0)


@defect("447.4", NOTHING)
class GroupRequired(GroupAwareCoordinator):
    """A request that names a transactional id alone is refused."""

    def init_refused(self, request: InitProducerIdRequest) -> int:
        alone = not isinstance(request, GroupInitProducerIdRequest)
        return super().init_refused(request) or (GroupErrorCode.INVALID_REQUEST if alone else 0)


class MembersNotRead(ClassicGroup):
    """Nor does the group itself read them."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return super().commit_refused(GroupMetadata(), partitions, transactional)


@defect("447.7", NOTHING, also=(MembersNotRead,))
class MetadataNotRead(GroupCoordinator):
    """Of a commit in a transaction neither generation nor member is read."""

    def commit_refused(self, commit: GroupTxnOffsetCommitRequest) -> int:
        return super().commit_refused(commit._replace(metadata=GroupMetadata()))


@defect("447.11", NOTHING)
class OlderBrokersTakeGroups(GroupAwareCoordinator):
    """A broker from before KIP-447 does as if it knew InitProducerId with a group."""

    def group_init_refused(self, request: GroupInitProducerIdRequest) -> int:
        error = super().group_init_refused(request)
        return 0 if error == GroupErrorCode.UNSUPPORTED_VERSION else error


@defect("447.11", NOTHING)
class OlderBrokersTakeGenerations(GroupCoordinator):
    """A broker from before KIP-447 does as if it knew TxnOffsetCommit with a generation."""

    def receive_commit(self, message: Message) -> None:
        self.receive_produce(message)


@defect("447.22", NOTHING)
class OldWordsForAll(GroupCoordinator):
    """Every version is answered in the words of the oldest: 22 for a stale epoch and an unknown group."""

    def commit_refused(self, commit: GroupTxnOffsetCommitRequest) -> int:
        return super().commit_refused(commit._replace(version=min(commit.version, 5)))


@defect("447.22", NOTHING)
class TopicsByName(GroupCoordinator):
    """An unknown topic is an unknown name in every version."""

    def receive_commit(self, message: Message) -> None:
        commit: GroupTxnOffsetCommitRequest = message.body.data
        older = message.body._replace(data=commit._replace(version=min(commit.version, 5)))
        super().receive_commit(Message(message.number, message.kind, message.source, message.target, older))


REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
