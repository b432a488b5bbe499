"""Programs on transactions: the calls of the plug as data, and what makes a program simpler.

A message is named by kind, source, target, and position among those (oldest first).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fencepost.properties.driving import Program, Spelled
from fencepost.properties.transactions.driving.interface import COLUMNS, Message, System

SETTLING = "fencepost.properties.transactions.driving.settling"
NEWCOMERS = "fencepost.properties.transactions.driving.newcomers"
EXPIRY_MS = 8 * 24 * 3_600_000  # an implementation that is busy would send thousands of requests in the time
SLOTTED = frozenset({"init", "begin", "commit", "abort", "restart_client"})


@dataclass(frozen=True)
class Call:
    """One call.  ``deliver`` and ``drop`` say which message by ``kind``, ``source``, ``target`` and ``nth``.

    ``slot``: of a producer, or the number of a reader.  ``value``: milliseconds; or 1 and 0 for success and failure of
    ``log_append``, a durable ``fail_over`` or not, read_committed or not.  What ``settle`` and ``probe`` are, and
    ``advance`` by a week or more, `settling` says; ``newcomers``, ``value`` of them, the module of that name.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    always_compared: ClassVar[tuple[str, ...]] = ("error",)  # an answer without one is another answer

    name: str
    slot: int = -1
    partition: int = -1
    value: int = 1
    kind: str = ""
    source: str = ""
    target: str = ""
    nth: int = 0
    keep: bool = False

    def find(self, messages: Sequence[Message]) -> Message | None:
        """The message that the call speaks of; None if it is not in flight."""
        key = (self.kind, self.source, self.target)
        matching = [m for m in messages if m[1:4] == key]
        return matching[self.nth] if self.nth < len(matching) else None

    @property
    def table_name(self) -> str:
        """Under which `calls.CALLS` has it."""
        return f"{self.name} {self.kind}" if self.name == "deliver" else self.name

    def spelled(self, system: System) -> Spelled | None:
        """What is called; None if it speaks of a message that is not in flight."""
        match self.name:
            case "deliver" | "drop":
                message = self.find(system.messages())
                if message is None:
                    return None
                remark = f"{message[1]} of request {message[4]} from {message[2]} to {message[3]}"
                return Spelled((message[0],), {"keep": True} if self.keep else {}, message, remark)
            case "send":
                return Spelled((self.slot, self.partition))
            case "log_append":
                return Spelled(keywords={} if self.value else {"ok": False})
            case "fail_over":
                return Spelled(keywords={} if self.value else {"durable": False})
            case "change_leader":
                return Spelled((self.partition,))
            case "advance" if self.value >= EXPIRY_MS:
                return Spelled(helper=f"{SETTLING}:expire")
            case "advance":
                return Spelled((self.value,))
            case "read":
                return Spelled((self.slot, self.partition), {} if self.value else {"committed": False})
            case "fetch_offset":
                return Spelled((self.slot, self.partition))
            case "settle":
                return Spelled((self.slot, self.partition, self.value), helper=f"{SETTLING}:settle")
            case "probe":
                return Spelled((self.partition, self.value), helper=f"{SETTLING}:probe")
            case "newcomers":
                return Spelled((self.value,), helper=f"{NEWCOMERS}:newcomers")
            case "fence":
                return Spelled()
        return Spelled((self.slot,))


def delivery(message: Message, messages: Sequence[Message], name: str = "deliver", keep: bool = False) -> Call:
    """The call that delivers (or drops) this message of those in flight."""
    like = sum(1 for m in messages if m[1:4] == message[1:4] and m[0] < message[0])
    return Call(name, kind=message[1], source=message[2], target=message[3], nth=like, keep=keep)


def smaller(program: Program) -> Iterator[Program]:
    """The program on clusters that are smaller in one respect."""
    config = program.config

    def changed(calls: tuple[Call, ...] | None = None, **values: Any) -> Program:
        return Program({**config, **values}, program.calls if calls is None else calls)

    slots = max((c.slot for c in program.calls if c.name in SLOTTED or c.name == "send"), default=0) + 1
    for clients in range(max(1, slots), config["clients"]):
        yield changed(clients=clients)
    if config["groups"] and not any(_partition(c) >= config["partitions"] for c in program.calls):
        yield changed(tuple(_counting(c, config["partitions"], 0) for c in program.calls), groups=0)
    used = max(map(_partition, program.calls), default=0) + 1
    if not config["groups"] and used < config["partitions"]:
        for partitions in range(max(1, used), config["partitions"]):
            yield changed(tuple(_counting(c, partitions, 0) for c in program.calls), partitions=partitions)
    if config["max_epoch"] != 32767:
        yield changed(max_epoch=32767)


def _partition(call: Call) -> int:
    if call.name in ("settle", "probe"):
        return -1
    for end in (call.source, call.target):
        if end.startswith("partition-"):
            return int(end.rpartition("-")[2])
    return call.partition


def _counting(call: Call, partitions: int, groups: int) -> Call:
    """Settling is told how many partitions there are."""
    return replace(call, partition=partitions, value=groups) if call.name in ("settle", "probe") else call


def simpler(program: Program) -> Iterator[Program]:
    """The program with one call that is simpler."""
    for i, call in enumerate(program.calls):
        options = []
        if call.keep:
            options.append(replace(call, keep=False))
        if call.name in SLOTTED and call.slot > 0:
            options.append(replace(call, slot=call.slot - 1))
        if call.name in ("log_append", "fail_over") and not call.value:
            options.append(replace(call, value=1))
        for option in options:
            yield replace(program, calls=(*program.calls[:i], option, *program.calls[i + 1 :]))
    for high in range(1, program.config["partitions"]):
        yield from _if_other(program, tuple(_moved(call, high) for call in program.calls))
    for high in range(1, program.config["clients"]):
        yield from _if_other(program, tuple(_slid(call, high) for call in program.calls))


def _if_other(program: Program, calls: tuple[Call, ...]) -> Iterator[Program]:
    if calls != program.calls:
        yield replace(program, calls=calls)


def _moved(call: Call, high: int) -> Call:
    """What is about a data partition, about the one below."""
    was, now = f"partition-{high}", f"partition-{high - 1}"
    if call.name in ("send", "change_leader", "read") and call.partition == high:
        return replace(call, partition=high - 1)
    return replace(
        call,
        source=now if call.source == was else call.source,
        target=now if call.target == was else call.target,
    )


def _slid(call: Call, high: int) -> Call:
    """What is about a slot, about the one below."""
    was, now = f"client-{high}", f"client-{high - 1}"
    if (call.name in SLOTTED or call.name == "send") and call.slot == high:
        return replace(call, slot=high - 1)
    return replace(
        call,
        source=now if call.source == was else call.source,
        target=now if call.target == was else call.target,
    )


def dangers_of(call: Call) -> tuple[str, ...]:
    """Which of `fencepost.model.dangers` it is to make this call."""
    match call.name:
        case "deliver":
            return ("duplicate",) if call.keep else ()
        case "drop":
            return ("loss", "lost-answer") if call.kind.endswith("_answer") else ("loss",)
        case "restart_client":
            return ("client-crash",)
        case "log_append":
            return () if call.value else ("failed-append",)
        case "fail_over":
            return ("coordinator-fail-over",)
        case "change_leader":
            return ("broker-restart",)
    return ()
