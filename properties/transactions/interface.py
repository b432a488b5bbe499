"""What implementations of transactions offer, how one comes to rest or gets on after a run, and calls as data.

The plug: what fencepost needs of an implementation of transactions to drive it and to watch it.

Structural: nothing has to be imported or inherited.  ``factory(config)`` makes a cluster with its clients; the driver
decides every delivery, loss, append to the transaction log, fail-over and passing of time, and reads back events.
Config keys: ``seed``, ``mode`` ("v1": no verification; "v1-verified": KIP-890 part 1; "v2": KIP-890 part 2),
``clients`` (producer slots), ``ids`` (transactional ids: slot s has the id s % ids; absent: one), ``partitions``,
``groups`` (their offsets partitions are numbered behind the data partitions), ``keys`` (partitions of a group's input,
an offset for each of which is in every commit; absent: one), ``transaction_timeout_ms``, ``max_epoch`` (32767 in Kafka;
the largest epoch ever handed out is one less),
``unclean_elections`` (replicas out of sync may lead; absent: none does).

An implementation need not have all of it: parameters and methods that are named in `ABILITIES` may be missing, and are
then not used, nor is the config key that goes with them; the report says which.

Of the events only what clients do and hear is needed (`BLACK_BOX`); every further kind of the history vocabulary
that an implementation emits is held against promises and model as well, and makes the first difference show earlier.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

from fencepost.properties import calls
from fencepost.properties.driving import Event, read
from fencepost.properties.roles import Amount, Between, FromConfig, Index, InFlight, Named, Numbered, OneOf, Simplest
from fencepost.properties.transactions.events.kinds import TRANSACTIONS

Message = tuple[int, str, str, str, int]
"""(number, kind, source, target, request).  Kinds: init, add, produce, end, marker, check, and each with ``_answer``
appended.  Source and target: ``client-0``, ``admin-0``, ``coordinator``, ``partition-1``.  ``request`` is the number
of the request that it belongs to; markers have numbers of their own, and a check that of the produce behind it."""

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
"""What an event may say, by name."""

BLACK_BOX = TRANSACTIONS.black_box
"""What every implementation can show."""

READERS = 1_000
"""Readers are numbered from 0 by the driver, and from here on in the column ``client``."""


class System(Protocol):
    """A cluster that does nothing by itself: nothing happens between two calls."""

    def messages(self) -> Sequence[Message]:
        """What is in flight, oldest first."""

    def deliver(self, number: Number, keep: bool = False) -> None:
        """Deliver one message now; with ``keep`` a copy stays in flight."""

    def drop(self, number: Lost) -> None:
        """Lose one message."""

    def init(self, slot: Slot) -> bool:
        """initTransactions().  This and the next four: False, and nothing happens, where the producer's state does not
        allow it; else requests leave, and answers arrive when they are delivered."""

    def begin(self, slot: Slot) -> bool:
        """beginTransaction()."""

    def send(self, slot: Slot, partition: Partition, count: Annotated[int, OneOf(1, 1, 2, 3)] = 1) -> bool:
        """send() of so many records, which leave as one batch; to a group's offsets partition
        sendOffsetsToTransaction(), with as many offsets as ``keys`` says."""

    def commit(self, slot: Slot) -> bool:
        """commitTransaction()."""

    def abort(self, slot: Slot) -> bool:
        """abortTransaction()."""

    def restart_client(self, slot: Slot) -> None:
        """Crash; a new instance takes the slot, not initialised.  What the old one sent stays in flight."""

    def fence(self, txn_id: Annotated[int, Index("ids")] = 0) -> bool:
        """Admin.fenceProducers of one transactional id by a fresh admin instance."""

    def log_append(self, ok: Annotated[bool, OneOf(True, True, False)] = True) -> bool:
        """The oldest unfinished append to the transaction log succeeds, or fails; False if there is none."""

    def fail_over(self, durable: bool = True) -> None:
        """Another node takes over the transaction log; ``durable``: unfinished appends made it into the log."""

    def change_leader(self, partition: Partition, restart: bool = False) -> None:
        """Another broker leads the partition: what was only in memory, as verifications are, is gone.  ``restart``: the
        same broker leads again, and has read its snapshot: of each producer's batches it knows the last one."""

    def leave(self, partition: Partition) -> None:
        """All replicas of the partition are down, and the cluster's metadata says so: what is sent there is lost."""

    def come_back(self, partition: Partition) -> None:
        """A replica that is up again leads the partition with all that is in its log."""

    def elect_unclean(
        self, partition: Annotated[int, Index("partitions")], lost: Annotated[int, OneOf(1, 1, 2, 3)]
    ) -> None:
        """A replica that lacks the last ``lost`` batches and markers of a data partition leads it
        (unclean.leader.election.enable).  Called only where ``unclean_elections`` is on."""

    def advance(self, ms: Ms) -> None:
        """Virtual milliseconds pass: requests time out and are sent again, transactions time out, ids expire."""

    def read(
        self, reader: int, partition: Partition, committed: bool = True, offset: int = 0, most: int = 0
    ) -> Sequence[tuple[int, int]]:
        """What this reader gets next: (offset, record).  One fetch, to the end, or of ``most`` batches if that is not 0
        (a marker is one).  A reader is read_committed or not, for ever; one that has read nothing of the partition
        begins at ``offset``."""

    def fetch_offset(self, reader: int, partition: Offsets, key: Key = 0) -> tuple[int, int]:
        """OffsetFetch that requires stable offsets: (error, record of the committed offset, or -1).  ``key``: of which
        partition of the group's input."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""


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
"""What an implementation may lack: the method, and the parameter of it by which one can tell."""
IDS, BATCHES, PIECES, ANYWHERE, RESTARTS, AWAY, KEYS, UNCLEAN = ABILITIES
ABILITY_OF_KEY = {"ids": IDS, "keys": KEYS, "unclean_elections": UNCLEAN}
"""Of keys of the configuration."""


def missing(system: Any, variant: str) -> list[str]:
    """Methods of the plug that an implementation lacks, and must not."""
    optional = {method for method, parameter in ABILITIES.values() if not parameter} | {"leave"}
    return [name for name in calls.missing(system, (System,)) if name not in optional]


def lacking(system: Any) -> frozenset[str]:
    """Which of the `ABILITIES` an implementation lacks."""
    return frozenset(name for name, where in ABILITIES.items() if not calls.accepts(system, *where))


# Settling: a cluster is left alone until nothing is under way any more, and then everything is read, by readers that
# have read nothing yet.
#
# Used by the machines at the end of every example, and by the programs that they write, which is why these functions
# need nothing but the plug.  `probe` then tries whether a new producer can still commit something that is read, on
# every partition: if not, something hangs.

Partitions = Annotated[int, FromConfig("partitions")]
Groups = Annotated[int, FromConfig("groups")]
Ids = Annotated[int, FromConfig(lambda config: min(config.get("ids", 1), config["clients"]))]
"""Of so many transactional ids there are clients."""
Keys = Annotated[int, FromConfig(lambda config: config.get("keys", 1))]

RETRY_MS, WAIT_MS, WAITS = 100, 30_000, 4
"""What happened may be tried again after a moment; nothing may happen in so many long waits before the cluster counts
as quiet: transactions time out within 70 s."""
RETRIES, BACKED_OFF_MS = 10, 1_000
"""After so many moments in which something happened, what is tried again may be waiting for what was lost, which is
sent again after request.timeout.ms (30 s): each further moment is longer."""
ROUNDS, DELIVERIES, STORMS = 150, 300, 2
"""More waits, more deliveries without one, or more often as many, and it counts as going on for ever."""
HOUR_MS, EXPIRY_HOURS = 3_600_000, 8 * 24
EXPIRY_MS = EXPIRY_HOURS * HOUR_MS
FORGOTTEN_HOURS = 26
"""Producers are forgotten after a day (producer.id.expiration.ms), and looked for every ten minutes."""
SETTLING_PIECES, FEW_PIECES = 60, 3
"""Fetches of a reader in pieces at most; and where there seems to be nothing to read."""
PROBE_READER = 500


class Settled(NamedTuple):
    """What became of it.  ``records``: (offset, record) by data partition, for read_committed readers; ``written``: for
    read_uncommitted ones; ``offsets``: (error, record) by offsets partition; ``waited_ms``: virtual time that passed.

    ``quiet``: False if something went on and on.  Where a commit has several offsets, ``offsets`` has the one that is
    not known, if there is one, or else the first."""

    quiet: bool
    waited_ms: int
    records: tuple[tuple[tuple[int, int], ...], ...]
    written: tuple[tuple[tuple[int, int], ...], ...]
    offsets: tuple[tuple[int, int], ...]


class Probed(NamedTuple):
    """What became of new producers, one for each transactional id (id n in slot n).  ``ready``: were all initialised?
    ``unread``: partitions on which what one of them committed was not to be read."""

    ready: bool
    committed: bool
    unread: tuple[int, ...]
    waited_ms: int


def settle(system: System, reader: int, partitions: Partitions, groups: Groups, keys: Keys = 1) -> Settled:
    """Deliver everything and let time pass until nothing happens; then read.  ``reader`` and the next number must be
    new."""
    quiet, waited_ms = _rest(system)
    read, seen = (
        tuple(tuple(system.read(number, p, committed)) for p in range(partitions))
        for number, committed in ((reader, True), (reader + 1, False))
    )
    offsets = tuple(_offset_of(system, reader, p, keys) for p in range(partitions, partitions + groups))
    return Settled(quiet, waited_ms, read, seen, offsets)


def probe(system: System, partitions: Partitions, groups: Groups, ids: Ids = 1, keys: Keys = 1) -> Probed:
    """A new producer of each transactional id commits one transaction on every partition; is it read?"""
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
    """Time passes until transactional ids are forgotten, as long as nothing is under way but so many messages that are
    ``held`` up; how much (ms)?"""
    for hours in range(EXPIRY_HOURS):
        if len(system.messages()) > held:
            return hours * HOUR_MS
        system.advance(HOUR_MS)
    return EXPIRY_MS


def forget(system: System) -> int:
    """Time passes until partitions forget producers that write nothing, as long as nothing is under way; how much
    (ms)?"""
    for hours in range(FORGOTTEN_HOURS):
        if system.messages():
            return hours * HOUR_MS
        system.advance(HOUR_MS)
    return FORGOTTEN_HOURS * HOUR_MS


def in_pieces(system: System, reader: int, partition: int, most: int, offset: int = 0) -> tuple[tuple[int, int], ...]:
    """What a read_committed reader gets of a data partition, ``most`` batches a fetch, from an offset on.  ``reader``
    and the next number must be new: the next one takes all at once, to know how far there is something to read."""
    from_there: dict[str, Any] = {"offset": offset} if offset else {}
    whole = list(system.read(reader + 1, partition, **from_there))
    found: list[tuple[int, int]] = []
    for _ in range(SETTLING_PIECES if whole else FEW_PIECES):
        found += system.read(reader, partition, **from_there, most=most)
        if whole and found and found[-1][0] >= whole[-1][0]:
            break
    return tuple(found)


def _offset_of(system: System, reader: int, partition: int, keys: int) -> tuple[int, int]:
    """Of the offsets in a group's commits one that is not known, or else the first."""
    found = [
        system.fetch_offset(reader, partition),
        *(system.fetch_offset(reader, partition, k) for k in range(1, keys)),
    ]
    return next((each for each in found if each[0]), found[0])


def _new_to_read(system: System, partitions: int, groups: int, keys: int) -> list[Sequence[Any]]:
    """What one reader has not read yet of each data partition, and the committed offset in each of the others."""
    offsets = range(partitions, partitions + groups)
    return [
        *(system.read(PROBE_READER, p) for p in range(partitions)),
        *([_offset_of(system, PROBE_READER, p, keys) for p in offsets]),
    ]


def _rest(system: System) -> tuple[bool, int]:
    """Until nothing happens for a while; did that come, and how long did it take (ms)?"""
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
    """Deliver, oldest first, and append, until there is nothing to do; how much was there?"""
    for done in range(DELIVERIES + 1):
        messages = system.messages()
        if messages:
            system.deliver(messages[0][0])
        elif not system.log_append():
            return done
    return DELIVERIES + 1


# Newcomers: many new producers, one after another, each given the transactional id and gone before the next one comes.
#
# A broker that draws producer ids by lot repeats one only now and then (txn.P7): among 900,000 ids in half of all runs
# of 1,100 newcomers, and in all but one in a million of 5,000.  And 32,767 newcomers lead past the last epoch of a
# producer id (txn.4).  `newcomers` needs nothing but the interface, so that a pasted program can call it.

CHURN_RETRY_MS, TRIES = 100, 50
"""A producer whose request is to be tried again waits so long, and tries so often."""


class Newcomers(NamedTuple):
    """What became of them.  ``pairs``: (producer id, epoch) of those who were given one, in their order; ``events``:
    everything that was observed meanwhile, in order; ``waited_ms``: virtual time that passed."""

    pairs: tuple[tuple[int, int], ...]
    events: tuple[Any, ...]
    waited_ms: int

    @property
    def repeats(self) -> bool:
        return len(set(self.pairs)) < len(self.pairs)

    def __repr__(self) -> str:
        return f"<{len(self.pairs)} newcomers with {len(set(self.pairs))} pairs>"


def newcomers(system: System, count: int) -> Newcomers:
    """``count`` producers in slot 0, each a new instance with the same transactional id.  The last one stays."""
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


# Progress: from now on nothing is lost or late; does one producer get on?
#
# It is driven by nothing but its own calls: what it has open is aborted, and then come a commit, an abort and another
# commit, each of a transaction with something for every partition.  An abort comes between the two because it is after
# one that a client must number its batches anew, or ask for its next epoch (txn.13, KIP-360).  Used by the machines,
# and by the programs that they write, which is why `progress` needs nothing but the plug.

AllPartitions = Annotated[int, FromConfig(lambda config: config["partitions"] + config.get("groups", 0))]

WANTED = (True, False, True)
"""How the transactions are to end: is it a commit?"""
SPARE = 5
"""So many more of them may fail: one may pay for what was lost before, and where the same error comes again and again
some further ones show it."""
PROGRESS_WAITS = 5
"""What cannot be done yet is tried again after a back-off (`RETRY_MS`), one partition after the other; what was lost
before is asked for again after request.timeout.ms, and a transaction that is left open is aborted after its time-out
and the next look at the clock: both within so many long waits (`WAIT_MS`), with back-offs before each."""
PAUSES = (*(*(RETRY_MS,) * RETRIES, WAIT_MS) * PROGRESS_WAITS, *(RETRY_MS,) * RETRIES)
BOUND_MS = sum(PAUSES)
"""A call that has not come to its end after so much simulated time never does."""


class Progressed(NamedTuple):
    """What became of it.  ``ended``: how many of the `WANTED` transactions ended as wanted; ``tried``: how many were
    begun; ``waits``: the call that did not come to an end within `BOUND_MS`, or was not possible: empty where none is;
    ``waited_ms``: virtual time that passed."""

    ended: int
    tried: int
    waits: str
    waited_ms: int

    @property
    def through(self) -> bool:
        """Did all of them end as wanted?"""
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
    """Wait until a transaction can be begun.  Was another one aborted for that; has one begun; how long did it take?"""
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


# Programs on transactions: the calls of the plug and of its helpers, what makes a program simpler, and which dangers
# calls are.
#
# A message is named by kind, source, target, and position among those (oldest first).


class Call(calls.Call):
    """One call."""

    interface = (System,)
    helpers = (settle, probe, progress, expire, forget, in_pieces, newcomers)
    columns = COLUMNS
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
    """A message, by what it is."""
    return Named((kind, source, target), nth)
