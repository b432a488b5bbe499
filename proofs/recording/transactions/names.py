"""This module maps names in the cluster to the numbers that stand for them in a history.

With a clients' header its numbers apply, and names that it lacks are not recorded, because other programs may use the
cluster too. Without one everything is recorded, and numbered in the order in which partitions, groups and ids are
found. A group has a number of its own, as if it had an offsets partition to itself; in Kafka several share one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.transactions.client_events import Header
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS
from fencepost.properties.history.naming import UNNAMED_BITS

ABSENT = -1


class Names:
    """A `Names` has the numbers of data partitions, groups and transactional ids. If the object is `closed`, names
    without a number are left out."""

    def __init__(self, header: Header | None, places: Iterable[Place]) -> None:
        self.closed = header is not None
        header = header or Header(partitions=tuple((*place, 0) for place in sorted(places)))
        self.partitions = {place: number for number, place in enumerate(header.places)}
        self.first_offsets = {place: header.partitions[number][2] for place, number in self.partitions.items()}
        self.record_key = header.record_key.encode()
        self.producer_ids = np.array(header.producer_ids, np.int64)
        self._ids = {name: number for number, name in enumerate(header.transactional_ids)}
        self._groups: dict[tuple[str, int], int] = {}
        for name in header.groups:
            self._groups[name, 0] = len(self.partitions) + len(self._groups)

    def group(self, name: str) -> int | None:
        """Return the number of a group's offsets partition, or None if it is left out."""
        if self.closed and (name, 0) not in self._groups:
            return None
        return self._groups.setdefault((name, 0), len(self.partitions) + len(self._groups))

    def offsets_partition(self, partition: int) -> int:
        """Return the number of an offsets partition itself, for a marker that belongs to no group's offsets."""
        return self._groups.setdefault((OFFSETS, 1 + partition), len(self.partitions) + len(self._groups))

    def transactional_id(self, name: str) -> int | None:
        """Return the number of a transactional id, or None if it is left out."""
        if self.closed and name not in self._ids:
            return None
        return self._ids.setdefault(name, len(self._ids))

    @property
    def as_config(self) -> dict[str, list[str]]:
        """Return all names in order of their numbers, as the manifest's config has them."""
        groups = sorted(self._groups, key=lambda group: self._groups[group])
        named = [f"{name}-{kind - 1}" if kind else name for name, kind in groups]
        return {"partitions": list(map(str, self.partitions)), "groups": named, "transactional_ids": list(self._ids)}


def unnamed(partition: int, offsets: np.ndarray) -> np.ndarray:
    """Return numbers for records without a number of their own, computed from their partition and offset."""
    return ((partition + 1) << UNNAMED_BITS) | offsets.astype(np.int64)
