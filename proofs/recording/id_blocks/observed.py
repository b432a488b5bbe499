"""A history of what clients were given and of nothing else: of any broker that can be asked for producer ids, even one
that shows no logs.

    seen = collect_producer_ids("host:port", requests=10_000)
    record_observations(seen, out)        # and then: fencepost replay OUT

Nothing but "no producer id is handed out twice" (730.P1) is decidable from it; replay says so of the other properties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fencepost.proofs.recording.id_blocks.clients import UNANSWERED, Observation
from fencepost.properties.history import ABSENT, write_histories
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind

Event = tuple[int, Kind, dict[str, int]]
"""Time in µs, kind, the columns that apply."""

NOTES = (
    "Recorded from clients alone, in the order of their clocks. Ids are those the recorded clients were given; which "
    "blocks they are of is not known."
)


def record_observations(seen: Sequence[Observation], out: Path) -> dict[str, int]:
    """Write a directory of histories with a single one in it; returns the events by kind."""
    events = list(client_events(seen))
    write_histories(
        out,
        [(0, [row(step, *event) for step, event in enumerate(events)])],
        ID_BLOCKS,
        source="recorded",
        ordered=False,
        variant="kraft",
        observable=tuple(kind.name for kind in sorted(observable(seen))),
        faults=faults(seen),
        notes=NOTES,
    )
    counts = Counter(kind for _, kind, _ in events)
    return {kind.name: counts[kind] for kind in sorted(counts)}


def client_events(seen: Sequence[Observation]) -> Iterator[Event]:
    """The observations as events, by time. A request that was never answered is none."""
    for each in sorted(seen, key=lambda observation: observation.time_us):
        if each.fault:
            yield each.time_us, Kind.broker_stopped, {"broker": each.broker}
        elif each.error == 0:
            yield each.time_us, Kind.id_handed_out, {"broker": each.broker, "producer_id": each.producer_id}
        elif each.error != UNANSWERED:
            yield each.time_us, Kind.id_refused, {"broker": each.broker, "error": each.error}


def observable(seen: Sequence[Observation]) -> set[Kind]:
    """The kinds that clients show whenever they happen; faults only where the clients' file notes them."""
    stopped = {Kind.broker_stopped} if any(each.fault for each in seen) else set()
    return {Kind.id_handed_out, Kind.id_refused} | stopped


def faults(seen: Sequence[Observation]) -> dict[str, int]:
    """How often each fault was noted."""
    return dict(Counter(each.fault for each in seen if each.fault))


def row(step: int, time_us: int, kind: Kind, columns: dict[str, int]) -> list[int]:
    """An event as a row of a history, without the history's number."""
    return [step, time_us, int(kind), *(columns.get(column.name, ABSENT) for column in ID_BLOCKS.columns)]
