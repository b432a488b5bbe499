"""This module forges the answers that a broker could have given, so that a client takes its request for failed.

A connection that is cut is no answer: Kafka's clients connect again and repeat the request. What they act on is an
answer with an error.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from fencepost.reference_impl.live.proxy.frames import Request, encoded
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

NO_TIME = i32Timedelta.parse(timedelta(0))
NONE_GIVEN = {"producer_id": -1, "producer_epoch": -1, "base_offset": -1, "log_start_offset": -1}
EMPTY: dict[str, Any] = {"string": "", "bool": False, "bytes": b"", "timedelta_i32": NO_TIME}


def forged(request: Request, code: int) -> bytes:
    """Return the frame of an answer to the request: this error code of Kafka's, of each partition where a Produce is
    answered, and nothing else. Raise ValueError for a request that kio cannot read."""
    if request.payload is None:
        raise ValueError(f"{request.name} version {request.version} cannot be answered, as kio does not know it")
    answer = load_response_schema(request.api_key, request.version)
    given: dict[str, Any] = {"error_code": ErrorCode(code)}
    if request.name == "Produce":
        given["responses"] = tuple(_topic(answer, topic, code) for topic in request.payload.topic_data)
    return encoded(request.correlation_id, _made(answer, given))


def _topic(answer: Any, topic: Any, code: int) -> Any:
    of_topic = get_args(get_type_hints(answer)["responses"])[0]
    of_partition = get_args(get_type_hints(of_topic)["partition_responses"])[0]
    partitions = tuple(
        _made(of_partition, {"index": each.index, "error_code": ErrorCode(code)}) for each in topic.partition_data
    )
    named = {name: getattr(topic, name) for name in ("name", "topic_id") if hasattr(topic, name)}
    return _made(of_topic, {**named, "partition_responses": partitions})


def _made(kind: Any, given: dict[str, Any]) -> Any:
    hints = _hints(kind)
    known = {name: value for name, value in given.items() if name in hints}
    return kind(**{each.name: _empty(each, hints[each.name]) for each in fields(kind)} | known)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _empty(field: Any, hint: Any) -> Any:
    if field.name in NONE_GIVEN:
        return NONE_GIVEN[field.name]
    if field.default is not MISSING:
        return field.default
    if type(None) in get_args(hint):
        return None
    if get_origin(hint) is tuple:
        return ()
    if is_dataclass(hint):
        return _made(hint, {})
    return EMPTY.get(field.metadata.get("kafka_type", ""), 0)
