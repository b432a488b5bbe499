"""What the leaders of partitions show of their logs: who may append, what a marker ends, and how far one may read.

A leader that shows nothing is not judged here.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from fencepost.properties.driving import Event, read
from fencepost.properties.transactions.monitoring.coordinator import COMPLETES, PREPARES, Coordinator
from fencepost.properties.transactions.monitoring.facts import (
    ABORT,
    COMMIT,
    WORDS,
    Facts,
    Pair,
    Verdict,
    verdict,
)

WINDOW = 5  # batches that a leader recognises
OUT_OF_ORDER = 45


@dataclass
class Producer:
    """What a partition knows of a producer id.  ``open``: (offset, record) of the transaction that is open there;
    ``checked``: epochs for which the coordinator has said that the partition is in the transaction."""

    epoch: int = -1
    sequence: int = -1
    coordinator_epoch: int = -1
    open: list[tuple[int, int]] = field(default_factory=list)
    checked: set[int] = field(default_factory=set)
    markers: set[tuple[int, int]] = field(default_factory=set)  # (epoch, outcome)
    window: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=WINDOW))  # (epoch, record), the latest


class Partitions:
    """All partitions of one history."""

    def __init__(self, facts: Facts, coordinator: Coordinator) -> None:
        self.facts, self.coordinator = facts, coordinator
        self.producers: dict[tuple[int, int], Producer] = defaultdict(Producer)  # by partition and producer id
        self.records: dict[tuple[int, int], int] = {}  # (partition, offset): record
        self.written: dict[int, set[int]] = defaultdict(set)  # records by partition
        self.shows_checks = False
        self.unwritten: dict[int, set[int]] = {}  # by producer id in Prepare: partitions without their marker

    def look(self, event: Event) -> Iterator[Verdict]:
        """Judge one event."""
        handler = getattr(self, f"_{read(event, 'kind')}", None)
        if handler is not None:
            yield from handler(event)

    def _partition_checked(self, event: Event) -> Iterator[Verdict]:
        self.shows_checks = True
        if not read(event, "error", 0):
            self._producer(event).checked.add(read(event, "epoch"))
        yield from ()

    def _check_asked(self, event: Event) -> Iterator[Verdict]:
        producer, pair = self._producer(event), _pair(event)
        if self.facts.mode == "v2" and producer.open and pair[1] > producer.epoch:
            words = f"the leader asks for epoch {pair[1]} while the transaction of {producer.epoch} is open"
            yield verdict("txn.16", words, event, pair)

    def _leader_changed(self, event: Event) -> Iterator[Verdict]:
        for (partition, _), producer in self.producers.items():
            if partition == read(event, "partition"):
                producer.checked.clear()
                producer.window.clear()  # of these a new leader knows one at least
        yield from ()

    # -- batches

    def _batch_appended(self, event: Event) -> Iterator[Verdict]:
        partition, offset, record = read(event, "partition"), read(event, "offset"), read(event, "record")
        pair, producer, known = _pair(event), self._producer(event), self.facts.of_record.get(record)
        if record in self.written[partition] and partition < self.facts.partitions:
            yield verdict("txn.P6", f"record {record} is written twice on partition {partition}", event, pair)
        complete = any(last.pair[0] == pair[0] and last.state in COMPLETES for last in self.coordinator.last.values())
        if known is not None and known.told >= 0 and complete:  # before that its marker may still come, and decide it
            words = f"record {record} is written after transaction {known.number} was told {WORDS[known.told]}"
            yield verdict("txn.P2", words, event, pair)
        yield from self._in_order(event, producer, pair)
        yield from self._in_transaction(event, producer, pair)
        producer.open.append((offset, record))
        producer.window.append((pair[1], record))
        self.records[partition, offset] = record
        self.written[partition].add(record)

    def _in_order(self, event: Event, producer: Producer, pair: Pair) -> Iterator[Verdict]:
        """Epochs do not go down, and sequence numbers follow on."""
        sequence = read(event, "sequence", -1)
        if pair[1] < producer.epoch:
            yield verdict("txn.12", f"epoch {pair[1]} appends, and {producer.epoch} is known", event, pair)
        elif sequence >= 0 and producer.epoch >= 0:
            due = producer.sequence + 1 if pair[1] == producer.epoch else 0
            if sequence != due:
                yield verdict("txn.13", f"sequence number {sequence} is appended, and {due} is due", event, pair)
        if pair[1] > producer.epoch and producer.open:
            words = f"epoch {pair[1]} appends while the transaction of {producer.epoch} is open"
            yield verdict("txn.16" if self.facts.mode == "v2" else "txn.3", words, event, pair)
        producer.epoch, producer.sequence = max(pair[1], producer.epoch), sequence

    def _in_transaction(self, event: Event, producer: Producer, pair: Pair) -> Iterator[Verdict]:
        """The first batch of a transaction is written on the coordinator's word, given for this very transaction."""
        asks = self.facts.mode != "v1" and self.shows_checks
        if asks and not producer.open and pair[1] not in producer.checked:
            words = f"a transaction of {pair} begins here without the coordinator's word for it"
            yield verdict("txn.15", words, event, pair)

    def _batch_refused(self, event: Event) -> Iterator[Verdict]:
        """Of the last five batches of its epoch a producer may send any again."""
        record, pair = read(event, "record"), _pair(event)
        known = self._producer(event)
        if read(event, "error", 0) == OUT_OF_ORDER and (pair[1], record) in known.window and pair[1] == known.epoch:
            yield verdict("txn.14", f"record {record} is refused, and is among the last five batches", event, pair)

    def _batch_duplicate(self, event: Event) -> Iterator[Verdict]:
        record = read(event, "record")
        there = self.records.get((read(event, "partition"), read(event, "offset")), -1)
        if there != record:
            words = f"record {record} is taken for a copy of record {there}"
            yield verdict("txn.14", words, event, _pair(event))

    # -- markers

    def _marker_appended(self, event: Event) -> Iterator[Verdict]:
        pair, producer, cep = _pair(event), self._producer(event), read(event, "coordinator_epoch", -1)
        outcome = read(event, "outcome")
        if pair[1] < producer.epoch:
            yield verdict("txn.12", f"a marker of epoch {pair[1]}, and {producer.epoch} is known", event, pair)
        if cep < producer.coordinator_epoch:
            words = f"a marker of coordinator epoch {cep}, and {producer.coordinator_epoch} is known"
            yield verdict("txn.11", words, event, pair)
        if self.facts.mode == "v2" and producer.open and pair[1] == producer.epoch < self.facts.max_epoch:
            words = f"a marker of epoch {pair[1]} ends the transaction that is open under this very epoch"
            yield verdict("txn.11", words, event, pair)
        yield from self._ordered(event, producer, pair, outcome)
        yield from self._ends(event, producer, outcome)
        if pair[1] > producer.epoch:
            producer.epoch, producer.sequence = pair[1], -1
        producer.coordinator_epoch = max(cep, producer.coordinator_epoch)
        producer.markers.add((pair[1], outcome))
        producer.open.clear()
        producer.checked.clear()
        if outcome == ABORT:
            producer.window.clear()
        self.unwritten.get(pair[0], set()).discard(read(event, "partition"))

    def _ordered(self, event: Event, producer: Producer, pair: Pair, outcome: int) -> Iterator[Verdict]:
        """A marker carries out what the transaction log says, or is a copy of one that has."""
        ordered = [last for last in self.coordinator.last.values() if last.pair[0] == pair[0]]
        if not ordered or ((pair[1], outcome) in producer.markers and not producer.open):
            return
        [last] = ordered
        if PREPARES.get(last.state) != outcome:
            words = f"a marker says {WORDS[outcome]}, and the transaction log does not"
            yield verdict("txn.P5", words, event, pair)
        elif last.pair != pair:
            words = f"a marker carries epoch {pair[1]}, and the transaction log has {last.pair[1]}"
            yield verdict("txn.3", words, event, pair)

    def _ends(self, event: Event, producer: Producer, outcome: int) -> Iterator[Verdict]:
        """The fate of what was open, held against what its owners asked for and were told."""
        partition = read(event, "partition")
        ended = {t.number: t for _, record in producer.open if (t := self.facts.of_record.get(record)) is not None}
        if len(ended) > 1 and outcome == COMMIT:
            words = f"records of transactions {', '.join(map(str, ended))} are committed by one marker"
            yield verdict("txn.P2", words, event, *(t.pair for t in ended.values()))
        for transaction in ended.values():
            number, others = transaction.number, set(transaction.fates.values())
            if outcome == COMMIT and COMMIT not in transaction.asked:
                words = f"transaction {number} is committed on partition {partition}, and nobody asked for it"
                yield verdict("txn.P5", words, event, transaction.pair)
            if transaction.told not in (-1, outcome):
                told = WORDS[transaction.told]
                words = f"transaction {number} was told {told}; on partition {partition} its end is {WORDS[outcome]}"
                yield verdict("txn.P5", words, event, transaction.pair)
            if others - {outcome}:
                words = f"transaction {number} ends with {WORDS[outcome]} on partition {partition}, and not elsewhere"
                yield verdict("txn.P2", words, event, transaction.pair)
            transaction.fates[partition] = outcome
        for record in sorted({r for _, r in producer.open} & self.facts.zombies) if outcome == COMMIT else ():
            words = f"record {record} is committed, and left, or was written, after its producer was fenced"
            yield verdict("txn.P1", words, event, _pair(event))

    # -- what the coordinator owes

    def _txn_logged(self, event: Event) -> Iterator[Verdict]:
        """Completion comes after every marker."""
        state, pair = read(event, "state"), _pair(event)
        if state in PREPARES:
            self.unwritten[pair[0]] = {
                p for (p, pid), producer in self.producers.items() if pid == pair[0] and producer.open
            }
        elif left := self.unwritten.pop(pair[0], set()):
            words = f"the transaction is complete, and its marker is missing on partition {min(left)}"
            yield verdict("txn.10", words, event, pair)

    # -- readers

    def _stable_moved(self, event: Event) -> Iterator[Verdict]:
        yield from self._stable(event)

    def _fetched(self, event: Event) -> Iterator[Verdict]:
        yield from self._stable(event)

    def _stable(self, event: Event) -> Iterator[Verdict]:
        partition, upto = read(event, "partition"), read(event, "upto")
        first = min(
            (p.open[0][0] for (number, _), p in self.producers.items() if number == partition and p.open), default=upto
        )
        if upto > first:
            words = f"the last stable offset of partition {partition} is {upto}, and {first} is undecided"
            yield verdict("txn.17", words, event)

    def hanging(self) -> Iterator[Verdict]:
        """When everything is quiet: what is still open."""
        for (partition, producer_id), producer in self.producers.items():
            if producer.open:
                offset, record = producer.open[0]
                words = f"nothing happens any more, and record {record} at {partition}:{offset} is undecided"
                yield verdict("txn.P10", words, None, (producer_id, producer.epoch))

    def _producer(self, event: Event) -> Producer:
        return self.producers[read(event, "partition"), read(event, "producer_id")]


def _pair(event: Event) -> Pair:
    return read(event, "producer_id", -1), read(event, "epoch", -1)
