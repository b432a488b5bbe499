"""This module has the messages between nodes, and the faults that are injected at random moments."""

from collections.abc import Mapping
from random import Random
from typing import Any, Protocol

from fencepost.reference_impl.simulation.kernel import Kernel

# This section has the faults of a free-running simulation: the rate of each, and how often it was injected.
#
# Rates are probabilities per *draw*. The protocol's free-running loop draws (id blocks: once per client demand), so
# that a history of any length has faults in proportion to its events and not to its virtual time.

Rates = Mapping[str, float]


class FaultMix:
    """A `FaultMix` draws node faults by rate and counts every fault injected, network faults included."""

    __slots__ = ("_names", "_random", "_thresholds", "counts", "total")

    def __init__(self, random: Random, rates: Rates) -> None:
        self._random = random
        self._names: list[str] = []
        self._thresholds: list[float] = []
        self.counts: dict[str, int] = {}
        self.total = 0.0
        for name in sorted(rates):
            if rates[name] > 0:
                self.total += rates[name]
                self._names.append(name)
                self._thresholds.append(self.total)
        if self.total > 1:
            raise ValueError(f"fault rates add up to {self.total}: at most one fault strikes per draw; lower them")

    def draw(self) -> str | None:
        """Return the fault to inject now, if any. It is not counted yet, because it may turn out not to apply."""
        luck = self._random.random()
        if luck >= self.total:
            return None
        for name, threshold in zip(self._names, self._thresholds, strict=True):
            if luck < threshold:
                return name
        return None

    def stop(self) -> None:
        self.total = 0.0

    def count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1


# The network carries messages between named nodes, and may lose, duplicate, delay and reorder them.
#
# `Network` does nothing by itself: messages wait until a driver delivers or drops them, in any order, as often as it
# chooses. `LossyNetwork` delivers by itself after a random delay and draws a fault for each message.


class Message:
    """A `Message` is one message in flight. ``number`` identifies it for the driver; ``body`` is the protocol's own."""

    __slots__ = ("body", "kind", "number", "source", "target")

    def __init__(self, number: int, kind: str, source: str, target: str, body: Any) -> None:
        self.number = number
        self.kind = kind
        self.source = source
        self.target = target
        self.body = body

    def __repr__(self) -> str:
        return f"Message({self.number}, {self.kind}, {self.source} -> {self.target}, {self.body})"


class Receiver(Protocol):
    """A `Receiver` is an object that has an address and takes messages."""

    def arrive(self, message: Message, /) -> None:
        """Take a message."""


class Network:
    """In a `Network`, messages wait until a driver delivers them. An address may be an alias that moves."""

    __slots__ = ("_sent", "in_flight", "kernel", "nodes")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.nodes: dict[str, Receiver] = {}
        self.in_flight: dict[int, Message] = {}
        self._sent = 0

    def send(self, kind: str, source: str, target: str, body: Any) -> None:
        """Put a message on its way to the node (or alias) called `target`."""
        number = self._sent
        self._sent = number + 1
        self.in_flight[number] = Message(number, kind, source, target, body)

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver one message now; with `keep` a copy stays in flight, to be delivered again."""
        message = self._find(number)
        if not keep:
            del self.in_flight[number]
        self.nodes[message.target].arrive(message)

    def deliver_all(self) -> None:
        """Deliver all messages in flight, oldest first, and those sent meanwhile, until none is left."""
        in_flight, nodes = self.in_flight, self.nodes
        while in_flight:
            message = in_flight.pop(next(iter(in_flight)))  # numbered as they are sent
            nodes[message.target].arrive(message)

    def drop(self, number: int) -> None:
        del self.in_flight[self._find(number).number]

    def _find(self, number: int) -> Message:
        message = self.in_flight.get(number)
        if message is None:
            raise KeyError(
                f"no message {number} in flight: it was delivered without keep, dropped, or never sent; "
                f"in flight are {sorted(self.in_flight)}"
            )
        return message


class LossyNetwork(Network):
    """A `LossyNetwork` delivers by itself, and may drop, duplicate, or delay each message."""

    __slots__ = ("_faults", "_latency_us", "_long_us", "_odds", "_random")

    def __init__(self, kernel: Kernel, faults: FaultMix, odds: Mapping[str, float], latency_us: int, long_us: int):
        super().__init__(kernel)
        self._faults = faults
        self._latency_us = latency_us
        self._long_us = long_us
        self._random = kernel.random.random
        drop, duplicate, delay = (odds.get(fault, 0.0) for fault in ("drop", "duplicate", "delay"))
        self._odds = (drop, drop + duplicate, drop + duplicate + delay)

    def send(self, kind: str, source: str, target: str, body: Any) -> None:
        """Send a message with at most one fault, so that the rates add up to the share of messages hit."""
        message = Message(self._sent, kind, source, target, body)
        self._sent += 1
        kernel, random = self.kernel, self._random
        delay_us = int(random() * (2 * self._latency_us + 1))  # as Kernel.spread, whose call every message would pay
        luck = random()
        drop, duplicate, delay = self._odds
        if luck < delay:
            if luck < drop:
                self._faults.count("drop")
                return
            if luck < duplicate:
                self._faults.count("duplicate")
                kernel.after(kernel.spread(self._long_us), self._arrive, message)
            else:
                self._faults.count("delay")
                delay_us += kernel.spread(self._long_us)
        kernel.after(delay_us, self._arrive, message)

    def calm(self) -> None:
        self._odds = (0.0, 0.0, 0.0)

    def _arrive(self, message: Message) -> None:
        self.nodes[message.target].arrive(message)
