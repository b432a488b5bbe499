"""This module observes what a driven run of transactions reveals in addition to its history, and what is excused in it.

The driver knows how late it is, what is in flight, and whether a client is the only one with its transactional id; and
the results of settling and probing are evidence of whether something hangs.

In v1 a late copy can be taken for something new (KAFKA-17754 and related issues), by design. So a promise that is
``expecting`` to be broken is *predicted* for the records, transactions and clients that a late copy may have touched
(see `late.py`), and nothing else is excused.

A client is *alone* as long as it is the only one with its transactional id that asks, or has asked and was not stopped.
It is undisputed while no copy of its InitProducerId arrives late: one without a pair, when an answer is on its way or
was taken (`come_late` of the model), or one with a pair, when its answer was taken; while no coordinator takes over
before its InitProducerId is answered (`forgetful`) or answered with -1 at the last epoch; and while its id does not
expire (`expired`).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from fencepost.model.rules import RULES
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.monitoring import Broken, Concerned, RunContext
from fencepost.properties.nearest import error_text
from fencepost.properties.transactions.events.kinds import COMMIT
from fencepost.properties.transactions.histories.late import ON_THE_WAY, STAYS, UNCLEAN, Late, Owners, Pair, Transaction
from fencepost.properties.transactions.histories.promises import DRIVEN
from fencepost.properties.transactions.interface import DELIVERIES, EXPIRY_MS, READERS, Message, Probed, Settled
from fencepost.properties.transactions.scenarios.steps import Living

FENCING = frozenset({47, 48, 49, 90})  # a lone client has done nothing to deserve these
FAILED, OUT_OF_ORDER = -1, 45
NO_COPY_DOES = frozenset({"fenced_never_commit", "fenced_never_given", "fenced_never_added"})
"""`NO_COPY_DOES` lists violations that no late copy causes, because the coordinator checks the pair that the request
names."""
WINDOW = 5  # batches that a leader recognises
EXPIRATION_MS = 7 * 24 * 3_600_000  # transactional.id.expiration.ms
MANY = frozenset({"settle", "probe", "progress"})  # calls that deliver many messages
PASSING = MANY | {"advance", "forget"}  # calls in which time passes
RISES = 2  # by one request at most: InitProducerId fences what is open, and is answered one epoch further
LOOKING = MANY | {"read", "in_pieces", "fetch_offset"}

Verdict = tuple[Broken, Concerned]


def _verdict(rule: str, text: str, event: Event = None, *subjects: Hashable, check: str = "") -> Verdict:
    return Broken(rule, text, event, check), frozenset([frozenset(subjects)])


class TransactionsContext(RunContext):
    """A `TransactionsContext` watches one run. A violation concerns sets of records, transactions, clients and
    partitions, each of which must have one that is excused."""

    excusable = ON_THE_WAY
    further = DRIVEN
    left_to_the_model = frozenset({"lone_client_never_fenced", "clients_get_on", "calls_come_to_an_end"})
    """The checks of this context, which knows more about these properties, replace them."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting | UNCLEAN if config.get("unclean_elections") else expecting)
        if config.get("unclean_elections"):
            self.excusable = frozenset(rule for rule in RULES if rule.startswith("txn.")) - STAYS
        self.mode: str = config["mode"]
        self.partitions: int = config["partitions"]
        self.max_epoch: int = config.get("max_epoch", 32767)
        self.timeout_ms: int = config.get("transaction_timeout_ms", 60_000)
        self.expiration_ms: int = config.get("expiration_ms", EXPIRATION_MS)
        self.calls = self.now_ms = 0
        self.at_rest = True  # nothing is under way: no call was made since the cluster settled
        self.waited_ms = 0  # what of the present call's time has passed when it reads
        self.transactions: dict[int, Transaction] = {}
        self.current: dict[int, Transaction] = {}  # by client, the latest
        self.of_record: dict[int, Transaction] = {}
        self.asker: dict[int, tuple[int, Transaction | None]] = {}  # by request: client, and its transaction
        self.pairs: dict[int, Pair] = {}  # by client: what it holds
        self.producer_ids: dict[int, int] = {}  # which of them it is, in the order in which they were handed out
        self.may_forget = False  # so much time has passed that the id may have been forgotten
        self.anew: set[tuple[int, int]] = set()  # clients, with producer ids first handed out to them after that
        self.greatest: dict[int, int] = {}  # by producer id: the greatest epoch that was given to a client
        self.rises = 0  # how often an epoch may have been raised so far, reported or not
        self.fences: list[Pair] = []  # acknowledged: a client that holds less is fenced
        self.owners, self.living = Owners(), Living()
        self.alone = -1  # the client that has the transactional id for itself
        self.doubts = 0  # an old InitProducerId came late, or its retry met another coordinator: ends until it is over
        self.timed_out = False  # the time of the present transaction is up
        self.late = Late(self.mode, self.partitions, config.get("ids", 1) == 1)
        self.records_of: dict[int, list[int]] = {}  # by request
        self.open_there: dict[tuple[int, int], list[int]] = {}  # by partition and producer id, records open there
        self.closed: dict[tuple[int, int], list[int]] = {}  # by partition and offset of a marker, the records it closes
        self.waiting: dict[tuple[int, int], set[int]] = defaultdict(set)  # records without an answer
        self.batch_of: dict[int, int] = {}  # by record: the first request with it
        self.away: set[int] = set()  # partitions without a leader
        self.sent_as: dict[int, tuple[Pair, int]] = {}  # by record that was sent once: under which pair and number
        self.acked_last: dict[tuple[int, int], int] = {}  # by client and partition: a record
        self.copied: set[int] = set()  # producer ids of whose records copies were made, or may be
        self.later: dict[int, int] = {}  # by acknowledged record: one of its transaction, sent after that there
        self.window: dict[Pair, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=WINDOW))  # (epoch, record)
        self.upto: dict[tuple[int, int], int] = {}  # (reader, partition): the end of its latest fetch
        self._rivals: set[int] = set()  # clients that asked for a producer id, and may still use it
        self._awaiting: dict[int, int] = {}  # client: its latest InitProducerId
        self._txn_ids: dict[int, int] = {}  # by InitProducerId
        self.read_ones: set[int] = set()  # records that a read_committed reader was given
        self._named: set[int] = set()  # InitProducerIds that name the pair of their client
        self._granted: dict[int, bool] = {}  # by InitProducerId of which an answer was observed: was one a success?
        self._first_seen: dict[int, tuple[int, int]] = {}  # message: transactions begun before, and the term
        self._flying: Sequence[Message] = ()

    # -- what `RunContext` is asked

    def events(self, made: Made) -> Sequence[Event]:
        """Return the events of a call; `newcomers` drains them itself and returns them in its result. Which two new
        producers share a pair may be chance, and a program that names these would not fail again, so that then the
        result as a whole is judged."""
        if made.call.name == "newcomers" and not made.result.repeats:
            return (*made.result.events, *made.events)
        if made.call.name == "fail_over" and not made.call.get("durable"):  # what was being appended is not in the log
            return [event for event in made.events if read(event, "kind") != "coordinator_loaded"]
        return made.events

    def watch(self, made: Made, events: Sequence[Event], messages: Sequence[Message]) -> Iterator[Verdict]:
        self.calls += 1
        self._note_call(made)
        self.living.note(made, events)
        for event in events:
            handler = getattr(self, f"_{read(event, 'kind')}", None)
            if handler is not None:
                yield from handler(event) or ()
        for words, event, _ in self.owners.watch(made, events, messages):
            if not (self.doubts or self.timed_out or self._is_late(read(event, "client"))):
                yield _verdict("txn.P8", words, event, *self._owner(read(event, "client")))
        if made.call.name == "newcomers" and made.result.repeats:
            words = f"of {made.call.get('count')} producers, one after another, two are given the same id and epoch"
            yield _verdict("txn.P7", words, check="len(set(result.pairs)) == len(result.pairs)")
        elif made.call.name == "settle":
            yield from self._settled(made.result, made.call.get("reader"))
        elif made.call.name == "probe":
            yield from self._probed(made.result)
        elif made.call.name == "progress":
            yield from self.living.progressed(made)
        begun, self._flying = len(self.transactions), messages
        for message in messages:
            self._first_seen.setdefault(message[0], (begun, self.late.term))

    def is_quiet(self, made: Made) -> bool:
        return made.call.name == "settle" and made.result.quiet and self.is_decidable()

    def is_decidable(self) -> bool:
        """Return whether everything is decided when a cluster has settled. A transaction that no client ends has timed
        out; but its marker cannot be written in a partition that is away."""
        return not self.away

    def concerned(self, name: str, events: Sequence[Event]) -> Concerned:
        """Return, for a marker, the transactions that it wrongly decided; for other events, the records and
        transactions that they name. No late copy causes a fenced producer to be informed that it has committed, and the
        outcome of a transaction is no excuse for a record that was written when its owner was fenced."""
        if name in NO_COPY_DOES:
            return frozenset()
        if read(events[0], "kind") == "marker_appended":
            return self._decided(events)
        found = {("number of", read(events[0], "record", -1))} if name == "sequences_follow_on" else set[Hashable]()
        for event in events:
            record, txn = read(event, "record", -1), self.transactions.get(read(event, "txn", -1))
            if record >= 0:
                found.add(("record", record))
                txn = self.of_record.get(record, txn)
            if txn is not None and not name.startswith("fenced"):
                found.add(("txn", txn.number))
            if txn is not None and read(events[0], "kind") == "txn_logged":
                found.add(("opened by", txn.number))
            if record >= 0 and txn is not None and name == "transactions_whole":
                found |= self._all_late(txn)
            if read(event, "kind") == "marker_appended":
                found |= {("record", one) for one in self._closed_by(event)}
            if read(event, "kind") == "client_failed":
                found.add(("client", read(event, "client")))
        return frozenset([frozenset(found)])

    def allows(self, name: str, events: Sequence[Event]) -> bool:
        """Of an id that was forgotten nothing remembers who was fenced: whatever pair InitProducerId names, it is
        answered with another producer id (txn.20; the hole of KAFKA-18019)."""
        given = read(events[0], "client", -1), read(events[0], "producer_id", -1)
        return name == "fenced_never_given" and given in self.anew

    def _closed_by(self, event: Event) -> list[int]:
        return self.closed.get((read(event, "partition"), read(event, "offset", -1)), [])

    def _decided(self, events: Sequence[Event]) -> Concerned:
        """Return each transaction that the marker, the first event, wrongly decides."""
        closed = self._closed_by(events[0])
        txns = {self.of_record[one].number for one in closed if one in self.of_record}
        if len(events) > 1 and read(events[1], "kind") == "marker_appended":
            earlier = {self.of_record[one].number for one in self._closed_by(events[1]) if one in self.of_record}
            closed, txns = [*closed, *self._closed_by(events[1])], txns & earlier
        elif len(events) > 1 and read(events[1], "txn", -1) >= 0:
            txns &= {read(events[1], "txn")}
        else:
            txns = {txn for txn in txns if COMMIT not in self.transactions[txn].asked}
        of = {txn: {("record", one) for one in closed if self.of_record[one].number == txn} for txn in txns}
        return frozenset(frozenset([("txn", txn), *records]) for txn, records in of.items())

    def _all_late(self, transaction: Transaction) -> set[Hashable]:
        """Return the records of the transaction that were read, if all of them are excused, else none."""
        read_ones = set[Hashable](("record", one) for one in transaction.records if one in self.read_ones)
        return read_ones if all(self.late.why(self.calls, [one]) for one in read_ones) else set()

    def lacking(self, made: Made, event: Event, other: Event | None) -> str:
        """Return an expression that is true if the reader did get the record which the fetch leaves out; empty if its
        call does not reveal that."""
        record = -1 if other is None else read(other, "record", -1)
        if made.call.name != "read" or read(event, "kind") != "fetched" or record < 0:
            return ""
        return f"{record} in [record for _, record in result]"

    def excuses(self, call: int, concerned: Concerned) -> bool:
        return bool(self.why(call, concerned))

    def why(self, call: int, concerned: Concerned) -> str:
        if call >= self.truncated:
            return "txn.26 elect_unclean: a replica that lacked the end of its log has led"
        found = [self.late.why(call, one) for one in concerned if isinstance(one, frozenset)]
        return str(found[0]) if self.expecting and found and all(found) else ""

    # -- how late copies come

    def _note_call(self, made: Made) -> None:
        name = made.call.name
        self.at_rest &= name in LOOKING
        self.waited_ms = made.result.waited_ms if name == "settle" else 0
        times = made.call.get("count") if name == "newcomers" else DELIVERIES if name in MANY else 1
        self.rises += RISES * times
        forgets = name == "expire" or (self.expiration_ms < EXPIRATION_MS and name in PASSING)
        self.may_forget |= forgets
        self._doubt(forgets)
        if name == "advance":
            self.now_ms += made.call.get("ms")
            self.late.fence(self.transactions.values(), lambda t: self.now_ms - t.began_ms >= self.timeout_ms)
        elif name == "log_append" and not made.call.get("ok"):
            self.late.failed(self.transactions.values(), lambda t: self.is_fenced(t.pair))
        elif name == "elect_unclean":
            self.truncated = min(self.truncated, self.calls)
        elif name == "leave":
            self.away.add(made.call.get("partition"))
        elif name == "come_back":
            self.away.discard(made.call.get("partition"))
        elif name in ("forget", "expire"):
            self.now_ms += EXPIRY_MS if name == "expire" else made.result
            self.late.forget(self.transactions.values())
        elif name == "fail_over":
            self.late.term += 1
            self._doubt(bool(self._awaiting))
            if not made.call.get("durable"):
                self.late.failed(self.transactions.values(), lambda t: self.is_fenced(t.pair))
        elif name in ("settle", "newcomers", "progress"):  # settling adds its time when what it read is looked at
            self.now_ms += made.result.waited_ms if name == "progress" else 0
            self._marked()
            for message in self._flying:
                self._note_delivery(message)
            inits = Counter(m[2] for m in self._flying if m[1] == "init" and m[4] not in self._named)
            self._doubt(any(count > 1 for count in inits.values()))
        elif name == "probe":
            self._marked()
            self._doubt(True)  # it is a producer of its own
        elif name == "deliver" and made.message is not None:
            self._note_delivery(made.message)
            copied = self.asker.get(made.message[4], (-1, None))[1] if made.call.get("keep") else None
            self.copied |= set() if copied is None else {copied.pair[0]}

    def _marked(self) -> None:
        if self.late.forgotten:  # what follows on a marker is refused by who knows no number (ProducerAppendInfo)
            self.acked_last.clear()

    def _note_delivery(self, message: Message) -> None:
        """Note whether a copy arrives so late that, without KIP-890, it can be taken for something new."""
        number, kind, _, target, request = message
        client, transaction = self.asker.get(request, (-1, None))
        if kind == "init":
            self._doubt(self._awaiting.get(client) != request or self._comes_again(client, request))
            self.late.fence(self.transactions.values(), lambda t: t.txn_id == self._txn_ids.get(request, t.txn_id))
        elif kind == "marker" and _partition(target) not in self.away:
            self._marked()
            begun, term = self._first_seen.get(number, (len(self.transactions), self.late.term))
            self.late.marker(self.calls, _partition(target), [*self.transactions.values()][begun:], term)
        elif transaction is None:
            return
        elif kind == "add":
            self.late.add(self.calls, transaction, self.transactions.values())
        elif kind == "produce":
            self.late.record(self.calls, transaction, self.records_of.get(request, ()), _partition(target))
        elif kind == "end":
            self.late.end(self.calls, transaction, self.transactions.values())

    def _comes_again(self, client: int, request: int) -> bool:
        """Return whether this InitProducerId names no pair and arrives while its client has an answer on its way
        already.

        Then it bumps the epoch once more, and the client goes on with the one before (`come_late` of the model). Where
        an answer was lost, the client waits for the answer to this copy.
        """
        if request in self._named or self._granted.get(request) is False:
            return False
        return any(m[1] == "init_answer" and self.asker.get(m[4], (-1, None))[0] == client for m in self._flying)

    def _doubt(self, reason: bool) -> None:
        """Note whether a lone client may find that it is fenced; the doubt ends after two ends without an error,
        because the answer to the first may have been on its way already."""
        self.doubts = 2 if reason else self.doubts

    # -- who holds which pair, and who is fenced

    def is_fenced(self, pair: Pair) -> bool:
        ids = self.producer_ids
        return any(
            pair[1] < fence[1] if pair[0] == fence[0] else -1 < ids.get(pair[0], -1) < ids.get(fence[0], -1)
            for fence in self.fences
        )

    def _init_sent(self, event: Event) -> None:
        client, request = read(event, "client"), read(event, "request")
        self.asker[request] = (client, None)
        self._txn_ids[request] = read(event, "txn_id", 0)
        self._awaiting[client] = request
        self._named |= {request} if _pair(event)[0] >= 0 else set()
        self._rivals.add(client)
        on_their_way = {self.asker.get(m[4], (client, None))[0] for m in self._flying if m[1] == "init"}
        is_fenced = self.is_fenced(_pair(event))
        if client != self.alone:  # kafka-python asks for the next epoch when a partition answers that it is fenced
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
        self._doubt(error == FAILED and self.pairs.get(client, (-1, -1))[1] + 2 == self.max_epoch)
        if not error:
            self._awaiting.pop(client, None)
            yield from self._handed(event, client)
            self.pairs[client] = _pair(event)
            self.fences.append(_pair(event))
            self.late.settled(self.calls, ("client", client))
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
        """Judge a pair that was handed out: another producer id is right only if the one before is used up."""
        pair, newest = _pair(event), next(reversed(self.producer_ids), _pair(event)[0])
        if self.may_forget and pair[0] not in self.producer_ids:
            self.anew.add((client, pair[0]))
        self.producer_ids.setdefault(pair[0], len(self.producer_ids))
        self.greatest[pair[0]] = max(pair[1], self.greatest.get(pair[0], -1))
        untold = self.greatest.get(newest, self.max_epoch) + self.rises
        remains = self.now_ms < EXPIRATION_MS <= self.expiration_ms
        if next(reversed(self.producer_ids)) != newest and untold < self.max_epoch - 1 and remains:
            given = f"client {client} is given (id {pair[0]}, epoch {pair[1]})"
            yield _verdict("txn.1", f"{given}, and no instance is fenced by that: id {newest} has epochs left", event)

    def _client_failed(self, event: Event) -> Iterator[Verdict]:
        yield from self._fenced(event)

    def _fenced(self, event: Event) -> Iterator[Verdict]:
        """Judge a fence: a client that is alone with its transactional id, and in time, is never fenced."""
        client = read(event, "client")
        if self.alone == client and not (self.doubts or self.timed_out or self._is_late(client)):
            words = f"client {client} is alone, has only retried its own requests, and gets error "
            yield _verdict("txn.P8", f"{words}{read(event, 'error')}", event, *self._owner(client))

    def _owner(self, client: int) -> list[Hashable]:
        transaction = self.current.get(client)
        return [("client", client), *([] if transaction is None else [("txn", transaction.number)])]

    def _is_late(self, client: int) -> bool:
        transaction = self.current.get(client)
        return transaction is not None and self.now_ms - transaction.began_ms >= self.timeout_ms

    def _timed_out(self, event: Event) -> None:
        self.timed_out = True

    # -- transactions and their records

    def _txn_begun(self, event: Event) -> None:
        self.timed_out = False
        client, txn_id = read(event, "client"), read(event, "txn_id", 0)
        found = Transaction(read(event, "txn"), client, _pair(event), self.now_ms, txn_id)
        self.transactions[found.number] = self.current[client] = found
        self.late.begun(self.calls, found)

    def _add_sent(self, event: Event) -> None:
        self.asker[read(event, "request")] = (read(event, "client"), self.transactions.get(read(event, "txn")))

    def _record_sent(self, event: Event) -> Iterator[Verdict]:
        self._add_sent(event)
        client, partition, record = (read(event, name) for name in ("client", "partition", "record"))
        if (transaction := self.transactions.get(read(event, "txn"))) is not None:
            transaction.records[record] = partition
            transaction.added |= self.mode != "v2"  # its partition was, and that was answered
            self.of_record[record] = transaction
            self.records_of.setdefault(read(event, "request"), []).append(record)
        waiting = self.waiting[client, partition]
        waiting.add(record)
        again = record in self.batch_of
        self.batch_of.setdefault(record, read(event, "request"))
        self.sent_as[record] = (_pair(event), -1 if again else read(event, "sequence", -1))
        before = self.acked_last.get((client, partition), -1)
        if again and (partition >= self.partitions or self.mode == "v1-verified"):
            self.copied.add(read(event, "producer_id"))
        elif transaction is not None and before in transaction.acked:
            self.later[before] = record
        if len(waiting) > WINDOW and partition < self.partitions and len({self.batch_of[r] for r in waiting}) > WINDOW:
            words = f"client {client} has {len(waiting)} records on their way to partition {partition}"
            yield _verdict("txn.14", words, event)

    def _record_acked(self, event: Event) -> None:
        record = read(event, "record")
        self.waiting[read(event, "client"), read(event, "partition")].discard(record)
        self.acked_last[read(event, "client"), read(event, "partition")] = record
        if (transaction := self.of_record.get(record)) is not None:
            transaction.acked.add(record)
            transaction.acked_there.add(record)

    def _record_failed(self, event: Event) -> Iterator[Verdict]:
        record = read(event, "record")
        self.waiting[read(event, "client"), read(event, "partition")].discard(record)
        if (transaction := self.of_record.get(record)) is not None:
            transaction.failed.add(record)
        if read(event, "error", 0) in FENCING - {49}:
            yield from self._fenced(event)
        before = self.acked_last.get((read(event, "client"), read(event, "partition")), -1)
        if read(event, "error", 0) == OUT_OF_ORDER and self._follows_on(record, before):
            words = f"record {record} is refused as out of order, and follows on record {before}, which is acknowledged"
            yield _verdict("txn.13", words, event, self.sent_as[record][0])

    def _follows_on(self, record: int, before: int) -> bool:
        """Return whether a record, sent once, follows another by its sequence number. The answer is no where a copy of
        any may be with the leader: one that arrives late may have the next batch refused (KAFKA-19690)."""
        if record not in self.sent_as or before not in self.sent_as:
            return False
        (pair, sequence), (pair_before, sequence_before) = self.sent_as[record], self.sent_as[before]
        return sequence > 0 and pair == pair_before and sequence == sequence_before + 1 and pair[0] not in self.copied

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
            transaction.reported = read(event, "outcome")
            transaction.fenced = False

    def _batch_appended(self, event: Event) -> None:
        self.window[_of_id(event)].append((read(event, "epoch"), read(event, "record")))
        self.late.appended(self.calls, *_of_id(event), read(event, "record"))
        self.open_there.setdefault(_of_id(event), []).append(read(event, "record"))

    def _marker_appended(self, event: Event) -> None:
        there = read(event, "partition"), read(event, "offset", -1)
        self.closed.setdefault(there, self.open_there.pop(_of_id(event), []))  # a log may have lost its end
        self.late.appended(self.calls, *_of_id(event))
        if read(event, "outcome") != COMMIT:
            self.window.pop(_of_id(event), None)

    def _leader_changed(self, event: Event) -> None:
        """Drop the latest batches known in a partition whose leader changes, since the new leader need not know all of
        them."""
        for partition, producer_id in list(self.window):
            if partition == read(event, "partition"):
                del self.window[partition, producer_id]

    def _batch_refused(self, event: Event) -> Iterator[Verdict]:
        """Judge a refusal: a producer may send any of the last five batches of its epoch again."""
        known, own = self.window[_of_id(event)], (read(event, "epoch"), read(event, "record"))
        if read(event, "error", 0) == OUT_OF_ORDER and own in known and known[-1][0] == own[0]:
            words = f"record {own[1]} is refused, and is among the last five batches"
            yield _verdict("txn.14", words, event, *self._subjects(own[1]))

    def _subjects(self, record: int) -> list[Hashable]:
        of_txn = self.of_record.get(record)
        return [("record", record), *([] if of_txn is None else [("txn", of_txn.number)])]

    def _fetched(self, event: Event) -> None:
        self.upto[read(event, "client"), read(event, "partition")] = read(event, "upto")

    def _record_read(self, event: Event) -> None:
        self.read_ones.add(read(event, "record"))

    def _offset_fetched(self, event: Event) -> Iterator[Verdict]:
        """Judge a fetched offset: none is stable while another is pending in a transaction of a client that is alone
        and in time. Of several offsets of one transaction the last counts, unless a copy of an earlier one arrives
        late, because they have no sequence numbers."""
        record = read(event, "record", -1)
        transaction, later = self.of_record.get(record), self.later.get(record, -1)
        is_over = transaction is not None and later in transaction.acked and transaction.reported == COMMIT
        if transaction is not None and is_over and transaction.pair[0] not in self.copied:
            words = f"the offset of record {record} counts, and that of record {later} came after it"
            yield _verdict("txn.21", f"{words} in transaction {transaction.number}", event, *self._subjects(later))
        client = self.alone
        transaction = self.current.get(client)
        if transaction is None or read(event, "error", 0) or transaction.asked or self.doubts or self.timed_out:
            return
        pending = [r for r in transaction.acked if transaction.records[r] == read(event, "partition")]
        if pending and self.now_ms + self.waited_ms - transaction.began_ms < self.timeout_ms:
            words = f"offset {pending[0]} is pending in transaction {transaction.number}, and a stable one is fetched"
            yield _verdict("txn.21", words, event, *self._subjects(pending[0]))

    # -- when everything is quiet

    def _hangs(self, words: str, check: str, *subjects: Hashable) -> Verdict:
        return _verdict("txn.P10", words, None, *subjects, check=check)

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
                yield self._hangs(f"{words}the last stable offset", check, ("partition", partition))
        for transaction in self.transactions.values():
            yield from self._all_or_nothing(transaction, result, reader)
        for at, (error, _) in enumerate(result.offsets):
            if error:
                words = f"an offset of partition {(p := self.partitions + at)} is pending for ever: {error_text(error)}"
                yield self._hangs(words, f"result.offsets[{at}][0] == 0", ("partition", p))

    def _all_or_nothing(self, transaction: Transaction, result: Settled, reader: int) -> Iterator[Verdict]:
        """Judge a transaction once readers have read everything: each record that they lack must be excused, by itself
        or by a late record before it that hangs."""
        complete = [{record for _, record in records} for records in result.records]
        data = {r: p for r, p in transaction.records.items() if p < len(complete) and r in transaction.acked}
        lost = [(r, p) for r, p in data.items() if r not in complete[p]]
        is_reported = transaction.reported == COMMIT
        if not lost or not (is_reported or len(lost) < len(data)):
            return
        others = set[Hashable]() if is_reported else self._all_late(transaction)
        concerned = []
        for record, partition in lost:
            upto = self.upto.get((READERS + reader, partition), 0)
            hangs = any(offset >= upto for offset, one in result.written[partition] if one == record)
            behind = [("partition", partition)] if hangs else []
            concerned.append(frozenset([*self._subjects(record), *others, *behind]))
        record, partition = lost[0]
        words = f"record {record} of transaction {transaction.number} is not to be read on partition {partition}; "
        rule, why = ("txn.P4", "it was told commit") if is_reported else ("txn.P2", "others are")
        check = f"{record} in [record for _, record in result.records[{partition}]]"
        yield Broken(rule, words + why, None, check), frozenset(concerned)

    def _probed(self, result: Probed) -> Iterator[Verdict]:
        self.now_ms += result.waited_ms
        if not self.at_rest or result.waited_ms >= self.expiration_ms:  # another may have fenced it, or time
            return
        if not result.ready:
            yield self._hangs("a new producer is not given the transactional id", "result.ready")
        elif result.unread:
            words = f"what a new producer commits is not to be read on partition {result.unread[0]}"
            concerned = frozenset(frozenset([("partition", partition)]) for partition in result.unread)
            yield Broken("txn.P10", words, None, "result.unread == ()"), concerned


def _partition(leader: str) -> int:
    return int(leader.rpartition("-")[2])


def _pair(event: Event) -> Pair:
    return read(event, "producer_id", -1), read(event, "epoch", -1)


def _of_id(event: Event) -> Pair:
    return read(event, "partition"), read(event, "producer_id")
