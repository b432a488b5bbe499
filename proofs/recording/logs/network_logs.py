"""This module reads partitions from running brokers, as any client with read rights can: offsets, and record batches as
the leader has them in its log.

    logs = NetworkLogs(Brokers("127.0.0.1:9092", 5.0))
    for segment in logs.segments(Place("payments", 1)): …     # to the high watermark of now, 16 MB at a time
    logs.poll({Place("payments", 1): 42}, wait_ms=500)        # what came since, of many partitions at once

Fetch is asked with read_uncommitted, so that aborted and control batches are among what it returns, and compressed ones
as they are. A leader that moves is followed, a broker that is away is waited for, and a quota is obeyed. The next
Fetch is sent before what came is given out, so that broker and reader work at the same time.

Sources: Kafka's FetchRequest.json, ListOffsetsRequest.json and ConsumerFetch quotas (KafkaApis.handleFetchRequest: a
throttled answer names no topics); KIP-74 (of the first batch all is returned, however large)."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import HEADER, MAGIC_AT, Segment, checked_headers, walked
from fencepost.properties.nearest import error_text
from fencepost.reference_impl.live.tcp.brokers import NOT_NOW, Brokers, Refused
from fencepost.reference_impl.live.tcp.connection import Connection, NoAnswer, WireError, answered
from fencepost.reference_impl.live.tcp.reading import Patience, build, milliseconds, part_about, reading

MAX_BYTES = 2**24  # of one answer, unless its first batch is larger
WAIT_MS = 50  # for records that must be there, from a leader that has just become one
GRACE_MS = 250  # that an answer may take beyond what it was to wait
POLLED_BYTES = 2**20  # of one partition among others
EARLIEST, LATEST = -2, -1  # timestamps of ListOffsets
OUT_OF_RANGE = 1
MAGIC = 2


class Ends(NamedTuple):
    """An `Ends` has a partition's log start, last stable offset and high watermark, as its leader had them at once."""

    start: int
    stable: int
    high: int


class NetworkLogs:
    """A `NetworkLogs` reads partitions for one thread; `patience_s` is how long a leader may be away. Errors: `Refused`
    where a right is denied, `RecordingError` for what is damaged or of an old format, any other WireError in the end.
    """

    def __init__(self, brokers: Brokers, patience_s: float = 30.0) -> None:
        self.brokers = brokers
        self.patience_s = patience_s
        self.away: dict[Place, str] = {}
        """Why the latest `poll` has nothing of a partition, where that is not because nothing was written."""
        self.high: dict[Place, int] = {}
        """The high watermarks in answers to what the latest `poll` has asked itself, not an earlier one."""
        self.refused: dict[Place, Refused] = {}
        """The partitions that `poll` may not read, which it does not ask for again."""
        self._idle: dict[int, list[Connection]] = defaultdict(list)
        self._floor: dict[Place, int] = {}  # log starts that retention has moved above what is asked for
        self._lost: dict[Place, float] = {}  # since when there is no offset as is asked for
        self._turn: dict[Place, int] = defaultdict(int)
        self._asked_of: dict[int, _Asked] = {}  # what `poll` has asked of brokers that have not answered yet

    def ends(self, place: Place) -> Ends:
        for _ in Patience(self.patience_s):
            high = self._offset(place, LATEST, "high watermark")
            error, found = self._fetched(place, high, 1)  # the answer to Fetch has all three
            if not error:
                return Ends(int(found.log_start_offset), int(found.last_stable_offset), int(found.high_watermark))
        raise WireError(f"{self.brokers.bootstrap}: {place} has no offset {high}, which it names as its high watermark")

    def first_since(self, place: Place, time_ms: int) -> int:
        """Return the first offset whose record has this time or a later one; the high watermark if there is none."""
        found = self._offset(place, max(0, time_ms), f"offset of time {time_ms}")
        return found if found >= 0 else self._offset(place, LATEST, "high watermark")

    def segments(self, place: Place, start: int = -1) -> Iterator[Segment]:
        """Yield what lies from offset `start` on (-1: from the log start), up to the high watermark that the first
        answer names. A batch with `start` in its midst comes whole. Errors: those of the class."""
        position, end = max(start, self._offset(place, EARLIEST, "log start")), -1
        due = time.monotonic() + self.patience_s
        with _Ahead(self._idle, self.brokers) as ahead:
            while end < 0 or position < end:
                error, found = self._fetched(place, position, MAX_BYTES, ahead.ask, 0 if end < 0 else WAIT_MS)
                if error:
                    time.sleep(WAIT_MS / 1000)
                    position = self._back_in_range(place, position, due)
                    continue
                high = int(found.high_watermark)
                end = high if end < 0 else end
                content, positions, after = _batches(place, found.records, position)
                if after > position:
                    if after < end:
                        with suppress(NoAnswer):  # then it is sent again
                            ahead.send(self.brokers.leader(*place), self._fetch({place: after}, MAX_BYTES, WAIT_MS))
                    yield _segment(place, content, positions, position)
                    position, due = after, time.monotonic() + self.patience_s
                elif position < end and time.monotonic() > due:  # a new leader lags, or a remote tier is slow
                    what = f"nothing comes, though its high watermark is {high}, and was {end}"
                    raise WireError(f"{self.brokers.bootstrap}: {place}: from offset {position} on {what}")

    def poll(self, starts: Mapping[Place, int], wait_ms: int) -> Iterator[tuple[Place, Segment]]:
        """Yield what there is of these partitions, each from its offset on. Each leader gets one Fetch for all that it
        leads, and answers as soon as there is anything, or after `wait_ms`. One that takes longer keeps no other
        waiting: it answers in a later call, and its partitions are `away` after a while."""
        self.away, self.high = {}, {}
        late = set(self._asked_of)
        for broker, of_leader in self._by_leader(starts).items():
            if broker not in late:
                ahead, request = _Ahead(self._idle, self.brokers), self._fetch(of_leader, POLLED_BYTES, wait_ms)
                try:
                    ahead.send(broker, request)
                except NoAnswer as error:
                    self._no_news(of_leader, error)
                    continue
                due = time.monotonic() + wait_ms / 1000 + self.brokers.timeout_s
                self._asked_of[broker] = _Asked(ahead, request, of_leader, due)
        until, waits = time.monotonic() + (wait_ms + GRACE_MS) / 1000, self._asked_of.keys() - late or late
        begins = {place: max(start, self._floor.get(place, 0)) for place, start in starts.items()}
        while (left_s := until - time.monotonic()) > 0:
            waiting = {broker: asked.ahead.connection for broker, asked in self._asked_of.items()}
            ready = answered([connection for connection in waiting.values() if connection is not None], left_s)
            for broker in [each for each, connection in waiting.items() if any(connection is one for one in ready)]:
                asked = self._asked_of.pop(broker)
                try:
                    yield from self._polled(asked, begins, is_new=broker not in late)
                except NoAnswer as error:
                    self._no_news(asked.starts, error)
                finally:
                    asked.ahead.close()
            if not waits & self._asked_of.keys():
                break
        for broker in [broker for broker, asked in self._asked_of.items() if time.monotonic() > asked.due]:
            gone = self._asked_of.pop(broker)
            gone.ahead.close()
            self._no_news(gone.starts, NoAnswer(f"{self.brokers.bootstrap}: broker {broker} does not answer"))

    def _polled(self, asked: _Asked, begins: dict[Place, int], is_new: bool) -> Iterator[tuple[Place, Segment]]:
        answer = asked.ahead.receive(asked.request)
        with reading(asked.request, answer):
            parts = [
                (Place(topic.topic, int(p.partition_index)), p) for topic in answer.responses for p in topic.partitions
            ]
            found = [(place, part, asked.starts[place]) for place, part in parts]
        for place, part, start in found:
            error, what = int(part.error_code), f"{self.brokers.bootstrap}: fetch of {place} from offset {start}"
            if start != begins.get(place):
                continue  # another leader has answered meanwhile
            if error == OUT_OF_RANGE:
                due = self._lost.setdefault(place, time.monotonic()) + self.patience_s
                try:
                    self._floor[place] = self._back_in_range(place, start, due)
                except Refused as cut:
                    self.refused[place] = cut
            elif error in NOT_NOW:
                self._no_news([place], NoAnswer(f"{what}: {error_text(error)}"))
            elif error:
                self.refused[place] = Refused(f"{what}: {error_text(error)}", error)
            else:
                if is_new:
                    self.high[place] = int(part.high_watermark)
                content, positions, after = _batches(place, part.records, start)
                self._lost.pop(place, None)
                if after > start:
                    self._turn[place] += 1
                    begins[place] = after
                    yield place, _segment(place, content, positions, start)

    def _no_news(self, places: Iterable[Place], error: NoAnswer) -> None:
        self.brokers.forget()
        self.away |= dict.fromkeys(places, str(error))

    def forget(self, topic: str) -> None:
        """Forget what was found out about a topic that was made anew since."""
        for about in (self._floor, self._lost, self.refused):
            for place in [place for place in about if place.topic == topic]:
                del about[place]

    def close(self) -> None:
        for asked in self._asked_of.values():
            asked.ahead.close()
        for connection in chain.from_iterable(self._idle.values()):
            connection.close()
        self._asked_of.clear()
        self._idle.clear()
        self.brokers.close()

    def _by_leader(self, starts: Mapping[Place, int]) -> dict[int, dict[Place, int]]:
        """Group by leader. What was not served for longest comes first, since an answer may be full before the last."""
        leaders: dict[int, dict[Place, int]] = defaultdict(dict)
        for place in sorted(starts.keys() - self.refused.keys(), key=lambda place: (self._turn[place], place)):
            try:
                leaders[self.brokers.leader(*place)][place] = max(starts[place], self._floor.get(place, 0))
            except NoAnswer as error:
                self.away[place] = str(error)
            except Refused as error:
                self.refused[place] = error
        return leaders

    def _back_in_range(self, place: Place, position: int, due: float) -> int:
        """Return the log start, where retention has passed this position, or the same position once it is there."""
        start = self._offset(place, EARLIEST, "log start")
        high = self._offset(place, LATEST, "high watermark")
        if position > high and time.monotonic() >= due:
            what = (
                f"there is no offset {position}, the high watermark is {high}: the log was cut, or is another topic's"
            )
            raise Refused(f"{self.brokers.bootstrap}: {place}: {what}", OUT_OF_RANGE)
        return max(start, position)

    def _offset(self, place: Place, time_ms: int, what: str) -> int:
        version = self._version("list_offsets")
        part = build(
            "list_offsets", version, "ListOffsetsPartition", partition_index=place.partition, timestamp=time_ms
        )
        topic = build("list_offsets", version, "ListOffsetsTopic", name=place.topic, partitions=(part,))
        request = build("list_offsets", version, replica_id=-1, isolation_level=0, topics=(topic,))
        return int(self._asked(f"{what} of {place}", place, request, "topics")[1].offset)

    def _fetched(
        self,
        place: Place,
        offset: int,
        most_bytes: int,
        ask: Callable[[int, Any], Any] | None = None,
        wait_ms: int = 0,
    ) -> tuple[int, Any]:
        what, request = f"fetch of {place} from offset {offset}", self._fetch({place: offset}, most_bytes, wait_ms)
        with _Ahead(self._idle, self.brokers) as own:
            return self._asked(what, place, request, "responses", also=(OUT_OF_RANGE,), ask=ask or own.ask)

    def _asked(self, what: str, place: Place, request: Any, topics: str, **how: Any) -> tuple[int, Any]:
        def part(answer: Any) -> Any:
            return part_about(place.topic, place.partition, getattr(answer, topics))

        def leader() -> int:
            return self.brokers.leader(*place)

        return self.brokers.ask_until(what, leader, request, part, patience_s=self.patience_s, **how)

    def _fetch(self, starts: Mapping[Place, int], most_bytes: int, wait_ms: int = 0) -> Any:
        version = self._version("fetch")
        topics: dict[str, list[Any]] = defaultdict(list)
        for place, offset in starts.items():
            topics[place.topic].append(
                build(
                    "fetch", version, "FetchPartition", partition=place.partition, fetch_offset=offset,
                    partition_max_bytes=most_bytes,
                )
            )  # fmt: skip
        return build(
            "fetch", version, max_wait=milliseconds(wait_ms), min_bytes=1, max_bytes=MAX_BYTES, isolation_level=0,
            forgotten_topics_data=(),
            topics=tuple(
                build("fetch", version, "FetchTopic", topic=name, partitions=tuple(parts))
                for name, parts in topics.items()
            ),
        )  # fmt: skip

    def _version(self, api: str) -> int:
        version = self.brokers.offered.version(api)
        if version is None:
            raise WireError(f"{self.brokers.bootstrap}: its brokers have no version of {api} in common that is known")
        return version


class _Ahead:
    """An `_Ahead` has one request on its way, on a connection that nothing else uses."""

    def __init__(self, idle: dict[int, list[Connection]], brokers: Brokers) -> None:
        self._idle = idle
        self._brokers = brokers
        self._broker = -1
        self.connection: Connection | None = None
        self._sent: Any = None

    def __enter__(self) -> _Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, broker: int, request: Any) -> None:
        """Send a request whose answer `ask` or `receive` will return. Raise WireError."""
        self.close()
        idle = self._idle[broker]
        self.connection = idle.pop() if idle else self._brokers.connection(broker)
        self._broker, self._sent = broker, request
        try:
            self.connection.send(request)
        except WireError:
            self.close()
            raise

    def ask(self, broker: int, request: Any) -> Any:
        """Return the answer to a request, which is sent now unless it is on its way, and again after as long as a quota
        asks for. Raise WireError."""
        while True:
            if self._sent != request or self._broker != broker:
                self.send(broker, request)
            answer = self.receive(request)
            if answer.responses or not answer.throttle_time:
                return answer
            time.sleep(answer.throttle_time.total_seconds())

    def receive(self, request: Any) -> Any:
        """Return the answer to what was sent. Raise WireError."""
        assert self.connection is not None
        try:
            answer = self.connection.receive(type(request))
        except WireError:
            self.close()
            raise
        self._sent = None
        return answer

    def close(self) -> None:
        """Leave the connection to the next one, unless an answer is on its way, or none can come any more."""
        if self.connection is not None:
            if self._sent is None:
                self._idle[self._broker].append(self.connection)
            else:
                self.connection.close()
        self.connection, self._sent = None, None


class _Asked(NamedTuple):
    ahead: _Ahead
    request: Any
    starts: Mapping[Place, int]
    due: float


def _batches(place: Place, records: bytes | None, position: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the bytes of an answer without a last batch that is cut, where its batches begin, and the offset after
    them. Raise `RecordingError` for messages of an old format, which have no lengths to follow."""
    content = np.frombuffer(records or b"", np.uint8)
    positions, end = walked(content)
    if not len(positions):
        if len(content) > MAGIC_AT and content[MAGIC_AT] != MAGIC:
            what = f"offset {position} is of message format {content[MAGIC_AT]}, which knows no transactions"
            raise RecordingError(what, Path(str(place)), "leave this topic out, or name a later time with --since")
        return content, positions, position
    last = _header(content, positions[-1])
    return content[:end], positions, max(position, int(last["base_offset"]) + int(last["last_delta"]) + 1)


def _segment(place: Place, content: np.ndarray, positions: np.ndarray, position: int) -> Segment:
    file = Path(str(place))
    expected = min(position, int(_header(content, positions[0])["base_offset"]))
    return Segment(file, content, positions, checked_headers(file, content, positions, expected), None)


def _header(content: np.ndarray, at: int) -> np.void:
    header: np.void = content[at : at + HEADER.itemsize].view(HEADER)[0]
    return header
