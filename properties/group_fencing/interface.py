"""This module defines what fencepost needs of a consumer group that copies exactly once, to drive and to watch it.

The interface is structural: nothing has to be imported or inherited. ``factory(config)`` makes brokers, a group, and
instances of the application in ``members`` slots. The driver decides every delivery, loss, step of an instance and
passing of time, and reads back events. The config keys are ``seed``, ``mode`` (the variant), ``inputs`` and ``outputs``
(partitions), ``records`` in each partition of the input, ``fetch_records`` (how many records of a partition an instance
is handed before it is the turn of its next one: with few, a transaction has inputs of several), ``static`` (each slot
has a group.instance.id of its own), ``stable_ids`` (a slot retains its transactional id), ``metadata_at`` ("poll" or
"send": when an instance asks groupMetadata()), and the time-outs in milliseconds, which are short so that a little time
is enough for each.

An implementation has to emit only the events that instances and an auditor observe. Each further kind of the history
vocabulary that it emits is checked against the promises as well, and reveals a violation earlier.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties.derived import AtRest
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.driving import Message as DriverMessage
from fencepost.properties.monitoring import Broken, Concerned
from fencepost.properties.nearest import error_text
from fencepost.properties.roles import Between, Index, InFlight, OneOf

Message = tuple[int, str, str, str, int]
"""A `Message` is (number, kind, source, target, request). The kind of an answer is the kind of what it answers with
``_answer`` appended, and ``request`` is the number of the request that a message belongs to."""


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
"""The settings in `SIZES_OF` are drawn differently for a variant, because its model fixes them."""

LIVE = "fencepost.reference_impl.live.group_fencing.over_tcp:over_tcp"
LIVE_VARIANTS = (
    "shipped", "new-protocol", "new-protocol-relaxed", "group-id-only", "new-protocol-metadata-at-send",
    "new-protocol-relaxed-metadata-at-send",
)  # fmt: skip
"""Brokers and applications can be one of the variants in `LIVE_VARIANTS`, because no release has the draft. The owner
of brokers of the new protocol has to know whether they are from before or after KIP-1251."""

DANGERS = {
    "drop": ("loss",), "deliver keep": ("duplicate",), "pause": ("zombie",), "restart": ("client-crash",),
    "kill": ("client-crash",), "fail_over": ("coordinator-fail-over",), "move_group": ("coordinator-fail-over",),
    "advance": ("time-out",),
}  # fmt: skip


class System(Protocol):
    """A `System` is a cluster with its application, which does nothing by itself: nothing happens between two calls."""

    def messages(self) -> Sequence[Message]:
        """Return the messages in flight, oldest first."""

    def deliver(self, number: Number, keep: bool = False) -> None:
        """Deliver one message now. With ``keep`` a copy stays in flight."""

    def drop(self, number: Lost) -> None:
        """Lose one message."""

    def step(self, slot: Slot) -> bool:
        """Let the instance do the next line of its loop. Return False, and let nothing happen, if it has to wait."""

    def abort(self, slot: Slot) -> bool:
        """Let the instance abort its transaction of its own accord, and return False if it has none."""

    def pause(self, slot: Slot) -> bool:
        """Pause the instance's process, with its heartbeats and arrivals, and return False if it is paused already."""

    def resume(self, slot: Slot) -> bool:
        """Let the paused instance go on without news of the time between, and return False if it is not paused."""

    def close(self, slot: Slot) -> None:
        """Let the instance end in order, so that its consumer leaves the group."""

    def restart(self, slot: Slot) -> None:
        """Kill the instance if it still runs, and let another one take its slot."""

    def kill(self, slot: Slot) -> bool:
        """Kill the instance, leave its slot empty until `restart`, and return False if none runs."""

    def is_over(self, slot: Slot) -> bool:
        """Return whether the instance in the slot has ended, by an error, killed or closed."""

    def log_append(self, ok: bool = True) -> bool:
        """Let the oldest append to the transaction log succeed or fail, and return False if there is none."""

    def fail_over(self, durable: bool = True) -> None:
        """Let another broker coordinate transactions. With ``durable`` the unfinished appends are in the log."""

    def move_group(self, ms: Annotated[int, OneOf(0, 150, 400)] = 0) -> None:
        """Let another broker coordinate the group, after that many milliseconds in which it loads the group's state."""

    def expire_pending(self) -> bool:
        """Let the retention of offsets end, for a group without members, where a transaction has offsets pending, and
        nowhere else. Return False if none is deleted, as none may be."""

    def change_leader(self, output: Annotated[int, Index("outputs")]) -> None:
        """Let another broker lead a partition of the output."""

    def advance(self, ms: Ms) -> None:
        """Let virtual milliseconds pass, so that heartbeats leave, and sessions, requests and transactions time out."""

    def audit(self) -> Any:
        """Let an auditor read all of the committed output and then ask for the group's offsets, and reveal both."""

    def drain_events(self) -> Sequence[Event]:
        """Return the events since the last call, in order."""


# This context judges what no property of histories states about a driven group: what may end an instance once faults
# are over.
#
# An instance that is started when nothing is under way any more, in a slot whose former instance has ended, has its
# transactional id and its place in the group to itself from then on. If it is fenced, or has to wait too long, brokers
# or the instance itself do not work as promised, and a restart does not excuse that (447.P4). The same holds of every
# instance that is left when everything has had its time, though coordinators change then.
#
# It cannot be stated from outside of an earlier instance: a request of its predecessor, or an older copy of its own,
# may arrive late and fence it, and its transaction may have timed out.

UNRELEASED = 111
"""A static member of the new protocol is refused its instance id until the session of its predecessor is over, and its
consumer takes that for fatal (GroupMetadataManager.throwIfInstanceIdIsUnreleased, ConsumerHeartbeatRequestManager)."""
SHARED = frozenset({"draft-static-members"})
"""The slots of these variants share instance ids, so that no instance has its place to itself."""
OF_BROKERS = frozenset({"fail_over", "move_group", "change_leader", "log_append", "audit"})
"""The calls in `OF_BROKERS` do not change what is stated about an instance at rest."""


class Calm(AtRest):
    """`Calm` checks that calls without faults, after which nothing is left to happen, end no instance."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.rests = False  # everything has had its time, and brokers alone have changed since

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[DriverMessage]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """Yield a violation if an instance ends that began in this call, or that was at rest."""
        rested, self.rests = self.rests, self.is_quiet(made) or (self.rests and made.call.name in OF_BROKERS)
        started = set[int]()
        judged = self.is_quiet(made) and self.config.get("mode") not in SHARED
        for event in events if judged else ():
            kind, client, error = read(event, "kind"), read(event, "client", -1), read(event, "error", 0)
            if kind == "instance_started":
                started.add(client)
            elif kind == "instance_failed" and (client in started or (rested and not started)) and error != UNRELEASED:
                words = f"instance {client} had its place to itself, and was ended by {error_text(error)}"
                yield Broken("447.P4", words, event), frozenset({client})
