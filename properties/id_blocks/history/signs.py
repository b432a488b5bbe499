"""By which events of producer id blocks a danger shows; see `fencepost.properties.history.signs`."""

import numpy as np
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.id_blocks.history.events import Kind


def _granted_twice(e: Events) -> int:
    """Blocks recorded for a request for which one was recorded before."""
    return e.further(e.of(Kind.block_recorded), ("request",), "step")


def _given_up(e: Events, *, answered: bool) -> int:
    """Requests given up although a block was recorded for them; or which no controller saw."""
    given_up = e.of(Kind.request_timed_out)
    seen = e.of(Kind.block_recorded) if answered else e.of(Kind.block_recorded, Kind.request_refused, Kind.answer_sent)
    mine, theirs = e.together((given_up, seen), "request")
    known = np.isin(mine, theirs)
    return int((known if answered else ~known).sum())


def _late(e: Events) -> int:
    """Answers to a request that was given up."""
    return len(e.after(e.of(Kind.answer_dropped), e.of(Kind.request_timed_out), "request"))


SIGNS = (
    Sign("late-copy", "answers to requests that were given up", _late),
    Sign("duplicate", "blocks granted to a request that had one", _granted_twice),
    Sign("loss", "requests given up that no controller saw", lambda e: _given_up(e, answered=False)),
    Sign("lost-answer", "requests given up for which a block was recorded", lambda e: _given_up(e, answered=True)),
    events("time-out", "requests given up", Kind.request_timed_out),
    events("broker-restart", "brokers that crash", Kind.broker_stopped),
    Sign("coordinator-fail-over", "elections of a controller after the first block",
         lambda e: len(e.after(e.of(Kind.controller_elected), e.of(Kind.block_recorded)))),
    events("truncation", "snapshots that replace the log before them", Kind.snapshot_taken),
    events("mixed-clients", "brokers upgraded one by one", Kind.broker_upgraded),
)  # fmt: skip
