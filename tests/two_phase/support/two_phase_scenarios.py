"""These scenarios are runs of two-phase commit in which one rule matters each, and what histories of them violate."""

from typing import Any

from fencepost.properties.history.pieces import columns_of
from fencepost.properties.two_phase.events import TWO_PHASE
from fencepost.properties.two_phase.histories import HISTORY

TWO = {"clients": 2, "partitions": 1}
ONE_EPOCH = {**TWO, "max_epoch": 1}  # every bump of an epoch is a new producer id


def ready(system: Any, slot: int = 0, **flags: bool) -> None:
    """Let an instance be initialised and read the store."""
    system.init(slot, **flags)
    system.settle()
    system.read_store(slot)


def written(system: Any, slot: int = 0) -> None:
    """Let an instance write a record in a new transaction."""
    system.begin(slot)
    system.send(slot, 0)
    system.settle()


def prepared(system: Any, slot: int = 0) -> None:
    ready(system, slot)
    written(system, slot)
    system.prepare(slot)


def decided(system: Any, slot: int = 0) -> None:
    prepared(system, slot)
    system.decide(slot, True)


def completed(system: Any, slot: int = 0) -> None:
    system.complete(slot)
    system.settle()


def deliver(system: Any, kind: str) -> None:
    """Deliver the oldest message of a kind."""
    system.deliver(next(m[0] for m in system.messages() if m[1] == kind))


def settle_but(system: Any, number: int) -> None:
    """Let everything come to rest but one message, which stays in flight."""
    while True:
        others = [m[0] for m in system.messages() if m[0] != number]
        if not (others or system.transaction_log.unfinished):
            return
        if others:
            system.deliver(others[0])
        system.log_append()


def written_but(system: Any, number: int) -> None:
    """Let an instance write a record in a new transaction, with one message in flight."""
    system.begin(0)
    system.send(0, 0)
    settle_but(system, number)


def recovered(system: Any) -> None:
    """The decision is made, the instance crashes, and the next one completes."""
    decided(system)
    system.restart_client(0)
    ready(system)
    completed(system)


def sends_on(system: Any) -> None:
    prepared(system)
    system.send(0, 0)
    system.settle()


def paused(system: Any) -> None:
    """The owner decides when its successor has read that there is no decision, and has aborted."""
    prepared(system)
    ready(system, 1)
    completed(system, 1)
    system.decide(0, True)


def paused_before_reading(system: Any) -> None:
    """As `paused`, and the owner has not looked at the store yet."""
    system.init(0)
    system.settle()
    written(system)
    system.prepare(0)
    ready(system, 1)
    completed(system, 1)
    system.decide(0, True)


def late_init(system: Any) -> None:
    """InitProducerId arrives when another instance has decided a transaction."""
    system.init(1)
    late = system.messages()[0][0]
    system.init(0)
    settle_but(system, late)
    written_but(system, late)
    system.prepare(0)
    system.decide(0, True)
    system.settle()
    system.read_store(1)
    completed(system, 1)


def empty_before(system: Any) -> None:
    """A transaction without records is decided, and the next one is not."""
    ready(system)
    system.begin(0)
    system.prepare(0)
    system.decide(0, True)
    completed(system)
    written(system)
    system.restart_client(0)
    ready(system)
    completed(system)


def answer_lost(system: Any) -> None:
    """The answer to the EndTxn of a recovered transaction is lost, and the client repeats it."""
    decided(system)
    system.restart_client(0)
    ready(system)
    system.complete(0)
    deliver(system, "end")
    system.log_append()
    answer = next(m[0] for m in system.messages() if m[1] == "end_answer")
    settle_but(system, answer)
    system.drop(answer)
    system.advance(30_000)
    system.settle()
    system.advance(100)
    system.settle()


def violated(histories: list[list[tuple[int, ...]]]) -> dict[str, int]:
    """Return how often each property is violated in these histories, without those that hold."""
    columns = columns_of(TWO_PHASE, list(enumerate(histories)))
    findings = HISTORY.check(columns, config={"mode": "retained", "quiet_end": True})[0]
    return {name: found.violations for name, found in findings.items() if found.violations}
