"""This module finds the committed part of a partition from its replicas on disk.

A record is committed once every in-sync replica has it. The leader then moves the high watermark past it, and every
node stores the high watermark that it knows (replication-offset-checkpoint, every five seconds and on a clean stop). So
everything below any node's high watermark is committed for good. Records above it that are alike in the copies of all
in-sync replicas are taken for committed as well: a leader without them can be elected only by an unclean election. The
metadata log names the in-sync replicas; without one, all replicas are compared. All other records are left out, and
noted.

While a cluster is at work, replicas join and leave the in-sync set. The metadata log is therefore read twice, before
the partitions and after them, and either answer is accepted: a replica that had left before the copies were taken
decides nothing, nor does one that joined only after its copy had been taken.

Of several copies the one with the greatest (leader epoch, end) is read, because it continues the others. Copies that
cannot be of one partition are refused: one offset and leader epoch with two contents, or a high watermark above the end
of the best copy, or above the point where a copy diverges from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place, Replica


@dataclass(frozen=True)
class Committed:
    """A `Committed` is the committed part of a partition: the batches of `replica` whose last offset is below `end`."""

    replica: Replica
    end: int
    notes: tuple[str, ...]  # what was left out or tolerated, one line each

    @property
    def place(self) -> Place:
        return self.replica.place

    @property
    def whole(self) -> bool:
        """Return whether nothing is missing from the first record ever written to the last committed one."""
        return self.whole_from(0)

    def whole_from(self, first: int) -> bool:
        return self.begins(first) == first

    def begins(self, first: int = 0) -> int:
        """Return the least offset, not below `first`, at which a batch begins and from which on nothing is missing."""
        replica = self.replica
        least = max((first, replica.start, *(gap.end for gap in replica.gaps)))
        astride = np.flatnonzero((replica.headers["base_offset"] < least) & (replica.last_offsets >= least))
        return int(replica.last_offsets[astride[0]]) + 1 if len(astride) else least

    @property
    def missing(self) -> str:
        """Return a clause on what is missing, or an empty string."""
        fields = f"begins at offset {self.replica.start}, as what was before is deleted" if self.replica.start else ""
        if self.replica.gaps:
            compacted = f"is compacted between offsets {self.replica.gaps[0].first} and {self.replica.gaps[-1].end}"
            fields = f"{fields}, and {compacted}" if fields else compacted
        return f"{self.place} {fields}" if fields else ""


def committed_part(replicas: Sequence[Replica], in_sync: Iterable[frozenset[int]] = ()) -> Committed:
    """Return the committed part of one partition. Raise `RecordingError` if the copies contradict one another.
    `replicas` are the copies of all nodes with the partition, `in_sync` the nodes in sync by each reading of the
    metadata log."""
    best = max(replicas, key=lambda replica: replica.last)
    agreed = {replica.node: agreement(replica, best) for replica in replicas}
    furthest = max(replicas, key=lambda replica: replica.high_watermark)
    if furthest.high_watermark > best.end:
        what = f"has a checkpoint that says all below offset {furthest.high_watermark} is committed"
        what += f", but no copy goes beyond offset {best.end - 1}"
        todo = "segments are missing or cut, or the cluster lost them: copy all nodes again"
        raise RecordingError(what, furthest.folder, todo)
    for replica in replicas:
        if agreed[replica.node] < min(furthest.high_watermark, replica.end):
            what = f"differs from {best.folder} at offset {agreed[replica.node]}"
            what += f", though all below offset {furthest.high_watermark} is committed"
            todo = "the copies are of different times, or of an unclean election: copy all nodes again"
            raise RecordingError(what, replica.folder, todo)
    settled = [min(agreed[node] for node in nodes & agreed.keys()) for nodes in in_sync if nodes & agreed.keys()]
    end = max(furthest.high_watermark, max(settled, default=min(agreed.values())))
    return Committed(best, end, tuple(_notes(replicas, agreed, best, end)))


def agreement(replica: Replica, best: Replica) -> int:
    """Return the offset below which a copy agrees with the best one, as far as both still have the records."""
    if replica is best:
        return best.end
    begin = max(replica.start, best.start, *(gap.end for gap in (*replica.gaps, *best.gaps)), 0)
    mine, theirs = replica.headers, best.headers
    mine = mine[mine["base_offset"] >= begin]
    theirs = theirs[theirs["base_offset"] >= begin]
    size = min(len(mine), len(theirs))
    mine, theirs = mine[:size], theirs[:size]
    same = np.ones(size, bool)
    for name in ("base_offset", "last_delta", "leader_epoch", "crc"):
        same &= mine[name] == theirs[name]
    differ = np.flatnonzero(~same)
    if not len(differ):
        return max(begin, replica.end if replica.end <= best.end else best.end)
    row = differ[0]
    offset, epoch = int(mine["base_offset"][row]), int(mine["leader_epoch"][row])
    if mine["base_offset"][row] == theirs["base_offset"][row] and epoch == theirs["leader_epoch"][row]:
        what = f"offset {offset} of leader epoch {epoch} is not the batch that {best.folder} has there"
        todo = "no correct cluster does this: copy both nodes again; if it stays, one of them is damaged"
        raise RecordingError(what, replica.folder, todo)
    return min(offset, int(theirs["base_offset"][row]))


def _notes(replicas: Sequence[Replica], agreed: dict[int, int], best: Replica, end: int) -> list[str]:
    notes = []
    for replica in replicas:
        where = f"{replica.place} on node {replica.node}"
        if replica.tear is not None:
            left = f"({replica.tear.bytes_left} bytes of it left)"
            notes.append(
                f"{where}: {replica.tear.file.name} ends inside the batch at offset {replica.tear.offset} {left}"
            )
        if replica.end > agreed[replica.node]:
            notes.append(f"{where}: offsets {agreed[replica.node]} to {replica.end - 1} are a deposed leader's")
    if best.end > end:
        notes.append(
            f"{best.place}: offsets {end} to {best.end - 1} are not on all replicas in sync and count as uncommitted"
        )
    return notes
