"""This module gathers each partition's replicas from the given log directories, and decides what is committed.

`read_cluster(log_dirs, wanted)` checks that the directories are of one cluster, that each replica is there once and, as
far as a metadata log among them lists them, that none is missing. Data is read before the coordinators' topics: on a
running broker, a marker that was read then has its Prepare in a transaction log that is read later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import (
    LogDir,
    Place,
    Progress,
    Replica,
    read_log_dir,
    read_replica,
)
from fencepost.proofs.recording.logs.placement import Placement, read_placement
from fencepost.proofs.recording.logs.replicas import Committed, committed_part
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS
from fencepost.proofs.recording.transactions.transaction_log import TOPIC as TRANSACTION_LOG

LOST = "if it is lost for good, --config incomplete=true judges what is there"
COORDINATORS = {OFFSETS: 1, TRANSACTION_LOG: 2}  # read after the data, in this order


@dataclass(frozen=True)
class ClusterLogs:
    """A `ClusterLogs` has the committed parts of all wanted partitions: of data, of groups' offsets, of the transaction
    log."""

    nodes: tuple[int, ...]
    data: tuple[Committed, ...]
    offsets: tuple[Committed, ...]
    transaction_log: tuple[Committed, ...]
    bytes_read: int
    notes: tuple[str, ...]
    changed: bool  # files that changed, or were deleted, while they were read
    absent: tuple[Place, ...] = ()  # wanted, but not enough of their replicas are among the directories

    @property
    def all(self) -> tuple[Committed, ...]:
        return (*self.data, *self.offsets, *self.transaction_log)


def read_cluster(
    paths: Sequence[Path],
    wanted: Callable[[Place], bool],
    progress: Progress | None = None,
    incomplete: bool = False,
) -> ClusterLogs:
    """Read every replica of the partitions `wanted`. Raise `RecordingError` for directories that are not one complete
    cluster. With `incomplete`, some replicas are lost for good. A partition with all its in-sync replicas is read all
    the same, and any other is `absent`."""
    dirs = [read_log_dir(path) for path in paths]
    check_one_cluster(dirs)
    placement = latest_placement(paths)
    holders: dict[Place, list[LogDir]] = {}
    for each in dirs:
        for place in each.partitions:
            if wanted(place):
                holders.setdefault(place, []).append(each)
    absent = [place for place in _known(placement) if wanted(place) and place not in holders]
    if incomplete:
        lost = [place for place, held_by in holders.items() if not in_sync_there(place, held_by, placement)]
        holders = {place: held_by for place, held_by in holders.items() if place not in lost}
        absent = sorted([*absent, *lost])
    else:
        for place, held_by in holders.items():
            _check_replicas(place, held_by, placement)
        _check_partitions(absent, paths)
    notes = []
    if placement is None:
        notes.append("no metadata log among the directories: whether a replica is missing cannot be told")
    order = sorted(holders, key=lambda place: (COORDINATORS.get(place.topic, 0), place))
    replicas = [[read_replica(each, place, progress=progress) for each in holders[place]] for place in order]
    asked = [each for each in (placement, latest_placement(paths)) if each is not None]
    parts = [
        committed_part(copies, _answers(place, holders[place], asked, incomplete))
        for place, copies in zip(order, replicas, strict=True)
    ]
    read = [segment for copies in replicas for copy in copies for segment in copy.segments]
    return ClusterLogs(
        nodes=tuple(sorted({each.node for each in dirs})),
        data=tuple(part for part in parts if part.place.topic not in (OFFSETS, TRANSACTION_LOG)),
        offsets=tuple(part for part in parts if part.place.topic == OFFSETS),
        transaction_log=tuple(part for part in parts if part.place.topic == TRANSACTION_LOG),
        bytes_read=sum(len(segment.content) for segment in read),
        notes=(*notes, *(note for part in parts for note in part.notes)),
        changed=any(_changed(copy) for copies in replicas for copy in copies),
        absent=tuple(absent),
    )


def _changed(replica: Replica) -> bool:
    last, files = replica.segments[-1], list(replica.folder.glob("*.log"))
    now = last.file.stat().st_size if last.file.exists() else -1
    return now != len(last.content) or len(files) != len(replica.segments)


def check_one_cluster(dirs: Sequence[LogDir]) -> None:
    """Raise `RecordingError` for directories of two clusters, or with one replica twice."""
    seen: dict[tuple[int, Place], LogDir] = {}
    for each in dirs:
        if each.cluster != dirs[0].cluster:
            what = f"belongs to cluster {each.cluster}, but {dirs[0].path} to cluster {dirs[0].cluster}"
            raise RecordingError(what, each.path, "record one cluster at a time")
        for place in each.partitions:
            other = seen.setdefault((each.node, place), each)
            if other is not each:
                what = f"holds node {each.node}'s copy of {place}, as does {other.path}"
                raise RecordingError(what, each.path, "name each log directory once")


def latest_placement(paths: Sequence[Path]) -> Placement | None:
    """Return the placement of the metadata log that goes furthest. Unreadable copies are ignored if another can be
    read."""
    found: list[Placement | None] = []
    failures: list[RecordingError] = []
    for path in paths:
        try:
            found.append(read_placement(path))
        except RecordingError as error:  # during an election the logs may contradict one another as well
            failures.append(error)
    known = [each for each in found if each is not None]
    if failures and not known:
        raise failures[0]
    return max(known, key=lambda each: each.last) if known else None


def _topic_id(place: Place, held_by: Sequence[LogDir]) -> str:
    return max(each.topic_id(place) for each in held_by)


def _check_replicas(place: Place, held_by: Sequence[LogDir], placement: Placement | None) -> None:
    ids = {each.topic_id(place) for each in held_by} - {""}
    if len(ids) > 1:
        what = f"{place} is of another topic (id {min(ids)}) than in another directory (id {max(ids)})"
        raise RecordingError(what, held_by[0].path, "the topic was made anew: copy all nodes at one time")
    if placement is None:
        return
    nodes = placement.replicas(place.topic, _topic_id(place, held_by), place.partition)
    missing = sorted(nodes - {each.node for each in held_by})
    if missing:
        what = f"{place} has replicas on nodes {_listed(nodes)}, but node {missing[0]}'s is not among the directories"
        todo = (
            "name every node's log directory, since what is committed depends on all, or with --topic only topics that"
        )
        raise RecordingError(what, held_by[0].path, f"{todo} these hold; {LOST}")


def in_sync_there(place: Place, held_by: Sequence[LogDir], placement: Placement | None) -> bool:
    """Return whether no replica that may decide what is committed is missing, as far as a metadata log lists them."""
    if placement is None:
        return True
    topic_id, nodes = _topic_id(place, held_by), {each.node for each in held_by}
    in_sync = placement.in_sync(place.topic, topic_id, place.partition)
    return nodes >= (in_sync or placement.replicas(place.topic, topic_id, place.partition))


def _answers(
    place: Place, held_by: Sequence[LogDir], asked: Sequence[Placement], incomplete: bool
) -> list[frozenset[int]]:
    """Return the in-sync nodes by each placement. An answer that names a lost replica is ignored."""
    answers = [each.in_sync(place.topic, _topic_id(place, held_by), place.partition) for each in asked]
    there = {each.node for each in held_by}
    return [nodes for nodes in answers if not incomplete or nodes <= there]


def _known(placement: Placement | None) -> list[Place]:
    topics = placement.topics if placement is not None else {}
    return [Place(name, partition) for name, topic in topics.items() for partition in sorted(topic.replicas)]


def _check_partitions(missing: Sequence[Place], paths: Sequence[Path]) -> None:
    if missing:
        what = f"the metadata log knows {missing[0]}, but none of the directories holds it"
        todo = "name every node's log directory, or with --topic the topics to record"
        raise RecordingError(what, paths[0], f"{todo}; {LOST}")


def _listed(nodes: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(nodes)))
