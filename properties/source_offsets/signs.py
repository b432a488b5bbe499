"""By which events of source tasks a danger shows; see `fencepost.properties.history.signs`."""

from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.source_offsets.events import Kind

FENCED = (47, 90)
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED."""


def _fenced(e: Events) -> int:
    """Instances that another one, or a newer set, has fenced."""
    rows = e.of(Kind.instance_failed)
    return int(sum((e["error"][rows] == code).sum() for code in FENCED))


def _late_commits(e: Events) -> int:
    """Transactions whose end was sent, and whose answer was not heard."""
    return max(0, len(e.of(Kind.end_sent)) - len(e.of(Kind.end_told)))


def _later_sets(e: Events) -> int:
    """Sets of tasks behind the first."""
    return int((e["generation"][e.of(Kind.configured)] > 0).sum())


def _given_up(e: Events) -> int:
    """Transactions that are aborted, and nobody has asked for that."""
    ended = e.of(Kind.output_marked)
    return int((e["outcome"][ended] == 0).sum())


SIGNS = (
    events("client-crash", "instances whose process is gone", Kind.instance_killed),
    Sign("client-crash", "transactions that are aborted", _given_up),
    events("zombie", "instances that stand still and go on", Kind.resumed),
    Sign("zombie", "instances that are fenced", _fenced),
    Sign("lost-answer", "ends of transactions that are not answered", _late_commits),
    Sign("rebalance", "sets of tasks that take the place of others", _later_sets),
    Sign("several-partitions", "source partitions of an instance beside its first",
         lambda e: e.further(e.of(Kind.offset_found), ("instance",), "partition")),
    Sign("several-tasks", "tasks beside the first", lambda e: e.further(e.of(Kind.instance_started), (), "task")),
)  # fmt: skip
