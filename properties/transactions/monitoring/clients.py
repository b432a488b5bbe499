"""The promises as clients can see them: what they are told, and what readers get, of any implementation."""

from collections import defaultdict
from collections.abc import Iterator

from fencepost.properties.driving import Event, read
from fencepost.properties.transactions.monitoring.facts import (
    ABORT,
    COMMIT,
    NOBODY,
    WORDS,
    Facts,
    Pair,
    Transaction,
    Verdict,
    verdict,
)

FENCING = frozenset({47, 48, 49, 90})  # a lone client has done nothing to deserve these


OVER = frozenset({47, 49, 90})  # from the coordinator: for good
RETRIED = frozenset({14, 15, 16, 51})
WINDOW = 5  # batches that a leader recognises


class Clients:
    """What clients were told, held against what they asked for and what readers got."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.acked: dict[tuple[int, int], int] = {}  # (partition, offset): record
        self.committed: dict[int, int] = {}  # offsets partition: the newest record whose commit was acknowledged
        self.fetches: dict[tuple[int, int], Event] = {}  # (reader, partition): its latest
        self.read: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)  # (offset, record), in order
        self.seen: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.waiting: dict[tuple[int, int], set[int]] = defaultdict(set)  # records without an answer
        self.before: dict[int, Transaction] = {}  # by client
        self.over: dict[int, int] = {}  # by client: the error after which it must not go on
        self.resurrected: set[int] = set()  # transactions whose end was taken from a producer that was fenced

    def look(self, event: Event) -> Iterator[Verdict]:
        """Judge one event."""
        handler = getattr(self, f"_{read(event, 'kind')}", None)
        if handler is not None:
            yield from handler(event)

    # -- what clients do

    def _init_sent(self, event: Event) -> Iterator[Verdict]:
        """Who was fenced, or forgotten, does not come back by itself (KIP-360 went too far there)."""
        client = read(event, "client")
        if client in self.over:
            words = f"client {client} asks for a producer id after it was told error {self.over[client]}"
            yield verdict("txn.20" if self.over[client] == 49 else "txn.1", words, event)

    def _txn_begun(self, event: Event) -> Iterator[Verdict]:
        """With a record in doubt the epoch is bumped before the next transaction (KIP-360): else it may come late.

        One that was refused is not: Kafka's client goes on under its epoch if that happens while it commits.
        """
        client, pair = read(event, "client"), _pair(event)
        before = self.before.get(client)
        data = self.facts.partitions
        if before is not None and before.pair == pair and any(before.records[r] < data for r in before.in_doubt):
            words = (
                f"records of transaction {before.number} were given up, and the next one runs under {_named(pair)} too"
            )
            yield verdict("txn.2", words, event, pair)
        self.before[client] = self.facts.current[client]

    def _record_sent(self, event: Event) -> Iterator[Verdict]:
        client, partition, record = (read(event, name) for name in ("client", "partition", "record"))
        waiting = self.waiting[client, partition]
        waiting.add(record)
        if len(waiting) > WINDOW and partition < self.facts.partitions:
            words = f"client {client} has {len(waiting)} records on their way to partition {partition}"
            yield verdict("txn.14", words, event, *self.pairs_of(record))

    def _add_taken(self, event: Event) -> Iterator[Verdict]:
        self._told(event)
        yield from ()

    def _told(self, event: Event) -> None:
        if (error := read(event, "error", 0)) in OVER:
            self.over[read(event, "client")] = error

    # -- pairs handed out

    def _init_handled(self, event: Event) -> Iterator[Verdict]:
        client, _ = self.facts.asker.get(read(event, "request", -1), (-1, None))
        if not read(event, "error", 0) and client >= 0:
            yield from self._handed(event, client, is_held=False)

    def _init_taken(self, event: Event) -> Iterator[Verdict]:
        error = read(event, "error", 0)
        self._told(event)
        if not error:
            yield from self._handed(event, read(event, "client"))
            self._fence(event)
        elif error in FENCING:
            yield from self._fenced(event, error)

    def _fence_told(self, event: Event) -> Iterator[Verdict]:
        error = read(event, "error", 0)
        if not error:
            yield from self._handed(event, read(event, "client"))
            self._fence(event)
        elif error in RETRIED:
            yield verdict("618.12", f"fencing is given up for error {error}, which only says: later", event)

    def _fence(self, event: Event) -> None:
        self.facts.fences.append(_pair(event))

    def _handed(self, event: Event, client: int, is_held: bool = True) -> Iterator[Verdict]:
        """A pair has one owner, epochs go up, and the largest is never handed out."""
        facts, pair = self.facts, _pair(event)
        holder, before = facts.holders.setdefault(pair, client), facts.pairs.get(client, NOBODY)
        newest = next(reversed(facts.producer_ids), pair[0])
        facts.producer_ids.setdefault(pair[0], len(facts.producer_ids))
        facts.greatest[pair[0]] = max(pair[1], facts.greatest.get(pair[0], -1))
        if holder != client:
            yield verdict("txn.P7", f"{_named(pair)} is handed to client {holder} and to client {client}", event, pair)
        elif not 0 <= pair[1] < facts.max_epoch:
            words = f"epoch {pair[1]} is handed out: they run from 0 to {facts.max_epoch - 1}"
            yield verdict("txn.P7", words, event, pair)
        elif next(reversed(facts.producer_ids)) != newest and facts.has_epochs_left(newest):
            words = (
                f"client {client} is given {_named(pair)}, and nobody is fenced by that: id {newest} has epochs left"
            )
            yield verdict("txn.1", words, event)
        elif is_held and before[0] == pair[0] and pair[1] < before[1]:
            words = f"client {client} is given {_named(pair)} and had {_named(before)}"
            yield verdict("txn.P7", words, event, pair)
        if is_held:
            facts.pairs[client] = pair

    # -- outcomes

    def _end_told(self, event: Event) -> Iterator[Verdict]:
        self._told(event)
        transaction = self.facts.transactions.get(read(event, "txn"))
        if read(event, "error", 0) or transaction is None:
            return
        outcome, number = read(event, "outcome"), transaction.number
        if read(event, "request", -1) in self.facts.zombie_ends:
            self.resurrected.add(number)
            words = f"client {transaction.client} was fenced before it asked, and transaction {number} is told "
            yield verdict("txn.P1" if outcome == COMMIT else "txn.1", words + WORDS[outcome], event)
        if read(event, "request", -1) >= 0:
            if outcome not in transaction.asked:
                words = f"transaction {number} is told {WORDS[outcome]}, which its owner did not ask for"
                yield verdict("txn.P5", words, event, transaction.pair)
            if self.facts.mode == "v2" and _pair(event) == transaction.pair:
                words = f"transaction {number} has ended, and the next one is to run under {_named(transaction.pair)}"
                yield verdict("txn.9", words, event, transaction.pair)
            yield from self._handed(event, transaction.client)
        if transaction.told not in (-1, outcome):
            words = f"transaction {number} is told {WORDS[transaction.told]} and {WORDS[outcome]}"
            yield verdict("txn.P5", words, event, transaction.pair)
        transaction.told = outcome
        yield from self._contradicted(event, transaction)
        if outcome == COMMIT:
            for record in transaction.acked:
                partition = transaction.records[record]
                self.committed[partition] = max(record, self.committed.get(partition, -1))

    def _contradicted(self, event: Event, transaction: Transaction) -> Iterator[Verdict]:
        """What its owner is told now, others may have seen otherwise."""
        number, outcome = transaction.number, transaction.told
        if outcome == ABORT and transaction.visible:
            words = f"transaction {number} is told abort, and record {min(transaction.visible)} of it was read"
            yield verdict("txn.P5", words, event, transaction.pair)
        for partition, fate in transaction.fates.items():
            if fate != outcome:
                words = (
                    f"transaction {number} is told {WORDS[outcome]}; on partition {partition} its end is {WORDS[fate]}"
                )
                yield verdict("txn.P5", words, event, transaction.pair)

    # -- records

    def _record_acked(self, event: Event) -> Iterator[Verdict]:
        partition, offset, record = (read(event, name, -1) for name in ("partition", "offset", "record"))
        self.waiting[read(event, "client"), partition].discard(record)
        if offset >= 0 and self.acked.setdefault((partition, offset), record) != record:
            words = f"records {self.acked[partition, offset]} and {record} are both said to be at {partition}:{offset}"
            yield verdict("txn.14", words, event, *self.pairs_of(record))

    def _record_failed(self, event: Event) -> Iterator[Verdict]:
        self.waiting[read(event, "client"), read(event, "partition")].discard(read(event, "record"))
        if read(event, "error", 0) in FENCING - {49}:
            yield from self._fenced(event, read(event, "error", 0))

    def _fetched(self, event: Event) -> Iterator[Verdict]:
        self.fetches[read(event, "client"), read(event, "partition")] = event
        yield from ()

    def _record_read(self, event: Event) -> Iterator[Verdict]:
        reader, partition, offset, record = (read(event, n) for n in ("client", "partition", "offset", "record"))
        before = self.read[reader, partition]
        yield from self._committed_record(event, partition, record)
        if any(record == old for _, old in before):
            yield verdict(
                "txn.P6", f"record {record} is read twice on partition {partition}", event, *self.pairs_of(record)
            )
        upto = read(self.fetches.get((reader, partition), {}), "upto", offset + 1)
        if offset >= upto:
            words = f"{partition}:{offset} is read, and the last stable offset is {upto}"
            yield verdict("txn.P3", words, event, *self.pairs_of(record))
        if self.acked.get((partition, offset), record) != record:
            words = f"record {record} is at {partition}:{offset}, where {self.acked[partition, offset]} is said to be"
            yield verdict("txn.P4", words, event, *self.pairs_of(record))
        before.append((offset, record))

    def _committed_record(self, event: Event, partition: int, record: int) -> Iterator[Verdict]:
        """Somebody who reads only what is committed got this."""
        transaction = self.facts.of_record.get(record)
        if transaction is None or transaction.records[record] != partition:
            yield verdict("txn.P3", f"record {record} is read on partition {partition}, where nobody sent it", event)
            return
        number, pair = transaction.number, transaction.pair
        if record in self.facts.zombies:
            words = (
                f"record {record} of {_named(pair)} is read, and left, or was written, after its producer was fenced"
            )
            late = () if number in self.resurrected else (pair,)  # no copy that came late has done that
            yield verdict("txn.P1", words, event, *late)
        if transaction.told == ABORT:
            words = f"record {record} is read, and transaction {number} was told abort"
            yield verdict("txn.P3", words, event, pair)
        elif COMMIT not in transaction.asked:
            words = f"record {record} is read, and nobody has asked to commit transaction {number}"
            yield verdict("txn.P3", words, event, pair)
        transaction.visible.add(record)

    def _record_seen(self, event: Event) -> Iterator[Verdict]:
        reader, partition, record = (read(event, name) for name in ("client", "partition", "record"))
        seen = self.seen[reader, partition]
        if record in seen and partition < self.facts.partitions:
            words = f"record {record} is there twice on partition {partition}"
            yield verdict("txn.P6", words, event, *self.pairs_of(record))
        seen.add(record)

    def _offset_fetched(self, event: Event) -> Iterator[Verdict]:
        partition, record = read(event, "partition"), read(event, "record", -1)
        if read(event, "error", 0):
            return
        if record >= 0:
            yield from self._committed_record(event, partition, record)
        newest = self.committed.get(partition, -1)
        if record < newest:
            fetched = f"the offset of record {record}" if record >= 0 else "no offset"
            words = f"{fetched} is fetched, and the commit of that of record {newest} was acknowledged"
            yield verdict("txn.P4", words, event, *self.pairs_of(newest))
        for transaction in self.facts.current.values():
            pending = [r for r in transaction.acked if transaction.records[r] == partition]
            if pending and not self.facts.may_have_ended(transaction):
                words = (
                    f"offset {pending[0]} is pending in transaction {transaction.number}, and a stable one is fetched"
                )
                yield verdict("txn.21", words, event, transaction.pair)

    # -- fencing

    def _client_failed(self, event: Event) -> Iterator[Verdict]:
        yield from self._fenced(event, read(event, "error", 0))

    def _fenced(self, event: Event, error: int) -> Iterator[Verdict]:
        """A client that has the transactional id for itself, and is in time, is never fenced."""
        facts, client = self.facts, read(event, "client")
        transaction = facts.current.get(client)
        late = transaction is not None and facts.now_ms - transaction.began_ms >= facts.timeout_ms
        if facts.alone == client and not (facts.doubts or facts.timed_out or late):
            words = f"client {client} is alone, has only retried its own requests, and gets error {error}"
            yield verdict("txn.P8", words, event, facts.pairs.get(client, NOBODY))

    def pairs_of(self, record: int) -> tuple[Pair, ...]:
        """Under which pair a record was sent; none if nobody sent it."""
        transaction = self.facts.of_record.get(record)
        return (transaction.pair,) if transaction is not None else ()


def _pair(event: Event) -> Pair:
    return read(event, "producer_id", -1), read(event, "epoch", -1)


def _named(pair: Pair) -> str:
    return f"(id {pair[0]}, epoch {pair[1]})"
