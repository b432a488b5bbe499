"""This module has what a driver of two-phase commit does in one piece, because single calls alone seldom get so far."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fencepost.properties.calls import Call
from fencepost.properties.derived import call_type_of, factory
from fencepost.properties.driving import Made
from fencepost.properties.free_run import rows_of
from fencepost.properties.history.vocabulary import VOCABULARIES
from fencepost.properties.machine import Machine, scenario
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.two_phase.interface import Message, Ms, Partition, Slot, System

Few = Annotated[int, Between(0, 6)]


def settle(system: System) -> None:
    """Deliver everything, and let every append succeed, without time passing."""
    while True:
        messages = system.messages()
        if messages:
            system.deliver(messages[0][0])
        if not (system.log_append() or messages):
            return


def start(system: System, slot: Slot) -> None:
    """Let a new instance be initialised, and complete what it finds as the store has it."""
    system.restart_client(slot)
    system.init(slot)
    settle(system)
    system.read_store(slot)
    system.complete(slot)
    settle(system)


def transact(system: System, slot: Slot, partition: Partition) -> None:
    """Let an instance write a record in a new transaction, and prepare it."""
    system.begin(slot)
    system.send(slot, partition)
    settle(system)
    system.prepare(slot)


HELPERS = (settle, start, transact)

SETTLED = ("settle",)
TOUR = (
    ("init", 0, False, False), SETTLED, ("begin", 0), ("send", 0, 0), SETTLED, ("commit", 0), SETTLED,
    ("begin", 0), ("send", 0, 0), SETTLED, ("advance", 75_000), ("advance", 75_000), SETTLED,
    ("start", 1), ("transact", 1, 0), ("decide", 1, True), ("complete", 1), SETTLED, ("fail_over",), ("read", 0, 0),
    ("transact", 1, 0), ("start", 1), ("transact", 1, 0), ("force_terminate", 0), SETTLED,
)  # fmt: skip
"""These calls cause all kinds of events that the model needs, of an implementation with a defect, too."""
FOLLOWED = {"retained": 0.8}
"""Most programs that are not followed have more instances, epochs or coordinators than the model has room for."""


def PARTS(config: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return a configuration for each transactional id, of which each is followed by a model of its own."""
    return [{**config, "id": number} for number in range(config.get("ids", 1))]


EXAMPLE = (
    ("start", 0), ("transact", 0, 0), ("decide", 0, True), ("complete", 0), SETTLED, ("read", 0, 0),
    ("transact", 0, 0), ("start", 1), ("transact", 1, 0), ("decide", 1, True), ("start", 0), ("read", 0, 0),
    ("restart_client", 1), ("init", 1, False, False), SETTLED, ("begin", 1), ("send", 1, 0), SETTLED,
    ("advance", 75_000), ("advance", 75_000), SETTLED,
)  # fmt: skip
"""One transaction is ended by its owner, one is aborted undecided, one is committed by another instance, and one that
is not of two-phase commit takes too long."""


def rows() -> list[tuple[int, ...]]:
    """Return the events of the example, as the reference emits them, in the order of the columns."""
    call_type = call_type_of("two-phase")
    config = {"seed": 0, "mode": "retained", "clients": 2, "ids": 1, "partitions": 1}
    calls = [call_type.within(config, *call) for call in EXAMPLE]
    return list(rows_of(VOCABULARIES["two-phase"], factory("two-phase")(config), calls))


def renewed(slot: int) -> tuple[tuple[Any, ...], ...]:
    """Return the calls by which a new instance is initialised."""
    return ("restart_client", slot), ("init", slot), SETTLED


def completed(slot: int) -> tuple[tuple[Any, ...], ...]:
    """Return the calls by which an instance completes what it has found as the store has it."""
    return ("read_store", slot), ("complete", slot), SETTLED


class Scenarios(Machine):
    """`Scenarios` has the lives of an application that single calls seldom make: what was prepared is taken up by
    another instance, before and after it was decided, while the former one goes on. An application ends what it has
    prepared, or found, by completeTransaction() alone."""

    def start(self, config: Mapping[str, Any]) -> None:
        super().start(config)
        self.completes: dict[int, bool] = {}  # by slot, whether its transaction is to be ended so
        self.two_phase: dict[int, bool] = {}

    def make(self, call: Call) -> Made | None:
        slot = call.get("slot") if call.name in ("init", "begin", "prepare", "commit", "abort") else -1
        decided = call.name == "commit" and self.two_phase.get(slot)
        if decided or (call.name in ("commit", "abort") and self.completes.get(slot)):
            return None
        made = super().make(call)
        if made is not None and made.result is True:
            if call.name == "init":
                self.two_phase[slot], self.completes[slot] = call.get("two_phase"), call.get("keep")
            elif call.name in ("begin", "prepare"):
                self.completes[slot] = call.name == "prepare"
        return made

    @scenario
    def recovered(
        self, slot: Slot, heir: Slot, partition: Partition, commit: bool, decided: bool, delivered: Few,
        two_phase: bool, keep: bool,
    ) -> None:  # fmt: skip
        """An instance ends its transaction, few messages of that arrive, another one takes it up, and it goes on."""
        self.calls(
            ("restart_client", slot), ("init", slot, keep, two_phase), SETTLED, *completed(slot),
            ("transact", slot, partition), *([("decide", slot, commit), ("complete", slot)] if decided else []),
        )  # fmt: skip
        self.some(delivered)
        self.calls(("start", heir), ("complete", slot), SETTLED, ("read", 0, partition))

    @scenario
    def overtaken(
        self, slot: Slot, heir: Slot, partition: Partition, commit: bool, reads: bool, then: Annotated[str, OneOf(
            "complete", "send", "commit", "fail_over")], looks: bool
    ) -> None:  # fmt: skip
        """An instance decides what it has prepared while another one is initialised, or has read the store. It has not
        looked into the store itself, where nothing was open."""
        arguments = {"fail_over": (), "send": (slot, partition)}.get(then, (slot,))
        self.calls(
            ("start", slot), *([] if looks else renewed(slot)), ("transact", slot, partition), *renewed(heir),
            *([("read_store", heir)] if reads else []), ("decide", slot, commit), (then, *arguments), SETTLED,
            *completed(heir), ("read", 0, partition),
        )  # fmt: skip

    @scenario
    def lingering(
        self, slot: Slot, heir: Slot, partition: Partition, ms: Ms, retained: bool, ordinary: bool, commit: bool,
        asks: bool,
    ) -> None:  # fmt: skip
        """Time passes over a transaction that was prepared, perhaps after another instance has retained it, which asks
        for two-phase commit or not."""
        self.calls(
            ("restart_client", slot), ("init", slot, True, not ordinary), SETTLED, *completed(slot),
            ("transact", slot, partition),
            *([("restart_client", heir), ("init", heir, True, asks), SETTLED] if retained else []),
            *[("advance", ms), SETTLED] * 3,
            ("decide", slot, commit), ("complete", slot), SETTLED, ("start", heir), ("read", 0, partition),
        )  # fmt: skip

    @scenario
    def unsettled(self, slot: Slot, partition: Partition, delivered: Few, again: bool, commit: bool) -> None:
        """An instance prepares, and sends on, before its records are acknowledged."""
        self.calls(("start", slot), ("begin", slot), ("send", slot, partition))
        self.some(delivered)
        self.calls(
            ("prepare", slot), *([("send", slot, partition)] if again else []), ("decide", slot, commit),
            ("complete", slot), SETTLED, ("read", 0, partition),
        )  # fmt: skip

    @scenario
    def empty(self, slot: Slot, partition: Partition, commit: bool) -> None:
        """A transaction without records is decided, and the next one is left prepared."""
        self.calls(
            ("start", slot), ("begin", slot), ("prepare", slot), ("decide", slot, commit), ("complete", slot), SETTLED,
            ("transact", slot, partition), ("start", slot), ("read", 0, partition),
        )  # fmt: skip

    @scenario
    def repeated(
        self, slot: Slot, heir: Slot, partition: Partition, commit: bool, found: bool, late: Annotated[str, OneOf(
            "end", "marker", "nothing")]
    ) -> None:  # fmt: skip
        """An EndTxn whose answer is lost is sent again, while a copy of it, or of a marker, comes late."""
        asking = heir if found else slot
        decides = [*renewed(heir), ("read_store", heir)] if found else [("decide", slot, commit)]
        self.calls(("start", slot), ("transact", slot, partition), *decides, ("complete", asking))
        self.send_first("end", keep=late == "end")
        self.hold(self.first("end"))
        self.call("log_append", True)
        self.send_first("end_answer", name="drop")
        self.send_first("marker", keep=late == "marker")
        self.hold(self.first("marker"))
        for _ in range(3):
            self.call("log_append", True)
            self.deliver_all()
        self.call("advance", 30_000)
        for _ in range(3):
            self.deliver_all()
            self.call("log_append", True)
        self.calls(("begin", asking), ("send", asking, partition))
        self.let_go()
        self.calls(SETTLED, ("prepare", asking))

    @scenario
    def interrupted(
        self, slot: Slot, heir: Slot, partition: Partition, ends: bool, asked: bool, commit: bool,
        arrives: Annotated[str, OneOf("before", "meanwhile", "behind")],
    ) -> None:  # fmt: skip
        """An instance ends the transaction of another one, of which something is still on its way: a leader's question
        or its answer, or an EndTxn. That arrives before this end, while markers are sent, or behind them."""
        self.call("start", slot)
        if ends:
            self.calls(("transact", slot, partition), ("decide", slot, commit), ("complete", slot))
            self.hold(self.first("end"))
        else:
            self.calls(("begin", slot), ("send", slot, partition))
            self.send_first("produce")
            if asked:
                self.send_first("check")
                self.call("log_append", True)
            self.hold(self.first("check", "check_answer"))
        self.calls(("restart_client", heir), ("init", heir))
        self.deliver_but_held()
        if arrives == "before":
            self.let_go()
            self.deliver_but_held()
        self.calls(("read_store", heir), ("complete", heir))
        if arrives == "meanwhile":
            ended = self.first_but_held("end")
            if ended is not None:
                self.send(ended)
            self.call("log_append", True)
            self.hold(self.first("marker"))
            self.let_go_of("end", "check", "check_answer")
        self.deliver_but_held()
        self.let_go()
        self.calls(SETTLED, ("read", 0, partition))

    def deliver_but_held(self) -> None:
        for _ in range(4):
            self.deliver_all()
            self.call("log_append", True)

    def first_but_held(self, kind: str) -> Message | None:
        return next((m for m in self.waiting() if m[1] == kind and m[0] not in self.held), None)

    def let_go_of(self, *kinds: str) -> None:
        self.held -= {message[0] for message in self.waiting() if message[1] in kinds}

    def some(self, number: int) -> None:
        """Let so many messages arrive, oldest first, each with what waits for the log."""
        for _ in range(number):
            waiting = [] if self.run.over else self.run.system.messages()
            if waiting:
                self.send(waiting[0], "deliver")
            self.call("log_append", True)
