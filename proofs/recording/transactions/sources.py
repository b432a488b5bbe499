"""This module gathers the sources of a history's events: the logs of partitions and coordinators, and the clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.transactions.client_events import ClientEvents, Header
from fencepost.proofs.recording.transactions.cluster_logs import ClusterLogs
from fencepost.proofs.recording.transactions.coordinator_events import Logged, logged_events, offset_events
from fencepost.proofs.recording.transactions.event_table import Events
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS
from fencepost.proofs.recording.transactions.matching import matched
from fencepost.proofs.recording.transactions.names import Names
from fencepost.proofs.recording.transactions.partition_events import data_events
from fencepost.proofs.recording.transactions.transaction_log import TOPIC as TRANSACTION_LOG
from fencepost.properties.history.cuts import Cut
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.transactions.events.kinds import Kind

NOT_THERE = "{} is not among the directories"
OF_PARTITIONS = (Kind.batch_appended, Kind.marker_appended)
OF_COORDINATOR = (Kind.txn_logged, Kind.id_expired)


@dataclass(frozen=True)
class Sources:
    """A `Sources` has the events of each log and of the clients, in their own order. `observable` has the kinds of
    which every event is recorded, except in the logs that are `cuts`. `mode` is the transaction version that clients
    use by the transaction log. `restless` means that something was still pending at the end."""

    sources: list[Events]
    names: Names
    observable: set[Kind]
    mode: str
    restless: bool
    notes: list[str]
    cuts: tuple[Cut, ...] = ()

    @classmethod
    def of(cls, logs: ClusterLogs | None, seen: ClientEvents | None, header: Header | None) -> Sources:
        names = Names(header, [part.place for part in logs.data] if logs is not None else [])
        observable = set() if seen is None else {Kind[name] for name in (header or Header()).observable}
        if logs is None:
            return cls([seen.columns] if seen is not None else [], names, observable, "v2", False, [])
        data = {part.place: data_events(part, names) for part in logs.data}
        logged = [logged_events(part, names) for part in logs.transaction_log]
        owners = frozenset().union(*(each.producer_ids for each in logged))
        offsets = [offset_events(part, names, owners) for part in logs.offsets]
        sources = [*(each.events for each in data.values()), *offsets, *(each.events for each in logged)]
        notes = list(logs.notes)
        outside = {names.partitions[place]: each.outside for place, each in data.items()}
        plain = sum(map(len, outside.values()))
        if plain:
            notes.append(f"{plain} records outside of transactions are left out")
        if seen is not None:
            ends = {names.partitions[part.place]: part.end for part in logs.data}
            matches = matched(seen, names, outside, ends)
            sources.append(matches.events)
            notes += matches.notes
        notes += _oddities(logged)
        cuts = [
            *_cut_partitions(logs.data, names, [(names.partitions[part.place],) for part in logs.data]),
            *_cut_partitions(logs.offsets, names, [_values(each, "partition") for each in offsets]),
            *_cut_logs(logs.transaction_log, [_values(each.events, "txn_id") for each in logged]),
            *_absent(logs, names),
        ]
        if logs.data:
            observable |= {*OF_PARTITIONS}
        if logs.transaction_log:
            observable |= {*OF_COORDINATOR}
        notes += judged_of(logs, names)
        ids = names.as_config["transactional_ids"]
        unfinished = [ids[number] for each in logged for number in each.unfinished]
        restless = bool(unfinished) or logs.changed
        if unfinished:
            notes.append(f"transactional id {unfinished[0]!r} was being ended when the log was read")
        if logs.changed:
            notes.append("the logs were written to while they were read")
        return cls(sources, names, observable, _mode(logged), restless, notes, tuple(cuts))


def _values(table: Events, column: str) -> tuple[int, ...]:
    return tuple(np.unique(table[column]).tolist())


def _cut_partitions(parts: Sequence[Committed], names: Names, values: Sequence[tuple[int, ...]]) -> Iterator[Cut]:
    """Yield the logs of partitions of which a part is missing. `values` has the numbers of the partitions in each."""
    for part, numbers in zip(parts, values, strict=True):
        first = names.first_offsets.get(part.place, 0)
        if not part.whole_from(first):
            why = part.missing or f"{part.place} has a batch that begins before offset {first} and ends after it"
            yield Cut(tuple(kind.name for kind in OF_PARTITIONS), why, "partition", numbers, part.begins(first))


def _cut_logs(parts: Sequence[Committed], ids: Sequence[tuple[int, ...]]) -> Iterator[Cut]:
    for part, numbers in zip(parts, ids, strict=True):
        if not part.whole:
            yield Cut(tuple(kind.name for kind in OF_COORDINATOR), part.missing, "txn_id", numbers, part.begins())


def absent_of(logs: ClusterLogs) -> tuple[Place, ...]:
    """Return the partitions that are missing entirely: those that the metadata log lists, and those of a coordinators'
    topic with a lower number than one that is present."""
    found = {*logs.absent}
    for topic, parts in ((OFFSETS, logs.offsets), (TRANSACTION_LOG, logs.transaction_log)):
        there = {part.place.partition for part in parts}
        found |= {Place(topic, number) for number in range(max(there, default=0)) if number not in there}
    return tuple(sorted(found))


def _absent(logs: ClusterLogs, names: Names) -> Iterator[Cut]:
    """Yield the logs that are missing entirely. A missing offsets partition has no group's number, because none is
    visible."""
    for place in absent_of(logs):
        of_log = place.topic == TRANSACTION_LOG
        kinds = tuple(kind.name for kind in (OF_COORDINATOR if of_log else OF_PARTITIONS))
        values = (names.partitions[place],) if place in names.partitions else ()
        yield Cut(kinds, NOT_THERE.format(place), "txn_id" if of_log else "partition", values, NEVER)


def judged_of(logs: ClusterLogs, names: Names) -> list[str]:
    """Return how many logs are judged completely, and from which offset on the others are; empty if all are
    complete."""
    rest = []
    for part in logs.all:
        first = names.first_offsets.get(part.place, 0)
        if not part.whole_from(first):
            begins = part.begins(first)
            judged = f"judged from offset {begins} on" if begins < part.end else "not judged"
            rest.append(f"{part.missing}, and is {judged}")
    rest += [f"{NOT_THERE.format(place)}, and is not judged" for place in absent_of(logs)]
    if not rest:
        return []
    whole = sum(part.whole_from(names.first_offsets.get(part.place, 0)) for part in logs.all)
    return [f"{whole} partitions judged whole, {len(rest)} not: {'; '.join(rest)}"]


def _mode(logged: Sequence[Logged]) -> str:
    versions = frozenset().union(*(each.client_versions for each in logged))
    if 2 in versions:
        return "v2" if versions == {2} else "mixed"
    return "v1" if versions else "v2"


def _oddities(logged: Sequence[Logged]) -> list[str]:
    notes = []
    if skipped := sum(each.skipped for each in logged):
        notes.append(f"{skipped} records of the transaction log are of an unknown kind, which a broker skips too")
    versions = frozenset().union(*(each.client_versions for each in logged))
    if 2 in versions and len(versions) > 1:
        notes.append("clients of transaction.version 2 and of older ones are mixed")
    return notes
