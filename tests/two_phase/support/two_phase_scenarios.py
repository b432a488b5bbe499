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


def deliver(system: Any, kind: str, keep: bool = False, source: str = "") -> None:
    """Deliver the oldest message of a kind."""
    found = next(m for m in system.messages() if m[1] == kind and source in m[2])
    system.deliver(found[0], keep)


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


def lingering(system: Any) -> None:
    """A prepared transaction is left alone for an hour."""
    prepared(system)
    for _ in range(48):
        system.advance(75_000)
        system.settle()


def after_ordinary(system: Any) -> None:
    """An instance with two-phase commit takes over from one without, ends its transaction, and prepares one."""
    ready(system, two_phase=False)
    written(system)
    system.restart_client(0)
    ready(system)
    completed(system)
    written(system)
    system.prepare(0)
    system.decide(0, True)
    system.advance(75_000)
    system.settle()


def before_ordinary(system: Any) -> None:
    """An instance without two-phase commit retains a transaction that is decided."""
    decided(system)
    system.restart_client(0)
    ready(system, two_phase=False)
    for _ in range(3):
        system.advance(75_000)
        system.settle()


def former_owner_completes(system: Any) -> None:
    """The transaction is given to another instance, and the former one completes it."""
    decided(system)
    ready(system, 1)
    completed(system)


def former_owner_after_fail_over(system: Any) -> None:
    decided(system)
    ready(system, 1)
    system.fail_over()
    completed(system)


def append_fails(system: Any) -> None:
    """The record of the second pair is not appended, and the former owner goes on."""
    decided(system)
    system.init(1)
    deliver(system, "init")
    system.log_append(False)
    completed(system)


def late_end(system: Any) -> None:
    """A copy of a recovered transaction's EndTxn arrives in the next transaction."""
    decided(system)
    system.restart_client(0)
    ready(system)
    system.complete(0)
    deliver(system, "end", keep=True)
    copy = next(m[0] for m in system.messages() if m[1] == "end")
    settle_but(system, copy)
    written_but(system, copy)
    system.settle()


def unflushed(system: Any) -> None:
    """prepareTransaction() is called while a record is on its way."""
    ready(system)
    system.begin(0)
    system.send(0, 0)
    system.prepare(0)
    system.settle()
    system.decide(0, True)


def sends_on(system: Any) -> None:
    prepared(system)
    system.send(0, 0)
    system.settle()


def another_state(system: Any) -> None:
    """The store has the state of the transaction before the open one."""
    decided(system)
    completed(system)
    written(system)
    system.restart_client(0)
    ready(system)
    completed(system)


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


def other_end_meanwhile(system: Any) -> None:
    """While the transaction is preparing its commit, its former owner aborts it."""
    decided(system)
    ready(system, 1)
    system.complete(1)
    deliver(system, "end")
    system.log_append()
    system.abort(0)
    deliver(system, "end", source="client-0")
    system.settle()


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
