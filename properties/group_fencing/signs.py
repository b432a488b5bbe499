"""By which events of a consumer group a danger shows; see `fencepost.properties.history.signs`."""

from fencepost.properties.group_fencing.events import Kind
from fencepost.properties.history.signs import Events, Sign, events

FENCED_INSTANCE = 82


def _aborts(e: Events) -> int:
    """Offsets that were pending when their transaction was aborted."""
    return int((e["outcome"][e.of(Kind.offset_settled)] == 0).sum())


def _replaced(e: Events) -> int:
    """Static members whose instance id another one has."""
    return int((e["error"][e.of(Kind.instance_failed)] == FENCED_INSTANCE).sum())


SIGNS = (
    events("client-crash", "instances that end", Kind.instance_stopped),
    events("zombie", "instances that stand still and go on", Kind.resumed),
    Sign("zombie", "offsets refused of an instance that stood still",
         lambda e: len(e.after(e.of(Kind.offset_refused), e.of(Kind.resumed)))),
    Sign("zombie", "instances that another one replaces", _replaced),
    events("time-out", "members that are put out of the group", Kind.member_removed),
    Sign("time-out", "pending offsets that are aborted", _aborts),
    events("coordinator-fail-over", "coordinators of the group that take over", Kind.coordinator_loaded),
    Sign("rebalance", "generations that begin while offsets are sent",
         lambda e: len(e.after(e.of(Kind.generation_begun), e.of(Kind.offset_sent)))),
    Sign("several-partitions", "partitions of an instance beside its first",
         lambda e: e.further(e.of(Kind.assigned), ("client",), "partition")),
)  # fmt: skip
