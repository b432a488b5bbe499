"""The plug: what fencepost needs of an implementation of transactions to drive it and to watch it.

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
from typing import Annotated, Any, Protocol

from fencepost.properties import calls
from fencepost.properties.driving import Event
from fencepost.properties.roles import Index, InFlight, Numbered, OneOf
from fencepost.properties.transactions.history.events import TRANSACTIONS

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
