"""What a real consumer (confluent-kafka, that is librdkafka) reads of one partition, to its end and no further.

    reading = read_to_end(bootstrap, "out", 0, start=0, committed=True)
    reading.records       # ((offset, record), …): what the application got
    reading.upto          # where the client found the end: the last stable offset, or the high watermark

A record is its value as a number; one that is no number is its offset, negative and shifted by one, so that it
cannot be taken for a number that was sent.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from fencepost.reference_impl.live.tcp.connection import WireError


class Reading(NamedTuple):
    """The records that the application got, as (offset, record), and the exclusive end of what was fetched."""

    records: tuple[tuple[int, int], ...]
    upto: int


def read_to_end(
    bootstrap: str, topic: str, partition: int, start: int = 0, committed: bool = True, timeout_s: float = 10.0
) -> Reading:
    """Read from `start` to the end as it is now. Raises WireError if the end is not reached in time."""
    messages, upto = messages_to_end(bootstrap, topic, partition, start, committed, timeout_s)
    offsets = (int(message.offset() or 0) for message in messages)
    return Reading(tuple((o, number_of(m.value(), o)) for o, m in zip(offsets, messages, strict=True)), upto)


def messages_to_end(
    bootstrap: str, topic: str, partition: int, start: int = 0, committed: bool = True, timeout_s: float = 10.0
) -> tuple[list[Message], int]:
    """The same as confluent-kafka's messages, and the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "fencepost-reader",  # librdkafka wants one; nothing is committed and no member joins
            "client.id": "fencepost-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, start)])
        return _consume(consumer, f"{topic}-{partition}", time.monotonic() + timeout_s)
    finally:
        consumer.close()


def _consume(consumer: Consumer, name: str, deadline: float) -> tuple[list[Message], int]:
    messages: list[Message] = []
    last: object = "nothing was heard"
    while (left := deadline - time.monotonic()) > 0:
        message = consumer.poll(left)
        if message is None:
            continue
        if (error := message.error()) is None:
            messages.append(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            return messages, int(message.offset() or 0)
        elif not error.retriable() and error.code() != KafkaError._TRANSPORT:
            raise WireError(f"{name} cannot be read: {KafkaException(error)}")
        else:
            last = error
    raise WireError(f"the end of {name} was not reached in time; {len(messages)} records came; last: {last}")


def number_of(value: bytes | None, offset: int) -> int:
    """The record that a value stands for."""
    return int(value) if value is not None and value.isdigit() else -1 - offset
