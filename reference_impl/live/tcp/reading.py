"""This module has what reading answers needs: the schemas of messages, bounded retries, and checks of what an answer
contains."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import Any

from fencepost.reference_impl.live.tcp.connection import Unreadable, WireError
from kio.static.primitive import i32Timedelta

# Patience tries again, in real time, until a deadline, because this process cannot know how long a broker is busy.
#
#     for _ in Patience(5.0):          # at least once, and again until five seconds are over
#         if ready():
#             break

SHORTEST_S, LONGEST_S = 0.001, 0.05


class Patience:
    """A `Patience` yields tries for `seconds`, with pauses between them from a millisecond to fifty."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __iter__(self) -> Iterator[int]:
        deadline = time.monotonic() + self._seconds
        pause, tries = SHORTEST_S, 0
        while True:
            yield tries
            tries += 1
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_S)


# Kafka's requests by name and version: kio's classes, made from plain numbers and texts.
#
# `build("end_txn", 4, transactional_id="a", producer_id=1, producer_epoch=0, committed=True)` is a request of that
# version. A field that this version does not have is an error, unless its name is in `since`: then it is left out.

API_KEYS: Mapping[str, int] = {
    "produce": 0, "fetch": 1, "list_offsets": 2, "metadata": 3, "offset_fetch": 9, "find_coordinator": 10,
    "api_versions": 18, "create_topics": 19, "delete_topics": 20, "init_producer_id": 22, "add_partitions_to_txn": 24,
    "add_offsets_to_txn": 25, "end_txn": 26, "txn_offset_commit": 28, "describe_configs": 32,
    "describe_producers": 61, "describe_transactions": 65, "list_transactions": 66,
}  # fmt: skip


@cache
def schema(api: str, version: int, name: str = "") -> Any:
    """Return a class of kio's schema: the request itself, or one of its parts. Raise ModuleNotFoundError or
    AttributeError if there is none."""
    module = import_module(f"kio.schema.{api}.v{version}.request")
    return getattr(module, name or "".join(word.capitalize() for word in api.split("_")) + "Request")


def build(api: str, version: int, part: str = "", /, since: Collection[str] = (), **fields: Any) -> Any:
    """Return a request or, with `part`, an instance of the class of that name in the request's schema."""
    kind = schema(api, version, part)
    known = kind.__dataclass_fields__
    return kind(**{key: value for key, value in fields.items() if key in known or key not in since})


@cache
def milliseconds(ms: int) -> Any:
    return i32Timedelta.parse(timedelta(milliseconds=ms))


# An answer that cannot be read raises an error with the answer and the request, and is no verdict on the broker.
#
#     with reading(request, answer):
#         (found,) = answer.topics[0].partitions      # an answer without topics becomes `Unreadable`
#
# An answer that leaves out what was asked for, or is about something else, is no evidence about the protocol, neither
# that it holds nor that it is broken. Readers of the message have to find out whether broker or reader is at fault.

MOST_PRINTED = 600  # characters of an answer in a message: most are shorter


@contextmanager
def reading(request: Any, answer: Any) -> Iterator[None]:
    """Turn any exception while an answer is read into `Unreadable`; a `WireError` is passed on."""
    try:
        yield
    except WireError:
        raise
    except Exception as error:  # whatever a wrong answer does to those who believe it
        raise Unreadable(
            f"an answer that cannot be read ({type(error).__name__}: {error}): {printed(answer)} to {printed(request)}"
        ) from error


def only(found: Any, what: str, is_it: Callable[[Any], bool] = lambda _: True) -> Any:
    """Return the one element that must be there, and be the expected one. Raise ValueError otherwise."""
    elements = tuple(found or ())
    if len(elements) != 1:
        raise ValueError(f"it speaks of {len(elements)} {what}, not of one")
    if not is_it(elements[0]):
        raise ValueError(f"it speaks of another of the {what} than it was asked for")
    return elements[0]


def part_about(topic: str, partition: int, topics: Any) -> Any:
    """Return what an answer says of the one partition that was asked about. Raise ValueError for any other answer."""
    of_topic = only(topics, "topics", lambda each: getattr(each, "topic", getattr(each, "name", "")) == topic)
    return only(of_topic.partitions, "partitions", lambda each: int(each.partition_index) == partition)


def printed(message: Any) -> str:
    version = getattr(type(message), "__version__", None)
    text = f"{type(message).__name__}{'' if version is None else f' version {int(version)}'} {_plain(message)}"
    return text if len(text) <= MOST_PRINTED else f"{text[:MOST_PRINTED]}…"


def _plain(value: Any) -> str:
    if is_dataclass(value):
        return "{" + ", ".join(f"{f.name}: {_plain(getattr(value, f.name))}" for f in fields(value)) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    return str(int(value)) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
