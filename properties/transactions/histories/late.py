"""This module follows who owns a transactional id in a run, and which violations a late copy explains.

The owner of an id must not lose it to a client that was refused (txn.P8). An instance that was given the id, while no
other request for it was under way, is its owner until another instance asks for it with a pair that counts, or time or
a take-over may have ended its transaction. It is not the owner if another request, or a copy of its own, arrived
between its request and the answer that it took, because the other request may have been given the id after it. Earlier
instances may go on to send any requests with the pairs that they had: these are refused, and a refused request has no
effect. So an owner that is informed that it is fenced, or that its transaction is over, is a violation.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fencepost.properties.driving import Event, Made, read
from fencepost.properties.trace_spec import Excuse
from fencepost.properties.transactions.interface import Message

ENDING = frozenset({"fail_over", "expire", "fence", "probe", "newcomers"})
"""`ENDING` lists calls after which an id may have another owner, or none, as it may after a failed append to the log.
"""
TAKEN = frozenset({47, 48, 49, 90})
"""`TAKEN` lists the errors with which an owner learns that it has lost its id or its transaction."""


class Owned(NamedTuple):
    """An `Owned` names the instance that owns an id, and its pair."""

    client: int
    producer_id: int
    epoch: int


class Owners:
    """`Owners` follows the owners of the ids of one run."""

    def __init__(self) -> None:
        self._owner: dict[int, Owned] = {}  # by transactional id
        self._id: dict[int, int] = {}  # by client
        self._open: set[int] = set()  # clients with a transaction
        self._arrived: set[int] = set()  # InitProducerIds of which no answer was taken yet
        self._overtaken: set[int] = set()  # of these, the ones after which another one arrived
        self._flying: set[int] = set()  # those under way after the last call

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterator[tuple[str, Event, tuple[int, int]]]:
        """Take note of a call, and yield each violation against an owner: what happened, by which event, and under
        which pair."""
        if made.call.name in ENDING or (made.call.name == "log_append" and made.call.get("ok") is False):
            self._owner.clear()
        self._arriving(made, events, messages)
        for event in events:
            kind, client = read(event, "kind"), read(event, "client", -1)
            if kind == "init_sent":
                self._asked(event, client)
            elif kind == "init_taken" and not read(event, "error", 0):
                self._taken(event, client, messages)
            elif kind == "txn_begun":
                self._begun(client, messages)
            elif kind == "end_told" and not read(event, "error", 0):
                self._ended(event, client)
            elif kind in ("timed_out", "id_expired"):
                self._owner.clear()
            elif kind in ("client_failed", "record_failed") and read(event, "error", 0) in TAKEN:
                owned = self._owner.get(self._id.get(client, -1))
                if owned is not None and owned.client == client:
                    del self._owner[self._id[client]]
                    words = f"client {client} was given the id, no other was since, and it gets error "
                    yield f"{words}{read(event, 'error')}", event, owned[1:]

    def _arriving(self, made: Made, events: Sequence[Event], messages: Sequence[Message]) -> None:
        """Take note of the InitProducerIds that arrive in this call; their order is not observed in a call that
        delivers many."""
        flying = {message[4] for message in messages if message[1] == "init"}
        if made.call.name != "deliver":
            asked = {read(event, "request", -1) for event in events if read(event, "kind") == "init_sent"}
            arriving = (self._flying | asked) - flying if made.call.name != "drop" else set()
        else:
            arriving = {made.message[4]} if made.message is not None and made.message[1] == "init" else set()
        if arriving:
            self._overtaken |= self._arrived | (arriving if len(arriving) > 1 else set())
            self._arrived |= arriving
        self._flying = flying

    def _asked(self, event: Event, client: int) -> None:
        """Note a request for the id, after which the id has no known owner. The request has no effect if it names an
        older pair than the owner's while the owner has no transaction open."""
        txn_id = self._id[client] = read(event, "txn_id", -1)
        owned = self._owner.get(txn_id)
        named = read(event, "producer_id", -1), read(event, "epoch", -1)
        is_idle = owned is not None and client != owned.client and owned.client not in self._open
        if owned is None or not (is_idle and named[0] == owned.producer_id and named[1] < owned.epoch):
            self._owner.pop(txn_id, None)

    def _begun(self, client: int, messages: Sequence[Message]) -> None:
        """Note an open transaction, which Kafka aborts for an InitProducerId that names any epoch of the id."""
        self._open.add(client)
        if any(message[1] == "init" for message in messages):
            self._owner.clear()

    def _taken(self, event: Event, client: int, messages: Sequence[Message]) -> None:
        request = read(event, "request", -1)
        is_overtaken = request in self._overtaken
        self._arrived.discard(request)
        if client in self._id and not is_overtaken and not any(message[1] == "init" for message in messages):
            self._owner[self._id[client]] = Owned(client, read(event, "producer_id"), read(event, "epoch"))

    def _ended(self, event: Event, client: int) -> None:
        """Note the end of a transaction, which gives its owner the next pair from KIP-890, part 2, on."""
        self._open.discard(client)
        txn_id = self._id.get(client, -1)
        pair: tuple[Any, Any] = read(event, "producer_id", -1), read(event, "epoch", -1)
        if txn_id in self._owner and self._owner[txn_id].client == client and pair[0] >= 0:
            self._owner[txn_id] = Owned(client, *pair)


# The driver observes which messages arrive late below v2, and these classes decide which promises that excuses. First
# of all, these sets list what late copies and unclean elections break by design.
#
# An excuse is of one record, one transaction, one client or one partition, from the call in which the copy is
# delivered that brings it about.  A copy that is delivered need not have any effect, so that this is the narrowest
# that can be seen of an implementation that emits nothing but what clients do and hear:
#
# - a record whose transaction was over, by an EndTxn of its epoch that was delivered before: it may be taken for one
#   of the next transaction.  Not so where the transaction was still open when it was fenced: the marker of that has
#   informed each of its partitions of a greater epoch;
# - the transactions of that epoch that are open when an EndTxn of another one is delivered: it may end them;
# - the owner of a transaction that is over, when an AddPartitions of it is delivered: what that opens is fenced, and
#   the owner with it, until it is given its next pair;
# - the transactions that have begun since a marker was sent, and have records in the partition to which it is
#   delivered.

EXPECTING = {
    "v1": frozenset({"txn.P1", "txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P6", "txn.P8", "txn.P10"}),
    "v1-verified": frozenset({"txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P8"}),
    "v2": frozenset[str](),
}
"""`EXPECTING` lists what late copies break by design. Part 1 of KIP-890 ends hanging transactions, and part 2 with
KIP-1228 the rest."""

UNCLEAN = frozenset({"txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P6", "txn.P9", "txn.P10"})
"""`UNCLEAN` lists the rules that an unclean election breaks by design, because it loses acknowledged records and
markers (txn.26)."""
STAYS = frozenset({"txn.P1", "txn.P7", "txn.P8"})
"""`STAYS` lists the rules that are still judged after an unclean election: fences, which owner has which epoch, and
that a lone client is not fenced.

In v1, where no leader asks, a lost marker lets the fenced producer write again, and txn.P1 is excused there. Mechanisms
are no longer judged, since offsets of a log are used twice, nor is txn.P11.
"""

ON_THE_WAY = frozenset({
    "txn.3", "txn.5", "txn.7", "txn.8", "txn.10", "txn.13", "txn.14", "txn.15", "txn.16", "txn.17", "txn.21",
})  # fmt: skip
"""`ON_THE_WAY` lists rules that seem broken where what is predicted has happened before."""

UNVERIFIED = Excuse("txn.15", "append", "a record came after the end of its transaction, and no leader asks first")
JOINED = Excuse("txn.9", "append", "a record came after the end of its transaction, into the next of the same epoch")
STOLEN = Excuse("txn.9", "end", "a late EndTxn ended the next transaction, which has the same epoch (KAFKA-17754)")
OPENED = Excuse("txn.9", "add_partition", "a late AddPartitions began a transaction that no producer ends")
UNNUMBERED = Excuse("txn.13", "append", "a partition that has forgotten its producer takes any sequence number")
MARKED = Excuse("txn.23", "mark_late", "a late marker decided the next transaction, which has the same epoch")

Pair = tuple[int, int]
"""A `Pair` is (producer id, epoch)."""
FOR_EVER = 1 << 60


@dataclass
class Transaction:
    """A `Transaction` is a client's transaction.

    ``records`` maps its records to partitions; ``asked`` has the outcomes in its EndTxn requests; ``reported`` is the
    outcome that its owner was given. ``added`` is whether an AddPartitions or a record of it was delivered, ``over``
    whether an EndTxn was delivered that may have ended it, and ``fenced`` whether a fence was delivered while it was
    open. ``acked_there`` has the records that partitions know by their sequence numbers.
    """

    number: int
    client: int
    pair: Pair
    began_ms: int
    txn_id: int = 0
    records: dict[int, int] = field(default_factory=dict)
    acked: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    reported: int = -1
    added: bool = False
    acked_there: set[int] = field(default_factory=set)
    over: bool = False
    fenced: bool = False


class Late:
    """`Late` predicts what late copies in one run may break. ``partitions`` is the number of data partitions; behind
    them are those of groups' offsets, whose records have no sequence numbers, so that with verification too a late one
    is taken where the next transaction is open. ``alone`` is whether no other transactional id sends markers."""

    def __init__(self, mode: str, partitions: int, alone: bool) -> None:
        self.mode, self.partitions, self.alone = mode, partitions, alone
        self.term = 0  # of the coordinator
        self.marked: dict[int, int] = {}  # by partition: the term of the last marker
        self.excused: dict[Hashable, list[tuple[int, int, Excuse]]] = {}  # by what it is of: from and to which call
        self.opened: set[Pair] = set()  # by a late AddPartitions, and no transaction has begun since
        self.forgotten = False  # partitions have forgotten producers, but those that wrote since
        self.known: set[Pair] = set()  # (partition, producer id) of those

    def note(self, call: int, excuse: Excuse, subjects: Iterable[Hashable]) -> None:
        for one in subjects:
            self.excused.setdefault(one, []).append((call, FOR_EVER, excuse))

    def settled(self, call: int, subject: Hashable) -> None:
        """End the excuses of this subject with this call."""
        self.excused[subject] = [(a, min(b, call), excuse) for a, b, excuse in self.excused.get(subject, ())]

    def why(self, call: int, subjects: Iterable[Hashable]) -> Excuse | None:
        """Return what excuses one of the subjects at this call."""
        found = (
            (since, excuse)
            for one in subjects
            for since, until, excuse in self.excused.get(one, ())
            if since <= call <= until
        )
        return min(found, key=lambda each: each[0], default=(0, None))[1]

    # What is delivered

    def record(self, call: int, transaction: Transaction, records: Iterable[int], partition: int) -> None:
        """Note a late record of a transaction; a partition recognises a record that was acknowledged by its sequence
        number."""
        if not transaction.over:
            transaction.added = True
            return
        offsets = partition >= self.partitions
        if transaction.fenced or not (offsets or self.mode == "v1"):
            return
        late = [record for record in records if offsets or record not in transaction.acked_there]
        if late:
            excuse = UNVERIFIED if self.mode == "v1" else JOINED
            self.note(call, excuse, [("record", record) for record in late])
            self.note(call, excuse, [("partition", partition)])

    def add(self, call: int, transaction: Transaction, every: Iterable[Transaction]) -> None:
        """Note a late copy that adds a partition; ``every`` has the transactions in the order in which they began. What
        a late copy opens counts as the last transaction that has begun with the pair (and opens nothing if that is
        open), or as the next one, which may begin before the log has it."""
        if transaction.over:
            last = [each for each in every if each.pair == transaction.pair][-1]
            those = [transaction.number] if last.added and not last.over else [transaction.number, last.number]
            self.note(call, OPENED, [("client", transaction.client), *(("opened by", number) for number in those)])
            self.opened.add(transaction.pair)
        transaction.added = True

    def begun(self, call: int, transaction: Transaction) -> None:
        if transaction.pair in self.opened:
            self.opened.remove(transaction.pair)
            self.note(call, OPENED, [("opened by", transaction.number)])

    def end(self, call: int, transaction: Transaction, every: Iterable[Transaction]) -> None:
        """Note a late EndTxn; ``every`` has the transactions that may be open."""
        for other in every:
            if other is not transaction and other.pair == transaction.pair and other.added and not other.over:
                self.note(call, STOLEN, [("txn", other.number)])
                other.over = True
        transaction.over = True

    def marker(self, call: int, partition: int, since: Iterable[Transaction], term: int) -> None:
        """Note a late marker; ``since`` has the transactions that have begun since it was sent, ``term`` the epoch of
        its coordinator. A partition that has a marker of a later coordinator refuses it
        (ProducerAppendInfo.checkCoordinatorEpoch)."""
        if self.alone and term < self.marked.get(partition, 0):
            return
        self.marked[partition] = term
        for later in since:
            if partition in later.records.values():
                self.note(call, MARKED, [("txn", later.number)])

    def fence(self, those: Iterable[Transaction], is_open: Callable[[Transaction], bool]) -> None:
        """End the open transaction, and inform each of its partitions of a greater epoch."""
        for transaction in those:
            if transaction.added and not transaction.over and is_open(transaction):
                transaction.fenced = transaction.over = True

    def forget(self, those: Iterable[Transaction]) -> None:
        """Note that partitions have forgotten all producers, so that they know no greater epoch and no record by its
        number."""
        self.forgotten = True
        self.known.clear()
        self.marked.clear()
        for transaction in those:
            transaction.fenced = False
            transaction.acked_there.clear()

    def appended(self, call: int, partition: int, producer_id: int, record: int = -1) -> None:
        """Note that a batch or a marker was appended; before v2 the first batch of an unknown producer may have any
        number."""
        if self.forgotten and (partition, producer_id) not in self.known and record >= 0 and self.mode != "v2":
            self.note(call, UNNUMBERED, [("number of", record)])
        self.known.add((partition, producer_id))

    def failed(self, those: Iterable[Transaction], is_reported: Callable[[Transaction], bool]) -> None:
        """Note that an append failed, or was lost with its coordinator, so that a fence may not be in effect."""
        for transaction in those:
            if transaction.fenced and not is_reported(transaction):
                transaction.fenced = transaction.over = False
