"""By which events of exactly-once source connectors a danger shows; see `fencepost.properties.history.signs`."""

from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.task_counts.history.events import SUPPORT, Kind


def _sets(e: Events, least: int, most: int | None = None) -> int:
    """Sets of so many tasks that are written."""
    written = e.of(Kind.set_written)
    sizes = e["count"][written]
    return int(((sizes >= least) & ((sizes <= most) if most is not None else True)).sum())


def _fencing_rounds(e: Events) -> int:
    """Rounds that have several ids to fence."""
    return int((e["count"][e.of(Kind.round_started)] > 1).sum())


def _without_support(e: Events) -> int:
    started = e.of(Kind.worker_started)
    return int((e["support"][started] < SUPPORT["enabled"]).sum())


SIGNS = (
    events("client-crash", "workers that end", Kind.worker_stopped),
    events("zombie", "workers that stand still and go on", Kind.worker_resumed),
    events("time-out", "tasks that are no longer waited for, and sessions that end",
           Kind.task_left_running, Kind.member_expired),
    events("cleaning", "compactions of the config topic", Kind.compacted),
    Sign("rebalance", "assignments made while tasks of the connector run",
         lambda e: len(e.after(e.of(Kind.assignment_made), e.of(Kind.task_running)))),
    events("leader-in-a-call", "writes of a leader that learns that it is none",
           Kind.write_refused, Kind.leadership_lost),
    Sign("worker-without-support", "workers that start without support, or with it not on", _without_support),
    Sign("empty-set", "sets of no tasks", lambda e: _sets(e, 0, 0)),
    Sign("one-task", "sets of one task", lambda e: _sets(e, 1, 1)),
    Sign("several-tasks", "rounds with several ids to fence", _fencing_rounds),
    Sign("several-connectors", "connectors beside the first",
         lambda e: e.further(e.of(Kind.connector_written), (), "connector")),
    events("deletion", "connectors deleted", Kind.connector_tombstoned),
    Sign("re-creation", "connectors created again",
         lambda e: len(e.after(e.of(Kind.connector_written), e.of(Kind.connector_tombstoned), "connector"))),
)  # fmt: skip
