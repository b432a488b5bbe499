"""Kafka's own Java clients as the copying application uses them, in a JVM beside the member's process.

The classes are driven through Py4J, which comes with Spark, so no Java is written here. The JVM is in the member's
process group: what stops the one stops the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from copy_client import CALL_S, POLL_S, AbortableError, FatalError, Membership, Note
from copy_settings import CLASSIC, Settings
from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

FATAL = ("ProducerFencedException", "OutOfOrderSequenceException", "AuthorizationException", "IllegalStateException")
"""What the documentation of KafkaProducer says to close the producer for; a producer in no state for a call is none
that can abort."""


class Java:
    """kafka-clients, of the version whose jars the settings name."""

    renews = False

    def __init__(self, settings: Settings, note: Note) -> None:
        self._settings = settings
        self._note = note
        port, token = launch_gateway(
            classpath=f"{settings.jars}/*", die_on_exit=True, enable_auth=True,
            javaopts=["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        )  # fmt: skip
        self._gateway: Any = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token),
            callback_server_parameters=CallbackServerParameters(port=0) if settings.listener else None,
        )
        self._jvm = self._gateway.jvm
        self._kafka = self._jvm.org.apache.kafka
        config = {
            "bootstrap.servers": settings.bootstrap,
            "client.id": settings.name,
            "group.id": settings.group,
            "group.protocol": settings.protocol,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "isolation.level": settings.isolation,
            "max.poll.interval.ms": str(settings.poll_interval_ms),
            "max.poll.records": str(settings.batch),
            "fetch.max.wait.ms": "50",
        }
        if settings.protocol == CLASSIC:
            config |= {
                "session.timeout.ms": str(settings.session_ms),
                "heartbeat.interval.ms": str(settings.session_ms // 5),
            }
        reader = self._kafka.common.serialization.ByteArrayDeserializer
        self._consumer = self._kafka.clients.consumer.KafkaConsumer(self._properties(config), reader(), reader())
        topics = self._jvm.java.util.List.of(settings.source)
        if settings.listener:
            server = self._gateway.get_callback_server()
            self._gateway.java_gateway_server.resetCallbackClient(
                self._gateway.java_gateway_server.getCallbackClient().getAddress(), server.get_listening_port()
            )
            self._consumer.subscribe(topics, _Listener(note))
        else:
            self._consumer.subscribe(topics)
        self._make()

    def _make(self) -> None:
        writer = self._kafka.common.serialization.ByteArraySerializer
        config = {
            "bootstrap.servers": self._settings.bootstrap,
            "client.id": self._settings.name,
            "transactional.id": self._settings.txn,
            "transaction.timeout.ms": str(self._settings.transaction_ms),
            "max.block.ms": str(int(CALL_S * 1000)),
        }
        self._producer = self._kafka.clients.producer.KafkaProducer(self._properties(config), writer(), writer())

    def init(self) -> None:
        self._call("init", self._producer.initTransactions)

    def poll(self, most: int) -> list[tuple[int, int]]:
        records = self._consumer.poll(self._millis(POLL_S))
        return [(int(each.partition()), int(each.offset())) for each in records.iterator()]

    def metadata(self) -> Any:
        return self._consumer.groupMetadata()

    def no_metadata(self) -> Any:
        return self._kafka.clients.consumer.ConsumerGroupMetadata(self._settings.group)

    def said(self, metadata: Any) -> Membership:
        return Membership(int(metadata.generationId()), str(metadata.memberId()))

    def begin(self) -> None:
        self._call("begin", self._producer.beginTransaction)

    def send(self, partition: int, value: bytes) -> None:
        record = self._kafka.clients.producer.ProducerRecord(self._settings.target, partition, None, value)
        self._call("send", self._producer.send, record)

    def flush(self) -> None:
        self._call("flush", self._producer.flush)

    def send_offsets(self, offsets: dict[int, int], metadata: Any, tag: str) -> None:
        reported = self._jvm.java.util.HashMap()
        for partition, offset in offsets.items():
            place = self._kafka.common.TopicPartition(self._settings.source, partition)
            reported[place] = self._kafka.clients.consumer.OffsetAndMetadata(offset, tag)
        self._call("send_offsets", self._producer.sendOffsetsToTransaction, reported, metadata)

    def commit(self) -> None:
        self._call("commit", self._producer.commitTransaction)

    def abort(self) -> None:
        self._call("abort", self._producer.abortTransaction)

    def rewind(self) -> None:
        assigned = self._consumer.assignment()
        committed = self._consumer.committed(assigned)
        for place in assigned:
            known = -1 if committed[place] is None else int(committed[place].offset())
            self._note("offset_fetched", partition=int(place.partition()), offset=known)
            self._consumer.seek(place, max(0, known))

    def renew(self) -> None:
        self._producer.close(self._millis(0))
        self._make()

    def look(self) -> dict[str, Any]:
        metadata = self._consumer.groupMetadata()
        return {
            "member": metadata.memberId(),
            "generation": metadata.generationId(),
            "assignment": sorted(each.partition() for each in self._consumer.assignment()),
        }

    def close(self) -> None:
        self._producer.close(self._millis(5))
        self._consumer.close()
        self._gateway.shutdown()

    def _millis(self, seconds: float) -> Any:
        return self._jvm.java.time.Duration.ofMillis(int(seconds * 1000))

    def _properties(self, config: dict[str, str]) -> Any:
        properties = self._jvm.java.util.Properties()
        for name, value in config.items():
            properties.setProperty(name, value)
        return properties

    def _call(self, call: str, method: Callable[..., Any], *arguments: Any) -> None:
        try:
            method(*arguments)
        except Py4JJavaError as raised:
            thrown = raised.java_exception
            kind = FatalError if thrown.getClass().getSimpleName() in FATAL else AbortableError
            raise kind(call, -1, str(thrown.toString())) from raised


class _Listener:
    """Takes note, in a thread of Py4J's, in which the consumer may not be asked for its generation."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def onPartitionsRevoked(self, partitions: Any) -> None:
        self._all("revoked", partitions)

    def onPartitionsAssigned(self, partitions: Any) -> None:
        self._all("assigned", partitions)

    def onPartitionsLost(self, partitions: Any) -> None:
        self._all("lost", partitions)

    def _all(self, kind: str, partitions: Any) -> None:
        for place in partitions:
            self._note(kind, partition=int(place.partition()))

    class Java:
        implements: tuple[str, ...] = ("org.apache.kafka.clients.consumer.ConsumerRebalanceListener",)
