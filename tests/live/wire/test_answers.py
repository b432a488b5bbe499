"""Answers that cannot be read, of every kind and to every request: told with the request and the answer, and never a
verdict on the brokers; and what can be read in spite of its looks is read.

`fake_kafka` answers, without a broker.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from fake_kafka import API_KEYS, FakeKafka, code
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.search import Unreachable, Watch
from fencepost.properties.driving import Made, Run, read
from fencepost.properties.transactions.interface import Call
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.live import over_tcp
from fencepost.reference_impl.live.tcp.connection import Unreadable, WireError, find_brokers
from fencepost.reference_impl.live.tcp.decoding import decode
from fencepost.reference_impl.live.tcp.reading import Patience
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

OFFSETS = 2  # the partition behind the data partitions
ALL_OF_IT = {"partitions": 2, "groups": 1}
PROGRAM = (
    Call("init", 0), Call("settle", 200, **ALL_OF_IT), Call("begin", 0),
    *(Call("send", 0, partition) for partition in (0, 1, OFFSETS)),
    Call("settle", 202, **ALL_OF_IT), Call("commit", 0), Call("settle", 204, **ALL_OF_IT), Call("read", 0, 0, True),
    Call("read", 1, 1, False), Call("fetch_offset", 0, OFFSETS),
)  # fmt: skip
"""Every request of the interface is made in it."""

OF_A_PLACE = ("add_partitions_to_txn", "produce", "txn_offset_commit", "fetch", "offset_fetch")
"""Their answers speak of one partition."""
UNASKED = ("delete_topics", "describe_producers", "list_transactions")
ANSWERED = tuple(api for api in API_KEYS if api not in UNASKED)
CODES = st.one_of(st.integers(-1, 135), st.integers(-32768, 32767))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for: what does not come at once does not come."""
    monkeypatch.setattr(Patience, "__iter__", lambda self: iter(range(3)))
    monkeypatch.setattr("fencepost.reference_impl.live.tcp.connection.PROBED_S", 0.2)


def driven(kafka: FakeKafka, mode: str) -> tuple[list[Made], Exception | None]:
    """The calls that were made, and why they ended early. `Disagreed` is a verdict, and passed on."""
    config = {
        "seed": 0, "mode": mode, "clients": 1, "partitions": 2, "groups": 1, "bootstrap": kafka.bootstrap,
        "answer_timeout_ms": 300,
    }  # fmt: skip
    try:
        run = Run(over_tcp, config, Reported())
    except WireError as error:
        return [], error
    for call in PROGRAM:
        try:
            run.call(call)
        except Unreachable as gone:
            return list(run.made), gone.error
    return list(run.made), None


class Reported(Watch):
    """Raises where a call raised, as agreement does, and holds nothing against anything."""

    def __init__(self) -> None:
        config = {"mode": "v1", "clients": 1, "partitions": 2, "groups": 1}
        super().__init__(replace(OVER_THE_WIRE, follow=None), config, frozenset(), frozenset(), Coverage.none())


def with_code(answer: Any, number: int) -> Any:
    """The answer with this code wherever it has one."""
    return _everywhere(answer, lambda name, value: code(number) if name.endswith("error_code") else value)


def _everywhere(answer: Any, change: Callable[[str, Any], Any]) -> Any:
    if isinstance(answer, tuple):
        return tuple(_everywhere(each, change) for each in answer)
    if not is_dataclass(answer):
        return answer
    values = {f.name: _everywhere(change(f.name, getattr(answer, f.name)), change) for f in fields(answer)}
    return replace(answer, **values)


def emptied(answer: Any) -> Any:
    """The answer with nothing in its lists."""
    return _everywhere(answer, lambda _, value: () if isinstance(value, tuple) else value)


def halved(answer: Any) -> Any:
    """The answer with the topics, and no partitions in them."""
    lists = {f.name: getattr(answer, f.name) for f in fields(answer) if isinstance(getattr(answer, f.name), tuple)}
    return replace(answer, **{name: tuple(map(emptied, found)) for name, found in lists.items()})


def doubled(answer: Any) -> Any:
    """The answer with everything in its lists twice."""
    return _everywhere(answer, lambda _, value: value * 2 if isinstance(value, tuple) else value)


def elsewhere(answer: Any) -> Any:
    """The answer about other topics and partitions."""

    def change(name: str, value: Any) -> Any:
        if name in ("name", "topic", "transactional_id"):
            return "another"
        return value + 1 if name in ("index", "partition_index") else value

    return _everywhere(answer, change)


def with_unknown_tags(payload: bytes) -> bytes:
    """A flexible answer whose last tagged fields, of which there are none, are two that this reader cannot know."""
    assert payload[-1:] == b"\0"
    return payload[:-1] + b"\x02\x4d\x03abc\xb0\x09\x00"


def changed(api: str, change: Callable[[Any], Any]) -> Callable[[str, int, Any], Any]:
    """Nothing but answers to `api`."""
    return lambda asked, version, answer: change(answer) if asked == api else answer


MODE = {"add_partitions_to_txn": "v1", "add_offsets_to_txn": "v1"}


@pytest.mark.parametrize("change", [emptied, halved, doubled, elsewhere])
@pytest.mark.parametrize("api", OF_A_PLACE)
def test_an_answer_without_what_was_asked_for(api: str, change: Callable[[Any], Any]) -> None:
    """No partition, several, or another one: it is told what was asked and what was answered."""
    with FakeKafka() as kafka:
        kafka.mangle = changed(api, change)
        _, error = driven(kafka, MODE.get(api, "v2"))
    assert isinstance(error, Unreadable), error
    reported = str(error)
    assert "that cannot be read" in reported and "\n" not in reported
    response = "".join(word.capitalize() for word in api.split("_")) + "Response"
    assert response in reported


def test_an_error_without_topics() -> None:
    """OffsetFetch refused as a whole is no offset, and no promise is broken by it (found on brokers that authorize)."""
    with FakeKafka() as kafka:
        kafka.mangle = changed("offset_fetch", lambda answer: replace(answer, error_code=code(30), topics=()))
        made, error = driven(kafka, "v2")
    assert isinstance(error, WireError)
    assert "offset fetch of group" in str(error) and "error GROUP_AUTHORIZATION_FAILED (30)" in str(error)
    assert all(each.error is None for each in made[:-1])


def test_what_is_pending_is_an_answer() -> None:
    """The one error of OffsetFetch that says something of transactions, as a whole or of the partition."""
    for change in (lambda answer: replace(answer, error_code=code(88), topics=()), lambda a: with_code(a, 88)):
        with FakeKafka() as kafka:
            kafka.mangle = changed("offset_fetch", change)
            made, error = driven(kafka, "v2")
        assert error is None
        assert made[-1].result == (88, -1)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (29, "TOPIC_AUTHORIZATION_FAILED"),
        (30, "GROUP_AUTHORIZATION_FAILED"),
        (31, "CLUSTER_AUTHORIZATION_FAILED"),
        (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
    ],
)
def test_what_is_not_allowed_is_no_verdict(number: int, name: str) -> None:
    """The owner of the brokers has not allowed it."""
    with FakeKafka() as kafka:
        kafka.mangle = changed("produce", lambda answer: with_code(answer, number))
        _, error = driven(kafka, "v2")
    assert isinstance(error, WireError)
    assert f"is not allowed here: error {name} ({number});" in str(error)


@pytest.mark.parametrize("api", ["offset_fetch", "end_txn", "init_producer_id", "create_topics", "produce", "fetch"])
def test_fields_that_came_later_are_passed_over(api: str) -> None:
    """A broker may send tagged fields that its reader does not know (KIP-482): the rest is as it was."""
    seen = []
    for tags in (False, True):
        with FakeKafka() as kafka:
            if tags:
                kafka.bytes = lambda asked, payload: with_unknown_tags(payload) if asked == api else payload
            made, error = driven(kafka, "v2")
        assert error is None
        seen.append([(read(e, "kind"), read(e, "error"), read(e, "epoch")) for m in made for e in m.events])
    assert seen[0] == seen[1]
    assert len(seen[0]) > 10


@pytest.mark.parametrize("api", ["offset_fetch", "produce", "init_producer_id", "metadata"])
def test_a_length_that_cannot_be_ends_nothing(api: str) -> None:
    """A list that says to have two milliards of elements is not waited for, nor given memory."""
    with FakeKafka() as kafka:
        kafka.bytes = lambda asked, payload: payload[:4] + b"\xff\xff\xff\xff\x07" * 3 if asked == api else payload
        _, error = driven(kafka, "v2")
    assert isinstance(error, WireError)
    assert "answer" in str(error)


@pytest.mark.parametrize("number", [-1, 7, 30, 56, 9999])
@pytest.mark.parametrize("api", ANSWERED)
def test_every_answer_with_an_error(api: str, number: int) -> None:
    """The client is told so, or the brokers are of no use; no call raises anything else."""
    with FakeKafka() as kafka:
        kafka.mangle = changed(api, lambda answer: with_code(answer, number))
        made, error = driven(kafka, MODE.get(api, "v2"))
    assert error is None or isinstance(error, WireError), repr(error)
    assert made or error is not None


Change = Callable[[Any], Any]


def changes() -> st.SearchStrategy[Change]:
    """Ways for an answer to be wrong."""
    plain = st.sampled_from((emptied, halved, doubled, elsewhere))
    return st.one_of(plain, CODES.map(lambda number: lambda answer: with_code(answer, number)))


def cuts() -> st.SearchStrategy[Callable[[bytes], bytes]]:
    """Ways for its bytes to be wrong."""
    bits = st.tuples(st.integers(4, 200), st.integers(0, 255))

    def flipped(payload: bytes, at: int, byte: int) -> bytes:
        return payload[:at] + bytes([byte]) + payload[at + 1 :]

    return st.one_of(
        bits.map(lambda drawn: lambda payload: flipped(payload, *drawn)),
        st.integers(0, 60).map(lambda left: lambda payload: payload[:left]),
        st.binary(min_size=1, max_size=9).map(lambda more: lambda payload: payload + more),
        st.binary(max_size=40).map(lambda other: lambda payload: payload[:4] + other),
    )


@given(
    api=st.sampled_from(ANSWERED), mode=st.sampled_from(("v1", "v2")), change=changes(), cut=cuts(),
    bytewise=st.booleans(), after=st.integers(0, 3),
)  # fmt: skip
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_answer_is_too_wrong(
    api: str, mode: str, change: Change, cut: Callable[[bytes], bytes], bytewise: bool, after: int
) -> None:
    """Whatever is answered, from some answer on: the calls go on, or it is told that they cannot; nothing else is
    raised, and nothing hangs."""
    left = after

    def later(asked: str) -> bool:
        nonlocal left
        left -= asked == api
        return asked == api and left < 0

    with FakeKafka() as kafka:
        if bytewise:
            kafka.bytes = lambda asked, payload: cut(payload) if later(asked) else payload
        else:
            kafka.mangle = lambda asked, version, answer: change(answer) if later(asked) else answer
        _, error = driven(kafka, mode)
    assert error is None or isinstance(error, WireError), repr(error)
    assert "\n" not in str(error)


@given(st.binary(max_size=200), st.sampled_from(ANSWERED))
@settings(max_examples=300, deadline=None)
def test_no_bytes_are_too_wrong(payload: bytes, api: str) -> None:
    """Any bytes are a response, or not: then it is a ValueError."""
    from fencepost.reference_impl.live.tcp.versions import OURS

    for version in (3,) if api == "api_versions" else (OURS[api].least, OURS[api].most):
        kind = _response(api, version)
        try:
            answer, end = decode(kind, payload)
        except ValueError:
            continue
        assert isinstance(answer, kind)
        assert 0 < end <= len(payload)


def _response(api: str, version: int) -> Any:
    from importlib import import_module

    name = "".join(word.capitalize() for word in api.split("_")) + "Response"
    return getattr(import_module(f"kio.schema.{api}.v{version}.response"), name)


def test_no_verdict_comes_of_it() -> None:
    """Agreement ends where an answer cannot be read, also in the middle of a program, with what was answered."""
    with FakeKafka() as kafka:
        kafka.mangle = changed("offset_fetch", lambda answer: replace(answer, error_code=code(30), topics=()))
        with pytest.raises(WireError, match="offset fetch of group"):
            agree(
                over_tcp, protocol=OVER_THE_WIRE, variant="v2", max_examples=5, promises={"txn.P8"},
                config={"bootstrap": kafka.bootstrap, "groups": 1, "answer_timeout_ms": 300},
            )  # fmt: skip


@pytest.mark.parametrize("silent", [False, True])
def test_a_port_that_speaks_http(silent: bool) -> None:
    """Another server's port is named by what it speaks; also where it waits in silence for the end of a line."""

    class Handler(BaseHTTPRequestHandler):
        def handle(self) -> None:
            if not silent or self.rfile.peek(4)[:4] == b"GET ":
                self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            else:
                self.request.recv(100)

        def log_message(self, *_: object) -> None:
            """Not said."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        where = f"127.0.0.1:{server.server_port}"
        with pytest.raises(WireError, match=f"{where}: speaks HTTP, not Kafka"):
            over_tcp({"mode": "v2", "clients": 1, "partitions": 1, "bootstrap": where, "answer_timeout_ms": 200})
        with pytest.raises(WireError, match="speaks HTTP, not Kafka"):
            find_brokers(where, 0.2)
        server.shutdown()


@pytest.fixture
def three() -> Iterator[FakeKafka]:
    with FakeKafka(brokers=3, controller=3, not_yet=4) as kafka:
        yield kafka


def test_a_cluster_that_forwards_nothing(three: FakeKafka) -> None:
    """Topics are made by the controller, whichever broker that is, and a coordinator that is not known yet is asked for
    again, at another broker."""
    _, error = driven(three, "v2")
    assert error is None
    assert three.to(3, "create_topics") >= 1
    assert three.to(1, "create_topics") == three.to(2, "create_topics") == 0
    assert len({broker for broker, api in three.asked if api == "find_coordinator"}) == 3


def test_a_controller_that_is_not_named(three: FakeKafka) -> None:
    """Where the brokers do not say who it is, they are asked in turn."""
    three.mangle = changed("metadata", lambda answer: replace(answer, controller_id=-1))
    _, error = driven(three, "v2")
    assert error is None
    assert three.to(3, "create_topics") >= 1


def test_a_controller_that_has_moved(three: FakeKafka) -> None:
    """The broker that was it says so, and the next is asked."""
    moved: list[int] = []

    def move(api: str, version: int, answer: Any) -> Any:
        if api == "create_topics" and not moved:
            moved.append(three.controller)
            three.controller = 1
            return with_code(answer, brokers_not_controller)
        return answer

    brokers_not_controller = 41
    three.mangle = move
    _, error = driven(three, "v2")
    assert error is None
    assert three.to(1, "create_topics") == 1


def test_brokers_that_cannot_choose_how_many_replicas() -> None:
    """Before Kafka 2.4, and elsewhere, -1 is refused: then as many as there are brokers, three at most."""
    asked: list[int] = []
    with FakeKafka(brokers=3) as kafka:
        kafka.mangle = changed(
            "create_topics", lambda a: with_code(a, 38) if (asked.append(1), len(asked))[1] < 2 else a
        )
        _, error = driven(kafka, "v2")
    assert error is None
    assert len(asked) == 2
