"""This module finds the committed part of the metadata log from the controllers' copies on disk alone.

Kafka does not store the high watermark. But a record is settled if a majority of the voters holds it (and the same log
before it) *and* every voter that could still win an election holds it. A candidate wins only with votes of a majority
whose logs are not ahead of its own, (last epoch, end) compared. So what every possible winner holds can never be lost,
and whatever Kafka ever acknowledged as committed is part of it. The second condition is necessary: a record of an old
epoch on a majority can still be overwritten (Raft, figure 8).

Copies that no correct quorum leaves behind are refused: one offset and epoch with two contents, a snapshot of unsettled
records, or a torn file whose lost end could decide. Torn files and stale tails that cannot decide are tolerated, and
noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.id_blocks.records import Election, read_facts
from fencepost.proofs.recording.logs.log import Batch, NodeLog
from fencepost.proofs.recording.logs.replicas import agreement


@dataclass(frozen=True)
class CommittedLog:
    """A `CommittedLog` has the settled records: `batches` hold the offsets from `start` (0: the very beginning) up to
    `end`, exclusive."""

    batches: tuple[Batch, ...]
    start: int
    end: int
    voters: frozenset[int]
    notes: tuple[str, ...]  # what was tolerated, one line each


@dataclass(frozen=True)
class _Standing:
    """A `_Standing` is how far a copy agrees with the most up-to-date one, and the (epoch, end) that counts in an
    election."""

    agrees: int  # all offsets below are the same records
    last: tuple[int, int]


def committed_log(logs: Sequence[NodeLog]) -> CommittedLog:
    """Decide what is committed. `logs` are the copies of all voters. Raise `RecordingError` where the copies contradict
    one another."""
    voters = _check_members(logs)
    best = max(logs, key=lambda log: log.last)
    standings = [_Standing(agreement(log.replica, best.replica), log.last) for log in logs]
    end = _settled(standings)
    notes = _check_tears(logs, standings, end, best)
    for log, standing in zip(logs, standings, strict=True):
        if log.end > standing.agrees:
            stale = f"offsets {standing.agrees} to {log.end - 1}"
            notes.append(f"node {log.node}: {stale} are a deposed leader's and were never committed")
    if best.end > end:
        notes.append(f"offsets {end} to {best.end - 1} are on too few nodes and count as uncommitted")
    batches, start = _joined(logs, standings, best, end)
    _check_snapshots(logs, batches, start, end)
    return CommittedLog(batches, start, end, voters, tuple(notes))


def _settled(standings: Sequence[_Standing]) -> int:
    majority = len(standings) // 2 + 1
    held = sorted((standing.agrees for standing in standings), reverse=True)[majority - 1]
    able_to_win = [
        standing for standing in standings if sum(other.last <= standing.last for other in standings) >= majority
    ]
    return min(held, *(standing.agrees for standing in able_to_win))


def _check_members(logs: Sequence[NodeLog]) -> frozenset[int]:
    seen: dict[int, NodeLog] = {}
    for log in logs:
        if log.node in seen:
            what = f"is node {log.node}'s, as is {seen[log.node].directory}"
            raise RecordingError(what, log.directory, "name each controller's directory once")
        if log.cluster != logs[0].cluster:
            what = f"belongs to cluster {log.cluster}, but {logs[0].directory} to cluster {logs[0].cluster}"
            raise RecordingError(what, log.directory, "record one cluster at a time")
        seen[log.node] = log
    voters = _voters(logs)
    for missing in sorted(voters - seen.keys()):
        what = f"voter {missing} of {sorted(voters)} is not among the given directories"
        raise RecordingError(what, logs[0].directory, "name every controller's log: what is committed depends on all")
    for extra in sorted(seen.keys() - voters):
        what = f"node {extra} is not a voter (these are: {sorted(voters)}), so its copy decides nothing"
        raise RecordingError(what, seen[extra].directory, "name the controllers' directories only")
    return voters


def _voters(logs: Sequence[NodeLog]) -> frozenset[int]:
    control = (batch for log in logs for batch in log.batches if batch.control)
    elections = [dated.fact for dated in read_facts(control) if isinstance(dated.fact, Election)]
    sets = {election.voters for election in elections} or {log.voters for log in logs if log.voters}
    if len(sets) != 1:
        text = ", ".join(str(sorted(each)) for each in sorted(sets, key=sorted)) or "none"
        what = f"the logs do not name one set of voters (found: {text})"
        raise RecordingError(what, logs[0].directory, "only a quorum that did not change can be recorded")
    return sets.pop()


def _check_tears(logs: Sequence[NodeLog], standings: Sequence[_Standing], end: int, best: NodeLog) -> list[str]:
    """Return notes on torn files. Raise if a torn file, were it complete, could make more of the history committed."""
    hopeful = [
        _Standing(best.end + 1, (best.last[0], best.end + 1)) if log.tear else standing
        for log, standing in zip(logs, standings, strict=True)
    ]
    most = _settled(hopeful)
    in_doubt = [batch for batch in best.batches if end <= batch.base_offset < most]
    # The content of a batch that is torn wherever it would have counted is not known, so it may matter.
    matters = most > best.end or any(True for _ in read_facts(in_doubt))
    notes = []
    for log in logs:
        if log.tear is None:
            continue
        left = f"ends inside the batch at offset {log.tear.offset} ({log.tear.bytes_left} bytes of it left)"
        if matters:
            what = f"a record is cut in half: the file {left}, and too few of the other nodes hold what follows"
            todo = "whether it was committed cannot be told: copy the file again from the node"
            raise RecordingError(what, log.tear.file, todo, log.tear.position)
        notes.append(f"node {log.node}: {log.tear.file.name} {left}, as a crash leaves it; the other nodes decide")
    return notes


def _joined(
    logs: Sequence[NodeLog], standings: Sequence[_Standing], best: NodeLog, end: int
) -> tuple[tuple[Batch, ...], int]:
    """Return the committed batches of `best`, after those earlier ones that only another node still has, and their
    start."""
    fitting = [log for log, standing in zip(logs, standings, strict=True) if standing.agrees > best.start]
    oldest = min([*fitting, best], key=lambda log: log.start)
    before = [batch for batch in oldest.batches if batch.last_offset < best.start]
    after = [batch for batch in best.batches if batch.last_offset < end]
    return tuple(before + after), min(oldest.start, best.start)


def _check_snapshots(logs: Sequence[NodeLog], batches: Sequence[Batch], start: int, end: int) -> None:
    epochs = {batch.last_offset + 1: batch.epoch for batch in batches}
    snapshots = [snapshot for log in logs for snapshot in log.snapshots]
    for snapshot in snapshots:
        if snapshot.end_offset > end:
            what = f"the snapshot covers offset {snapshot.end_offset - 1}, but only offsets below {end} are committed"
            todo = "the logs diverge, or were copied at different times: copy all again"
            raise RecordingError(what, snapshot.file, todo)
        if snapshot.end_offset > start and epochs.get(snapshot.end_offset, snapshot.epoch) != snapshot.epoch:
            what = f"the snapshot says epoch {snapshot.epoch}, the committed log epoch {epochs[snapshot.end_offset]}"
            raise RecordingError(what, snapshot.file, "the logs diverge: copy all nodes again")
    if start and not any(snapshot.end_offset >= start for snapshot in snapshots):
        what = f"the log begins at offset {start}, and no snapshot stands for what was before"
        raise RecordingError(what, logs[0].directory, "copy the *.checkpoint files and all segments")
