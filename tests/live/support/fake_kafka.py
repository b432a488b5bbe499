"""Brokers in this process that answer over TCP whatever a test wants, and else as Kafka does, as far as one client at a
time can tell.

    with FakeKafka(brokers=3, controller=2) as kafka:
        kafka.mangle = lambda api, version, answer: replace(answer, topics=())    # every answer goes through it
        kafka.bytes = lambda api, payload: payload[:-1]                           # and then its bytes do
        over_tcp({"bootstrap": kafka.bootstrap, …})

They do not fence, and write no markers: what is tried with them is how answers are read, not what is in them.  Broker
``controller`` alone makes topics, as in a cluster that forwards nothing; a coordinator is named after ``not_yet``
questions.
"""

from __future__ import annotations

import socketserver
import struct
import threading
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from importlib import import_module
from io import BytesIO
from types import TracebackType
from typing import Any

from fencepost.reference_impl.live.tcp.reading import API_KEYS, schema
from fencepost.reference_impl.live.tcp.versions import OURS, Bounds
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import TZAware, i32Timedelta

NAMES = {key: name for name, key in API_KEYS.items()}
NOT_CONTROLLER, NOT_AVAILABLE, OUT_OF_RANGE, EARLIEST = 41, 15, 1, -2
OFFERED = {**OURS, "api_versions": Bounds(0, 3)}
FIRST_OFFSET, LENGTH = struct.Struct(">q"), struct.Struct(">i")


class FakeKafka:
    """Brokers 1 to `brokers`; `asked` notes (broker, request) in order."""

    def __init__(self, brokers: int = 1, controller: int = 1, not_yet: int = 0) -> None:
        self.controller, self.not_yet = controller, not_yet
        self.mangle: Callable[[str, int, Any], Any] = lambda api, version, answer: answer
        self.bytes: Callable[[str, bytes], bytes] = lambda api, payload: payload
        self.hold: Callable[[int, str], object] = lambda broker, api: None  # may take its time
        self.asked: list[tuple[int, str]] = []
        self.failed: list[Exception] = []  # mistakes of its own
        self.topics: dict[str, int] = {}
        self.logs: dict[tuple[str, int], list[bytes]] = {}
        self.epochs: dict[str, int] = {}
        self.offsets: dict[str, int] = {}
        self.listed: dict[int, list[str]] = {}  # transactional ids by broker
        self.start, self.at_once = 0, 1_000_000  # first offset of every partition; records in an answer
        self._lock = threading.Lock()
        self._servers = {number: _Server(partial(self._answered, number)) for number in range(1, brokers + 1)}

    def __enter__(self) -> FakeKafka:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers.values():
            server.stop()
        if self.failed and error is None:
            raise self.failed[0]

    @property
    def bootstrap(self) -> str:
        """`host:port,…` of all brokers."""
        return ",".join(f"127.0.0.1:{server.port}" for server in self._servers.values())

    def stop(self, broker: int) -> None:
        """End one broker; the others name it as before."""
        self._servers[broker].stop()

    def to(self, broker: int, api: str) -> int:
        """How many requests of a kind a broker got."""
        return self.asked.count((broker, api))

    def _answered(self, broker: int, frame: bytes) -> bytes:
        """The answer to a request, without its length."""
        try:
            self.hold(broker, NAMES[struct.unpack_from(">h", frame)[0]])
            return self._answer(broker, frame)
        except Exception as error:
            self.failed.append(error)
            raise

    def _answer(self, broker: int, frame: bytes) -> bytes:
        key, version, correlation = struct.unpack_from(">hhi", frame)
        api = NAMES[key]
        kind = schema(api, version)
        _, at = entity_reader(kind.__header_schema__)(frame, 0)
        request, _ = entity_reader(kind)(frame, at)
        with self._lock:
            self.asked.append((broker, api))
            answer = getattr(self, f"_{api}")(broker, version, request)
            answer = self.mangle(api, version, answer)
            payload = encoded(type(answer).__header_schema__(correlation_id=correlation)) + encoded(answer)
            return self.bytes(api, payload)

    def _api_versions(self, broker: int, version: int, request: Any) -> Any:
        offered = [(API_KEYS[api], bounds.least, bounds.most) for api, bounds in OFFERED.items()]
        keys = tuple(
            answer_part("api_versions", version, "ApiVersion", api_key=key, min_version=least, max_version=most)
            for key, least, most in offered
        )
        level = {"name": "transaction.version", "max_version_level": 2, "min_version_level": 2}
        features = (answer_part("api_versions", version, "FinalizedFeatureKey", **level),) if version >= 3 else ()
        return answer_to("api_versions", version, api_keys=keys, finalized_features=features)

    def _metadata(self, broker: int, version: int, request: Any) -> Any:
        brokers = tuple(
            answer_part("metadata", version, "MetadataResponseBroker", node_id=n, host="127.0.0.1", port=server.port)
            for n, server in self._servers.items()
        )
        return answer_to(
            "metadata", version, brokers=brokers, cluster_id="fake", controller_id=self.controller,
            topics=tuple(
                self._topic(version, name)
                for name in (self.topics if request.topics is None else [str(each.name) for each in request.topics])
            ),
        )  # fmt: skip

    def _topic(self, version: int, name: str) -> Any:
        if name not in self.topics:
            return answer_part("metadata", version, "MetadataResponseTopic", name=name, error_code=code(3))
        part = partial(answer_part, "metadata", version, "MetadataResponsePartition")
        partitions = tuple(part(partition_index=n, leader_id=self._leader(n)) for n in range(self.topics[name]))
        return answer_part("metadata", version, "MetadataResponseTopic", name=name, partitions=partitions)

    def _leader(self, partition: int) -> int:
        return 1 + partition % len(self._servers)

    def _find_coordinator(self, broker: int, version: int, request: Any) -> Any:
        self.not_yet -= 1
        if self.not_yet >= 0:
            return answer_to("find_coordinator", version, error_code=code(NOT_AVAILABLE), node_id=-1)
        return answer_to("find_coordinator", version, node_id=len(self._servers), host="127.0.0.1", port=1)

    def _create_topics(self, broker: int, version: int, request: Any) -> Any:
        wrong = broker != self.controller
        for each in () if wrong else request.topics:
            self.topics[str(each.name)] = int(each.num_partitions)
        part = partial(answer_part, "create_topics", version, "CreatableTopicResult")
        made = tuple(part(name=each.name, error_code=code(NOT_CONTROLLER if wrong else 0)) for each in request.topics)
        return answer_to("create_topics", version, topics=made)

    def _delete_topics(self, broker: int, version: int, request: Any) -> Any:
        wrong = broker != self.controller
        for name in () if wrong else request.topic_names:
            self.topics.pop(str(name), None)
        part = partial(answer_part, "delete_topics", version, "DeletableTopicResult")
        gone = tuple(part(name=n, error_code=code(NOT_CONTROLLER if wrong else 0)) for n in request.topic_names)
        return answer_to("delete_topics", version, responses=gone)

    def _describe_configs(self, broker: int, version: int, request: Any) -> Any:
        return answer_to("describe_configs", version)

    def _describe_transactions(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "describe_transactions", version, "TransactionState", transaction_state="Empty")
        states = tuple(part(transactional_id=each) for each in request.transactional_ids)
        return answer_to("describe_transactions", version, transaction_states=states)

    def _list_transactions(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "list_transactions", version, "TransactionState", transaction_state="Empty")
        states = tuple(part(transactional_id=each) for each in self.listed.get(broker, ()))
        return answer_to("list_transactions", version, transaction_states=states)

    def _describe_producers(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "describe_producers", version)
        [topic] = request.topics
        found = part("PartitionResponse", partition_index=topic.partition_indexes[0], active_producers=())
        return answer_to(
            "describe_producers", version, topics=(part("TopicResponse", name=topic.name, partitions=(found,)),)
        )

    def _list_offsets(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "list_offsets", version)
        topics = tuple(
            part("ListOffsetsTopicResponse", name=topic.name, partitions=tuple(
                part("ListOffsetsPartitionResponse", partition_index=p.partition_index,
                     offset=self.start if p.timestamp == EARLIEST else len(self._log(topic.name, p.partition_index)))
                for p in topic.partitions
            ))
            for topic in request.topics
        )  # fmt: skip
        return answer_to("list_offsets", version, topics=topics)

    def _init_producer_id(self, broker: int, version: int, request: Any) -> Any:
        name = str(request.transactional_id)
        self.epochs[name] = self.epochs.get(name, -1) + 1
        return answer_to("init_producer_id", version, producer_id=7, producer_epoch=self.epochs[name])

    def _add_partitions_to_txn(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "add_partitions_to_txn", version)
        topics = tuple(
            part("AddPartitionsToTxnTopicResult", name=topic.name, results_by_partition=tuple(
                part("AddPartitionsToTxnPartitionResult", partition_index=number) for number in topic.partitions
            ))
            for topic in request.v3_and_below_topics
        )  # fmt: skip
        return answer_to("add_partitions_to_txn", version, results_by_topic_v3_and_below=topics)

    def _add_offsets_to_txn(self, broker: int, version: int, request: Any) -> Any:
        return answer_to("add_offsets_to_txn", version)

    def _produce(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "produce", version)
        topics = []
        for topic in request.topic_data:
            written = []
            for each in topic.partition_data:
                log = self._log(topic.name, each.index)
                written.append(part("PartitionProduceResponse", index=each.index, base_offset=len(log)))
                log.append(FIRST_OFFSET.pack(len(log)) + bytes(each.records)[FIRST_OFFSET.size :])
            topics.append(part("TopicProduceResponse", name=topic.name, partition_responses=tuple(written)))
        return answer_to("produce", version, responses=tuple(topics))

    def _txn_offset_commit(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "txn_offset_commit", version)
        [topic] = request.topics
        self.offsets[str(request.group_id)] = int(topic.partitions[0].committed_offset)
        done = part("TxnOffsetCommitResponsePartition", partition_index=topic.partitions[0].partition_index)
        topics = (part("TxnOffsetCommitResponseTopic", name=topic.name, partitions=(done,)),)
        return answer_to("txn_offset_commit", version, topics=topics)

    def _end_txn(self, broker: int, version: int, request: Any) -> Any:
        if version < 5:
            return answer_to("end_txn", version)
        name = str(request.transactional_id)
        self.epochs[name] = int(request.producer_epoch) + 1
        return answer_to("end_txn", version, producer_id=7, producer_epoch=self.epochs[name])

    def _fetch(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "fetch", version)
        topics = []
        for topic in request.topics:
            found = []
            for asked in topic.partitions:
                log, first = self._log(topic.topic, asked.partition), int(asked.fetch_offset)
                found.append(
                    part(
                        "PartitionData",
                        partition_index=asked.partition,
                        high_watermark=len(log),
                        last_stable_offset=len(log),
                        log_start_offset=self.start,
                        aborted_transactions=(),
                        records=b"".join(log[first : first + self.at_once]),
                        error_code=code(0 if self.start <= first <= len(log) else OUT_OF_RANGE),
                    )
                )
            topics.append(part("FetchableTopicResponse", topic=topic.topic, partitions=tuple(found)))
        return answer_to("fetch", version, responses=tuple(topics))  # fmt: skip

    def _offset_fetch(self, broker: int, version: int, request: Any) -> Any:
        part = partial(answer_part, "offset_fetch", version)
        [topic] = request.topics
        found = part(
            "OffsetFetchResponsePartition", partition_index=topic.partition_indexes[0],
            committed_offset=self.offsets.get(str(request.group_id), -1), metadata="",
        )  # fmt: skip
        topics = (part("OffsetFetchResponseTopic", name=topic.name, partitions=(found,)),)
        return answer_to("offset_fetch", version, topics=topics)

    def _log(self, topic: Any, partition: int) -> list[bytes]:
        return self.logs.setdefault((str(topic), int(partition)), [])


class _Server:
    """One broker's port, served by a thread of each connection."""

    def __init__(self, answered: Callable[[bytes], bytes]) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                while (start := self._read(4)) and (frame := self._read(*LENGTH.unpack(start))):
                    payload = answered(frame)
                    self.request.sendall(LENGTH.pack(len(payload)) + payload)

            def _read(self, count: int) -> bytes:
                found = b""
                while len(found) < count:
                    try:
                        part = self.request.recv(count - len(found))
                    except OSError:
                        return b""
                    if not part:
                        return b""
                    found += part
                return found

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads, block_on_close, allow_reuse_address = True, False, True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that goes away in the middle of an answer is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=partial(self._server.serve_forever, 0.01), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Code(int):
    """An error code, of those that kio knows or any other."""

    @property
    def value(self) -> int:
        """As kio's writer wants it."""
        return int(self)


def code(number: int) -> Any:
    """An error code in an answer."""
    return Code(number)


def encoded(message: Any) -> bytes:
    """The bytes of an answer or a header."""
    with BytesIO() as buffer:
        entity_writer(type(message))(buffer, message)
        return buffer.getvalue()


def answer_to(api: str, version: int, /, **reported: Any) -> Any:
    """An answer with these fields, and the others empty; a field that this version has not is left out."""
    return answer_part(api, version, "".join(word.capitalize() for word in api.split("_")) + "Response", **reported)


def answer_part(api: str, version: int, part: str, /, **reported: Any) -> Any:
    """The same of a class that lies in an answer."""
    kind = getattr(import_module(f"kio.schema.{api}.v{version}.response"), part)
    known = {field.name for field in fields(kind)}
    return kind(**{**_empty(kind), **{key: value for key, value in reported.items() if key in known}})


@cache
def _empty(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {each.name: _nothing(each, hints[each.name]) for each in fields(kind)}


def _nothing(field: Any, hint: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    if type(None) in typing.get_args(hint):
        return None
    kind = field.metadata.get("kafka_type", "")
    if typing.get_origin(hint) is tuple:
        return ()
    if is_dataclass(hint):
        return hint(**_empty(hint))
    empty: dict[str, Any] = {
        "string": "", "bool": False, "error_code": ErrorCode.none, "bytes": b"", "records": b"",
        "timedelta_i32": i32Timedelta.parse(timedelta(0)), "float64": 0.0,
        "datetime_i64": TZAware.parse(datetime.fromtimestamp(0, UTC)),
    }  # fmt: skip
    return empty.get(kind, 0)
