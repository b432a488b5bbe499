"""By which events of a source task a danger shows; see `fencepost.properties.history.signs`."""

from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.source_commits.events import Kind


def _failed(e: Events, *kinds: Kind) -> int:
    rows = e.of(*kinds)
    return int((e["outcome"][rows] == 0).sum())


def _out_of_order(e: Events) -> int:
    """Acknowledgements that come after that of a later record of their instance and source partition."""
    rows = e.of(Kind.acknowledged)
    groups = e.groups(rows, "instance", "partition")
    newest: dict[int, int] = {}
    late = 0
    for group, record in zip(groups.tolist(), e["record"][rows].tolist(), strict=True):
        late += record < newest.get(group, 0)
        newest[group] = max(record, newest.get(group, 0))
    return late


def _answers_lost(e: Events) -> int:
    """Records that are in the output, and that their instance takes for failed."""
    return len(e.after(e.of(Kind.given_up, Kind.send_failed), e.of(Kind.produced), "instance", "partition", "record"))


SIGNS = (
    events("client-crash", "processes of the task that are gone", Kind.instance_killed),
    Sign("time-out", "final waits that take too long", lambda e: _failed(e, Kind.drained)),
    events("time-out", "commits that give up before they flush", Kind.flush_refused),
    Sign("failed-append", "flushes that fail or take too long", lambda e: _failed(e, Kind.flush_ended)),
    Sign("lost-answer", "records that were taken for failed and are there", _answers_lost),
    Sign("reordering", "records acknowledged after later ones", _out_of_order),
    Sign("several-partitions", "source partitions of an instance beside its first",
         lambda e: e.further(e.of(Kind.polled), ("instance",), "partition")),
)  # fmt: skip
