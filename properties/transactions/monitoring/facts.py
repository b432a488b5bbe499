"""What everybody could know of a history so far: who holds which pair, whose transaction a record is, what was asked
for and told, which fences were acknowledged, how late it is, and which copies came late.

The views of the monitor (`monitor_clients`, `monitor_coordinator`, `monitor_partitions`, `monitor_quiet`) judge by it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.properties.driving import Event, Made, read
from fencepost.properties.monitoring import Broken
from fencepost.properties.transactions.driving.interface import Message
from fencepost.properties.transactions.observations.codes import TIMED_OUT
from fencepost.properties.transactions.scenarios.settling import DELIVERIES, EXPIRY_MS

EXPIRATION_MS = 7 * 24 * 3_600_000  # transactional.id.expiration.ms
RISES = 2  # by one request at most: InitProducerId fences what is open, and is answered one epoch further

LOOKING = frozenset({"settle", "probe", "read", "fetch_offset"})

ABORT, COMMIT = 0, 1
WORDS = {ABORT: "abort", COMMIT: "commit"}

Pair = tuple[int, int]
"""(producer id, epoch)."""
NOBODY: Pair = (-1, -1)


@dataclass
class Transaction:
    """A client's transaction.  ``records``: to which partition; ``in_doubt``: those of the failed that were given up
    without an answer; ``asked``: outcomes in its EndTxn requests; ``told``: the outcome that its owner was told;
    ``fates``: the outcome of the marker that ended it, by partition."""

    number: int
    client: int
    pair: Pair
    began_ms: int
    records: dict[int, int] = field(default_factory=dict)
    acked: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    in_doubt: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    told: int = -1
    visible: set[int] = field(default_factory=set)
    fates: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """A promise (or rule) that is broken, and by whose transactions: what came late under these pairs may excuse it."""

    broken: Broken
    pairs: frozenset[Pair] = frozenset()


def verdict(rule: str, text: str, event: Event = None, *pairs: Pair, check: str = "") -> Verdict:
    """In short."""
    return Verdict(Broken(rule, text, event, check), frozenset(pairs))


class Facts:
    """Of one history."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.mode: str = config["mode"]
        self.partitions: int = config["partitions"]
        self.groups: int = config.get("groups", 0)
        self.max_epoch: int = config.get("max_epoch", 32767)
        self.timeout_ms: int = config.get("transaction_timeout_ms", 60_000)
        self.now_ms = 0
        self.at_rest = True  # nothing is under way: nobody has done anything since the cluster settled
        self.waited_ms = 0  # what of the present call's time has passed when it reads
        self.transactions: dict[int, Transaction] = {}
        self.by_pair: dict[Pair, Transaction] = {}  # the latest
        self.current: dict[int, Transaction] = {}  # by client, the latest
        self.of_record: dict[int, Transaction] = {}
        self.asker: dict[int, tuple[int, Transaction | None]] = {}  # by request: client, and its transaction
        self.pairs: dict[int, Pair] = {}  # by client: what it holds
        self.holders: dict[Pair, int] = {}
        self.producer_ids: dict[int, int] = {}  # which of them it is, in the order in which they were handed out
        self.greatest: dict[int, int] = {}  # by producer id: the greatest of its epochs that anybody was told
        self.rises = 0  # how often an epoch may have been raised so far, told or untold
        self.expiration_ms: int = config.get("expiration_ms", EXPIRATION_MS)
        self.fences: list[Pair] = []  # acknowledged: whoever holds less is fenced
        self.zombies: set[int] = set()  # records that left, or were appended, after the fence of their producer
        self.zombie_ends: set[int] = set()  # requests to end a transaction that left after the fence of their producer
        self.alone = -1  # the client that has the transactional id for itself
        self._rivals: set[int] = set()  # clients that asked for a producer id, and may still use it
        self.doubts = (
            0  # an old InitProducerId came late, or its retry met another coordinator: ends until that is over
        )
        self.timed_out = False  # the time of the present transaction is up
        self.tainted: set[Pair] = set()  # pairs under which something came late
        self._awaiting: dict[int, int] = {}  # client: its latest InitProducerId
        self._first_seen: dict[int, int] = {}  # message: transactions begun before
        self._flying: Sequence[Message] = ()

    def note_call(self, made: Made) -> None:
        """What the driver knows, before the events of a call are looked at."""
        name = made.call.name
        self.at_rest &= name in LOOKING
        self.waited_ms = made.result.waited_ms if name == "settle" else 0
        times = {"settle": DELIVERIES, "probe": DELIVERIES, "newcomers": made.call.get("count")}.get(name, 1)
        self.rises += RISES * times
        if name == "advance":
            self.now_ms += made.call.get("ms")
        elif name == "expire":
            self.now_ms += EXPIRY_MS
            self._doubt(True)  # the id may be forgotten
        elif name == "fail_over":
            self._doubt(bool(self._awaiting))
        elif name in ("settle", "newcomers"):
            for message in self._flying:
                self._note_delivery(message)
        elif name == "probe":
            self._doubt(True)  # it is a producer of its own
        elif name == "deliver" and made.message is not None:
            self._note_delivery(made.message)

    def note_flying(self, messages: Sequence[Message]) -> None:
        """What is in flight after a call."""
        begun, self._flying = len(self.transactions), messages
        for message in messages:
            self._first_seen.setdefault(message[0], begun)

    def _note_delivery(self, message: Message) -> None:
        """Does a copy come so late that, without KIP-890, it can be taken for something new?"""
        number, kind, _, target, request = message
        client, transaction = self.asker.get(request, (-1, None))
        if kind == "init":
            self._doubt(self._awaiting.get(client) != request)
        elif kind == "marker":
            begun = self._first_seen.get(number, len(self.transactions))
            later = [t for t in self.transactions.values() if t.number >= begun and t.records]
            self.tainted.update(t.pair for t in later)
        elif transaction is not None and (kind == "add" or (kind == "produce" and self._takes_anything(target))):
            over = transaction.asked or transaction.failed or self.is_fenced(transaction.pair)
            if over or transaction is not self.current.get(client):
                self.tainted.add(transaction.pair)
        elif (
            transaction is not None
            and kind == "end"
            and (transaction.told >= 0 or transaction is not self.current.get(client))
        ):
            self.tainted.add(transaction.pair)

    def _takes_anything(self, leader: str) -> bool:
        """Can what is late be written?  Without verification; and offsets, which have no sequence numbers."""
        return self.mode == "v1" or int(leader.rpartition("-")[2]) >= self.partitions

    def note(self, event: Event) -> None:
        """Take an event into account, before it is judged."""
        handler = getattr(self, f"_{read(event, 'kind')}", None)
        if handler is not None:
            handler(event)

    def is_older(self, pair: Pair, than: Pair) -> bool:
        """Was the first one's producer fenced when the second was handed out?"""
        if pair[0] == than[0]:
            return pair[1] < than[1]
        ids = self.producer_ids
        return pair[0] in ids and than[0] in ids and ids[pair[0]] < ids[than[0]]

    def is_fenced(self, pair: Pair) -> bool:
        """Has somebody been told so?"""
        return any(self.is_older(pair, fence) for fence in self.fences)

    def has_epochs_left(self, producer_id: int) -> bool:
        """Is it certain that a producer id was not used up, nor forgotten, when the next one was handed out?"""
        untold = self.greatest.get(producer_id, self.max_epoch) + self.rises
        return untold < self.max_epoch - 1 and self.now_ms < EXPIRATION_MS <= self.expiration_ms

    def is_tainted(self, pairs: Iterable[Pair]) -> bool:
        """Did something come late under one of these producer ids?"""
        ids = {pair[0] for pair in pairs}
        return any(pair[0] in ids for pair in self.tainted)

    def may_have_ended(self, transaction: Transaction) -> bool:
        """Might a transaction that its owner has not ended be over?"""
        return (
            bool(transaction.asked)
            or transaction.client != self.alone
            or self.doubts > 0
            or self.timed_out
            or self.now_ms + self.waited_ms - transaction.began_ms >= self.timeout_ms
            or transaction is not self.current.get(transaction.client)
        )

    def _doubt(self, reason: bool) -> None:
        """May a lone client find that it is fenced?  Not any more after two ends without an error: the answer to the
        first may have been on its way already."""
        self.doubts = 2 if reason else self.doubts

    def _end_told(self, event: Event) -> None:
        if not read(event, "error", 0) and read(event, "request", -1) >= 0:
            self.doubts = max(0, self.doubts - 1)

    def _init_sent(self, event: Event) -> None:
        client, request = read(event, "client"), read(event, "request")
        self.asker[request] = (client, None)
        self._awaiting[client] = request
        self._rivals.add(client)
        on_their_way = {self.asker.get(m[4], (client, None))[0] for m in self._flying if m[1] == "init"}
        is_fenced = self.is_fenced((read(event, "producer_id", -1), read(event, "epoch", -1)))
        if client != self.alone:  # kafka-python asks for the next epoch when a partition has told it that it is fenced
            self.alone = client if self._rivals | on_their_way == {client} and not is_fenced else -1

    def _client_stopped(self, event: Event) -> None:
        self._rivals.discard(read(event, "client"))

    def _init_taken(self, event: Event) -> None:
        if not read(event, "error", 0):
            self._awaiting.pop(read(event, "client"), None)

    def _fence_told(self, event: Event) -> None:
        self._awaiting.pop(read(event, "client"), None)
        self._rivals.discard(read(event, "client"))

    def _txn_begun(self, event: Event) -> None:
        pair = (read(event, "producer_id"), read(event, "epoch"))
        self.timed_out = False
        found = Transaction(read(event, "txn"), read(event, "client"), pair, self.now_ms)
        self.transactions[found.number] = self.current[found.client] = self.by_pair[pair] = found

    def _add_sent(self, event: Event) -> None:
        self.asker[read(event, "request")] = (read(event, "client"), self.transactions.get(read(event, "txn")))

    def _record_sent(self, event: Event) -> None:
        transaction = self.transactions.get(read(event, "txn"))
        self.asker[read(event, "request")] = (read(event, "client"), transaction)
        if transaction is not None:
            record = read(event, "record")
            transaction.records[record] = read(event, "partition")
            self.of_record[record] = transaction
            if self.is_fenced((read(event, "producer_id"), read(event, "epoch"))):
                self.zombies.add(record)

    def _record_acked(self, event: Event) -> None:
        if (transaction := self.of_record.get(read(event, "record"))) is not None:
            transaction.acked.add(read(event, "record"))

    def _record_failed(self, event: Event) -> None:
        if (transaction := self.of_record.get(read(event, "record"))) is not None:
            transaction.failed.add(read(event, "record"))
            if read(event, "error") == TIMED_OUT:
                transaction.in_doubt.add(read(event, "record"))

    def _end_sent(self, event: Event) -> None:
        transaction = self.transactions.get(read(event, "txn"))
        self.asker[read(event, "request")] = (read(event, "client"), transaction)
        if transaction is not None:
            transaction.asked.add(read(event, "outcome"))
            if self.is_fenced(transaction.pair):
                self.zombie_ends.add(read(event, "request"))

    def _batch_appended(self, event: Event) -> None:
        if self.is_fenced((read(event, "producer_id"), read(event, "epoch"))):
            self.zombies.add(read(event, "record"))

    def _timed_out(self, event: Event) -> None:
        self.timed_out = True
