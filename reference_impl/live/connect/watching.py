"""This module notes what one worker's clients ask the brokers, and what they are answered, in the format of `seen`."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from fencepost.reference_impl.live.connect.seen import KAFKA, Seen
from fencepost.reference_impl.live.proxy.frames import Request, decoded
from fencepost.reference_impl.live.proxy.links import Exchange
from fencepost.reference_impl.live.proxy.proxy import Watcher

MEMBER_ID_REQUIRED = 79  # the first answer to a new member, with its id
PRODUCER_OF_BATCH = struct.Struct(">qh")
PRODUCER_AT = 43  # bytes, in a batch of format 2


class Watching:
    """A `Watching` is the watcher of a worker's proxy. `others` are called after it, in the proxy's thread.

    ``member`` is the worker's member id in its group, as the group answered it last, ``leader`` that of the leader and
    ``generation`` the group's, as this worker knows them.
    """

    def __init__(self, worker: str, group: str, config_topic: str, seen: Seen) -> None:
        self.worker = worker
        self.others: list[Watcher] = []
        self.member, self.leader, self.generation = "", "", -1
        self._group, self._config_topic, self._seen = group, config_topic, seen
        self._topics: dict[UUID, str] = {}
        self._readers: dict[str, Callable[[Any, Any], dict[str, Any] | None]] = {
            "InitProducerId": _initialized, "EndTxn": _ended, "Produce": self._produced, "JoinGroup": self._joined,
            "SyncGroup": _asked_by_member, "Heartbeat": _heartbeat, "LeaveGroup": _left, "Metadata": self._learnt,
        }  # fmt: skip

    def requested(self, exchange: Exchange) -> None:
        if exchange.request.name in self._readers:
            exchange.answered_by.append(lambda answer: self._note(exchange, answer))
        for each in self.others:
            each.requested(exchange)

    def answered(self, exchange: Exchange, time_us: int) -> None:
        for each in self.others:
            each.answered(exchange, time_us)

    def lost(self, exchange: Exchange, time_us: int) -> None:
        for each in self.others:
            each.lost(exchange, time_us)

    def _note(self, exchange: Exchange, frame: bytes | None) -> None:
        request: Request = exchange.request
        answer = decoded(request, frame) if frame is not None else None
        if answer is None or request.payload is None:
            return
        fields = self._readers[request.name](request.payload, answer)
        if fields is not None:
            named = {"transactional_id": request.transactional_id} if request.transactional_id else {}
            self._seen.note(
                KAFKA, "answered", worker=self.worker, client=request.client_id, api=request.name,
                asked_us=exchange.time_us, **named, **fields,
            )  # fmt: skip

    def _joined(self, request: Any, answer: Any) -> dict[str, Any]:
        error = int(answer.error_code)
        if request.group_id == self._group and error in (0, MEMBER_ID_REQUIRED):
            self.member = answer.member_id
        if request.group_id == self._group and not error:
            self.leader, self.generation = answer.leader, int(answer.generation_id)
        return {
            "error": error, "member": answer.member_id, "generation": int(answer.generation_id), "leader": answer.leader
        }  # fmt: skip

    def _learnt(self, _: Any, answer: Any) -> None:
        """Later requests name topics by their ids."""
        for topic in answer.topics:
            if topic.name and getattr(topic, "topic_id", None):
                self._topics[topic.topic_id] = str(topic.name)

    def _produced(self, request: Any, answer: Any) -> dict[str, Any] | None:
        places = [
            [self._name(topic), int(each.index), int(each.base_offset), int(each.error_code)]
            for topic in answer.responses
            for each in topic.partition_responses
        ]
        error = next((place[3] for place in places if place[3]), 0)
        if not error and all(place[0] != self._config_topic for place in places):
            return None
        batches = [bytes(each.records or b"") for topic in request.topic_data for each in topic.partition_data]
        found = next(
            (PRODUCER_OF_BATCH.unpack_from(b, PRODUCER_AT) for b in batches if len(b) > PRODUCER_AT + 10), (-1, -1)
        )
        return {"error": error, "producer_id": found[0], "epoch": found[1], "places": places}

    def _name(self, topic: Any) -> str:
        name = getattr(topic, "name", None)
        return str(name) if name is not None else self._topics.get(topic.topic_id, str(topic.topic_id))


def _initialized(request: Any, answer: Any) -> dict[str, Any]:
    timeout = request.transaction_timeout
    return {
        "error": int(answer.error_code), "timeout_ms": round(timeout.total_seconds() * 1000),
        "producer_id": int(answer.producer_id), "epoch": int(answer.producer_epoch),
    }  # fmt: skip


def _ended(request: Any, answer: Any) -> dict[str, Any]:
    return {
        "error": int(answer.error_code), "committed": bool(request.committed),
        "producer_id": int(request.producer_id), "epoch": int(request.producer_epoch),
    }  # fmt: skip


def _asked_by_member(request: Any, answer: Any) -> dict[str, Any]:
    return {"error": int(answer.error_code), "member": request.member_id}


def _heartbeat(request: Any, answer: Any) -> dict[str, Any] | None:
    return _asked_by_member(request, answer) if answer.error_code else None


def _left(request: Any, answer: Any) -> dict[str, Any]:
    members = getattr(request, "members", None)
    return {"error": int(answer.error_code), "member": members[0].member_id if members else request.member_id}
