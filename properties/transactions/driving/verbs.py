"""The verbs of scenarios on transactions: what they do again and again, in a word each."""

from typing import Any

from fencepost.properties.driving import Message
from fencepost.properties.machine import BURST, Machine
from fencepost.properties.transactions.driving.programs import Call

BACKOFF_MS = 100
FIRST_READER_AT_THE_END = 100  # those before read on and on; those of the end read everything from the start


class Verbs(Machine, steps={}):
    """``lone``: one producer has the id for itself; ``late``: copies may come late."""

    call_type = Call
    lone = late = False

    def begin(self, drawn: tuple[dict[str, Any], bool, bool]) -> None:
        config, self.lone, self.late = drawn
        self.start(config)

    def teardown(self) -> None:
        """The cluster settles, everything is read, and a new producer tries whether all is well."""
        if hasattr(self, "run"):
            self.call("settle", FIRST_READER_AT_THE_END)
            self.call("probe")

    def otherwise(self) -> bool:
        return self.did("log_append")

    def slot(self, number: int) -> int:
        return self.index("clients", number)

    def partition(self, number: int) -> int:
        """A data partition, or behind them one of offsets."""
        return number % int(self.run.config["partitions"] + self.run.config["groups"])

    def go_on(self) -> None:
        """Everything arrives, and clients try again what they are to try again."""
        self.deliver_all()
        for _ in range(2):
            self.call("advance", BACKOFF_MS)
            self.deliver_all()

    def read(self, partition: int, committed: bool = True) -> None:
        """A reader that reads on and on, or the committed offset of a group."""
        number, data = self.partition(partition), int(self.run.config["partitions"])
        if number >= data:
            self.call("fetch_offset", 0, number)
        else:
            self.call("read", 0 if committed else 1, number, committed)

    def opened(self, slot: int) -> int:
        """The slot, whose producer has now begun a transaction, if that could be had."""
        slot = self.slot(slot)
        if self.did("begin", slot) or self.run.over:
            return slot
        if not self.did("init", slot):
            self.did("abort", slot)
        self.go_on()
        if not self.did("begin", slot):
            self.call("restart_client", slot)
            self.call("init", slot)
            self.go_on()
            self.call("begin", slot)
        return slot

    def with_record(self, slot: int, partition: int) -> tuple[int, int]:
        """A transaction with one record that is written, if that could be had."""
        slot, partition = self.opened(slot), self.partition(partition)
        self.call("send", slot, partition)
        self.deliver_all()
        return slot, partition

    def end(self, slot: int, commit: bool) -> bool:
        return self.did("commit" if commit else "abort", slot)

    def take_over(self, slot: int) -> None:
        """A producer asks for the id in this slot, a new one if need be."""
        if not self.did("init", slot):
            self.call("restart_client", slot)
            self.call("init", slot)

    def kept(self, kind: str, commit: bool, slot: int) -> Message | None:
        """Go on until the end of a transaction; what is left of one message of this kind, of which a copy was kept, and
        which is held up from now on."""
        ended = False
        for _ in range(BURST):
            if self.send_first(kind, keep=True):
                left = self.first(kind)
                self.hold(left)
                if not ended and left is not None:
                    self.deliver_all()
                    self.end(slot, commit)
                return left
            oldest = next(iter(self.waiting()), None)
            if oldest is not None:
                self.send(oldest)
            elif not self.otherwise():
                if ended:
                    return None
                ended = True
                self.end(slot, commit)
        return None
