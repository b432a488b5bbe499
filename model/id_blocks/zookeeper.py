"""With ZooKeeper each broker takes its blocks itself, by compare-and-set on one node (before KIP-730, and during the
migration).

The node holds the latest block with both ends inclusive, and a version that every write increments.
"""

from fencepost.model.id_blocks.brokers import Broker, Id, IdBlocks
from fencepost.model.language import (
    Bool,
    Map,
    Nat,
    Set,
    action,
    either,
    fault,
    kafka_excludes,
    not_of_this,
    open_hole,
    require,
    when,
)


class Version(Nat, upto="ids + 1"):
    """A `Version` is the version of the block node, which is the number of writes to it."""


class Zookeeper(IdBlocks):
    """A broker reads the node, adds a block, and writes if no other broker wrote in between; else it reads again."""

    outside = (
        *kafka_excludes(
            "a session's requests are served in order, and those over a connection that it has left are refused",
            "ZooKeeper: SessionMovedException",
            "late-copy", "duplicate", "reordering",
        ),
        *not_of_this("a write that never arrives is one that the broker makes later", "loss"),
        *not_of_this("a session that ends is a connection lost, with what was under way done or not", "time-out"),
        *not_of_this("no controller takes part", "coordinator-fail-over", "overlapping-coordinators"),
        *kafka_excludes(
            "ZooKeeper answers a write when a majority has it",
            "ZooKeeper: atomic broadcast",
            "uncovered-log", "unreplicated-tail", "cleaning", "truncation",
        ),
        *open_hole("brokers with the RPC beside those without it are in the model of the bridge", "mixed-clients"),
    )  # fmt: skip

    written: Bool  # the block node holds a block
    last: Id  # last id of the latest block, inclusive
    version: Version
    has_read: Set[Broker]
    read_next: Map[Broker, Id]  # first id after the block that was read
    read_version: Map[Broker, Version]

    def next_in_node(s):
        return when(s.written, s.last + 1, 0)

    def put(s, first):
        s.written = True
        s.last = first + s.size - 1
        s.version = s.version + 1
        s.grant(first)

    @action(fair="weak", by="b", to="ZooKeeper")
    def read(s, b: Broker):
        """A broker that has run out of ids reads data and version of the node."""
        require((s.cursor[b] == s.end[b]) & ~s.has_read[b])
        s.has_read[b] = True
        s.read_next[b] = s.next_in_node()
        s.read_version[b] = s.version

    @action(fair="weak", by="b", to="ZooKeeper")
    def write(s, b: Broker):
        """The conditional write succeeds, and the broker has the block at once. The write is owed only if it stays
        possible. Each lost race uses up a block, so that no broker loses forever where ids are finite."""
        s.may_write(b)
        first = s.start_of_block(s.read_next[b])
        s.put(first)
        s.cursor[b] = first
        s.end[b] = first + s.size
        s.put_aside(b)

    def may_write(s, b):
        require(s.has_read[b])
        require(s.read_version[b] == s.version, rule="730.2")
        require(s.read_next[b] + s.size <= s.ids, rule="730.16")

    def put_aside(s, b):
        s.has_read[b] = False
        s.read_next[b] = 0
        s.read_version[b] = 0

    @fault(budget="losses", danger=("lost-answer", "failed-append"), by="b", to="ZooKeeper")
    def write_unseen(s, b: Broker):
        """The write succeeds and the connection is lost: the broker reads again, and the block becomes a gap."""
        s.may_write(b)
        s.put(s.start_of_block(s.read_next[b]))
        s.put_aside(b)

    @action(fair="weak", by="b", to="ZooKeeper")
    def conflict(s, b: Broker):
        """The conditional write fails, since what the broker read is outdated."""
        require(s.has_read[b] & (s.read_version[b] != s.version))
        s.has_read[b] = either("730.2", False, not_read_again=s.has_read[b])
        s.read_next[b] = either("730.2", 0, not_read_again=s.read_next[b])
        s.read_version[b] = either("730.2", 0, not_read_again=s.version)

    @fault(budget="restarts", danger="broker-restart")
    def restart(s, b: Broker):
        s.forget_block(b)
        s.put_aside(b)
