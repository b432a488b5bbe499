"""This module orders all that was seen of a group so that everything can have happened and no client is accused
wrongly.

The order of the group's log is known, and so is that of each client's events, and each offset was sent before it was
accepted. Whatever follows from these facts (Lamport's happened-before) has that order in the history. Of all orders
that respect happened-before, the module chooses the one in which every client's event is as late as possible. The
properties that compare both sides state that an offset was accepted *although* a member had done something before. If
the member's action comes first in the history, it really happened first, whatever the clocks read. An earlier event
that left no trace is missed, not made up.

Times decide only between clients, which no property compares, and where the header limits how much clocks may differ.
With such a limit, an event comes before an entry of the log whose time is later by more than that (a coordinator reads
its clock before it writes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.group_fencing.member_events import Member, Row, Seen
from fencepost.proofs.recording.group_fencing.offsets_log import Logged, OffsetsLog
from fencepost.properties.group_fencing.events import GROUP_FENCING, Kind

STATED = ("generation", "member", "instance")
ANNOUNCED = (
    Kind.txn_begun, Kind.output_sent, Kind.offset_sent, Kind.end_sent, Kind.offset_put, Kind.left, Kind.resumed,
)  # fmt: skip
"""Events of these kinds are written down before they happen, so their times do not limit when they did."""
OF_GENERATION = (Kind.generation_begun, Kind.coordinator_loaded)


@dataclass(frozen=True)
class Ordered:
    """An `Ordered` has the rows of the history. `strangers` counts offsets that were accepted although no member
    reported sending them."""

    rows: list[Row]
    strangers: int


def in_order(seen: Seen, log: OffsetsLog) -> Ordered:
    """Merge the events in one order. The rows are changed: a sent offset gets the producer from the log, and an
    accepted offset gets what its sender stated."""
    sent = {
        (tag, row["partition"], row["offset"]): (number, place)
        for number, member in enumerate(seen.members)
        for place, (row, tag) in enumerate(zip(member.rows, member.tags, strict=True))
        if row["kind"] == Kind.offset_sent
    }
    producers: dict[tuple[int, str], tuple[int, int]] = {}
    senders: dict[int, tuple[int, int]] = {}  # of the log's events, by identity
    strangers = 0
    for event in log.events:
        row = event.row
        if row["kind"] != Kind.offset_taken:
            continue
        sender = sent.get((event.tag, row["partition"], row["offset"]))
        if sender is None:
            strangers += 1
            continue
        number, place = sender
        row |= {name: seen.members[number].rows[place][name] for name in STATED}
        producers.setdefault((number, event.tag), (row["producer_id"], row["epoch"]))
        senders[id(row)] = sender
    for number, member in enumerate(seen.members):
        _name_producers(number, member, producers)
    entries = _with_generations(log.events)
    ends = [np.full(len(member.rows), len(entries)) for member in seen.members]
    for at, row in enumerate(entries):
        if id(row) in senders:
            number, place = senders[id(row)]
            ends[number][place] = min(ends[number][place], at)
    return Ordered(_merged(seen, entries, ends), strangers)


def _name_producers(number: int, member: Member, producers: dict[tuple[int, str], tuple[int, int]]) -> None:
    for row, tag in zip(member.rows, member.tags, strict=True):
        columns = GROUP_FENCING.used_by[Kind(row["kind"]).name]
        if "producer_id" in columns and row["kind"] != Kind.init_told and (number, tag) in producers:
            row["producer_id"], row["epoch"] = producers[number, tag]


def _with_generations(events: Sequence[Logged]) -> list[Row]:
    """Return the log's rows. A generation begins at the latest where an offset of it is accepted: see `offsets_log`."""
    entries: list[Row] = []
    current = -1
    for event in events:
        row = event.row
        generation = row.get("generation", -1)
        if row["kind"] == Kind.generation_begun and generation == current:
            continue
        if row["kind"] == Kind.offset_taken and generation > current:
            entries.append({"kind": int(Kind.generation_begun), "time_us": row["time_us"], "generation": generation})
        if row["kind"] in OF_GENERATION or generation > current:
            current = generation
        entries.append(row)
    return entries


def _merged(seen: Seen, entries: Sequence[Row], known: Sequence[np.ndarray]) -> list[Row]:
    """Merge the rows. `known` has, by client and event, the index of the entry that the event and all earlier ones of
    that client precede."""
    clock = np.maximum.accumulate(np.array([row["time_us"] for row in entries], np.int64))
    keyed = [((at, 1, 0, 0, 0), row) for at, row in enumerate(entries)]
    for number, (member, seen_there) in enumerate(zip(seen.members, known, strict=True)):
        times = np.array([row["time_us"] for row in member.rows], np.int64)
        ends = seen_there
        if seen.header.clock_error_us is not None:
            later = np.searchsorted(clock, times + seen.header.clock_error_us, side="right")
            announced = np.isin([row["kind"] for row in member.rows], ANNOUNCED)
            ends = np.where(announced, ends, np.minimum(ends, later))
        ends = np.minimum.accumulate(ends[::-1])[::-1]
        times = np.maximum.accumulate(times)
        keyed += [
            ((int(ends[place]), 0, int(times[place]), number, place), row) for place, row in enumerate(member.rows)
        ]
    keyed.sort(key=lambda pair: pair[0])
    return [*(row for _, row in keyed), *seen.audit]
