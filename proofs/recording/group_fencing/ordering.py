"""One order of all that was seen of a group, in which everything can have happened, and which accuses no client
wrongly.

Known is the order of the group's log, that of each client's events, and that an offset was sent before it was taken.
Whatever follows from these (happened before, as Lamport has it) stands so in the history.  Of all orders that keep to
it, this is the one in which every client's event stands as late as it can.  The properties that look at both sides say
that an offset was taken *although* a member had done something before: what they need to stand before it in the history
did come before it then, whatever the clocks showed.  What came before it and left no trace is missed, not made up.

Times decide among clients only, where no property looks; and, where the header says by how much clocks may differ,
that an event came before an entry of the log whose time is later by more than that (a coordinator reads its clock
before it writes)."""

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
"""What is written down before it happens: its time does not say by when it had."""
OF_GENERATION = (Kind.generation_begun, Kind.coordinator_loaded)


@dataclass(frozen=True)
class Ordered:
    """The rows of the history.  `strangers`: offsets that were taken though no member says that it sent them."""

    rows: list[Row]
    strangers: int


def in_order(seen: Seen, log: OffsetsLog) -> Ordered:
    """Rows are changed: what was sent gets the producer that the log names, what was taken what its sender stated."""
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
    """The log's rows.  A generation begins at the latest where an offset of it is taken: see `offsets_log`."""
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
    """`known`: by client and event the entry before which it came, if it is seen there; and so did those before it."""
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
