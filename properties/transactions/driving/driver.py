"""Who drives a cluster of transactions: calls on the plug through a session, and the smallest helpers."""

from collections.abc import Sequence
from typing import Any, ClassVar

from fencepost.properties.driving import Made, Run, Session
from fencepost.properties.transactions.driving.interface import Message
from fencepost.properties.transactions.driving.programs import Call, delivery
from hypothesis.stateful import RuleBasedStateMachine

BURST = 60  # deliveries in a burst at most
BACKOFF_MS = 100
FIRST_READER_AT_THE_END = 100  # those before read on and on; those of the end read everything from the start


class Driver(RuleBasedStateMachine):
    """Calls on the plug, and the smallest helpers.  ``lone``: one producer has the id for itself; ``late``: copies may
    come late."""

    session: ClassVar[Session]
    run: Run
    lone = late = False

    def start(self, config: dict[str, Any], lone: bool, late: bool) -> None:
        self.lone, self.late = lone, late
        self.run = self.session.start({**config, **self.session.config})

    def teardown(self) -> None:
        if hasattr(self, "run"):
            sizes = {"partition": int(self.run.config["partitions"]), "value": int(self.run.config["groups"])}
            self.call("settle", slot=FIRST_READER_AT_THE_END, **sizes)
            self.call("probe", **sizes)

    def call(self, name: str, **arguments: Any) -> Made | None:
        return self.session.call(self.run, Call(name, **arguments))

    def did(self, name: str, **arguments: Any) -> bool:
        """Make a call; did it do anything?"""
        made = self.call(name, **arguments)
        return made is not None and bool(made.result)

    def slot(self, number: int) -> int:
        return number % int(self.run.config["clients"])

    def partition(self, number: int) -> int:
        return number % int(self.run.config["partitions"] + self.run.config["groups"])

    def flying(self) -> Sequence[Message]:
        messages: Sequence[Message] = self.run.system.messages()
        return messages

    def has_messages(self) -> bool:
        return not self.run.over and bool(self.flying())

    def send(self, message: Message, name: str = "deliver", keep: bool = False) -> None:
        """Deliver (or drop) one message, if it is still in flight."""
        flying = self.flying()
        if message in flying:
            self.session.call(self.run, delivery(message, flying, name, keep))

    def first(self, *kinds: str) -> Message | None:
        """The oldest message of these kinds."""
        return next((m for m in self.flying() if m[1] in kinds), None)

    def deliver_first(self, *kinds: str, keep: bool = False, name: str = "deliver") -> bool:
        message = self.first(*kinds)
        if message is not None:
            self.send(message, name, keep)
        return message is not None

    def pump(self, without: Sequence[str] = (), spare: frozenset[int] = frozenset()) -> None:
        """Deliver and append, oldest first, until there is nothing to do; not messages of the kinds ``without``, and
        not those of the numbers to ``spare``."""
        for _ in range(BURST):
            if self.run.over:
                return
            message = next((m for m in self.flying() if m[1] not in without and m[0] not in spare), None)
            if message is not None:
                self.send(message)
            elif not self.did("log_append"):
                return

    def go_on(self, spare: frozenset[int] = frozenset()) -> None:
        """… and let clients try again what they were told to try again."""
        self.pump(spare=spare)
        for _ in range(2):
            self.call("advance", value=BACKOFF_MS)
            self.pump(spare=spare)

    def read(self, partition: int, committed: bool = True) -> None:
        number, data = self.partition(partition), int(self.run.config["partitions"])
        if number >= data:
            self.call("fetch_offset", slot=0, partition=number)
        else:
            self.call("read", slot=0 if committed else 1, partition=number, value=int(committed))

    def opened(self, slot: int, spare: frozenset[int] = frozenset()) -> int:
        """The slot, whose producer has now begun a transaction, if that could be had."""
        slot = self.slot(slot)
        if self.did("begin", slot=slot) or self.run.over:
            return slot
        if not self.did("init", slot=slot):
            self.did("abort", slot=slot)
        self.go_on(spare)
        if not self.did("begin", slot=slot):
            self.call("restart_client", slot=slot)
            self.call("init", slot=slot)
            self.go_on(spare)
            self.call("begin", slot=slot)
        return slot

    def with_record(self, slot: int, partition: int, spare: frozenset[int] = frozenset()) -> tuple[int, int]:
        """A transaction with one record that is written, if that could be had."""
        slot, partition = self.opened(slot, spare), self.partition(partition)
        self.call("send", slot=slot, partition=partition)
        self.pump(spare=spare)
        return slot, partition

    def end(self, slot: int, commit: bool) -> bool:
        return self.did("commit" if commit else "abort", slot=slot)
