"""The script of scenarios on a consumer group: instances that go on line by line, and stand still where it matters.

script = Script(Parts(), mode="shipped")
script.until(0, "consumed")              # slot 0 has joined the group, and polled a record
script.system.pause(0)
script.until(1, "consumed")              # its session is over: slot 1 has its partition now
script.system.resume(0)
script.go_on(0, 1)                       # a zombie, and its successor
script.system.audit()
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fencepost.reference_impl.group_fencing.defects.broken import REGISTRY
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.system import System, build
from fencepost.reference_impl.simulation.scenarios import STEPS_MAX, Known, Messages

TICK_MS = 100
AFTER_SESSION_MS = 50_000  # longer than session.timeout.ms
AFTER_POLLS_MS = 310_000  # longer than max.poll.interval.ms
AFTER_TRANSACTION_MS = 140_000  # longer than the scripts' transaction.timeout.ms, and an interval of looking for it
PATIENCE_MS = 3_000


class Script(Messages):
    """A cluster of these parts, or of another implementation. One partition with one record, unless it says more."""

    SMALL = MappingProxyType({
        "seed": 0, "members": 2, "inputs": 1, "records": 1, "transaction_timeout_ms": 120_000, "initial_delay_ms": 0,
    })  # fmt: skip

    def build(self, config: Mapping[str, Any], parts: Parts | None) -> System:
        return build(config, parts or Parts())

    def otherwise(self) -> bool:
        """Appends to the transaction log succeed."""
        return bool(self.system.log_append())

    def tick(self, slots: tuple[int, ...]) -> None:
        """One line of somebody's loop, or one message, or a while."""
        if not any(self.system.step(slot) for slot in slots) and not self.step():
            self.system.advance(TICK_MS)

    def until(self, slot: int, kind: str, times: int = 1) -> None:
        """The instance goes on until something of this kind has happened to it, so many times; everything else
        arrives. Raises RuntimeError if it never does."""
        before = self.count(slot, kind)
        for _ in range(STEPS_MAX):
            if self.count(slot, kind) >= before + times:
                return
            self.tick((slot,))
        raise RuntimeError(f"{kind} never happens to slot {slot}: in flight {self.system.messages()}")

    def count(self, slot: int, kind: str) -> int:
        """How often something of this kind has happened to the slot."""
        return sum(event.slot == slot for event in self.kinds(kind))

    def go_on(self, *slots: int, ms: int = PATIENCE_MS) -> None:
        """These instances go on for a while; those that fail have no successor."""
        for _ in range(0, ms, TICK_MS):
            for _ in range(STEPS_MAX):
                if not any(self.system.step(slot) for slot in slots) and not self.step():
                    break
            self.system.advance(TICK_MS)

    def cut_off(self, slot: int, ms: int = AFTER_SESSION_MS) -> None:
        """What the instance's consumer says is lost for a while, and it does nothing; everything else arrives."""
        for _ in range(0, ms, TICK_MS):
            for number, _, source, *_ in list(self.system.messages()):
                if source == f"consumer-{slot}":
                    self.system.drop(number)
            self.deliver()
            self.system.advance(TICK_MS)

    def hold_from(self, kind: str, source: str) -> list[int]:
        """Let everything else arrive until this node sends a message of a kind, and hold that up. Raises RuntimeError
        if it never does."""
        while not (found := [m[0] for m in self.system.messages() if m[1:3] == (kind, source)]):
            if not self.step():
                raise RuntimeError(f"{source} never sends {kind}: in flight {self.system.messages()}")
        self.held.update(found)
        return found

    def audit(self) -> None:
        """An auditor looks, when no transaction can be open any more."""
        self.held.clear()
        self.settle(AFTER_TRANSACTION_MS)
        self.system.audit()

    def taken_over(self) -> None:
        """Slot 0 has polled a record and stands still; slot 1 has its partition, and has polled the same."""
        self.until(0, "consumed")
        self.system.pause(0)
        self.until(1, "consumed")


KNOWN = Known(Script, REGISTRY)
