"""This module defines what implementations of two-phase commit (KIP-939) offer to be driven.

The interface is structural: an adapter has to import and inherit nothing. ``factory(config)`` makes a cluster with its
applications and their outside stores; the driver decides every delivery, loss, append to the transaction log,
fail-over, step of an application and passing of time, and reads back events.

Config keys: ``seed``, ``mode`` ("retained": coordinators as in PR 21735, over a store that takes a decision only from
the owner that claimed it last, and a transaction without records has no prepared state; "older-writer": the store takes
one from every instance; "empty-prepared": a transaction without records has a prepared state, as Kafka's producer gives
it; "not-retained": keepPreparedTxn is refused, as on trunk), ``clients`` (slots), ``ids`` (transactional ids: slot s
has the id s % ids), ``partitions``, ``max_epoch`` (32767 in Kafka; the largest epoch ever handed out is one less),
``two_phase_commit_enable`` (of the brokers), and the time-outs in milliseconds. Coordinators of another release are no
call of the driver: what a downgrade breaks, the tests of the reference have.

Only the events of applications, readers and stores are needed. Every further kind of the history vocabulary that an
implementation emits is checked as well, and reveals a violation earlier.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties.driving import Event
from fencepost.properties.roles import Between, Index, InFlight, Numbered, OneOf

Message = tuple[int, str, str, str, int]
"""A `Message` is (number, kind, source, target, request). Kinds are init, produce, end, marker, check, and each with
``_answer`` appended. Sources and targets are such as ``client-0``, ``admin-0``, ``coordinator``, ``partition-1``."""

_PLACE = Numbered(client=Index("clients"), partition=Index("partitions"))


def _remark(message: Message) -> str:
    return f"{message[1]} of request {message[4]} from {message[2]} to {message[3]}"


_FIELDS = (None, _PLACE, _PLACE)
Number = Annotated[int, InFlight(_FIELDS, _remark)]
Lost = Annotated[int, InFlight(_FIELDS, _remark, happens=False)]
Slot = Annotated[int, Index("clients")]
Partition = Annotated[int, Index("partitions")]
Id = Annotated[int, Index("ids")]
Ms = Annotated[int, OneOf(100, 30_000, 75_000)]

SIZES: dict[str, Between | OneOf] = {
    "clients": OneOf(2, 2, 3),
    "ids": OneOf(1, 1, 2),
    "partitions": OneOf(1, 2),
    "max_epoch": OneOf(32767, 4, 1),
}

DANGERS = {
    "drop": ("loss",), "deliver keep": ("duplicate",), "restart_client": ("client-crash",),
    "fail_over": ("coordinator-fail-over",), "advance": ("time-out",),
}  # fmt: skip


class System(Protocol):
    """A `System` is a cluster that does nothing by itself: nothing happens between two calls. A call on an instance
    returns False, and nothing happens, where its state does not allow the call."""

    def messages(self) -> Sequence[Message]:
        """Return the messages in flight, oldest first."""

    def deliver(self, number: Number, keep: bool = False) -> None:
        """Deliver one message now; with ``keep`` a copy stays in flight."""

    def drop(self, number: Lost) -> None:
        """Lose one message."""

    def init(self, slot: Slot, keep: bool = True, two_phase: Annotated[bool, OneOf(True, True, False)] = True) -> bool:
        """Claim the outside store of the id, and then call initTransactions(keepPreparedTxn) of a producer with
        transaction.two.phase.commit.enable or without.
        Requests leave, and answers arrive when they are delivered, here and below."""

    def begin(self, slot: Slot) -> bool:
        """Call beginTransaction()."""

    def send(self, slot: Slot, partition: Partition) -> bool:
        """Call send() for one record. The partition's leader adds the partition to the transaction."""

    def prepare(self, slot: Slot) -> bool:
        """Call prepareTransaction(), which returns once every record has its answer."""

    def read_store(self, slot: Slot) -> bool:
        """Let the instance read the decision in the outside store, once it is initialised, if it still owns the
        store."""

    def decide(self, slot: Slot, commit: bool) -> bool:
        """Let the instance write the outcome of the transaction that it has prepared to the store, with its state."""

    def complete(self, slot: Slot) -> bool:
        """Call completeTransaction() with the state of the decision, or with an empty one if that is an abort."""

    def commit(self, slot: Slot) -> bool:
        """Call commitTransaction(), whatever the store has. An application of two-phase commit does not."""

    def abort(self, slot: Slot) -> bool:
        """Call abortTransaction(), whatever the store has. An application does so before it has prepared."""

    def restart_client(self, slot: Slot) -> None:
        """Crash the instance; a new one takes the slot, not initialised. Messages of the old one stay in flight."""

    def force_terminate(self, txn_id: Id = 0) -> bool:
        """Call Admin.forceTerminateTransaction by a fresh admin instance."""

    def log_append(self, ok: Annotated[bool, OneOf(True, True, False)] = True) -> bool:
        """Let the oldest unfinished append to the transaction log succeed or fail; return False if there is none."""

    def fail_over(self, durable: bool = True) -> None:
        """Let another node take over the transaction log; with ``durable`` unfinished appends are in the log."""

    def change_leader(self, partition: Partition) -> None:
        """Let another broker lead the partition."""

    def advance(self, ms: Ms) -> None:
        """Let virtual milliseconds pass: requests are sent again, transactions time out."""

    def read(self, reader: Annotated[int, OneOf(0)], partition: Partition) -> Any:
        """Let a read_committed reader get what it has not got yet, as (offset, record)."""

    def drain_events(self) -> Sequence[Event]:
        """Return the events since the last call, in order."""
