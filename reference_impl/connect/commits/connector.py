"""This module has the connector: a SourceTask that reads several source partitions in turn, and confirms upstream which
records are safe.

What the connector confirms upstream, and when, is its own policy, which `upstream` of the configuration names. Each
policy is a method that real connectors have; the wrong ones have their bug report in the scenarios.
"""

from collections.abc import Mapping
from typing import NamedTuple

from fencepost.reference_impl.connect.commits import config as keys
from fencepost.reference_impl.connect.commits.config import Kind
from fencepost.reference_impl.connect.commits.environment import Environment
from fencepost.reference_impl.connect.commits.records import Offsets


class SourceRecord(NamedTuple):
    """A `SourceRecord` is one polled record: its source partition, its place there, and its source offset."""

    partition: int
    record: int
    offset: int


class Connector:
    """A `Connector` is the SourceTask of one instance."""

    __slots__ = ("acked", "env", "instance", "polled", "position", "prefix", "snapshot", "tell", "turn", "watermark")

    def __init__(self, env: Environment, instance: int) -> None:
        self.env = env
        self.instance = instance
        self.position: list[int] = []  # by source partition, the last record that was polled
        self.polled: list[int] = []  # and the source offset that the last one had
        self.prefix: list[int] = []  # all records up to here are done with
        self.acked: list[set[int]] = []  # those that are as well, behind that
        self.snapshot: list[int] = []  # `prefix`, as it was at the last call of commit
        self.turn = 0
        self.watermark: list[int] = []  # what upstream was given last
        self.tell = getattr(self, _POLICIES[env.config.upstream])

    def start(self, stored: list[int]) -> None:
        """Start reading after the stored offsets."""
        self.position, self.polled, self.prefix, self.snapshot = (list(stored) for _ in range(4))
        self.acked = [set() for _ in stored]
        self.watermark = [0] * len(stored)

    def poll(self) -> list[SourceRecord]:
        """Return a batch of records, from the source partitions in turn."""
        env = self.env
        found: list[SourceRecord] = []
        partitions = len(self.position)
        idle = 0
        while len(found) < env.config.batch and idle < partitions:
            partition = self.turn
            self.turn = (partition + 1) % partitions
            record = env.upstream.following(partition, self.position[partition])
            if not record:
                idle += 1
                continue
            idle = 0
            offset = self.offset_of(record)
            self.position[partition] = record
            self.polled[partition] = offset
            env.emit(Kind.POLLED, instance=self.instance, partition=partition, record=record, offset=offset)
            found.append(SourceRecord(partition, record, offset))
        return found

    def offset_of(self, record: int) -> int:
        """Return the source offset that a record carries. Where several records belong to one item upstream, only the
        last of them may carry the offset that confirms the whole item."""
        config = self.env.config
        if config.nulls and record % config.nulls == 0:
            return 0
        if config.several == 1:
            return record
        past = record if config.stamped == "last" else record + config.several - 1
        return past - past % config.several

    def commit_record(self, record: SourceRecord) -> None:
        """Note that the runtime is done with a record: it is acknowledged, or will never be sent."""
        partition, number, _ = record
        done = self.acked[partition]
        done.add(number)
        while self.prefix[partition] + 1 in done:
            self.prefix[partition] += 1
            done.discard(self.prefix[partition])

    def commit(self, offsets: Offsets | None) -> None:
        """Confirm upstream after a commit of these offsets, or of unknown offsets (None)."""
        for partition, offset in self.tell(offsets).items():
            if offset not in (0, self.watermark[partition]):
                env = self.env
                self.watermark[partition] = offset
                env.upstream.discard(partition, offset)
                env.emit(Kind.DISCARDED, instance=self.instance, partition=partition, offset=offset)

    # What is told upstream

    def told(self, offsets: Mapping[int, int]) -> Mapping[int, int]:
        return offsets

    def empty_is_all(self, offsets: Mapping[int, int]) -> Mapping[int, int]:
        """Return the committed offsets, but take an empty map to mean that nothing is left to be committed (O15)."""
        return offsets or dict(enumerate(self.polled))

    def looked_up(self, _: object) -> Mapping[int, int]:
        """Return what the offsets topic has now, as Debezium's connector for PostgreSQL does."""
        env = self.env
        found = {}
        for partition, offset in enumerate(env.topics.stored):
            if offset != self.snapshot[partition]:
                env.emit(Kind.LOOKED_UP, instance=self.instance, partition=partition, offset=offset)
                found[partition] = self.snapshot[partition] = offset
        return found

    def last_polled(self, _: object) -> Mapping[int, int]:
        return dict(enumerate(self.polled))

    def newest_acknowledged(self, _: object) -> Mapping[int, int]:
        """Return the newest record of each partition that commitRecord was called for (B45a)."""
        return {p: max((prefix, *self.acked[p])) for p, prefix in enumerate(self.prefix)}

    def acknowledged_prefix(self, _: object) -> Mapping[int, int]:
        """Return all records before the first that commitRecord was not called for, flushed or not (B45b)."""
        return dict(enumerate(self.prefix))

    def previous_prefix(self, _: object) -> Mapping[int, int]:
        """Return the acknowledged prefix as of the previous call, which is the repair of B45b that connectors have.
        What was acknowledged then need not be in the flush that has succeeded now, because the task's thread may not
        have taken it off the queues."""
        before, self.snapshot = self.snapshot, list(self.prefix)
        return dict(enumerate(before))


_POLICIES: Mapping[str, str] = {
    keys.TOLD: "told",
    keys.LOOKED_UP: "looked_up",
    keys.LAST_POLLED: "last_polled",
    keys.NEWEST: "newest_acknowledged",
    keys.PREFIX: "acknowledged_prefix",
    keys.LAST_PREFIX: "previous_prefix",
    keys.EMPTY_IS_ALL: "empty_is_all",
}
