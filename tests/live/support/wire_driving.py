"""A driver without surprises: everything in flight arrives, oldest first, and back-offs are waited for."""

from typing import Any

BACKOFFS, BACKOFF_MS = 5, 100


def settle(system: Any) -> None:
    """Deliver until nothing is in flight and no back-off brings more; raises if it never ends."""
    idle = 0
    for _ in range(1_000):
        if flying := system.messages():
            system.deliver(flying[0][0])
            idle = 0
        elif idle == BACKOFFS:
            return
        else:
            system.advance(BACKOFF_MS)
            idle += 1
    raise AssertionError(f"it does not settle: in flight {system.messages()}")


def transaction(system: Any, slot: int, *partitions: int, commit: bool = True) -> None:
    """One record to each of the partitions, and the end, all answered."""
    assert system.begin(slot)
    for partition in partitions:
        assert system.send(slot, partition)
    settle(system)
    assert system.commit(slot) if commit else system.abort(slot)
    settle(system)


def in_flight(system: Any, kind: str) -> list[int]:
    """Numbers of the messages of a kind, oldest first."""
    return [number for number, found, *_ in system.messages() if found == kind]


def reported(system: Any) -> list[tuple[str, int]]:
    """(kind, error) of the events since they were drained last, without those of sending and reading."""
    observed = ("init_taken", "record_acked", "record_failed", "add_taken", "end_told", "fence_told", "client_failed")
    return [(event.kind, event.error) for event in system.drain_events() if event.kind in observed]
