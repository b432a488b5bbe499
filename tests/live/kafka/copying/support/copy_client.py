"""A client library as the copying application uses it: a consumer and a transactional producer."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from copy_settings import Settings

POLL_S = 0.1
CALL_S = 20.0
LIBRARIES = {
    "librdkafka": ("copying_librdkafka", "Librdkafka"),
    "librdkafka-c": ("copying_librdkafka_c", "LibrdkafkaC"),
    "kafka-python": ("copying_kafka_python", "KafkaPython"),
    "java": ("copying_java", "Java"),
}


class _Failure(Exception):
    """A call of the producer failed with a code of Kafka's, -1 where there is none."""

    def __init__(self, call: str, code: int, text: str) -> None:
        super().__init__(text)
        self.call = call
        self.code = code


class AbortableError(_Failure):
    """The transaction has to be aborted; the producer can go on."""


class FatalError(_Failure):
    """The producer is of no use any more."""


class Membership(NamedTuple):
    """Generation or member epoch, -1 for none; member id, empty for none."""

    generation: int
    member: str


class CopyClient(Protocol):
    """Methods of the producer raise AbortableError or FatalError.  `renews`: abort() leaves it with another producer,
    which is not initialised."""

    renews: bool

    def init(self) -> None: ...
    def poll(self, most: int) -> list[tuple[int, int]]:
        """(partition, offset) of the next records, none after a short while without any."""
        ...

    def metadata(self) -> Any:
        """What the consumer says of its membership now."""
        ...

    def no_metadata(self) -> Any:
        """The group's name alone, as clients of before KIP-447 say it."""
        ...

    def said(self, metadata: Any) -> Membership:
        """What that says."""
        ...

    def begin(self) -> None: ...
    def send(self, partition: int, value: bytes) -> None: ...
    def flush(self) -> None: ...
    def send_offsets(self, offsets: dict[int, int], metadata: Any, tag: str) -> None:
        """`tag`: what is committed along with each offset."""
        ...

    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def rewind(self) -> None:
        """Seek every assigned partition to the group's committed offset."""
        ...

    def renew(self) -> None:
        """Another producer of the same transactional id, in place of one that failed for good."""
        ...

    def look(self) -> dict[str, Any]:
        """What the consumer takes itself for; from any thread."""
        ...

    def close(self) -> None: ...


Note = Callable[..., None]
"""Takes note of an event: its kind, and its columns by name."""


def make_client(settings: Settings, note: Note) -> CopyClient:
    """Of the library that the settings name. `note` is told what it sees of its assignment, if it listens, and where
    the group's offsets are when it asks for them."""
    module, name = LIBRARIES[settings.library]
    client: CopyClient = getattr(import_module(module), name)(settings, note)
    return client
