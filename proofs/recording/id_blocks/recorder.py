"""This module writes histories of producer ids, from the controllers' logs and the clients, or from clients alone."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.proofs.recording.command import Recorded, Recorder
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.id_blocks.clients import UNANSWERED, Observation, read_observations
from fencepost.proofs.recording.id_blocks.quorum import CommittedLog, committed_log
from fencepost.proofs.recording.id_blocks.records import (
    Block,
    Dated,
    Election,
    MetadataVersion,
    Registration,
    read_facts,
)
from fencepost.proofs.recording.logs.log import NodeLog, read_node
from fencepost.properties.history.pieces import filled_columns
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind

# A history of what clients were given and of nothing else: of any broker that can be asked for producer ids, even one
# whose logs are out of reach.
#
#     seen = collect_producer_ids("host:port", requests=10_000)
#     record_observations(seen, out)        # and then: fencepost replay OUT
#
# Nothing but "no producer id is handed out twice" (730.P1) is decidable from it; replay says so of the other
# properties.

Row = dict[str, int]  # of the columns that apply

OBSERVED_NOTES = (
    "Recorded from clients alone, in the order of their clocks. Ids are those the recorded clients were given; which "
    "blocks they are of is not known."
)


def record_observations(seen: Sequence[Observation], out: Path) -> RecordedIds:
    """Write a directory with a single history of the observations."""
    described = {"ordered": False, "variant": "kraft", "faults": faults(seen)}
    described["observable"] = tuple(kind.name for kind in sorted(observable(seen)))
    columns = filled_columns(ID_BLOCKS, list(client_events(seen)))
    return RecordedIds.write(out, columns, ID_BLOCKS, about=OBSERVED_NOTES, described=described)


def client_events(seen: Sequence[Observation]) -> Iterator[Row]:
    """Yield the observations as events, by time. A request that was never answered yields none."""
    for each in sorted(seen, key=lambda observation: observation.time_us):
        if each.fault:
            yield _row(each.time_us, Kind.broker_stopped, broker=each.broker)
        elif each.error == 0:
            yield _row(each.time_us, Kind.id_handed_out, broker=each.broker, producer_id=each.producer_id)
        elif each.error != UNANSWERED:
            yield _row(each.time_us, Kind.id_refused, broker=each.broker, error=each.error)


def observable(seen: Sequence[Observation]) -> set[Kind]:
    """Return the kinds that clients report whenever they happen; faults only count if the clients' file notes them."""
    stopped = {Kind.broker_stopped} if any(each.fault for each in seen) else set()
    return {Kind.id_handed_out, Kind.id_refused} | stopped


def faults(seen: Sequence[Observation]) -> dict[str, int]:
    return dict(Counter(each.fault for each in seen if each.fault))


def _row(time_us: int, kind: Kind, **columns: int) -> Row:
    return {"time_us": time_us, "kind": int(kind), **columns}


# One history of the controllers' logs and the clients' observations: the work behind `fencepost record`.
#
# `record(log_dirs, clients, out)` reads every controller's metadata log, takes its committed part, and writes a
# directory of histories (protocol id-blocks, variant kraft, source recorded) with a single history in it.
#
# Two things a reader must know. Kafka's record holds only the *end* of a block, the next free id; its length is a
# constant of Kafka (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE), so `first` is that end minus the block size, and a record
# that does not follow the one before appears as an overlap or a gap. And the log and the clients have only their
# clocks in common: the order of a log event and a client event is no evidence, the order within the log is.

BLOCK_SIZE = 1000  # ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE in every release so far

NOTES = (
    "Recorded from controllers' metadata logs and from clients. Events of the log stand in log order, with their "
    "leader's append time; the clients' events stand among them by wall time only, so whether an id was used before "
    "its block was committed cannot be told from the order of steps. Ids are those the recorded clients were given; "
    "snapshots, those that were still on disk."
)


class Taken(NamedTuple):
    """A `Taken` is a node's snapshot of everything below `end_offset`, with the next free id in it; 0 if no block was
    granted."""

    end_offset: int
    node: int
    next_id: int

    @property
    def columns(self) -> dict[str, int]:
        return {"node": self.node, "first": self.next_id}


@dataclass(frozen=True)
class RecordedIds(Recorded):
    """A `RecordedIds` has in addition the first offset and the end of the committed log, and how many requests were
    never answered."""

    offsets: tuple[int, int] = (0, 0)
    unanswered: int = 0

    @property
    def report(self) -> dict[str, Any]:
        return super().report | {"unanswered": self.unanswered}

    def __str__(self) -> str:
        lines = [", ".join(f"{count} {name}" for name, count in self.counts.items()) or "nothing"]
        if self.nodes:
            first, end = self.offsets
            lines[:0] = [f"committed offsets {first} to {end - 1} of nodes {', '.join(map(str, self.nodes))}"]
        if self.unanswered:
            lines.append(f"{self.unanswered} requests were never answered")
        return "\n".join([*lines, *self.notes])


def record(
    log_dirs: Sequence[Path],
    clients: Path | None,
    out: Path,
    *,
    block_size: int = BLOCK_SIZE,
    kafka_version: str = "unknown",
) -> RecordedIds:
    """Write the history of the controllers in `log_dirs`, and of the observations in the file `clients`, to `out`;
    without log directories, of the observations alone, which decide nothing about blocks. The
    nodes, or at least the clients, must be stopped before: ids that are handed out after a log was read are not in its
    blocks. Raise `RecordingError` for input that cannot be used; then nothing is written."""
    if not log_dirs:
        if clients is None:
            raise ValueError("no log directory: name those of all controllers")
        return record_observations(read_observations(clients), out)
    logs = [read_node(Path(directory)) for directory in log_dirs]
    committed = committed_log(logs)
    facts = list(read_facts(committed.batches))
    seen = read_observations(clients) if clients else []
    by_log = _log_events(facts, _snapshots(logs), block_size)
    rows = list(heapq.merge(by_log, client_events(seen), key=lambda row: row["time_us"]))
    if not rows:
        raise RecordingError("holds no event of a producer id", Path(log_dirs[0]), "name the logs of other nodes")
    levels = [dated.fact.level for dated in facts if isinstance(dated.fact, MetadataVersion)]
    config = {
        "kafka_version": kafka_version, "metadata_version_level": levels[-1] if levels else None,
        "voters": sorted(committed.voters), "block_size": block_size, "first_offset": committed.start,
        "committed_end_offset": committed.end,
    }  # fmt: skip
    described = {
        "ordered": False, "variant": "kraft", "config": config, "faults": faults(seen),
        "observable": _observable(committed, seen, clients is not None),
    }  # fmt: skip
    return RecordedIds.write(
        out, filled_columns(ID_BLOCKS, rows), ID_BLOCKS, about=NOTES, notes=committed.notes, described=described,
        nodes=tuple(sorted(log.node for log in logs)), offsets=(committed.start, committed.end),
        unanswered=sum(not each.fault and each.error == UNANSWERED for each in seen),
    )  # fmt: skip


RECORDER = Recorder(record, excludes={"topics": "a recording of producer id blocks has no topics"})


def _log_events(facts: Sequence[Dated], snapshots: Sequence[Taken], block_size: int) -> Iterator[Row]:
    """Yield the events of the log in its order, with a snapshot right after the last record that it contains. Two
    leaders' clocks may differ, so time never goes back within the log: its order is certain and their clocks are
    not."""
    now, grant, incarnations = 0, 0, dict[int, bytes]()
    waiting = deque(snapshots)
    for dated in facts:
        while waiting and waiting[0].end_offset <= dated.offset:
            yield _row(now, Kind.snapshot_taken, **waiting.popleft().columns)
        now = max(now, dated.time_ms * 1000)
        fact = dated.fact
        if isinstance(fact, Block):
            owner = {"broker": fact.broker, "broker_epoch": fact.broker_epoch}
            block = {"grant": grant, "first": fact.next_id - block_size, "length": block_size}
            yield _row(now, Kind.block_committed, **owner, **block)
            grant += 1
        elif isinstance(fact, Registration) and incarnations.get(fact.broker) != fact.incarnation:
            # A process may register again without having restarted: same incarnation, nothing forgotten.
            incarnations[fact.broker] = fact.incarnation
            yield _row(now, Kind.broker_started, broker=fact.broker, broker_epoch=fact.broker_epoch)
        elif isinstance(fact, Election):
            yield _row(now, Kind.controller_elected, node=fact.leader)
    for each in waiting:
        yield _row(now, Kind.snapshot_taken, **each.columns)


def _snapshots(logs: Sequence[NodeLog]) -> list[Taken]:
    found = []
    for log in logs:
        for snapshot in log.snapshots:
            ends = [dated.fact.next_id for dated in read_facts(snapshot.batches) if isinstance(dated.fact, Block)]
            if len(ends) > 1:
                raise RecordingError(f"holds {len(ends)} next free ids", snapshot.file, "copy it again from the node")
            found.append(Taken(snapshot.end_offset, log.node, ends[0] if ends else 0))
    return sorted(found)


def _observable(committed: CommittedLog, seen: Sequence[Observation], clients: bool) -> tuple[str, ...]:
    kinds = {Kind.snapshot_taken} | (observable(seen) if clients else set())
    if committed.start == 0:  # otherwise a snapshot stands for events that cannot be listed any more
        kinds |= {Kind.broker_started, Kind.block_committed, Kind.controller_elected}
    return tuple(kind.name for kind in sorted(kinds))
