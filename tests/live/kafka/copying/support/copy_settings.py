"""How a member of the copying application is set up; what its clients offer it."""

from __future__ import annotations

from dataclasses import dataclass

AT_POLL, AFTER_POLL, AT_SEND, LEFT_OUT = "poll", "after", "send", "none"
"""When the group's metadata are read: before the poll and after it, so that records are copied only if it was the same
membership; when poll() has returned; when the offsets are sent; never."""
POINTS = ("handed", "polled", "sent", "offsets")
"""Where a member can be held: when poll() has returned, before its transaction begins, when its records are in it, when
its offsets are too."""

READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"
CLASSIC, CONSUMER = "classic", "consumer"  # group.protocol


@dataclass(frozen=True)
class Settings:
    """`client`: the name of this instance, which no other of the group has, while `name` is that of its place;
    `metadata`: when consumer_group_metadata() is called; `listener`: whether the consumer has
    callbacks for rebalances; `session_ms`: for the classic protocol (in the new one it is the brokers' setting);
    `jars`: a folder with Kafka's, for the library "java"."""

    bootstrap: str
    library: str
    name: str
    client: str
    source: str
    target: str
    group: str
    txn: str
    protocol: str = CLASSIC
    metadata: str = AT_SEND
    listener: bool = False
    batch: int = 10
    pace_s: float = 0.0
    session_ms: int = 1_500
    poll_interval_ms: int = 60_000
    transaction_ms: int = 60_000
    isolation: str = READ_COMMITTED
    jars: str = ""
