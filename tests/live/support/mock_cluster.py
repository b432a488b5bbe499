"""librdkafka's mock cluster: brokers in this process that take what transactional producers send and keep few of their
promises.  The known-bad broker, and a double whose answers a test decides.

    with MockCluster() as mock:
        mock.create_topic("out", partitions=2)
        mock.push_errors(INIT_PRODUCER_ID, 51, 15)      # the next two such requests are answered so
        Connection(*mock.address)                       # or anything that speaks Kafka, at mock.bootstrap

It comes with confluent-kafka's wheel, and is driven through the wheel's own librdkafka (`rdkafka_mock.h`).  Brokers are
numbered from 1; they listen on 127.0.0.1 and are gone when the block ends.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import confluent_kafka

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, FIND_COORDINATOR = 0, 1, 2, 3, 9, 10
API_VERSIONS, INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 18, 22, 24, 25, 26, 28
"""Kafka's API keys."""

CUT = -195
"""As an error (librdkafka's own `_TRANSPORT`): the broker takes the request and closes the connection unanswered."""

ALL_BROKERS = -1
A_PRODUCER = 0


class MockCluster:
    """Brokers 1 to ``brokers``.  Every method acts at once; a refusal by librdkafka raises RuntimeError."""

    def __init__(self, brokers: int = 1) -> None:
        self._library, self._brokers = _library(), brokers
        self._handle: int | None = None
        self._cluster: int | None = None

    def __enter__(self) -> MockCluster:
        words = ctypes.create_string_buffer(512)
        quiet = self._library.rd_kafka_conf_new()
        self._library.rd_kafka_conf_set(quiet, b"log_level", b"0", words, len(words))
        self._handle = self._library.rd_kafka_new(A_PRODUCER, quiet, words, len(words))
        if not self._handle:
            raise RuntimeError(f"librdkafka makes no client: {words.value.decode()}")
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._handle, self._brokers)
        if not self._cluster:
            raise RuntimeError(f"librdkafka makes no mock cluster of {self._brokers} brokers")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        cluster, handle, self._cluster, self._handle = self._cluster, self._handle, None, None
        self._library.rd_kafka_mock_cluster_destroy(cluster)
        self._library.rd_kafka_destroy(handle)

    @property
    def bootstrap(self) -> str:
        """``host:port,…``, one for each broker, in the order of their numbers."""
        listed: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        return listed.decode()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the first broker."""
        host, _, port = self.bootstrap.split(",")[0].rpartition(":")
        return host, int(port)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """There is no CreateTopics here; Metadata makes unknown topics too, of four partitions."""
        self._do("topic_create", name.encode(), partitions, self._brokers)

    def push_errors(self, api_key: int, *errors: int) -> None:
        """The next requests of this kind, at any broker, are answered with these errors, and nothing else comes of
        them.  0: as usual; `CUT`: not answered."""
        codes = (ctypes.c_int * len(errors))(*errors)
        self._do_quietly("push_request_errors_array", api_key, len(errors), codes)

    def clear_errors(self, api_key: int) -> None:
        """Forget the errors pushed and not used up."""
        self._do_quietly("clear_request_errors", api_key)

    def move_coordinator(self, key: str, broker: int, kind: str = "transaction") -> None:
        """From now on this broker is the coordinator of a transactional id (or, ``kind="group"``, of a group)."""
        self._do("coordinator_set", kind.encode(), key.encode(), broker)

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """From now on this broker leads the partition; -1: none."""
        self._do("partition_set_leader", topic.encode(), partition, broker)

    def set_down(self, broker: int = ALL_BROKERS) -> None:
        """Cut all connections to it, and refuse new ones."""
        self._do("broker_set_down", broker)

    def set_up(self, broker: int = ALL_BROKERS) -> None:
        """Take connections again."""
        self._do("broker_set_up", broker)

    def set_round_trip(self, ms: int, broker: int = ALL_BROKERS) -> None:
        """Answers leave this much later, in real milliseconds."""
        self._do("broker_set_rtt", broker, ms)

    def set_versions(self, api_key: int, lowest: int, highest: int) -> None:
        """Versions offered of one kind of request, within what the mock can do; -1, -1: none."""
        self._do("set_apiversion", api_key, lowest, highest)

    def start_tracking(self) -> None:
        """Keep note of requests, for `requests`."""
        self._do_quietly("start_request_tracking")

    def requests(self) -> list[tuple[int, int]]:
        """(broker, API key) of each request since tracking began, oldest first."""
        count = ctypes.c_size_t()
        found = self._library.rd_kafka_mock_get_requests(self._cluster, ctypes.byref(count))
        taken = []
        for at in range(count.value):
            request = found[at]
            broker = self._library.rd_kafka_mock_request_id(request)
            taken.append((broker, self._library.rd_kafka_mock_request_api_key(request)))
        self._library.rd_kafka_mock_request_destroy_array(found, count)
        return taken

    def _do(self, name: str, *arguments: Any) -> None:
        if error := self._do_quietly(name, *arguments):
            raise RuntimeError(f"librdkafka's mock: {name}{arguments}: {confluent_kafka.KafkaError(error)}")

    def _do_quietly(self, name: str, *arguments: Any) -> int:
        result: int = getattr(self._library, f"rd_kafka_mock_{name}")(self._cluster, *arguments)
        return result


POINTER, NUMBER, WORDS, SIZE, SHORT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int16
SIGNATURES: dict[str, tuple[Any, Sequence[Any]]] = {
    "conf_new": (POINTER, ()),
    "conf_set": (NUMBER, (POINTER, WORDS, WORDS, WORDS, SIZE)),
    "new": (POINTER, (NUMBER, POINTER, WORDS, SIZE)),
    "destroy": (None, (POINTER,)),
    "mock_cluster_new": (POINTER, (POINTER, NUMBER)),
    "mock_cluster_destroy": (None, (POINTER,)),
    "mock_cluster_bootstraps": (WORDS, (POINTER,)),
    "mock_topic_create": (NUMBER, (POINTER, WORDS, NUMBER, NUMBER)),
    "mock_push_request_errors_array": (None, (POINTER, SHORT, SIZE, POINTER)),
    "mock_clear_request_errors": (None, (POINTER, SHORT)),
    "mock_coordinator_set": (NUMBER, (POINTER, WORDS, WORDS, ctypes.c_int32)),
    "mock_partition_set_leader": (NUMBER, (POINTER, WORDS, ctypes.c_int32, ctypes.c_int32)),
    "mock_broker_set_down": (NUMBER, (POINTER, ctypes.c_int32)),
    "mock_broker_set_up": (NUMBER, (POINTER, ctypes.c_int32)),
    "mock_broker_set_rtt": (NUMBER, (POINTER, ctypes.c_int32, NUMBER)),
    "mock_set_apiversion": (NUMBER, (POINTER, SHORT, SHORT, SHORT)),
    "mock_start_request_tracking": (None, (POINTER,)),
    "mock_get_requests": (ctypes.POINTER(POINTER), (POINTER, ctypes.POINTER(SIZE))),
    "mock_request_id": (ctypes.c_int32, (POINTER,)),
    "mock_request_api_key": (SHORT, (POINTER,)),
    "mock_request_destroy_array": (None, (ctypes.POINTER(POINTER), SIZE)),
}


@functools.cache
def _library() -> Any:
    """The librdkafka of the wheel, which is loaded already: result and argument types from `rdkafka_mock.h`."""
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    found = sorted(folder.glob("librdkafka-*.so*"))
    if not found:
        raise RuntimeError(f"no librdkafka in {folder}: confluent-kafka has to come from its wheel for Linux")
    library = ctypes.CDLL(str(found[0]))
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return library
