"""The promises of transactions, held against observable events alone: no model, one pass, every implementation.

What clients are told and readers get is enough for all of them in the end, once the cluster has settled; whoever also
shows the transaction log and the partitions is told earlier, and of broken rules on the way to a broken promise.

In v1 a late copy can be taken for something new (KAFKA-17754 and its kin): that is how v1 is.  So a promise that is
``expecting`` to be broken is *predicted* where a copy came late under the same producer id, and nothing else is
excused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fencepost.properties.driving import Made, Message
from fencepost.properties.monitoring import Broken
from fencepost.properties.transactions.monitoring.clients import Clients
from fencepost.properties.transactions.monitoring.coordinator import Coordinator
from fencepost.properties.transactions.monitoring.facts import Facts, Verdict
from fencepost.properties.transactions.monitoring.newcomers import events_of, look_at_newcomers
from fencepost.properties.transactions.monitoring.partitions import Partitions
from fencepost.properties.transactions.monitoring.quiet import Quiet, QuietOverTheWire

EXPECTING = {
    "v1": frozenset({"txn.P1", "txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P6", "txn.P8", "txn.P10"}),
    "v1-verified": frozenset({"txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P8"}),
    "v2": frozenset[str](),
}
"""What late copies break by design.  Part 1 of KIP-890 ends hanging transactions, and part 2 with KIP-1228 the rest."""

ON_THE_WAY = frozenset({"txn.3", "txn.5", "txn.10", "txn.13", "txn.15", "txn.21"})
"""Rules that seem broken where what is predicted has happened before."""


class Monitor:
    """Feed it calls in order; ``found`` is the first promise or rule that is broken and should not be."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str] = frozenset()) -> None:
        self.facts = Facts(config)
        self.expecting = expecting
        self.clients, self.coordinator = Clients(self.facts), Coordinator(self.facts)
        self.partitions = Partitions(self.facts, self.coordinator)
        self.quiet = Quiet(self.facts, self.clients, self.coordinator, self.partitions)
        self.only: frozenset[str] | None = None
        self.observed: frozenset[str] | None = None
        self.calls = 0
        self.found: Broken | None = None
        self.predicted: list[Broken] = []

    def watch(self, made: Made, messages: Sequence[Message] = ()) -> None:
        """Take note of a call with its result and events; ``messages``: what is in flight after it."""
        self.calls += 1
        self.facts.note_call(made)
        if made.call.name == "fail_over":
            self.coordinator.moved(made.call.get("durable"))
        for judged in self._verdicts(made):
            self._judge(judged)
        self.facts.note_flying(messages)

    def _verdicts(self, made: Made) -> Iterator[Verdict]:
        yield from look_at_newcomers(made)
        for event in events_of(made):
            self.facts.note(event)
            for view in (self.clients, self.partitions, self.coordinator):
                yield from view.look(event)
        yield from self.quiet.look(made)

    def _judge(self, judged: Verdict) -> None:
        broken = replace(judged.broken, call=self.calls)
        if self.only is not None and broken.rule not in self.only:
            return
        if self.expecting and self.facts.is_tainted(judged.pairs):
            if broken.rule in self.expecting:
                self.predicted.append(broken)
            if broken.rule in self.expecting | ON_THE_WAY:
                return
        self.found = self.found or broken


class MonitorOverTheWire(Monitor):
    """The same for brokers that may take longer to time a transaction out than anybody waits for."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str] = frozenset()) -> None:
        super().__init__(config, expecting)
        self.quiet = QuietOverTheWire(self.facts, self.clients, self.coordinator, self.partitions)
        if config.get("timeouts"):
            self.facts.timeout_ms = 0  # in real time, of which the driver knows nothing
