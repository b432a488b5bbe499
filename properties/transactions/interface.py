"""This module defines what implementations of transactions offer to be driven, how one settles or makes progress after
a run, and calls as data.

The interface is structural: an adapter has to import and inherit nothing. ``factory(config)`` makes a cluster with its
clients; the driver decides every delivery, loss, append to the transaction log, fail-over and passing of time, and
reads back events.

Config keys: ``seed``, ``mode`` ("v1": no verification; "v1-verified": KIP-890 part 1; "v2": KIP-890 part 2),
``clients`` (producer slots), ``ids`` (transactional ids: slot s has the id s % ids; absent: one), ``partitions``,
``groups`` (their offsets partitions are numbered behind the data partitions), ``keys`` (partitions of a group's input,
an offset for each of which is in every commit; absent: one), ``transaction_timeout_ms``, ``max_epoch`` (32767 in Kafka;
the largest epoch ever handed out is one less), ``unclean_elections`` (replicas out of sync may lead; absent: none
does).

Parameters and methods that are named in `ABILITIES` may be missing, and are then not used, nor is the config key that
goes with them; the report names them.

Only the events of clients are needed (`BLACK_BOX`). Every further kind of the history vocabulary that an implementation
emits is compared with promises and model as well, so that the first difference is found earlier.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

from fencepost.properties import calls
from fencepost.properties.driving import Event, read
from fencepost.properties.roles import Amount, Between, FromConfig, Index, InFlight, Named, Numbered, OneOf, Simplest
from fencepost.properties.transactions.events.kinds import TRANSACTIONS

Message = tuple[int, str, str, str, int]
"""A `Message` is (number, kind, source, target, request).

Kinds are init, add, produce, end, marker, check, and each with ``_answer`` appended. Sources and targets are such as
``client-0``, ``admin-0``, ``coordinator``, ``partition-1``. ``request`` is the number of the request that the message
belongs to; markers have numbers of their own, and a check has that of the produce behind it.
"""

_PARTITIONS = ("partitions", ("groups",))
_PLACE = Numbered(client=Index("clients"), partition=Index(*_PARTITIONS))


def _remark(message: Message) -> str:
    return f"{message[1]} of request {message[4]} from {message[2]} to {message[3]}"


_WAITING = InFlight((None, _PLACE, _PLACE), _remark)
Number = Annotated[int, _WAITING]
Waiting = Annotated[Message, _WAITING]
Lost = Annotated[int, InFlight((None, _PLACE, _PLACE), _remark, happens=False)]
Slot = Annotated[int, Index("clients")]
Partition = Annotated[int, Index(*_PARTITIONS)]
Offsets = Annotated[int, Index(*_PARTITIONS, fixed=True)]
Key = Annotated[int, Index("keys", fixed=True)]
Ms = Annotated[int, OneOf(100, 10_000, 30_000, 75_000)]

COLUMNS = TRANSACTIONS.names
"""`COLUMNS` names the columns that an event may have."""

BLACK_BOX = TRANSACTIONS.black_box
"""`BLACK_BOX` names the kinds of event that every implementation can emit."""

READERS = 1_000
"""The driver numbers readers from 0; in the column ``client`` they are numbered from here on."""


class System(Protocol):
    """A `System` is a cluster that does nothing by itself: nothing happens between two calls."""

    def messages(self) -> Sequence[Message]:
        """Return the messages in flight, oldest first."""

    def deliver(self, number: Number, keep: bool = False) -> None:
        """Deliver one message now; with ``keep`` a copy stays in flight."""

    def drop(self, number: Lost) -> None:
        """Lose one message."""

    def init(self, slot: Slot) -> bool:
        """Call initTransactions(). This and the next four return False, and nothing happens, where the producer's state
        does not allow the call; else requests leave, and answers arrive when they are delivered."""

    def begin(self, slot: Slot) -> bool:
        """Call beginTransaction()."""

    def send(self, slot: Slot, partition: Partition, count: Annotated[int, OneOf(1, 1, 2, 3)] = 1) -> bool:
        """Call send() for so many records, which leave as one batch. On a group's offsets partition this is
        sendOffsetsToTransaction(), with as many offsets as the config key ``keys`` demands."""

    def commit(self, slot: Slot) -> bool:
        """Call commitTransaction()."""

    def abort(self, slot: Slot) -> bool:
        """Call abortTransaction()."""

    def restart_client(self, slot: Slot) -> None:
        """Crash the client; a new instance takes the slot, not initialised. Messages of the old one stay in flight."""

    def fence(self, txn_id: Annotated[int, Index("ids")] = 0) -> bool:
        """Call Admin.fenceProducers for one transactional id by a fresh admin instance."""

    def log_append(self, ok: Annotated[bool, OneOf(True, True, False)] = True) -> bool:
        """Let the oldest unfinished append to the transaction log succeed or fail; return False if there is none."""

    def fail_over(self, durable: bool = True) -> None:
        """Let another node take over the transaction log; with ``durable`` unfinished appends are in the log."""

    def change_leader(self, partition: Partition, restart: bool = False) -> None:
        """Let another broker lead the partition: what was only in memory, as verifications are, is gone. With
        ``restart`` the same broker leads again, and has read its snapshot: of each producer's batches it knows the last
        one."""

    def leave(self, partition: Partition) -> None:
        """Take all replicas of the partition down, as the cluster's metadata reports; messages to it are lost."""

    def come_back(self, partition: Partition) -> None:
        """Let a replica that is up again lead the partition with all that is in its log."""

    def elect_unclean(
        self, partition: Annotated[int, Index("partitions")], lost: Annotated[int, OneOf(1, 1, 2, 3)]
    ) -> None:
        """Let a replica that lacks the last ``lost`` batches and markers of a data partition lead it
        (unclean.leader.election.enable). It is called only where ``unclean_elections`` is on."""

    def advance(self, ms: Ms) -> None:
        """Let virtual milliseconds pass: requests time out and are sent again, transactions time out, ids expire."""

    def read(
        self, reader: int, partition: Partition, committed: bool = True, offset: int = 0, most: int = 0
    ) -> Sequence[tuple[int, int]]:
        """Return what this reader gets next, as (offset, record). This is one fetch, to the end, or of ``most`` batches
        if that is not 0 (a marker is one). A reader is read_committed or not, for ever; one that has read nothing of
        the partition begins at ``offset``."""

    def fetch_offset(self, reader: int, partition: Offsets, key: Key = 0) -> tuple[int, int]:
        """Send an OffsetFetch that requires stable offsets; return (error, record of the committed offset, or -1).
        ``key`` names the partition of the group's input."""

    def drain_events(self) -> Sequence[Event]:
        """Return the events since the last call, in order."""


ABILITIES: Mapping[str, tuple[str, str]] = {
    "several transactional ids": ("fence", "txn_id"),
    "batches of several records": ("send", "count"),
    "fetches of pieces": ("read", "most"),
    "reading from any offset": ("read", "offset"),
    "leaders that restart": ("change_leader", "restart"),
    "partitions that are away": ("come_back", ""),
    "several offsets in a commit": ("fetch_offset", "key"),
    "unclean elections": ("elect_unclean", ""),
}
"""`ABILITIES` maps what an implementation may lack to the method, and to the parameter of it by which that is found."""
IDS, BATCHES, PIECES, ANYWHERE, RESTARTS, AWAY, KEYS, UNCLEAN = ABILITIES
ABILITY_OF_KEY = {"ids": IDS, "keys": KEYS, "unclean_elections": UNCLEAN}
"""`ABILITY_OF_KEY` maps keys of the configuration to the abilities that they need."""


def missing(system: Any, variant: str) -> list[str]:
    optional = {method for method, parameter in ABILITIES.values() if not parameter} | {"leave"}
    return [name for name in calls.missing(system, (System,)) if name not in optional]


def lacking(system: Any) -> frozenset[str]:
    return frozenset(name for name, where in ABILITIES.items() if not calls.accepts(system, *where))


# Settling: the driver leaves a cluster alone until nothing is under way any more, and then reads everything with
# readers that have read nothing yet.
#
# The machines use this at the end of every example, and so do the programs that they write, which is why these
# functions need nothing but the interface. `probe` then tries whether a new producer can still commit a record that is
# read, on every partition: if not, something hangs.

Partitions = Annotated[int, FromConfig("partitions")]
Groups = Annotated[int, FromConfig("groups")]
Ids = Annotated[int, FromConfig(lambda config: min(config.get("ids", 1), config["clients"]))]
"""`Ids` is the number of transactional ids that have clients."""
Keys = Annotated[int, FromConfig(lambda config: config.get("keys", 1))]

RETRY_MS, WAIT_MS, WAITS = 100, 30_000, 4
"""An operation may be tried again after ``RETRY_MS``. The cluster counts as quiet when nothing happens in ``WAITS``
long waits of ``WAIT_MS``: transactions time out within 70 s."""
RETRIES, BACKED_OFF_MS = 10, 1_000
"""After ``RETRIES`` short waits in a row an operation may depend on a message that was lost, which is sent again after
request.timeout.ms (30 s). Each further wait is ``BACKED_OFF_MS``."""
ROUNDS, DELIVERIES, STORMS = 150, 300, 2
"""A run counts as going on for ever after ``ROUNDS`` waits, or after more than ``DELIVERIES`` deliveries without a
wait, ``STORMS`` times."""
HOUR_MS, EXPIRY_HOURS = 3_600_000, 8 * 24
EXPIRY_MS = EXPIRY_HOURS * HOUR_MS
FORGOTTEN_HOURS = 26
"""`FORGOTTEN_HOURS` is the time within which partitions forget producers: they do so after a day
(producer.id.expiration.ms), and check every ten minutes."""
SETTLING_PIECES, FEW_PIECES = 60, 3
"""`SETTLING_PIECES` limits the fetches of a reader in pieces, `FEW_PIECES` those where there seems to be nothing to
read."""
PROBE_READER = 500


class Settled(NamedTuple):
    """A `Settled` is what became of a cluster that was left to settle.

    ``records`` has (offset, record) by data partition for read_committed readers, ``written`` the same for
    read_uncommitted ones, ``offsets`` (error, record) by offsets partition; ``waited_ms`` is the virtual time that
    passed. ``quiet`` is False if activity did not cease. Where a commit has several offsets, ``offsets`` has the one
    that is not known, if there is one, or else the first.
    """

    quiet: bool
    waited_ms: int
    records: tuple[tuple[tuple[int, int], ...], ...]
    written: tuple[tuple[tuple[int, int], ...], ...]
    offsets: tuple[tuple[int, int], ...]


class Probed(NamedTuple):
    """A `Probed` is what became of new producers, one for each transactional id (id n in slot n). ``ready`` is whether
    all were initialised; ``unread`` has the partitions on which a record that one of them committed could not be read.
    """

    ready: bool
    committed: bool
    unread: tuple[int, ...]
    waited_ms: int


def settle(system: System, reader: int, partitions: Partitions, groups: Groups, keys: Keys = 1) -> Settled:
    """Deliver everything and let time pass until nothing happens; then read. ``reader`` and the next number must be
    new."""
    quiet, waited_ms = _rest(system)
    read, seen = (
        tuple(tuple(system.read(number, p, committed)) for p in range(partitions))
        for number, committed in ((reader, True), (reader + 1, False))
    )
    offsets = tuple(_offset_of(system, reader, p, keys) for p in range(partitions, partitions + groups))
    return Settled(quiet, waited_ms, read, seen, offsets)


def probe(system: System, partitions: Partitions, groups: Groups, ids: Ids = 1, keys: Keys = 1) -> Probed:
    """Let a new producer of each transactional id commit one transaction on every partition, and check that it
    is read."""
    found = [_probe(system, slot, partitions, groups, keys) for slot in range(ids)]
    return Probed(
        all(one.ready for one in found),
        all(one.committed for one in found),
        tuple(sorted({partition for one in found for partition in one.unread})),
        sum(one.waited_ms for one in found),
    )


def _probe(system: System, slot: int, partitions: int, groups: int, keys: int) -> Probed:
    system.restart_client(slot)
    system.init(slot)
    waited_ms = _rest(system)[1]
    ready = system.begin(slot)
    old = _new_to_read(system, partitions, groups, keys)
    for partition in range(partitions + groups if ready else 0):
        system.send(slot, partition)
    deliver_all(system)
    committed = ready and system.commit(slot)
    waited_ms += _rest(system)[1]
    new = _new_to_read(system, partitions, groups, keys)
    unread = tuple(p for p in range(partitions + groups) if not new[p] or new[p] == old[p])
    return Probed(ready, committed, unread, waited_ms)


def expire(system: System, held: Annotated[int, Between(0, 1)] = 0) -> int:
    """Let time pass until transactional ids are forgotten, and return how much (ms). It stops early when more than
    ``held`` messages are under way."""
    for hours in range(EXPIRY_HOURS):
        if len(system.messages()) > held:
            return hours * HOUR_MS
        system.advance(HOUR_MS)
    return EXPIRY_MS


def forget(system: System) -> int:
    """Let time pass until partitions forget producers that write nothing, and return how much (ms). It stops early when
    a message is under way."""
    for hours in range(FORGOTTEN_HOURS):
        if system.messages():
            return hours * HOUR_MS
        system.advance(HOUR_MS)
    return FORGOTTEN_HOURS * HOUR_MS


def in_pieces(system: System, reader: int, partition: int, most: int, offset: int = 0) -> tuple[tuple[int, int], ...]:
    """Return what a read_committed reader gets of a data partition with ``most`` batches a fetch, from an offset on.
    ``reader`` and the next number must be new: the next one reads everything at once, to find how far there are records
    to read."""
    from_there: dict[str, Any] = {"offset": offset} if offset else {}
    whole = list(system.read(reader + 1, partition, **from_there))
    found: list[tuple[int, int]] = []
    for _ in range(SETTLING_PIECES if whole else FEW_PIECES):
        found += system.read(reader, partition, **from_there, most=most)
        if whole and found and found[-1][0] >= whole[-1][0]:
            break
    return tuple(found)


def _offset_of(system: System, reader: int, partition: int, keys: int) -> tuple[int, int]:
    found = [
        system.fetch_offset(reader, partition),
        *(system.fetch_offset(reader, partition, k) for k in range(1, keys)),
    ]
    return next((each for each in found if each[0]), found[0])


def _new_to_read(system: System, partitions: int, groups: int, keys: int) -> list[Sequence[Any]]:
    offsets = range(partitions, partitions + groups)
    return [
        *(system.read(PROBE_READER, p) for p in range(partitions)),
        *([_offset_of(system, PROBE_READER, p, keys) for p in offsets]),
    ]


def _rest(system: System) -> tuple[bool, int]:
    """Wait until nothing happens for a while; return whether that was reached, and how long it took (ms)."""
    idle = busy = storms = waited_ms = 0
    for _ in range(ROUNDS):
        done = deliver_all(system)
        storms += done > DELIVERIES
        idle, busy = (0, busy + 1) if done else (idle + 1, 0)
        if idle > WAITS or storms > STORMS:
            return storms <= STORMS, waited_ms
        wait_ms = WAIT_MS if not done else RETRY_MS if busy <= RETRIES else BACKED_OFF_MS
        system.advance(wait_ms)
        waited_ms += wait_ms
    return False, waited_ms


def deliver_all(system: System) -> int:
    """Deliver, oldest first, and append, until there is nothing to do; return how much there was."""
    for done in range(DELIVERIES + 1):
        messages = system.messages()
        if messages:
            system.deliver(messages[0][0])
        elif not system.log_append():
            return done
    return DELIVERIES + 1


# Newcomers are many new producers, one after another, each given the transactional id and gone before the next one
# starts.
#
# A broker that draws producer ids at random repeats one only now and then (txn.P7): among 900,000 ids in half of all
# runs of 1,100 newcomers, and in all but one in a million of 5,000. And 32,767 newcomers lead past the last epoch of a
# producer id (txn.4). `newcomers` needs nothing but the interface, so that a pasted program can call it.

CHURN_RETRY_MS, TRIES = 100, 50
"""A new producer whose request is to be tried again waits `CHURN_RETRY_MS`, and tries `TRIES` times."""


class Newcomers(NamedTuple):
    """A `Newcomers` is what became of new producers. ``pairs`` has (producer id, epoch) of those that were given one,
    in order; ``events`` everything that was observed meanwhile, in order; ``waited_ms`` is the virtual time that
    passed."""

    pairs: tuple[tuple[int, int], ...]
    events: tuple[Any, ...]
    waited_ms: int

    @property
    def repeats(self) -> bool:
        return len(set(self.pairs)) < len(self.pairs)

    def __repr__(self) -> str:
        return f"<{len(self.pairs)} newcomers with {len(set(self.pairs))} pairs>"


def newcomers(system: System, count: int) -> Newcomers:
    """Start ``count`` producers in slot 0 one after the other, each a new instance with the same transactional id; the
    last one stays."""
    pairs: list[tuple[int, int]] = []
    events: list[Event] = []
    waited_ms = 0
    for _ in range(count):
        system.restart_client(0)
        system.init(0)
        for _ in range(TRIES):
            deliver_all(system)
            observed = list(system.drain_events())
            events += observed
            given = [e for e in observed if read(e, "kind") == "init_taken" and not read(e, "error", 0)]
            if given:
                pairs.append((read(given[-1], "producer_id"), read(given[-1], "epoch")))
            if given or any(read(e, "kind") == "client_failed" for e in observed):
                break
            system.advance(CHURN_RETRY_MS)
            waited_ms += CHURN_RETRY_MS
    return Newcomers(tuple(pairs), tuple(events), waited_ms)


# Progress: from now on nothing is lost or late, and one producer must be able to commit.
#
# Only its own calls drive it: its open transaction is aborted, and then follow a commit, an abort and another commit,
# each of a transaction with a record for every partition. An abort is between the two commits because after one a
# client must number its batches anew, or ask for its next epoch (txn.13, KIP-360). The machines use this, and the
# programs that they write, which is why `progress` needs nothing but the interface.

AllPartitions = Annotated[int, FromConfig(lambda config: config["partitions"] + config.get("groups", 0))]

WANTED = (True, False, True)
"""`WANTED` lists how the transactions are to end: True for a commit."""
SPARE = 5
"""`SPARE` is how many further transactions may fail: one may fail because of an earlier loss, and where the same error
occurs again and again some further ones are evidence of it."""
PROGRESS_WAITS = 5
"""An operation that cannot be done yet is tried again after a back-off (`RETRY_MS`), one partition after the other.

A request that was lost before is sent again after request.timeout.ms, and a transaction that is left open is aborted
after its time-out and the next look at the clock: both within so many long waits (`WAIT_MS`), with back-offs before
each.
"""
PAUSES = (*(*(RETRY_MS,) * RETRIES, WAIT_MS) * PROGRESS_WAITS, *(RETRY_MS,) * RETRIES)
BOUND_MS = sum(PAUSES)
"""A call that has not ended after `BOUND_MS` of simulated time never does."""


class Progressed(NamedTuple):
    """A `Progressed` is what became of a producer that was driven on. ``ended`` is how many of the `WANTED`
    transactions ended as wanted; ``tried`` how many were begun; ``waits`` the call that did not end within `BOUND_MS`,
    or was not possible (empty where there is none); ``waited_ms`` the virtual time that passed."""

    ended: int
    tried: int
    waits: str
    waited_ms: int

    @property
    def through(self) -> bool:
        return self.ended == len(WANTED)


def progress(system: System, slot: Slot, partitions: AllPartitions) -> Progressed:
    """Drive the producer of a slot, which has been initialised, through the `WANTED` transactions."""
    ended, waited_ms, latest = 0, 0, "what came before"
    for tried in range(len(WANTED) + SPARE + 1):
        aborted, begun, passed_ms = _begun(system, slot)
        waited_ms += passed_ms
        ended += begun and tried > 0 and not aborted
        if not begun:
            return Progressed(ended, tried, "abort" if aborted else latest, waited_ms)
        if ended == len(WANTED) or tried == len(WANTED) + SPARE:
            break
        for partition in range(partitions):
            system.send(slot, partition)
        deliver_all(system)
        latest = "commit" if WANTED[ended] else "abort"
        getattr(system, latest)(slot)
    system.abort(slot)
    deliver_all(system)
    return Progressed(ended, tried, "", waited_ms)


def _begun(system: System, slot: int) -> tuple[bool, bool, int]:
    """Wait until a transaction can be begun; return whether another one was aborted for that, whether one has begun,
    and how long it took."""
    aborted, waited_ms = False, 0
    for wait_ms in (*PAUSES, 0):
        deliver_all(system)
        if system.begin(slot):
            return aborted, True, waited_ms
        if system.abort(slot):
            aborted = True
        elif wait_ms:
            system.advance(wait_ms)
            waited_ms += wait_ms
    return aborted, False, waited_ms


# Programs on transactions: the calls of the interface and of its helpers, what makes a program simpler, and which calls
# are dangers.
#
# A message is named by kind, source, target, and position among those (oldest first).


class Call(calls.Call):
    """A `Call` is one call of the interface as data."""

    interface = (System,)
    helpers = (settle, probe, progress, expire, forget, in_pieces, newcomers)
    columns = COLUMNS
    errors = TRANSACTIONS.errors
    filled = TRANSACTIONS.used_by
    always_compared: ClassVar[tuple[str, ...]] = ("error",)  # an answer without one is another answer
    keys: ClassVar = {
        "clients": Amount(),
        "ids": Amount(),
        "keys": Amount(),
        "groups": Amount(0),
        "partitions": Amount(unless=("groups",)),
        "max_epoch": Simplest(32767),
    }
    merged = ("partitions", "clients")
    dangerous: ClassVar = {
        "deliver keep": ("duplicate",),
        "drop": ("loss",),
        "drop *_answer": ("lost-answer",),
        "restart_client": ("client-crash",),
        "log_append ok": ("failed-append",),
        "fail_over": ("coordinator-fail-over",),
        "change_leader": ("broker-restart",),
        "leave": ("partition-away",),
        "forget": ("producer-expiry",),
        "elect_unclean": ("unreplicated-tail",),
    }


def message(kind: str, source: str, target: str, nth: int = 0) -> Named:
    return Named((kind, source, target), nth)
