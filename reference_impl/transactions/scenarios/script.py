"""Short scripts on the plug: everything in flight arrives, oldest first, except what the script holds up.

script = Script(Parts(), mode="v1")
script.start(0)                          # initTransactions of slot 0
script.begin(0, 0)                       # a transaction with a record to partition 0, all answered
script.system.commit(0)
late = script.hold("end")                # EndTxn is on its way, and stays there
script.settle(31_000)                    # the client times out and asks again: that copy arrives
script.release(late)
"""

from collections.abc import Iterable
from typing import Any

from fencepost.reference_impl.transactions.events import Event
from fencepost.reference_impl.transactions.system import Parts, System, build

SMALL: dict[str, Any] = {"seed": 0, "clients": 2, "partitions": 2}
PATIENCE_MS = 500  # back-offs are 100 ms: five of them settle everything that can settle
STEPS_MAX = 2_000  # a broken cluster may go round in circles


class Script:
    """A driven cluster, and which of its messages are held up."""

    def __init__(self, parts: Parts, **config: Any) -> None:
        self.system: System = build({**SMALL, **config}, parts)
        self.held: set[int] = set()
        self.events: list[Event] = []

    def flying(self, kind: str, target: str = "") -> list[int]:
        """The numbers of the messages of a kind in flight, held up or not; `target` narrows it."""
        return [m[0] for m in self.system.messages() if m[1] == kind and m[3].startswith(target)]

    def hold(self, kind: str, target: str = "") -> list[int]:
        """Hold up every message of a kind that is in flight now, until it is released."""
        found = self.flying(kind, target)
        self.held.update(found)
        return found

    def hold_next(self, kind: str, target: str = "") -> list[int]:
        """Let everything else arrive until messages of a kind are sent, and hold those up. Raises if none ever is."""
        while not (fresh := [number for number in self.flying(kind, target) if number not in self.held]):
            if not self.step():
                raise RuntimeError(
                    f"no {kind} to {target or 'anybody'} is ever sent: in flight {self.system.messages()}"
                )
        self.held.update(fresh)
        return fresh

    def copy(self, kind: str, target: str = "") -> list[int]:
        """Deliver the messages of a kind now, and hold up a second copy of each."""
        found = self.hold(kind, target)
        for number in found:
            self.system.deliver(number, keep=True)
        return found

    def lose(self, kind: str, target: str = "") -> None:
        """Lose every message of a kind that is in flight now."""
        for number in self.flying(kind, target):
            self.system.drop(number)

    def let_in(self, numbers: Iterable[int]) -> None:
        """Let messages arrive that were held up, and nothing that follows from them."""
        for number in numbers:
            self.held.discard(number)
            self.system.deliver(number)

    def release(self, numbers: Iterable[int]) -> None:
        """Let messages arrive that were held up, and everything that follows from them."""
        self.let_in(numbers)
        self.settle()

    def deliver(self) -> None:
        """Let what is in flight arrive, and what that sends; appends to the transaction log succeed. No time passes."""
        for _ in range(STEPS_MAX):
            if not self.step():
                return

    def step(self) -> bool:
        """One message arrives, or one append succeeds; False if there is neither."""
        number = next((m[0] for m in self.system.messages() if m[0] not in self.held), None)
        if number is None:
            return self.system.log_append()
        self.system.deliver(number)
        return True

    def settle(self, ms: int = PATIENCE_MS) -> None:
        """Let everything arrive, and time pass."""
        self.deliver()
        for _ in range(0, ms, 100):
            self.system.advance(100)
            self.deliver()

    def start(self, *slots: int) -> None:
        """initTransactions, of one slot after the other."""
        for slot in slots:
            self.system.init(slot)
            self.settle()

    def begin(self, slot: int, *partitions: int) -> None:
        """A transaction with a record to each partition, all answered."""
        self.system.begin(slot)
        self.send(slot, *partitions)

    def send(self, slot: int, *partitions: int) -> None:
        """A record to each partition, all answered."""
        for partition in partitions:
            self.system.send(slot, partition)
            self.settle()

    def commit(self, slot: int) -> None:
        """commitTransaction, to its end."""
        self.system.commit(slot)
        self.settle()

    def abort(self, slot: int) -> None:
        """abortTransaction, to its end."""
        self.system.abort(slot)
        self.settle()

    def read(self, reader: int = 0) -> list[int]:
        """The records that a read_committed reader gets next, from every partition in turn."""
        partitions = range(self.system.env.config.partitions)
        return [record for partition in partitions for _, record in self.system.read(reader, partition)]

    def told(self) -> list[Event]:
        """All events so far."""
        self.events += self.system.drain_events()
        return self.events

    def kinds(self, *kinds: str) -> list[Event]:
        """The events so far of some kinds."""
        return [event for event in self.told() if event.kind in kinds]
