"""What the doctor reads of brokers over TCP, and what becomes of answers that come late, are denied, or are wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fake_kafka import FakeKafka, code
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor.network import NetworkSource
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import Segment
from fencepost.reference_impl.live.tcp.connection import NoAnswer, WireError
from kio.static.primitive import i32Timedelta
from transaction_logs import marker, sent

HERE = Place("pay", 0)
FETCH = "fetch of pay-0 from offset 0"
LOG = [*(sent(offset, (7, 0), offset, b"v") for offset in range(9)), marker(9, (7, 0), commit=True)]
DENIED, NOT_LEADER, LOADING, NO_SUCH_ID, UNKNOWN = 29, 6, 14, 105, 3
Mangle = Callable[[str, int, Any], Any]


@pytest.fixture
def kafka() -> Iterator[FakeKafka]:
    with FakeKafka(brokers=3) as kafka:
        kafka.topics |= {"pay": 2, "__transaction_state": 1}
        kafka.logs["pay", 0], kafka.logs["pay", 1] = list(LOG), LOG[:3]
        yield kafka


def source(kafka: FakeKafka, patience_s: float = 20.0, timeout_s: float = 5.0) -> Any:
    return closing(NetworkSource(kafka.bootstrap, timeout_s=timeout_s, patience_s=patience_s))


def content(read: NetworkSource, place: Place = HERE, **where: int) -> bytes:
    return b"".join(segment.content.tobytes() for segment in read.segments(place, **where))


def of_partitions(answer: Any, **changed: Any) -> Any:
    """The answer to a Fetch, with these fields in each partition."""
    topics = [
        replace(topic, partitions=tuple(replace(part, **changed) for part in topic.partitions))
        for topic in answer.responses
    ]
    return replace(answer, responses=tuple(topics))


def once(api: str, change: Callable[[Any], Any], after: int = 0) -> Mangle:
    """Changes one answer, after that many of the kind."""
    count = iter(range(1_000_000))
    return lambda asked, _, answer: change(answer) if asked == api and next(count) == after else answer


def always(api: str, change: Callable[[Any], Any]) -> Mangle:
    return lambda asked, _, answer: change(answer) if asked == api else answer


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_a_log_comes_whole_in_pieces(kafka: FakeKafka, at_once: int) -> None:
    kafka.at_once = at_once
    with source(kafka) as read:
        assert content(read) == b"".join(LOG)
        assert content(read, start=7) == b"".join(LOG[7:])
        assert read.ends(HERE) == (0, 10, 10)
        pieces = list(read.segments(HERE))
    assert len(pieces) == -(-10 // at_once)
    assert [int(offset) for piece in pieces for offset in piece.last_offsets] == list(range(10))


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: of_partitions(answer, error_code=code(NOT_LEADER), records=None),
        lambda answer: replace(answer, responses=(), throttle_time=i32Timedelta.parse(timedelta(milliseconds=20))),
        lambda answer: of_partitions(answer, records=answer.responses[0].partitions[0].records[:-3]),
        lambda answer: of_partitions(answer, records=None, high_watermark=0),
        lambda answer: of_partitions(answer, records=None),
    ],
    ids=["leader moved", "quota", "last batch cut", "new leader lags", "remote tier is slow"],
)
@pytest.mark.parametrize("after", [1, 2])
def test_what_passes_is_waited_for(kafka: FakeKafka, change: Callable[[Any], Any], after: int) -> None:
    """The log is read whole all the same, without a batch twice."""
    kafka.at_once = 2
    kafka.mangle = once("fetch", change, after)
    with source(kafka) as read:
        assert content(read) == b"".join(LOG)


def test_a_connection_that_breaks_is_made_anew(kafka: FakeKafka) -> None:
    kafka.at_once, count = 2, iter(range(100))
    kafka.bytes = lambda api, payload: payload[:9] if api == "fetch" and next(count) == 2 else payload
    with source(kafka) as read:
        content(read)
        assert "no answer that can be read" in read.gaps[0], "half an answer is no silence"
    kafka.bytes = lambda api, payload: payload
    kafka.mangle = once("fetch", _too_late, 2)
    with source(kafka, timeout_s=0.3) as read:
        assert content(read) == b"".join(LOG)


def _too_late(answer: Any) -> Any:
    time.sleep(0.5)
    return answer


def test_retention_may_pass_a_reader(kafka: FakeKafka) -> None:
    """Reading goes on from the new log start."""
    kafka.at_once = 2
    with source(kafka) as read:
        pieces = read.segments(HERE)
        first = next(pieces)
        kafka.start = 6
        rest = b"".join(piece.content.tobytes() for piece in pieces)
    assert first.content.tobytes() == b"".join(LOG[:2])
    assert rest in (b"".join(LOG[2:4] + LOG[6:]), b"".join(LOG[6:])), (
        "what was asked for ahead, perhaps, and what is left"
    )


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda a: of_partitions(a, records=LOG[0][:-1] + b"x"), RecordingError, "fails its checksum"),
        (lambda a: of_partitions(a, records=LOG[0][:16] + b"\1" + LOG[0][17:]), RecordingError, "format"),
    ],
)
def test_what_is_damaged_ends_in_a_line(
    kafka: FakeKafka, change: Callable[[Any], Any], error: type[Exception], words: str
) -> None:
    kafka.mangle = always("fetch", change)
    with source(kafka) as read, pytest.raises(error, match=words) as ended:
        content(read)
    assert "\n" not in str(ended.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda a: of_partitions(a, records=LOG[0][:50]),
            "from offset 0 on nothing comes, though its high watermark is 10, and was 10",
        ),
        (
            lambda a: of_partitions(a, error_code=code(56)),
            f"{FETCH}: error KAFKA_STORAGE_ERROR (56)",
        ),
        (
            lambda a: of_partitions(a, error_code=code(-1)),
            f"{FETCH}: error UNKNOWN_SERVER_ERROR (-1)",
        ),
    ],
)
def test_what_stays_wrong_is_a_gap(kafka: FakeKafka, change: Callable[[Any], Any], words: str) -> None:
    kafka.mangle = always("fetch", change)
    with source(kafka, patience_s=0.2) as read:
        assert content(read) == b""
        [gap] = read.gaps
    assert gap.startswith(f"pay-0: {words}")


def test_a_cluster_that_goes_away(kafka: FakeKafka) -> None:
    """It is no gap: nothing can be told."""
    with source(kafka, patience_s=0.2, timeout_s=0.3) as read:
        kafka.mangle = lambda api, version, answer: _too_late(answer)
        with pytest.raises(WireError, match="no answer to"):
            content(read)


def test_a_log_that_was_cut_is_named(kafka: FakeKafka) -> None:
    """A checkpoint of a following reader may be beyond the end, after an unclean election or in another topic."""
    with source(kafka, patience_s=0.2) as read:
        assert content(read, start=11) == b""
        assert read.gaps[0].startswith("pay-0: there is no offset 11, the high watermark is 10")
    with source(kafka, patience_s=0.05) as read:
        while not read.gaps:
            assert not list(read.poll({HERE: 11}))
        assert "there is no offset 11" in read.gaps[0]
        assert polled(read, {Place("pay", 1): 0}).keys() == {Place("pay", 1)}


def test_a_denied_right_is_a_gap(kafka: FakeKafka) -> None:
    """Nothing is raised, and the rest is read."""

    def denied(api: str, version: int, answer: Any) -> Any:
        if api == "fetch":
            return of_partitions(answer, error_code=code(DENIED), records=None)
        if api == "metadata":
            return replace(
                answer,
                topics=tuple(
                    replace(each, error_code=code(DENIED), partitions=()) if each.name.startswith("__") else each
                    for each in answer.topics
                ),
            )
        return answer

    kafka.mangle = denied
    with source(kafka) as read:
        assert read.places(()) == [HERE, Place("pay", 1)]
        assert read.places(["__transaction_state", "pay"]) == read.places(())
        assert content(read) == b""
        assert read.ends(HERE) == (0, 0, 0)
        while len(read.gaps) < 3:
            assert not list(read.poll({HERE: 0, Place("pay", 1): 0}))
        assert read.gaps == [
            f"{what}: reading it is not allowed (TOPIC_AUTHORIZATION_FAILED)"
            for what in ("topic __transaction_state", "pay-0", "pay-1")
        ]


def test_a_topic_that_is_not_there(kafka: FakeKafka) -> None:
    with source(kafka) as read, pytest.raises(InputError, match="there is no topic 'pya'; did you mean pay"):
        read.places(["pya"])


def test_many_partitions_by_one_request_to_each_leader(kafka: FakeKafka) -> None:
    with source(kafka) as read:
        starts = {HERE: 4, Place("pay", 1): 0}
        found = polled(read, starts)
        assert {place: int(segment.last_offsets[-1]) for place, segment in found.items()} == {
            HERE: 9,
            Place("pay", 1): 2,
        }
        assert found[HERE].content.tobytes() == b"".join(LOG[4:])
        assert kafka.asked.count((1, "fetch")) == kafka.asked.count((2, "fetch")) == 1
        kafka.mangle = once("fetch", lambda answer: of_partitions(answer, error_code=code(NOT_LEADER), records=None))
        while not read.away:
            assert not list(read.poll({HERE: 0}))
        assert "error NOT_LEADER_OR_FOLLOWER (6)" in read.away[HERE]
        assert polled(read, {HERE: 0}).keys() == {HERE}
        assert read.away == {}


def test_a_broker_that_hangs_keeps_no_other_waiting(kafka: FakeKafka) -> None:
    """What is written meanwhile is read at once, and once; the partitions of the one that hangs are named."""
    other, stuck = Place("pay", 1), threading.Event()
    with source(kafka, timeout_s=1) as read:
        kafka.hold = lambda broker, api: stuck.wait(5) if (broker, api) == (1, "fetch") else None
        came: list[int] = []
        while len(came) < 3:
            for place, segment in read.poll({HERE: 0, other: 3 + len(came)}, wait_ms=20):
                assert place == other
                came += segment.last_offsets.tolist()
            kafka.logs["pay", 1] = LOG[: 4 + len(came)]
        assert came == [3, 4, 5]
        while not read.away:
            list(read.poll({HERE: 0}, wait_ms=20))
        assert "broker 1 does not answer" in read.away[HERE]
        stuck.set()
        assert polled(read, {HERE: 0}).keys() == {HERE}


def polled(read: NetworkSource, starts: dict[Place, int]) -> dict[Place, Segment]:
    """What comes of all of these partitions, of which each has something."""
    found: dict[Place, Segment] = {}
    while found.keys() != starts.keys():
        found |= read.poll({place: start for place, start in starts.items() if place not in found})
    return found


def test_transactional_ids_of_all_coordinators(kafka: FakeKafka) -> None:
    """Who is loading is asked again, with all others; an id that is gone meanwhile is left out."""
    kafka.listed = {1: ["b"], 3: ["a", "c"]}
    kafka.mangle = once("list_transactions", lambda answer: replace(answer, error_code=code(LOADING)), 1)
    with source(kafka) as read:
        assert [(each.transactional_id, each.coordinator) for each in read.listed(())] == [("a", 3), ("b", 1), ("c", 3)]
        assert {each.state for each in read.listed(())} == {"Empty"}
        kafka.mangle = always("describe_transactions", lambda answer: _with(answer, {"c": NO_SUCH_ID}))
        assert [each.transactional_id for each in read.listed(())] == ["a", "b"]
        kafka.mangle = once("describe_transactions", lambda answer: _with(answer, dict.fromkeys("abc", 16)))
        assert [each.coordinator for each in read.listed(["a", "c"])] == [3, 3], "asked again, where it is now"
        assert read.gaps == []
        kafka.mangle = always("describe_transactions", lambda answer: _with(answer, {"a": 53}))
        assert [each.transactional_id for each in read.listed(["a", "c"])] == ["c"]
        assert read.gaps == ["transactional id a: describing it is not allowed (TRANSACTIONAL_ID_AUTHORIZATION_FAILED)"]


def _with(answer: Any, codes: dict[str, int]) -> Any:
    states = tuple(
        replace(each, error_code=code(codes.get(each.transactional_id, 0))) for each in answer.transaction_states
    )
    return replace(answer, transaction_states=states)


def test_a_coordinator_that_stays_away_is_a_gap(kafka: FakeKafka) -> None:
    kafka.listed = {1: ["a"], 2: ["b"]}
    kafka.stop(2)
    with source(kafka, patience_s=0.3) as read:
        assert [each.transactional_id for each in read.listed(())] == ["a"]
        [gap] = read.gaps
        assert gap.startswith("transactional ids that broker 2 coordinates: ")


def test_releases_are_of_what_brokers_support(kafka: FakeKafka) -> None:
    """A broker that names no metadata.version is of no known release."""
    with source(kafka) as read:
        assert read.releases() == {"node 1": "", "node 2": "", "node 3": "", "transaction.version": "2"}


def test_no_cluster_is_one_line() -> None:
    with pytest.raises(NoAnswer, match=r"no bootstrap server answered: 127\.0\.0\.1:1: cannot connect") as ended:
        NetworkSource("127.0.0.1:1", timeout_s=0.3)
    assert "\n" not in str(ended.value)
    with pytest.raises(ValueError, match="is not host:port"):
        NetworkSource("somewhere")
