"""This module converts the requests of a group's members, and the answers, between NamedTuples of
`group_fencing.messages` and kio's classes.

The assignment of a classic group is made by its leader: its content is partitions as JSON. Under the new protocol the
brokers assign the partitions of the topic.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from fencepost.reference_impl.kafka.group_environment import Place as InputPlace
from fencepost.reference_impl.kafka.messages import (
    NO_INSTANCE,
    NO_MEMBER,
    NO_OFFSET,
    ErrorResponse,
    GroupHeartbeatRequest,
    GroupHeartbeatResponse,
    GroupMetadata,
    GroupTxnOffsetCommitRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    ProduceResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import milliseconds, only
from fencepost.reference_impl.live.transactions.config import Names, Place
from fencepost.reference_impl.live.transactions.requests import Codec

INVALID_SESSION_TIMEOUT = 26
ASSIGNOR, PROTOCOL_TYPE = "range", "consumer"
VERSIONS: Mapping[str, int] = {
    "join_group": 7, "sync_group": 5, "heartbeat": 4, "leave_group": 4, "offset_commit": 8, "offset_fetch": 9,
    "consumer_group_heartbeat": 1, "txn_offset_commit": 5,
}  # fmt: skip
"""Kafka 4 has all these versions; with older brokers the application is not driven."""
Request = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetFetchRequest
    | OffsetCommitRequest
    | GroupHeartbeatRequest
    | GroupTxnOffsetCommitRequest
)


class GroupNames(Names):
    """A `GroupNames` has the names of one group, whose input is a topic. Member ids are numbered in order of
    appearance: a broker makes up those of the classic protocol, and a client those of the new one."""

    def __init__(self, name: str, places: list[Place], topic: str, topic_id: UUID) -> None:
        super().__init__(name, places)
        self.topic = topic
        self.topic_id = topic_id
        self._numbers: dict[str, int] = {}
        self.members: dict[int, str] = {}

    @property
    def group(self) -> str:
        return self.group_id(0)

    def numbered_member(self, member: str | None) -> int:
        if not member:
            return NO_MEMBER
        if member not in self._numbers:
            number = self._numbers[member] = len(self._numbers)
            self.members[number] = member
        return self._numbers[member]

    def member(self, number: int) -> str:
        """Return the member id of a number, made up as in KIP-848 if no broker has revealed it."""
        if number == NO_MEMBER:
            return ""
        if number not in self.members:
            self.members[number] = f"{self.name}-member-{number}"
            self._numbers[self.members[number]] = number
        return self.members[number]

    def instance(self, number: int) -> str | None:
        return None if number == NO_INSTANCE else f"instance-{number}"


class GroupCodec(Codec):
    """A `GroupCodec` encodes one application's requests. ``contents`` maps a logical send to the offset that it stands
    for, ``real_ms`` converts milliseconds of the clients' time to those of the brokers', and ``session_ms`` and
    ``rebalance_ms`` are the clients'."""

    names: GroupNames

    def __init__(
        self,
        versions: Mapping[str, int],
        names: GroupNames,
        contents: Mapping[int, InputPlace],
        real_ms: Callable[[int], int],
        append_ms: int,
        session_ms: int,
        rebalance_ms: int,
    ) -> None:
        super().__init__({**versions, **VERSIONS}, names, real_ms, append_ms)
        self._contents = contents
        self._session_ms = real_ms(session_ms)
        self._rebalance = milliseconds(real_ms(rebalance_ms))

    def encode(self, data: Any) -> Any:
        names = self.names
        match data:
            case JoinGroupRequest():
                protocol = self._part("join_group", "JoinGroupRequestProtocol", name=ASSIGNOR, metadata=b"")
                return self._build(
                    "join_group", group_id=names.group, protocol_type=PROTOCOL_TYPE,
                    session_timeout=milliseconds(self._session_ms), rebalance_timeout=self._rebalance,
                    member_id=names.member(data.member), protocols=(protocol,),
                    group_instance_id=names.instance(data.instance),
                )  # fmt: skip
            case SyncGroupRequest():
                assigned = tuple(
                    self._part(
                        "sync_group", "SyncGroupRequestAssignment", member_id=names.member(member),
                        assignment=json.dumps(partitions).encode(),
                    )
                    for member, partitions in data.assignments.items()
                )  # fmt: skip
                return self._build(
                    "sync_group", protocol_type=PROTOCOL_TYPE, protocol_name=ASSIGNOR, assignments=assigned,
                    **self._membership(data),
                )  # fmt: skip
            case HeartbeatRequest():
                return self._build("heartbeat", **self._membership(data))
            case LeaveGroupRequest():
                gone = self._part(
                    "leave_group", "MemberIdentity", member_id=names.member(data.member),
                    group_instance_id=names.instance(data.instance),
                )  # fmt: skip
                return self._build("leave_group", group_id=names.group, members=(gone,))
            case OffsetFetchRequest():
                return self._offset_fetch(data)
            case OffsetCommitRequest():
                metadata = data.metadata
                return self._build(
                    "offset_commit", group_id=names.group, generation_id_or_member_epoch=metadata.generation,
                    member_id=names.member(metadata.member), group_instance_id=names.instance(metadata.instance),
                    topics=(self._offsets("offset_commit", "OffsetCommitRequest", data.offsets),),
                )  # fmt: skip
            case GroupHeartbeatRequest():
                return self._group_heartbeat(data)
            case GroupTxnOffsetCommitRequest():
                return self._txn_offset_commit(data)
        return super().encode(data)

    def _membership(self, data: Any) -> dict[str, Any]:
        return {
            "group_id": self.names.group,
            "generation_id": data.generation,
            "member_id": self.names.member(data.member),
            "group_instance_id": self.names.instance(data.instance),
        }

    def _offset_fetch(self, data: OffsetFetchRequest) -> Any:
        """Encode an offset fetch; a member of a classic group sends no member id or epoch."""
        topic = self._part(
            "offset_fetch", "OffsetFetchRequestTopics", name=self.names.topic, partition_indexes=data.partitions
        )
        known = data.metadata.member != NO_MEMBER
        group = self._part(
            "offset_fetch", "OffsetFetchRequestGroup", group_id=self.names.group, topics=(topic,),
            member_id=self.names.member(data.metadata.member) if known else None,
            member_epoch=data.metadata.generation if known else -1,
        )  # fmt: skip
        return self._build("offset_fetch", groups=(group,), require_stable=data.require_stable)

    def _offsets(self, api: str, prefix: str, offsets: Mapping[int, int]) -> Any:
        partitions = tuple(
            self._part(
                api, f"{prefix}Partition", partition_index=partition, committed_offset=offset,
                committed_leader_epoch=-1, committed_metadata="",
            )
            for partition, offset in offsets.items()
        )  # fmt: skip
        return self._part(api, f"{prefix}Topic", name=self.names.topic, partitions=partitions)

    def _group_heartbeat(self, data: GroupHeartbeatRequest) -> Any:
        """Encode a heartbeat; it is a full one, with the subscription, if the answer to the last is not known."""
        owned = None
        if data.owned is not None:
            owned = () if not data.owned else (
                self._part(
                    "consumer_group_heartbeat", "TopicPartitions", topic_id=self.names.topic_id, partitions=data.owned
                ),
            )  # fmt: skip
        fields: dict[str, Any] = {"instance_id": self.names.instance(data.instance), "topic_partitions": owned}
        if data.full:
            fields |= {"rebalance_timeout": self._rebalance, "subscribed_topic_names": (self.names.topic,)}
        return self._build(
            "consumer_group_heartbeat", group_id=self.names.group, member_id=self.names.member(data.member),
            member_epoch=data.epoch, **fields,
        )  # fmt: skip

    def _txn_offset_commit(self, data: GroupTxnOffsetCommitRequest) -> Any:
        metadata: GroupMetadata = data.metadata
        offsets = {place.partition: place.offset for place in (self._contents[record] for record in data.records)}
        return self._build(
            "txn_offset_commit", group_id=self.names.group, generation_id=metadata.generation,
            member_id=self.names.member(metadata.member), group_instance_id=self.names.instance(metadata.instance),
            topics=(self._offsets("txn_offset_commit", "TxnOffsetCommitRequest", offsets),), **self._producer(data),
        )  # fmt: skip

    def _decode(self, data: Any, answer: Any) -> Any:
        names = self.names
        match data:
            case JoinGroupRequest():
                if int(answer.error_code) == INVALID_SESSION_TIMEOUT:
                    raise WireError(
                        f"the brokers take no session of {self._session_ms} ms; lower their "
                        "group.min.session.timeout.ms, or raise config pace, real milliseconds for each virtual one"
                    )
                return JoinGroupResponse(
                    int(answer.error_code), int(answer.generation_id), names.numbered_member(answer.member_id),
                    names.numbered_member(answer.leader),
                    tuple(names.numbered_member(m.member_id) for m in answer.members),
                )  # fmt: skip
            case SyncGroupRequest():
                assignment = json.loads(answer.assignment or b"[]")
                return SyncGroupResponse(int(answer.error_code), tuple(assignment))
            case HeartbeatRequest():
                return ErrorResponse(int(answer.error_code))
            case LeaveGroupRequest():
                of_member = [int(each.error_code) for each in answer.members]
                return ErrorResponse(int(answer.error_code) or max(of_member, default=0))
            case OffsetFetchRequest():
                return self._fetched(data, only(answer.groups, "groups", lambda each: each.group_id == names.group))
            case OffsetCommitRequest():
                return ErrorResponse(self._first_error(answer))
            case GroupHeartbeatRequest():
                return self._beaten(answer)
            case GroupTxnOffsetCommitRequest():
                return ProduceResponse(self._first_error(answer))
        return super()._decode(data, answer)

    def _fetched(self, data: OffsetFetchRequest, group: Any) -> OffsetFetchResponse:
        if error := int(group.error_code):
            return OffsetFetchResponse(error)
        topic = only(group.topics, "topics", lambda each: each.name == self.names.topic)
        by_partition = {int(each.partition_index): each for each in topic.partitions}
        offsets = tuple(
            (int(by_partition[p].error_code), int(by_partition[p].committed_offset)) for p in data.partitions
        )
        return OffsetFetchResponse(0, tuple((error, NO_OFFSET if error else offset) for error, offset in offsets))

    def _first_error(self, answer: Any) -> int:
        """Return the first error in a commit's answer; the group refuses all partitions of a commit, or none."""
        topic = only(answer.topics, "topics", lambda each: each.name == self.names.topic)
        return next((int(each.error_code) for each in topic.partitions if int(each.error_code)), 0)

    def _beaten(self, answer: Any) -> GroupHeartbeatResponse:
        error = int(answer.error_code)
        assignment = None
        if not error and answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            assignment = tuple(sorted(int(partition) for topic in topics for partition in topic.partitions))
        member = self.names.numbered_member(answer.member_id)
        return GroupHeartbeatResponse(error, member, int(answer.member_epoch), assignment)
