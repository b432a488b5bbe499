"""What a driven run of transactions shows beside its history, and what is excused in it.

The driver knows how late it is, what is in flight, and whether a client has the transactional id for itself; and the
results of settling and probing show whether something hangs.

In v1 a late copy can be taken for something new (KAFKA-17754 and its kin): that is how v1 is.  So a promise that is
``expecting`` to be broken is *predicted* where a copy came late under the same producer id, and nothing else is
excused.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.properties.driving import Event, Made, read
from fencepost.properties.monitoring import Beside, Broken, Concerned
from fencepost.properties.transactions.driving.interface import READERS, Message
from fencepost.properties.transactions.history.driven import DRIVEN
from fencepost.properties.transactions.history.events import COMMIT
from fencepost.properties.transactions.history.owners import Owners
from fencepost.properties.transactions.scenarios.newcomers import Newcomers
from fencepost.properties.transactions.scenarios.settling import DELIVERIES, EXPIRY_MS, Probed, Settled

EXPECTING = {
    "v1": frozenset({"txn.P1", "txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P6", "txn.P8", "txn.P10"}),
    "v1-verified": frozenset({"txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P8"}),
    "v2": frozenset[str](),
}
"""What late copies break by design.  Part 1 of KIP-890 ends hanging transactions, and part 2 with KIP-1228 the rest."""

ON_THE_WAY = frozenset({
    "txn.3", "txn.5", "txn.7", "txn.8", "txn.10", "txn.13", "txn.14", "txn.15", "txn.16", "txn.17", "txn.21",
})  # fmt: skip
"""Rules that seem broken where what is predicted has happened before."""

FENCING = frozenset({47, 48, 49, 90})  # a lone client has done nothing to deserve these
OUT_OF_ORDER = 45
NO_COPY_DOES = frozenset({"fenced_never_commit", "fenced_never_given", "fenced_never_added"})
"""Answers that no late copy brings about: the coordinator looks at the pair that the request names."""
WINDOW = 5  # batches that a leader recognises
EXPIRATION_MS = 7 * 24 * 3_600_000  # transactional.id.expiration.ms
RISES = 2  # by one request at most: InitProducerId fences what is open, and is answered one epoch further
LOOKING = frozenset({"settle", "probe", "read", "in_pieces", "fetch_offset"})

Pair = tuple[int, int]
"""(producer id, epoch)."""


@dataclass
class Transaction:
    """A client's transaction.  ``records``: to which partition; ``asked``: outcomes in its EndTxn requests; ``told``:
    the outcome that its owner was told."""

    number: int
    client: int
    pair: Pair
    began_ms: int
    records: dict[int, int] = field(default_factory=dict)
    acked: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    told: int = -1


Verdict = tuple[Broken, Concerned]


def _verdict(rule: str, text: str, event: Event = None, *pairs: Pair, check: str = "") -> Verdict:
    """A rule that is broken, under these pairs."""
    return Broken(rule, text, event, check), frozenset(pair[0] for pair in pairs)


class TransactionsBeside(Beside):
    """Of one run.  ``tainted``: producer ids under which something came late, and in which call it did first."""

    excusable = ON_THE_WAY
    further = DRIVEN
    left_to_the_model = frozenset({"lone_client_never_fenced"})  # of that more is known here

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.mode: str = config["mode"]
        self.partitions: int = config["partitions"]
        self.max_epoch: int = config.get("max_epoch", 32767)
        self.timeout_ms: int = config.get("transaction_timeout_ms", 60_000)
        self.expiration_ms: int = config.get("expiration_ms", EXPIRATION_MS)
        self.calls = self.now_ms = 0
        self.at_rest = True  # nothing is under way: nobody has done anything since the cluster settled
        self.waited_ms = 0  # what of the present call's time has passed when it reads
        self.transactions: dict[int, Transaction] = {}
        self.current: dict[int, Transaction] = {}  # by client, the latest
        self.of_record: dict[int, Transaction] = {}
        self.asker: dict[int, tuple[int, Transaction | None]] = {}  # by request: client, and its transaction
        self.pairs: dict[int, Pair] = {}  # by client: what it holds
        self.producer_ids: dict[int, int] = {}  # which of them it is, in the order in which they were handed out
        self.greatest: dict[int, int] = {}  # by producer id: the greatest of its epochs that anybody was told
        self.rises = 0  # how often an epoch may have been raised so far, told or untold
        self.fences: list[Pair] = []  # acknowledged: whoever holds less is fenced
        self.owners = Owners()
        self.alone = -1  # the client that has the transactional id for itself
        self.doubts = 0  # an old InitProducerId came late, or its retry met another coordinator: ends until it is over
        self.timed_out = False  # the time of the present transaction is up
        self.tainted: dict[int, int] = {}
        self.waiting: dict[tuple[int, int], set[int]] = defaultdict(set)  # records without an answer
        self.batch_of: dict[int, int] = {}  # by record: the first request with it
        self.away: set[int] = set()  # partitions without a leader
        self.window: dict[Pair, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=WINDOW))  # (epoch, record)
        self.upto: dict[tuple[int, int], int] = {}  # (reader, partition): the end of its latest fetch
        self._rivals: set[int] = set()  # clients that asked for a producer id, and may still use it
        self._awaiting: dict[int, int] = {}  # client: its latest InitProducerId
        self._named: set[int] = set()  # InitProducerIds that say which pair their client holds
        self._granted: dict[int, bool] = {}  # by InitProducerId of which an answer was shown: was one a success?
        self._first_seen: dict[int, int] = {}  # message: transactions begun before
        self._flying: Sequence[Message] = ()

    # -- what `Beside` is asked

    def events(self, made: Made) -> Sequence[Event]:
        """`newcomers` looks at the events itself, and hands them on in its result.  Which two of them share a pair may
        be chance, and a program that names these would not fail again: then the result as a whole is judged."""
        if made.call.name == "newcomers" and not _repeats(made.result):
            return (*made.result.events, *made.events)
        if made.call.name == "fail_over" and not made.call.get("durable"):  # what was being appended is not in the log
            return [event for event in made.events if read(event, "kind") != "coordinator_loaded"]
        return made.events

    def watch(self, made: Made, events: Sequence[Event], messages: Sequence[Message]) -> Iterator[Verdict]:
        self.calls += 1
        self._note_call(made)
        for event in events:
            handler = getattr(self, f"_{read(event, 'kind')}", None)
            if handler is not None:
                yield from handler(event) or ()
        for words, event, pair in self.owners.watch(made, events, messages):
            if not (self.doubts or self.timed_out or self._is_late(read(event, "client"))):
                yield _verdict("txn.P8", words, event, pair)
        if made.call.name == "newcomers" and _repeats(made.result):
            words = f"of {made.call.get('count')} producers, one after another, two are given the same id and epoch"
            yield _verdict("txn.P7", words, check="len(set(result.pairs)) == len(result.pairs)")
        elif made.call.name == "settle":
            yield from self._settled(made.result, made.call.get("reader"))
        elif made.call.name == "probe":
            yield from self._probed(made.result)
        begun, self._flying = len(self.transactions), messages
        for message in messages:
            self._first_seen.setdefault(message[0], begun)

    def is_quiet(self, made: Made) -> bool:
        return made.call.name == "settle" and made.result.quiet and self.is_decidable()

    def is_decidable(self) -> bool:
        """Is everything decided when a cluster has settled?  A transaction that nobody ends has timed out; but its
        marker cannot be written in a partition that is away."""
        return not self.away

    def concerned(self, name: str, events: Sequence[Event]) -> Concerned:
        """The producer ids of the events, and of the transactions that they speak of.  That a fenced producer is told
        that it has committed is no late copy's doing."""
        ids = set[int]()
        for event in events if name not in NO_COPY_DOES else ():
            of_txn = self.transactions.get(read(event, "txn", -1)), self.of_record.get(read(event, "record", -1))
            ids |= {read(event, "producer_id", -1), *(t.pair[0] for t in of_txn if t is not None)}
        return frozenset(ids - {-1})

    def lacking(self, made: Made, event: Event, other: Event | None) -> str:
        """A fetch is wrong by the record that it leaves out, as far as the reader's call shows."""
        record = -1 if other is None else read(other, "record", -1)
        if made.call.name != "read" or read(event, "kind") != "fetched" or record < 0:
            return ""
        return f"{record} in [record for _, record in result]"

    def excuses(self, call: int, concerned: Concerned) -> bool:
        return bool(self.expecting) and any(one in concerned for one, since in self.tainted.items() if since <= call)

    # -- how late copies come

    def _note_call(self, made: Made) -> None:
        """What the driver knows, before the events of a call are looked at."""
        name = made.call.name
        self.at_rest &= name in LOOKING
        self.waited_ms = made.result.waited_ms if name == "settle" else 0
        times = {"settle": DELIVERIES, "probe": DELIVERIES, "newcomers": made.call.get("count")}.get(name, 1)
        self.rises += RISES * times
        if name == "advance":
            self.now_ms += made.call.get("ms")
        elif name == "leave":
            self.away.add(made.call.get("partition"))
        elif name == "come_back":
            self.away.discard(made.call.get("partition"))
        elif name == "forget":
            self.now_ms += made.result
        elif name == "expire":
            self.now_ms += EXPIRY_MS
            self._doubt(True)  # the id may be forgotten
        elif name == "fail_over":
            self._doubt(bool(self._awaiting))
        elif name in ("settle", "newcomers"):
            for message in self._flying:
                self._note_delivery(message)
            inits = Counter(m[2] for m in self._flying if m[1] == "init" and m[4] not in self._named)
            self._doubt(any(count > 1 for count in inits.values()))
        elif name == "probe":
            self._doubt(True)  # it is a producer of its own
        elif name == "deliver" and made.message is not None:
            self._note_delivery(made.message)

    def _note_delivery(self, message: Message) -> None:
        """Does a copy come so late that, without KIP-890, it can be taken for something new?"""
        number, kind, _, target, request = message
        client, transaction = self.asker.get(request, (-1, None))
        if kind == "init":
            self._doubt(self._awaiting.get(client) != request or self._comes_again(client, request))
        elif kind == "marker":
            begun = self._first_seen.get(number, len(self.transactions))
            for later in self.transactions.values():
                if later.number >= begun and later.records:
                    self._taint(later)
        elif transaction is not None and (kind == "add" or (kind == "produce" and self._takes_anything(target))):
            over = transaction.asked or transaction.failed or self.is_fenced(transaction.pair)
            if over or transaction is not self.current.get(client):
                self._taint(transaction)
        elif transaction is None or kind != "end":
            return
        elif transaction.told >= 0 or transaction is not self.current.get(client):
            self._taint(transaction)

    def _taint(self, transaction: Transaction) -> None:
        self.tainted.setdefault(transaction.pair[0], self.calls)

    def _comes_again(self, client: int, request: int) -> bool:
        """Does this InitProducerId name no pair, and come while its client has an answer on its way already?  Then it
        bumps the epoch once more, and the client goes on with the one before (`come_late` of the model).  Where an
        answer was lost, the client waits for that to this copy."""
        if request in self._named or self._granted.get(request) is False:
            return False
        return any(m[1] == "init_answer" and self.asker.get(m[4], (-1, None))[0] == client for m in self._flying)

    def _takes_anything(self, leader: str) -> bool:
        """Can what is late be written?  Without verification; and offsets, which have no sequence numbers."""
        return self.mode == "v1" or int(leader.rpartition("-")[2]) >= self.partitions

    def _doubt(self, reason: bool) -> None:
        """May a lone client find that it is fenced?  Not any more after two ends without an error: the answer to the
        first may have been on its way already."""
        self.doubts = 2 if reason else self.doubts

    # -- who holds which pair, and who is fenced

    def is_fenced(self, pair: Pair) -> bool:
        """Has somebody been told so?"""
        ids = self.producer_ids
        return any(
            pair[1] < fence[1] if pair[0] == fence[0] else -1 < ids.get(pair[0], -1) < ids.get(fence[0], -1)
            for fence in self.fences
        )

    def _init_sent(self, event: Event) -> None:
        client, request = read(event, "client"), read(event, "request")
        self.asker[request] = (client, None)
        self._awaiting[client] = request
        if _pair(event)[0] >= 0:
            self._named.add(request)
        self._rivals.add(client)
        on_their_way = {self.asker.get(m[4], (client, None))[0] for m in self._flying if m[1] == "init"}
        is_fenced = self.is_fenced(_pair(event))
        if client != self.alone:  # kafka-python asks for the next epoch when a partition has told it that it is fenced
            self.alone = client if self._rivals | on_their_way == {client} and not is_fenced else -1

    def _client_stopped(self, event: Event) -> None:
        self._rivals.discard(read(event, "client"))

    def _init_handled(self, event: Event) -> Iterator[Verdict]:
        request = read(event, "request", -1)
        client, _ = self.asker.get(request, (-1, None))
        self._granted[request] = self._granted.get(request, False) or not read(event, "error", 0)
        if not read(event, "error", 0) and client >= 0:
            yield from self._handed(event, client)

    def _init_taken(self, event: Event) -> Iterator[Verdict]:
        client, error = read(event, "client"), read(event, "error", 0)
        if not error:
            self._awaiting.pop(client, None)
            yield from self._handed(event, client)
            self.pairs[client] = _pair(event)
            self.fences.append(_pair(event))
        elif error in FENCING:
            yield from self._fenced(event)

    def _fence_told(self, event: Event) -> Iterator[Verdict]:
        client = read(event, "client")
        self._awaiting.pop(client, None)
        self._rivals.discard(client)
        if not read(event, "error", 0):
            yield from self._handed(event, client)
            self.pairs[client] = _pair(event)
            self.fences.append(_pair(event))

    def _handed(self, event: Event, client: int) -> Iterator[Verdict]:
        """Another producer id fences nobody: the one before must have been used up."""
        pair, newest = _pair(event), next(reversed(self.producer_ids), _pair(event)[0])
        self.producer_ids.setdefault(pair[0], len(self.producer_ids))
        self.greatest[pair[0]] = max(pair[1], self.greatest.get(pair[0], -1))
        untold = self.greatest.get(newest, self.max_epoch) + self.rises
        is_kept = self.now_ms < EXPIRATION_MS <= self.expiration_ms
        if next(reversed(self.producer_ids)) != newest and untold < self.max_epoch - 1 and is_kept:
            given = f"client {client} is given (id {pair[0]}, epoch {pair[1]})"
            yield _verdict("txn.1", f"{given}, and nobody is fenced by that: id {newest} has epochs left", event)

    def _client_failed(self, event: Event) -> Iterator[Verdict]:
        yield from self._fenced(event)

    def _fenced(self, event: Event) -> Iterator[Verdict]:
        """A client that has the transactional id for itself, and is in time, is never fenced."""
        client = read(event, "client")
        if self.alone == client and not (self.doubts or self.timed_out or self._is_late(client)):
            words = f"client {client} is alone, has only retried its own requests, and gets error "
            yield _verdict("txn.P8", f"{words}{read(event, 'error')}", event, self.pairs.get(client, (-1, -1)))

    def _is_late(self, client: int) -> bool:
        """May the time of its transaction be up?"""
        transaction = self.current.get(client)
        return transaction is not None and self.now_ms - transaction.began_ms >= self.timeout_ms

    def _timed_out(self, event: Event) -> None:
        self.timed_out = True

    # -- transactions and their records

    def _txn_begun(self, event: Event) -> None:
        self.timed_out = False
        found = Transaction(read(event, "txn"), read(event, "client"), _pair(event), self.now_ms)
        self.transactions[found.number] = self.current[found.client] = found

    def _add_sent(self, event: Event) -> None:
        self.asker[read(event, "request")] = (read(event, "client"), self.transactions.get(read(event, "txn")))

    def _record_sent(self, event: Event) -> Iterator[Verdict]:
        self._add_sent(event)
        client, partition, record = (read(event, name) for name in ("client", "partition", "record"))
        if (transaction := self.transactions.get(read(event, "txn"))) is not None:
            transaction.records[record] = partition
            self.of_record[record] = transaction
        waiting = self.waiting[client, partition]
        waiting.add(record)
        self.batch_of.setdefault(record, read(event, "request"))
        if len(waiting) > WINDOW and partition < self.partitions and len({self.batch_of[r] for r in waiting}) > WINDOW:
            words = f"client {client} has {len(waiting)} records on their way to partition {partition}"
            yield _verdict("txn.14", words, event, _pair(event))

    def _record_acked(self, event: Event) -> None:
        record = read(event, "record")
        self.waiting[read(event, "client"), read(event, "partition")].discard(record)
        if (transaction := self.of_record.get(record)) is not None:
            transaction.acked.add(record)

    def _record_failed(self, event: Event) -> Iterator[Verdict]:
        record = read(event, "record")
        self.waiting[read(event, "client"), read(event, "partition")].discard(record)
        if (transaction := self.of_record.get(record)) is not None:
            transaction.failed.add(record)
        if read(event, "error", 0) in FENCING - {49}:
            yield from self._fenced(event)

    def _end_sent(self, event: Event) -> None:
        self._add_sent(event)
        if (transaction := self.transactions.get(read(event, "txn"))) is not None:
            transaction.asked.add(read(event, "outcome"))

    def _end_told(self, event: Event) -> Iterator[Verdict]:
        transaction = self.transactions.get(read(event, "txn"))
        if read(event, "error", 0):
            return
        if read(event, "request", -1) >= 0:
            self.doubts = max(0, self.doubts - 1)
            if transaction is not None:
                yield from self._handed(event, transaction.client)
                self.pairs[transaction.client] = _pair(event)
        if transaction is not None:
            transaction.told = read(event, "outcome")

    def _batch_appended(self, event: Event) -> None:
        self.window[_of_id(event)].append((read(event, "epoch"), read(event, "record")))

    def _marker_appended(self, event: Event) -> None:
        if read(event, "outcome") != COMMIT:
            self.window.pop(_of_id(event), None)

    def _leader_changed(self, event: Event) -> None:
        """Of the latest batches a new leader knows one at least."""
        for partition, producer_id in list(self.window):
            if partition == read(event, "partition"):
                del self.window[partition, producer_id]

    def _batch_refused(self, event: Event) -> Iterator[Verdict]:
        """Of the last five batches of its epoch a producer may send any again."""
        known, own = self.window[_of_id(event)], (read(event, "epoch"), read(event, "record"))
        if read(event, "error", 0) == OUT_OF_ORDER and own in known and known[-1][0] == own[0]:
            words = f"record {own[1]} is refused, and is among the last five batches"
            yield _verdict("txn.14", words, event, _pair(event))

    def _fetched(self, event: Event) -> None:
        self.upto[read(event, "client"), read(event, "partition")] = read(event, "upto")

    def _offset_fetched(self, event: Event) -> Iterator[Verdict]:
        """None is stable while another is pending in a transaction of a client that is alone and in time."""
        client = self.alone
        transaction = self.current.get(client)
        if transaction is None or read(event, "error", 0) or transaction.asked or self.doubts or self.timed_out:
            return
        pending = [r for r in transaction.acked if transaction.records[r] == read(event, "partition")]
        if pending and self.now_ms + self.waited_ms - transaction.began_ms < self.timeout_ms:
            words = f"offset {pending[0]} is pending in transaction {transaction.number}, and a stable one is fetched"
            yield _verdict("txn.21", words, event, transaction.pair)

    # -- when everything is quiet

    def _hangs(self, words: str, check: str, rule: str = "txn.P10") -> Verdict:
        """Whose fault it is cannot be seen: any producer's."""
        return Broken(rule, words, None, check), frozenset(self.producer_ids)

    def _settled(self, result: Settled, reader: int) -> Iterator[Verdict]:
        self.now_ms += result.waited_ms
        self.at_rest = result.quiet
        if not self.is_decidable():
            return
        if not result.quiet:
            yield self._hangs("requests are sent again without end", "result.quiet")
            return
        for partition, written in enumerate(result.written):
            upto = self.upto.get((READERS + reader, partition))
            if upto is not None and written and written[-1][0] >= upto:
                offset, record = written[-1]
                words = f"nothing happens any more, and record {record} at {partition}:{offset} is not below {upto}, "
                check = f"not any(offset >= {upto} for offset, _ in result.written[{partition}])"
                yield self._hangs(f"{words}the last stable offset", check)
        complete = [{record for _, record in records} for records in result.records]
        for transaction in self.transactions.values():
            yield from self._all_or_nothing(transaction, complete)
        for at, (error, _) in enumerate(result.offsets):
            if error:
                words = f"an offset of partition {self.partitions + at} is pending for ever: error {error}"
                yield self._hangs(words, f"result.offsets[{at}][0] == 0")

    def _all_or_nothing(self, transaction: Transaction, complete: list[set[int]]) -> Iterator[Verdict]:
        """Readers have read all there is."""
        number = transaction.number
        data = {r: p for r, p in transaction.records.items() if p < len(complete) and r in transaction.acked}
        lost = [(r, p) for r, p in data.items() if r not in complete[p]]
        if lost and (transaction.told == COMMIT or len(lost) < len(data)):
            record, partition = lost[0]
            check = f"{record} in [record for _, record in result.records[{partition}]]"
            words = f"record {record} of transaction {number} is not to be read on partition {partition}; "
            if transaction.told == COMMIT:
                yield self._hangs(f"{words}it was told commit", check, "txn.P4")
            else:
                yield self._hangs(f"{words}others are", check, "txn.P2")

    def _probed(self, result: Probed) -> Iterator[Verdict]:
        self.now_ms += result.waited_ms
        if not self.at_rest:  # then another may have fenced it
            return
        if not result.ready:
            yield self._hangs("a new producer is not given the transactional id", "result.ready")
        elif result.unread:
            words = f"what a new producer commits is not to be read on partition {result.unread[0]}"
            yield self._hangs(words, "result.unread == ()")


class BesideTheWire(TransactionsBeside):
    """Brokers may take longer to time a transaction out than the driver waits: whatever is open was fenced, or nothing
    can be said."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        if config.get("timeouts"):
            self.timeout_ms = 0  # in real time, of which the driver knows nothing

    def is_decidable(self) -> bool:
        transactions = self.transactions.values()
        return all(t.told >= 0 or not t.records or self.is_fenced(t.pair) for t in transactions)


def _pair(event: Event) -> Pair:
    return read(event, "producer_id", -1), read(event, "epoch", -1)


def _of_id(event: Event) -> Pair:
    return read(event, "partition"), read(event, "producer_id")


def _repeats(result: Newcomers) -> bool:
    return len(set(result.pairs)) < len(result.pairs)
