"""Members of a group of the new protocol (KIP-848) that are raw requests.

Each commits offsets in a transaction of whichever producer is named, and can say that it is another member, or at
another epoch, than it is: what a group coordinator lets pass is asked of it, not of a client library.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asking import PARTITIONS, Asker
from fencepost.reference_impl.live.tcp.reading import build, milliseconds
from txn_offset_commit_6 import RequestTopic, TxnOffsetCommitRequest

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2  # member epochs that say what a heartbeat is for
REBALANCE_MS = 10_000
ALL = tuple(range(PARTITIONS))


@dataclass
class Member:
    """A member of the new protocol. `epoch` and `owned` are what the last heartbeat was answered; `pattern`: it
    subscribes by that, rather than by the topic's name."""

    ask: Asker
    id: str
    instance: str | None = None
    epoch: int = JOIN
    owned: tuple[int, ...] = ()
    pattern: str | None = None

    def join(self) -> Any:
        """ConsumerGroupHeartbeat with epoch 0, as a new member or as one that was fenced: (epoch, partitions)."""
        self.epoch, self.owned = JOIN, ()
        names = (self.ask.name,) if self.pattern is None else ()
        return self._beat(
            instance_id=self.instance, rebalance_timeout=milliseconds(REBALANCE_MS), topic_partitions=(),
            subscribed_topic_names=names, subscribed_topic_regex=self.pattern,
        )  # fmt: skip

    def change(self, **subscribed: Any) -> Any:
        """A heartbeat with another subscription, which owns what it was last given: as `beat`."""
        return self._beat(topic_partitions=self._partitions(self.owned), **subscribed)

    def beat(self) -> Any:
        """A heartbeat that owns what it was last given: (epoch, partitions), or an error."""
        return self._beat(topic_partitions=self._partitions(self.owned))

    def live(self) -> Any:
        """A heartbeat with nothing but id and epoch. Returns the partitions named in the answer, None if it names none,
        or the error."""
        answer = self._send(self.epoch, topic_partitions=None)
        return answer.error_code or self._reported(answer)

    def start(self) -> Any:
        """A full heartbeat, as clients send it after a time-out. Returns what `live` returns."""
        answer = self._send(
            self.epoch, rebalance_timeout=milliseconds(REBALANCE_MS), topic_partitions=self._partitions(self.owned),
            subscribed_topic_names=(self.ask.name,),
        )  # fmt: skip
        return answer.error_code or self._reported(answer)

    def settle(self, *others: Member, owned: int) -> list[int]:
        """Heartbeats of this member, and of the others in between, until it owns so many partitions: they."""

        def settled() -> bool:
            for each in (self, *others):
                each.beat()
            return len(self.owned) == owned and len({each.epoch for each in (self, *others)}) == 1

        self.ask.until(settled)
        return list(self.owned)

    def leave(self, epoch: int = LEAVE) -> Any:
        """The last heartbeat, -1 or -2 (a static member that means to come back): an error."""
        return self._send(epoch, instance_id=self.instance, topic_partitions=None).error_code

    def commit(
        self, producer: str, producer_epoch: int, offset: int, partitions: Collection[int] = (0,), **other: Any
    ) -> Any:
        """TxnOffsetCommit with this member's id and epoch, or with `generation` and `member`: an error a partition."""
        names = {"generation": self.epoch, "member": self.id, "instance": self.instance} | other
        return commit(self.ask, producer, producer_epoch, offset, partitions, **names)

    def fetch(self, epoch: int | None = None) -> Any:
        """OffsetFetch with this member's id, and its epoch or another one."""
        return fetch(self.ask, self.id, self.epoch if epoch is None else epoch)

    def _beat(self, **fields: Any) -> Any:
        answer = self._send(self.epoch, **fields)
        if answer.error_code:
            return answer.error_code
        reported = self._reported(answer)
        self.owned = self.owned if reported is None else reported
        return self.epoch, self.owned

    def _reported(self, answer: Any) -> tuple[int, ...] | None:
        """Takes the epoch of an answer, and returns the partitions that it names, None if it names none."""
        self.epoch = int(answer.member_epoch)
        if answer.assignment is None:
            return None
        return tuple(sorted(int(each) for topic in answer.assignment.topic_partitions for each in topic.partitions))

    def _send(self, epoch: int, **fields: Any) -> Any:
        return self.ask.send(
            "consumer_group_heartbeat", 1, group_id=self.ask.name, member_id=self.id, member_epoch=epoch, **fields
        )

    def _partitions(self, numbers: Collection[int]) -> tuple[Any, ...]:
        if not numbers:
            return ()
        part = build(
            "consumer_group_heartbeat", 1, "TopicPartitions", topic_id=topic_id(self.ask), partitions=tuple(numbers)
        )
        return (part,)


def commit(
    ask: Asker,
    producer: str,
    epoch: int,
    offset: int,
    partitions: Collection[int] = (0,),
    *,
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    topic: UUID | None = None,
) -> Any:
    """TxnOffsetCommit of the same offset for some partitions: the error, or a list of them if they are several. It is
    version 5, or 6 if the id of the topic is given."""
    parts = tuple(
        build(
            "txn_offset_commit", 5, "TxnOffsetCommitRequestPartition", partition_index=each, committed_offset=offset,
            committed_leader_epoch=-1, committed_metadata="",
        )
        for each in partitions
    )  # fmt: skip
    fields: dict[str, Any] = {
        "transactional_id": ask.txn,
        "group_id": ask.name,
        "producer_id": ask.id(producer),
        "producer_epoch": epoch,
        "generation_id": generation,
        "member_id": member,
        "group_instance_id": instance,
    }
    if topic is None:
        named = build("txn_offset_commit", 5, "TxnOffsetCommitRequestTopic", name=ask.name, partitions=parts)
        answer = ask.send("txn_offset_commit", 5, **fields, topics=(named,))
    else:
        known = RequestTopic(topic_id=topic, partitions=parts)
        answer = ask.connection.call(TxnOffsetCommitRequest(**fields, topics=(known,)))
    errors = {int(each.partition_index): each.error_code for each in answer.topics[0].partitions}
    return errors[next(iter(partitions))] if len(partitions) == 1 else [errors[each] for each in partitions]


def fetch(ask: Asker, member: str, epoch: int) -> Any:
    """OffsetFetch 9 of partition 0, of stable offsets only: the offset, or an error."""
    topic = build("offset_fetch", 9, "OffsetFetchRequestTopics", name=ask.name, partition_indexes=(0,))
    group = build(
        "offset_fetch", 9, "OffsetFetchRequestGroup", group_id=ask.name, member_id=member, member_epoch=epoch,
        topics=(topic,),
    )  # fmt: skip
    (reported,) = ask.send("offset_fetch", 9, groups=(group,), require_stable=True).groups
    if reported.error_code:
        return reported.error_code
    (partition,) = reported.topics[0].partitions
    return partition.error_code or int(partition.committed_offset)


def topic_id(ask: Asker) -> Any:
    """The id of the asker's topic, by Metadata."""
    topic = build("metadata", 12, "MetadataRequestTopic", topic_id=None, name=ask.name)
    answer = ask.send(
        "metadata", 12, topics=(topic,), allow_auto_topic_creation=False, include_topic_authorized_operations=False
    )
    return answer.topics[0].topic_id


def leave_group(ask: Asker, member: str) -> Any:
    """LeaveGroup of a member of a classic group: an error."""
    leaving = build("leave_group", 3, "MemberIdentity", member_id=member, group_instance_id=None)
    answer = ask.send("leave_group", 3, group_id=ask.name, members=(leaving,))
    return answer.error_code or answer.members[0].error_code
