"""Views of the config topic, and ways to write to it, with one thing wrong each. `broken.py` says what they break."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.endpoint import FenceEndpoint, FenceRequest, Receiver
from fencepost.reference_impl.task_counts.herder.session_keys import OK
from fencepost.reference_impl.task_counts.tasks.threads import OperationError
from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState
from fencepost.reference_impl.task_counts.topic.config_topic import ConfigTopic
from fencepost.reference_impl.task_counts.topic.privilege import WritePrivilege
from fencepost.reference_impl.task_counts.topic.records import ConfigRecord, Properties

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment


class DeletionClearsCount(ClusterConfigState):
    """A deleted connector's count is forgotten (C19, B34)."""

    def forget(self, connector: str) -> None:
        super().forget(connector)
        self.counts.pop(connector, None)
        self.counted.pop(connector, None)


class SetWithoutCommit(ClusterConfigState):
    """A task configuration takes effect as soon as it is read (618.3)."""

    def apply(self, record: ConfigRecord, offset: int) -> None:
        super().apply(record, offset)
        kind, connector, task, value = records.parse(record)
        if kind == records.TASK and value is not None and self.is_known(connector):
            self.take_effect(connector, self.buffered[connector], offset)
            self.task_counts[connector] = task + 1


class CommitIncomplete(ClusterConfigState):
    """A set takes effect though some of its tasks are missing (618.3)."""

    def is_complete(self, buffer: Mapping[int, Properties], tasks: int) -> bool:
        return True


class AnyRecordCounts(ClusterConfigState):
    """A count record anywhere in the topic will do, wherever the latest set stands (C03)."""

    def needs_fencing(self, connector: str) -> bool:
        return super().needs_fencing(connector) and connector not in self.counts


class OrderInverted(ClusterConfigState):
    """A set before the count record needs fencing, one after it does not (C03)."""

    def needs_fencing(self, connector: str) -> bool:
        return connector not in self.counts or not super().needs_fencing(connector)


class OldestCount(ClusterConfigState):
    """The first count record ever counts, not the latest one (618.6)."""

    def apply_count(self, connector: str, value: Mapping[str, Any] | None, offset: int) -> None:
        first = self.counts.get(connector)
        super().apply_count(connector, value, offset)
        if first is not None and value is not None:
            self.counts[connector] = first


class CompactionKeepsFirst(ConfigTopic):
    """Compaction keeps the first record of every key, so that a set and its count change places (C28)."""

    def compact(self) -> None:
        first: dict[str, int] = {}
        for offset, record in self.records():
            first.setdefault(record.key, offset)
        end = self.end(True)
        self.removed |= set(range(end)) - set(first.values())
        self.log.emit(Kind.COMPACTED, offset=end)


class PlainLeaderProducer(WritePrivilege):
    """The leader writes with an ordinary producer, which cannot be fenced (C16, H12)."""

    def __init__(self, env: "Environment", node: int, transactional: bool) -> None:
        super().__init__(env, node, False)


class PlainFollowers(WritePrivilege):
    """Who holds no producer writes with an ordinary one: what FollowersWrite needs."""

    def write(self, records: Iterable[ConfigRecord]) -> None:
        if self.transactional and self.producer is None:
            for record in records:
                self.env.topic.append_plainly(record, self.node)
        else:
            super().write(records)


class ClaimsLate(WritePrivilege):
    """A leader opens its producer when it first writes, not when it becomes leader (618.24): the one before it, which
    is not fenced, may write a set between the new leader's look at the topic and its count."""

    @property
    def must_claim(self) -> bool:
        return False

    def write(self, records: Iterable[ConfigRecord]) -> None:
        if self.transactional and self.producer is None:
            self.claim()
        super().write(records)


class ClaimsAgainAtOnce(WritePrivilege):
    """A write that was refused is repeated with a new producer, without a look at who leads now (618.26)."""

    def write(self, records: Iterable[ConfigRecord]) -> None:
        written = list(records)
        try:
            super().write(written)
        except OperationError:
            self.claim()
            super().write(written)


class UnsignedFenceRequests(FenceEndpoint):
    """Every request gets a round, signed or not (618.10)."""

    def signature_status(self, request: FenceRequest, receiver: Receiver) -> int:
        return OK
