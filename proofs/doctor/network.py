"""This module reads a running cluster for the doctor, with no more than any client with read rights can see.

    with closing(NetworkSource("127.0.0.1:9093", client_security(file))) as source:
        source.listed(()); source.places(()); source.segments(Place("__transaction_state", 0))

What a broker denies, and what a broker that is away has, is a line in `gaps`; the rest is read. Transactional ids that
the client may not describe are not listed at all, which no answer says (ListTransactions). Rights that are
needed for all of it: Describe on the cluster's transactional ids, Read on topics, `__transaction_state` and
`__consumer_offsets`.

Sources: Kafka's ListTransactionsRequest.json, DescribeTransactionsRequest.json, DescribeProducersRequest.json (KIP-664)
and Errors.java; `source.RELEASES` has a broker's release by the metadata.version that it supports."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor.source import INTERNAL, Active, Listed, release_of
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.network_logs import NetworkLogs
from fencepost.proofs.recording.logs.segments import Segment
from fencepost.properties.nearest import error_text, instead
from fencepost.reference_impl.live.tcp.brokers import NOT_NOW, TRANSACTION, Brokers
from fencepost.reference_impl.live.tcp.connection import PLAINTEXT, NoAnswer, WireError
from fencepost.reference_impl.live.tcp.reading import Patience, build, part_about, reading
from fencepost.reference_impl.live.tcp.security import Security

TIMEOUT_S, PATIENCE_S = 5.0, 30.0
METADATA_VERSION = "metadata.version"
UNKNOWN_TOPIC, TOPIC_DENIED, ID_DENIED, NO_SUCH_ID = 3, 29, 53, 105
DENIED = {
    TOPIC_DENIED: "reading it is not allowed (TOPIC_AUTHORIZATION_FAILED)",
    ID_DENIED: "describing it is not allowed (TRANSACTIONAL_ID_AUTHORIZATION_FAILED)",
}
OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""In other states DescribeTransactions still has the start of the latest transaction."""
AT_ONCE = 100
"""So many transactional ids are described by one request."""


class NetworkSource:
    """A `NetworkSource` is a cluster over TCP; ``gaps`` has a line for each thing that could not be read. Damaged
    batches raise RecordingError, and a cluster that goes away WireError. Making one raises ValueError for a malformed
    list of servers, and WireError where none answers as Kafka does."""

    def __init__(
        self,
        bootstrap: str,
        security: Security = PLAINTEXT,
        timeout_s: float = TIMEOUT_S,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.name = bootstrap
        self.gaps: list[str] = []
        self._brokers = Brokers(bootstrap, timeout_s, security)
        self._logs = NetworkLogs(self._brokers, patience_s)
        self._patience_s = patience_s
        self._topic_ids: dict[str, str] = {}

    def releases(self) -> Mapping[str, str]:
        offers = self._brokers.offers
        of_nodes = {
            f"node {broker}": release_of(offers[broker].supported.get(METADATA_VERSION, 0)) if broker in offers else ""
            for broker in sorted(self._brokers.addresses)
        }
        return of_nodes | {name: str(level) for name, level in self._brokers.offered.features.items()}

    def now_ms(self) -> int:
        return int(time.time() * 1000)

    def places(self, topics: Collection[str]) -> Sequence[Place]:
        """Raise InputError for a topic that does not exist."""
        found = self._brokers.topics(topics or None)
        places = []
        for name, (error, leaders) in sorted(found.items()):
            if error == UNKNOWN_TOPIC:
                there = [each for each in self._brokers.topics(None) if not each.startswith(INTERNAL)]
                raise InputError(f"{self.name}: there is no topic {name!r}; {instead(name, there, 'kafka-topics.sh')}")
            if error in DENIED:
                self._gap(f"topic {name}", error)
            elif topics or not name.startswith(INTERNAL):
                places += [Place(name, number) for number in sorted(leaders)]
        return places

    def segments(self, place: Place, since_ms: int = -1, start: int = -1) -> Iterator[Segment]:
        try:
            if since_ms >= 0:
                start = max(start, self._logs.first_since(place, since_ms))
            yield from self._logs.segments(place, start)
        except WireError as error:
            self._unread(str(place), error)

    def poll(self, starts: Mapping[Place, int], wait_ms: int = 500) -> Iterator[tuple[Place, Segment]]:
        """Yield what there is of many partitions, each from its offset on, after one request to each leader, which is
        answered as soon as there is anything, or after `wait_ms`. The next starts are the offsets after what came."""
        yield from self._logs.poll(starts, wait_ms)
        for place, refused in self._logs.refused.items():
            self._gap(str(place), refused.code, str(refused))

    @property
    def away(self) -> Mapping[Place, str]:
        """The partitions that the latest `poll` could not read, with the reason; it asks for them again."""
        return self._logs.away

    @property
    def high(self) -> Mapping[Place, int]:
        """The high watermarks of those that have answered what the latest `poll` has asked."""
        return self._logs.high

    @property
    def lag_s(self) -> float:
        return 0.0

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """Brokers before release 2.8 have none."""
        ids = self._brokers.topic_ids(topics)
        for topic, topic_id in ids.items():
            if self._topic_ids.get(topic, topic_id) != topic_id:
                self._logs.forget(topic)
        self._topic_ids |= ids
        return ids

    def ends(self, place: Place) -> tuple[int, int, int]:
        """Return (0, 0, 0) for a partition that cannot be read."""
        try:
            return self._logs.ends(place)
        except WireError as error:
            self._unread(str(place), error)
            return 0, 0, 0

    def listed(self, transactional_ids: Collection[str]) -> Sequence[Listed]:
        """Return these transactional ids, or all that may be described; one that does not exist is left out."""
        version = self._brokers.offered.version("describe_transactions")
        if version is None or self._brokers.offered.version("list_transactions") is None:
            self._gap("transactional ids", 0, "brokers before release 3.0 do not list them")
            return []
        where = self._coordinators(transactional_ids) if transactional_ids else self._known_ids()
        found: list[Listed] = []
        why: dict[str, str] = {}
        for _ in Patience(self._patience_s):
            why = {}
            for broker, ids in _by_broker(where):
                found += self._described(version, broker, ids, why)
            if not why:
                break
            self._brokers.forget()
            where = self._coordinators(why)
        for each, failed in why.items():
            self._gap(f"transactional id {each}", 0, failed)
        return sorted(found)

    def active(self, place: Place) -> Sequence[Active]:
        version = self._brokers.offered.version("describe_producers")
        if version is None:
            self._gap("DescribeProducers", 0, "brokers before release 2.8 do not have it")
            return []
        topic = build(
            "describe_producers", version, "TopicRequest", name=place.topic, partition_indexes=(place.partition,)
        )
        request = build("describe_producers", version, topics=(topic,))
        try:
            _, found = self._brokers.ask_until(
                f"producers of {place}", lambda: self._brokers.leader(*place), request,
                lambda answer: part_about(*place, answer.topics), patience_s=self._patience_s,
            )  # fmt: skip
        except WireError as error:
            self._unread(f"producers of {place}", error)
            return []
        return [
            Active(
                place, int(each.producer_id), int(each.producer_epoch), int(each.last_sequence),
                int(each.last_timestamp), int(each.coordinator_epoch), int(each.current_txn_start_offset),
            )
            for each in found.active_producers
        ]  # fmt: skip

    def close(self) -> None:
        self._logs.close()

    def _known_ids(self) -> dict[str, int]:
        """Return the coordinator of each id. All brokers are asked again while one of them does not answer, since what
        it coordinates may have moved to one that was asked before."""
        request = build("list_transactions", self._brokers.offered.version("list_transactions") or 0)
        for _ in Patience(self._patience_s):
            listed: dict[str, int] = {}
            failed: dict[int, str] = {}
            for broker in sorted(self._brokers.addresses):
                try:
                    answer = self._brokers.ask(broker, request)
                except NoAnswer as error:
                    failed[broker] = str(error)
                    continue
                with reading(request, answer):
                    error_code = int(answer.error_code)
                    listed |= {str(each.transactional_id): broker for each in answer.transaction_states}
                if error_code:
                    failed[broker] = error_text(error_code)
            if not failed:
                return listed
            with suppress(NoAnswer):
                self._brokers.refresh()
        for broker, why in failed.items():
            self._gap(f"transactional ids that broker {broker} coordinates", 0, why)
        return listed

    def _coordinators(self, transactional_ids: Collection[str]) -> dict[str, int]:
        found = {}
        for each in sorted(set(transactional_ids)):
            try:
                found[each] = self._brokers.coordinator(TRANSACTION, each)
            except WireError as error:
                self._gap(f"transactional id {each}", getattr(error, "code", 0), str(error))
        return found

    def _described(self, version: int, broker: int, ids: Sequence[str], why: dict[str, str]) -> Iterator[Listed]:
        """Yield what a coordinator has of ids. `why` gets those that are to be asked for again."""
        request = build("describe_transactions", version, transactional_ids=tuple(ids))
        try:
            answer = self._brokers.ask(broker, request)
        except NoAnswer as error:
            why |= dict.fromkeys(ids, str(error))
            return
        with reading(request, answer):
            for each in answer.transaction_states:
                name, error_code = str(each.transactional_id), int(each.error_code)
                if error_code in NOT_NOW:
                    why[name] = error_text(error_code)
                elif error_code and error_code != NO_SUCH_ID:
                    self._gap(f"transactional id {name}", error_code)
                elif not error_code:
                    places = tuple(Place(str(topic.topic), int(n)) for topic in each.topics for n in topic.partitions)
                    state = str(each.transaction_state)
                    start_ms = int(each.transaction_start_time) if state in OPEN else -1
                    timeout_ms = round(each.transaction_timeout.total_seconds() * 1000)
                    yield Listed(
                        name,
                        state,
                        int(each.producer_id),
                        int(each.producer_epoch),
                        timeout_ms,
                        start_ms,
                        places,
                        broker,
                    )

    def _unread(self, what: str, error: WireError) -> None:
        """Note what could not be read; raise the error again where it is the cluster that is away, or another one."""
        if not self._brokers.is_same():
            raise error
        self._gap(what, getattr(error, "code", 0), str(error))

    def _gap(self, what: str, code: int, why: str = "") -> None:
        why = why.removeprefix(f"{self.name}: ").removeprefix(f"{what}: ")
        line = f"{what}: {DENIED.get(code) or why or error_text(code)}"
        if line not in self.gaps:
            self.gaps.append(line)


def _by_broker(where: Mapping[str, int]) -> Iterator[tuple[int, list[str]]]:
    for broker in sorted(set(where.values())):
        ids = sorted(each for each, its_broker in where.items() if its_broker == broker)
        yield from ((broker, ids[first : first + AT_ONCE]) for first in range(0, len(ids), AT_ONCE))
