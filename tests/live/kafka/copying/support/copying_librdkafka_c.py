"""librdkafka's consumer as a C application uses it that has no rebalance callback, which Python's package always has.

Without one librdkafka takes part in rebalances by itself, in the background. The producer is kafka-python's: it sends
what this consumer says of its membership, as any producer does.
"""

from __future__ import annotations

import ctypes as c
from pathlib import Path
from typing import Any

import confluent_kafka
from copy_client import POLL_S, Note
from copy_settings import CLASSIC, Settings
from copying_kafka_python import Producing
from kafka.structs import ConsumerGroupMetadata

CONSUMER, NO_ERROR = 1, 0
LIBRARIES = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"


class _Message(c.Structure):
    """rd_kafka_message_t, as far as it is read."""

    _fields_ = (
        ("err", c.c_int), ("topic", c.c_void_p), ("partition", c.c_int32), ("payload", c.c_void_p), ("len", c.c_size_t),
        ("key", c.c_void_p), ("key_len", c.c_size_t), ("offset", c.c_int64),
    )  # fmt: skip


def _library() -> Any:
    (file,) = LIBRARIES.glob("librdkafka-*.so*")
    library = c.CDLL(str(file))
    pointers = ("conf_new", "new", "topic_partition_list_new", "topic_partition_list_add", "consumer_group_metadata")
    for name in pointers:
        getattr(library, f"rd_kafka_{name}").restype = c.c_void_p
    library.rd_kafka_consumer_poll.restype = c.POINTER(_Message)
    library.rd_kafka_consumer_group_metadata_member_id.restype = c.c_char_p
    library.rd_kafka_consumer_group_metadata_generation_id.restype = c.c_int32
    return library


class LibrdkafkaC(Producing):
    """Of either group protocol."""

    def __init__(self, settings: Settings, note: Note) -> None:
        super().__init__(settings, note)
        self._c = _library()
        config = {
            "log_level": "0",
            "bootstrap.servers": settings.bootstrap,
            "client.id": settings.name,
            "group.id": settings.group,
            "group.protocol": settings.protocol,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "isolation.level": settings.isolation,
            "max.poll.interval.ms": str(settings.poll_interval_ms),
            "fetch.wait.max.ms": "50",
        }
        if settings.protocol == CLASSIC:
            config |= {
                "session.timeout.ms": str(settings.session_ms),
                "heartbeat.interval.ms": str(settings.session_ms // 5),
            }
        reported = c.create_string_buffer(512)
        conf = c.c_void_p(self._c.rd_kafka_conf_new())
        for name, value in config.items():
            if self._c.rd_kafka_conf_set(conf, name.encode(), value.encode(), reported, c.c_size_t(512)) != NO_ERROR:
                raise ValueError(f"{name}={value}: {reported.value.decode()}")
        self._consumer = c.c_void_p(self._c.rd_kafka_new(CONSUMER, conf, reported, c.c_size_t(512)))
        if not self._consumer:
            raise ValueError(reported.value.decode())
        self._c.rd_kafka_poll_set_consumer(self._consumer)
        self._subscribe()

    def _subscribe(self) -> None:
        topics = c.c_void_p(self._c.rd_kafka_topic_partition_list_new(1))
        self._c.rd_kafka_topic_partition_list_add(topics, self._settings.source.encode(), c.c_int32(-1))
        error = self._c.rd_kafka_subscribe(self._consumer, topics)
        self._c.rd_kafka_topic_partition_list_destroy(topics)
        if error != NO_ERROR:
            raise ValueError(f"subscribe: error {error}")

    def poll(self, most: int) -> list[tuple[int, int]]:
        found = []
        wait_ms = int(POLL_S * 1000)
        while len(found) < most and (message := self._c.rd_kafka_consumer_poll(self._consumer, wait_ms)):
            if message.contents.err == NO_ERROR:
                found.append((int(message.contents.partition), int(message.contents.offset)))
            self._c.rd_kafka_message_destroy(message)
        return found

    def metadata(self) -> Any:
        known = c.c_void_p(self._c.rd_kafka_consumer_group_metadata(self._consumer))
        member = self._c.rd_kafka_consumer_group_metadata_member_id(known).decode()
        generation = int(self._c.rd_kafka_consumer_group_metadata_generation_id(known))
        self._c.rd_kafka_consumer_group_metadata_destroy(known)
        return ConsumerGroupMetadata(group_id=self._settings.group, generation_id=generation, member_id=member)

    def rewind(self) -> None:
        self._c.rd_kafka_unsubscribe(self._consumer)  # a member that joins anew begins at the committed offsets
        self._subscribe()

    def look(self) -> dict[str, Any]:
        metadata = self.metadata()
        return {"member": metadata.member_id, "generation": metadata.generation_id}

    def close(self) -> None:
        super().close()
        self._c.rd_kafka_consumer_close(self._consumer)
        self._c.rd_kafka_destroy(self._consumer)
