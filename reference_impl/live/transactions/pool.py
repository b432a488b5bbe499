"""This module has the partitions that only one system uses at a time: they are created in batches, and used again only
when no transaction is open and no marker is due in them.

If a system that is gone has left a transaction open in a partition, the partition is freed by fencing that system's
transactional id. A partition that stays blocked after that (which happens where nothing is verified: txn.15) is never
used again. A marker is due also where a transaction has added a partition and written nothing: the coordinator is asked
about that.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from fencepost.reference_impl.kafka.errors import ErrorCode, error_text
from fencepost.reference_impl.live.tcp.brokers import READY_S, TRANSACTION, Brokers
from fencepost.reference_impl.live.tcp.connection import NoAnswer, WireError
from fencepost.reference_impl.live.tcp.reading import Patience, build, milliseconds, only, reading
from fencepost.reference_impl.live.transactions.config import Place
from fencepost.reference_impl.live.transactions.remote import TRY_AGAIN

FIRST_BATCH, LARGEST_BATCH = 8, 64  # partitions created at a time
FENCES = 2  # tries to free a partition
LATEST = -1
WITH_IDS = 12  # the version of Metadata that has a topic's id
BROKERS_CHOOSE, REPLICAS = -1, 3  # of a topic; the first since Kafka 2.4 (KIP-464)
ELSEWHERE = frozenset({7, 14, 15, 41})  # in time, loading, not available, not the controller: ask again, perhaps others
NOT_THERE, THERE_ALREADY, INVALID_REPLICATION = 3, 36, 38
FENCE_TIMEOUT_MS = 60_000
NEVER_BEGUN = 105  # TRANSACTIONAL_ID_NOT_FOUND
UNSETTLED = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


class Returned(NamedTuple):
    """A `Returned` has the places of a system that is gone, and its transactional id."""

    places: tuple[Place, ...]
    transactional_id: str
    tries: int = 0


class Pool:
    """A `Pool` has all partitions of one process in one cluster. ``returned`` may be appended to at any time."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._prefix = f"fencepost-{uuid4().hex[:8]}"
        self._names = 0
        self._topics = 0
        self._free: deque[Place] = deque()
        self._made: list[str] = []  # topics
        self._whole: dict[int, tuple[str, UUID]] = {}  # topics by their number of partitions
        self.returned: deque[Returned] = deque()
        self._warm_up()

    def fresh_name(self) -> str:
        self._names += 1
        return f"{self._prefix}-{self._names}"

    def take(self, count: int) -> list[Place]:
        """Return partitions without open transactions, with known ends. Raise WireError if none can be made."""
        if len(self._free) < count:
            self._take_back()
        while len(self._free) < count:
            self._free.extend(self._create(min(FIRST_BATCH << self._topics, LARGEST_BATCH)))
        return [self._free.popleft() for _ in range(count)]

    def whole_topic(self, count: int) -> tuple[str, UUID]:
        """Return a topic with exactly this many partitions, and its id. All systems share it, and none writes to it."""
        if count not in self._whole:
            topic = self._create(count)[0].topic
            asked = build("metadata", WITH_IDS, "MetadataRequestTopic", topic_id=None, name=topic)
            answer = self._brokers.ask_any(
                build(
                    "metadata", WITH_IDS, topics=(asked,), allow_auto_topic_creation=False,
                    include_topic_authorized_operations=False,
                )
            )  # fmt: skip
            with reading(asked, answer):
                self._whole[count] = topic, only(answer.topics, "topics", lambda each: each.name == topic).topic_id
        return self._whole[count]

    def _create(self, count: int) -> list[Place]:
        topic = f"{self._prefix}-topic-{self._topics}"
        self._topics += 1
        version = self._brokers.offered.version("create_topics")
        if version is not None:
            self._made.append(topic)
            self._create_topic(topic, count, version)
        for _ in Patience(READY_S):  # without CreateTopics, asking for the topic makes it, as large as the broker likes
            leaders = self._brokers.refresh(topic, create=version is None)
            if len(leaders) >= (count if version is not None else 1) and min(leaders.values()) >= 0:
                places = [Place(topic, partition, 0) for partition in sorted(leaders)]
                if len(self._ends(places, committed=False)) == len(places):
                    return places
        raise WireError(f"{self._brokers.bootstrap}: topic {topic} has no leaders after {READY_S:.0f} s: {leaders}")

    def _create_topic(self, topic: str, count: int, version: int) -> None:
        """Have the controller create the topic with as many replicas as the brokers choose; brokers that cannot choose
        are given a number. Raise WireError if it fails."""
        for replicas in (BROKERS_CHOOSE, min(REPLICAS, len(self._brokers.addresses)), 1):
            wanted = build(
                "create_topics", version, "CreatableTopic", name=topic, num_partitions=count,
                replication_factor=replicas, assignments=(), configs=(),
            )  # fmt: skip
            request = build("create_topics", version, topics=(wanted,), timeout=milliseconds(int(READY_S * 1000)))

            def made(answer: Any) -> Any:
                return only(answer.topics, "topics", lambda each: each.name == topic)

            answer = self._brokers.ask_controller(request, lambda answer: int(made(answer).error_code) in ELSEWHERE)
            code = int(made(answer).error_code)
            if code in (0, THERE_ALREADY):  # an answer before may have been lost, and no other run uses the name
                return
            if code != INVALID_REPLICATION:
                break
        why = getattr(made(answer), "error_message", "") or "no reason is given"
        raise WireError(f"{self._brokers.bootstrap}: cannot create topic {topic}: {error_text(code)}, {why}")

    def remove(self, patience_s: float) -> str:
        """Delete the topics and forget them; return why that could not be done, or an empty string."""
        self._free.clear()
        self._whole.clear()
        self.returned.clear()
        made, self._made = self._made, []
        version = self._brokers.offered.version("delete_topics")
        if not made or version is None:
            return f"the brokers cannot delete {', '.join(made)}" if made else ""
        request = build("delete_topics", version, topic_names=tuple(made), timeout=milliseconds(int(patience_s * 1000)))
        try:
            answer = self._brokers.ask_controller(
                request, lambda answer: any(int(each.error_code) in ELSEWHERE for each in answer.responses), patience_s
            )
            with reading(request, answer):
                left = {each.name: int(each.error_code) for each in answer.responses if int(each.error_code)}
        except WireError as error:
            return f"{', '.join(made)} could not be deleted: {error}"
        left = {name: code for name, code in left.items() if code != NOT_THERE}
        return "; ".join(f"{name} could not be deleted: {error_text(code)}" for name, code in left.items())

    def _take_back(self) -> None:
        """Free returned partitions in which no transaction is open and no marker is due; fence the other ones."""
        back = [self.returned.popleft() for _ in range(len(self.returned))]
        settled = {each.transactional_id for each in back if self._is_settled(each.transactional_id)}
        places = [place for each in back for place in each.places]
        ends, stable = self._ends(places, committed=False), self._ends(places, committed=True)
        for each in back:
            unknown = [
                place
                for place in each.places
                if each.transactional_id not in settled or place not in ends or stable.get(place) != ends[place]
            ]
            self._free.extend(place._replace(start=ends[place]) for place in each.places if place not in unknown)
            if unknown and each.tries < FENCES:
                self._fence(each.transactional_id)
                self.returned.append(Returned(tuple(unknown), each.transactional_id, each.tries + 1))

    def _is_settled(self, transactional_id: str) -> bool:
        """Return whether every marker of the transactional id is written, or nothing was begun. Brokers without
        DescribeTransactions do not report this, so that only the last stable offset is known there."""
        error, state = self._brokers.transaction(transactional_id)
        return error == NEVER_BEGUN or (not error and state not in UNSETTLED)

    def _ends(self, places: Sequence[Place], committed: bool) -> dict[Place, int]:
        """Return the last stable offset, or the end, of each place whose leader answers."""
        found: dict[Place, int] = {}
        by_leader: dict[int, list[Place]] = {}
        for place in places:
            try:
                by_leader.setdefault(self._brokers.leader(place.topic, place.partition), []).append(place)
            except NoAnswer:
                continue
        for leader, led in by_leader.items():
            try:
                found |= self._ends_at(leader, led, committed)
            except NoAnswer:
                self._brokers.forget()
        return found

    def _ends_at(self, leader: int, places: Iterable[Place], committed: bool) -> dict[Place, int]:
        version = self._brokers.offered.version("list_offsets") or 2
        by_topic: dict[str, dict[int, Place]] = {}
        for place in places:
            by_topic.setdefault(place.topic, {})[place.partition] = place
        topics = tuple(
            build(
                "list_offsets", version, "ListOffsetsTopic", name=topic,
                partitions=tuple(
                    build("list_offsets", version, "ListOffsetsPartition", partition_index=number, timestamp=LATEST)
                    for number in numbers
                ),
            )
            for topic, numbers in by_topic.items()
        )  # fmt: skip
        request = build("list_offsets", version, replica_id=-1, isolation_level=int(committed), topics=topics)
        answer = self._brokers.ask(leader, request)
        with reading(request, answer):
            return {
                by_topic[topic.name][int(each.partition_index)]: int(each.offset)
                for topic in answer.topics
                for each in topic.partitions
                if not int(each.error_code)
            }

    def _warm_up(self) -> None:
        name, error = f"{self._prefix}-0", 0
        for _ in Patience(READY_S):
            error = self._fence(name)
            if error not in TRY_AGAIN:
                break
            self._brokers.forget()
        if error:
            raise WireError(
                f"{self._brokers.bootstrap}: no producer id for transactional id {name}: {error_text(error)}"
            )

    def _fence(self, transactional_id: str) -> int:
        """Have an open transaction aborted, and return the error code; the outcome is checked later."""
        version = self._brokers.offered.version("init_producer_id") or 0
        request = build(
            "init_producer_id", version, since=("producer_id", "producer_epoch"), transactional_id=transactional_id,
            transaction_timeout=milliseconds(FENCE_TIMEOUT_MS), producer_id=-1, producer_epoch=-1,
        )  # fmt: skip
        try:
            coordinator = self._brokers.coordinator(TRANSACTION, transactional_id)
            answer = self._brokers.ask(coordinator, request)
            with reading(request, answer):
                return int(answer.error_code)
        except NoAnswer:
            self._brokers.forget()
            return ErrorCode.COORDINATOR_NOT_AVAILABLE


_POOLS: dict[Brokers, Pool] = {}


def shared_pool(brokers: Brokers) -> Pool:
    """Return the one pool of a cluster, which lives as long as the process."""
    pool = _POOLS.get(brokers)
    if pool is None:
        pool = _POOLS[brokers] = Pool(brokers)
    return pool


def remove_all(bootstrap: str, patience_s: float) -> list[str]:
    """Delete the topics of this cluster's pools, which are created anew when they are needed, and return messages about
    what could not be deleted."""
    gone = [brokers for brokers in _POOLS if brokers.bootstrap == bootstrap]
    reports = [_POOLS.pop(brokers).remove(patience_s) for brokers in gone]
    return [each for each in reports if each]
