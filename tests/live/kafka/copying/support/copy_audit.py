"""What a run of the copying application has come to: each input record has to be in the committed output once, and the
group's offset has to stand behind exactly those that are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Copy(NamedTuple):
    """A record of the output: which input record it is a copy of, who made it, and in which of its attempts."""

    partition: int
    offset: int
    member: str
    attempt: int


Place = tuple[int, int]  # partition and offset of an input record


@dataclass(frozen=True)
class Audit:
    """`twice`: input records with several copies in the committed output, and these; `lost`: without one, below the
    committed offset; `unclaimed`: with one, at the committed offset or behind it, so that a next member makes another;
    `backwards`: copies that come after one of a later record of the same partition; `unknown`: copies of no input."""

    twice: Mapping[Place, tuple[Copy, ...]]
    lost: tuple[Place, ...]
    unclaimed: tuple[Place, ...]
    backwards: tuple[Copy, ...]
    unknown: tuple[Copy, ...]

    @property
    def clean(self) -> bool:
        """Whether everything is as it should be."""
        return not (self.twice or self.lost or self.unclaimed or self.backwards or self.unknown)


def audit(inputs: Mapping[int, int], committed: Iterable[Copy], offsets: Mapping[int, int]) -> Audit:
    """`inputs`: how many records each partition has; `committed`: what a read_committed reader gets, in the order of
    each partition; `offsets`: the group's, where it has one."""
    copies: dict[Place, list[Copy]] = defaultdict(list)
    newest: dict[int, int] = {}
    backwards, unknown = [], []
    for copy in committed:
        if not 0 <= copy.offset < inputs.get(copy.partition, 0):
            unknown.append(copy)
            continue
        copies[copy.partition, copy.offset].append(copy)
        if copy.offset < newest.get(copy.partition, 0):
            backwards.append(copy)
        newest[copy.partition] = max(copy.offset, newest.get(copy.partition, 0))
    claimed = {(partition, offset) for partition, end in offsets.items() for offset in range(end)}
    return Audit(
        twice={place: tuple(made) for place, made in sorted(copies.items()) if len(made) > 1},
        lost=tuple(sorted(claimed - set(copies))),
        unclaimed=tuple(sorted(set(copies) - claimed)),
        backwards=tuple(backwards),
        unknown=tuple(unknown),
    )
