"""The plug: what fencepost needs of a consumer group that copies its input exactly once, to drive it and to watch it.

Structural: nothing has to be imported or inherited. ``factory(config)`` makes brokers, a group, and instances of the
application in ``members`` slots; the driver decides every delivery, loss, step of an instance and passing of time, and
reads back events.  Config keys: ``seed``, ``mode`` (the variant), ``inputs`` and ``outputs`` (partitions), ``records``
in each partition of the input, ``fetch_records`` (how many records of a partition an instance is handed before it is
the turn of its next one: with few, a transaction has inputs of several), ``static`` (each slot has a group.instance.id
of its own), ``stable_ids`` (a slot keeps its transactional id), ``metadata_at`` ("poll" or "send": when an instance
asks groupMetadata()), and the time-outs in milliseconds, which are short so that a little time is enough for each.

Of the events only what instances and an auditor see is needed; every further kind of the history vocabulary that an
implementation emits is held against the promises as well, and makes a violation show earlier.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties.derived import AtRest
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.driving import Message as DriverMessage
from fencepost.properties.monitoring import Broken, Concerned
from fencepost.properties.roles import Between, Index, InFlight, OneOf

Message = tuple[int, str, str, str, int]
"""(number, kind, source, target, request).  Answers have ``_answer`` behind the kind of what they answer; ``request``
is the number of the request that a message belongs to."""


def _remark(message: Message) -> str:
    return f"{message[1]} of request {message[4]} from {message[2]} to {message[3]}"


_FIELDS = (None, None, None)
Number = Annotated[int, InFlight(_FIELDS, _remark)]
Waiting = Annotated[Message, InFlight(_FIELDS, _remark)]
Lost = Annotated[int, InFlight(_FIELDS, _remark, happens=False)]
Slot = Annotated[int, Index("members")]
Ms = Annotated[int, OneOf(60, 200, 700)]

SIZES: dict[str, Between | OneOf] = {
    "members": OneOf(2, 2, 3, 3, 1),
    "inputs": OneOf(2, 2, 3, 3, 1),
    "outputs": OneOf(1, 1, 2),
    "records": OneOf(8, 30, 60),
    "fetch_records": OneOf(100, 1),
    "static": OneOf(False, False, True),
    "stable_ids": OneOf(True, True, False),
    "metadata_at": OneOf("send", "poll"),
    "session_timeout_ms": OneOf(300, 300, 300, 1_500),
    "heartbeat_ms": OneOf(60),
    "max_poll_ms": OneOf(1_000, 4_000),
    "initial_delay_ms": OneOf(30),
    "transaction_timeout_ms": OneOf(2_000, 400),
    "request_timeout_ms": OneOf(100, 1_000),
    "timeout_check_ms": OneOf(50),
}

SIZES_OF = {mode: {"metadata_at": OneOf("poll")} for mode in ("new-protocol", "new-protocol-relaxed")}
"""What is drawn otherwise for a variant, whose model has it so."""

LIVE = "fencepost.reference_impl.live.group_fencing.over_tcp:over_tcp"
LIVE_VARIANTS = (
    "shipped", "new-protocol", "new-protocol-relaxed", "group-id-only", "new-protocol-metadata-at-send",
    "new-protocol-relaxed-metadata-at-send",
)  # fmt: skip
"""What brokers and applications can be: no release has the draft.  Whether brokers of the new protocol are from before
or after KIP-1251 is for their owner to know."""

DANGERS = {
    "drop": ("loss",), "deliver keep": ("duplicate",), "pause": ("zombie",), "restart": ("client-crash",),
    "kill": ("client-crash",), "fail_over": ("coordinator-fail-over",), "move_group": ("coordinator-fail-over",),
    "advance": ("time-out",),
}  # fmt: skip
"""Which dangers it is to make a call."""


class System(Protocol):
    """A cluster with its application, which does nothing by itself: nothing happens between two calls."""

    def messages(self) -> Sequence[Message]:
        """What is in flight, oldest first."""

    def deliver(self, number: Number, keep: bool = False) -> None:
        """Deliver one message now; with ``keep`` a copy stays in flight."""

    def drop(self, number: Lost) -> None:
        """Lose one message."""

    def step(self, slot: Slot) -> bool:
        """The instance does the next line of its loop; False, and nothing happens, where it waits."""

    def abort(self, slot: Slot) -> bool:
        """The instance aborts its transaction of its own accord; False if it has none."""

    def pause(self, slot: Slot) -> bool:
        """Its process stands still, heartbeats included, and what arrives waits; False if it does already."""

    def resume(self, slot: Slot) -> bool:
        """It goes on, and knows nothing of what happened meanwhile; False if it does not stand still."""

    def close(self, slot: Slot) -> None:
        """It ends in order: its consumer leaves the group."""

    def restart(self, slot: Slot) -> None:
        """It is killed if it still runs, and another one takes its slot."""

    def kill(self, slot: Slot) -> bool:
        """It is killed, and its slot stays empty until `restart`; False if it does not run."""

    def is_over(self, slot: Slot) -> bool:
        """Has the instance in the slot ended, by an error, killed or closed?"""

    def log_append(self, ok: bool = True) -> bool:
        """The oldest append to the transaction log succeeds, or fails; False if there is none."""

    def fail_over(self, durable: bool = True) -> None:
        """Another broker coordinates transactions; ``durable``: unfinished appends made it into the log."""

    def move_group(self, ms: Annotated[int, OneOf(0, 150, 400)] = 0) -> None:
        """Another broker coordinates the group, after so many milliseconds in which it loads what there is of it."""

    def expire_pending(self) -> bool:
        """The retention of offsets is over, for a group without members, where a transaction has offsets pending, and
        nowhere else; False if none is deleted, as none may be."""

    def change_leader(self, output: Annotated[int, Index("outputs")]) -> None:
        """Another broker leads a partition of the output."""

    def advance(self, ms: Ms) -> None:
        """Virtual milliseconds pass: heartbeats leave, sessions, requests and transactions time out."""

    def audit(self) -> Any:
        """An auditor reads all of the committed output, then asks for the group's offsets, and reveals both."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""


# What is true of a driven group that no property of histories says: what may end an instance once faults are over.
#
# An instance that is started when nothing is under way any more, in a slot whose former instance has ended, has its
# transactional id and its place in the group to itself from then on.  What fences it, or has it wait too long, must be
# the doing of brokers or of its own, which are not as promised; that it is started once more is no cure for it
# (447.P4). The same is true of every instance that is left when everything has had its time, though coordinators
# change then.
#
# Of any earlier one it can't be stated from outside: a request of its predecessor, or an older copy of its own, may
# come late and fence it, and its transaction may have timed out.

UNRELEASED = 111
"""A static member of the new protocol is refused its instance id until the session of the one before is over, and its
consumer takes that for fatal.  (GroupMetadataManager.throwIfInstanceIdIsUnreleased, ConsumerHeartbeatRequestManager)"""
SHARED = frozenset({"draft-static-members"})
"""Variants whose slots share instance ids, so that no instance has its place to itself."""
OF_BROKERS = frozenset({"fail_over", "move_group", "change_leader", "log_append", "audit"})
"""Calls that leave alone what is stated about an instance at rest."""


class Calm(AtRest):
    """The calls after which nothing is left to happen are without faults."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.rests = False  # everything has had its time, and brokers alone have changed since

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[DriverMessage]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """An instance is ended that began in this call, or that rested."""
        rested, self.rests = self.rests, self.is_quiet(made) or (self.rests and made.call.name in OF_BROKERS)
        started = set[int]()
        judged = self.is_quiet(made) and self.config.get("mode") not in SHARED
        for event in events if judged else ():
            kind, client, error = read(event, "kind"), read(event, "client", -1), read(event, "error", 0)
            if kind == "instance_started":
                started.add(client)
            elif kind == "instance_failed" and (client in started or (rested and not started)) and error != UNRELEASED:
                words = f"instance {client} had its place to itself, and was ended by error {error}"
                yield Broken("447.P4", words, event), frozenset({client})
