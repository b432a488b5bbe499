"""What each call on the plug lets happen, seen or unseen, and what must be so when it returns.

A driver knows what it does itself: a restart happens in ``restart_broker`` and nowhere else.  So of an implementation
that shows little, only what this table allows is guessed at.
"""

from typing import Any

from fencepost.model.id_blocks.brokers import Request, Stage
from fencepost.model.language import exists
from fencepost.model.language.observations import Observation
from fencepost.properties.agreement import Allowed

BACK_OFF_MS = (50, 100)
"""A back-off lasts at least, and at most, so long (shipped: 50 ms)."""

GIVEN_UP_MS = 120_000
"""A request that was not answered for so long is given up (shipped: 60 s)."""


CALLS = {
    "deliver request": Allowed(once=("block_recorded", "request_refused")),
    "deliver response": Allowed(once=("answer_taken", "answer_dropped", "answer_refused", "answer_failed"), must=True),
    "drop": Allowed(),
    "init_producer_id": Allowed(
        once=("id_handed_out", "id_refused"), often=("backoff_over", "block_installed"), must=True
    ),
    "restart_broker": Allowed(once=("broker_started",), must=True),
    "fail_over": Allowed(once=("controller_elected",), must=True),
    "commit": Allowed(often=("block_committed",)),
    "snapshot": Allowed(often=("snapshot_taken",)),
    "advance": Allowed(often=("request_timed_out", "backoff_over")),
    "set_cluster_action": Allowed(),
    "set_block_size": Allowed(),
    "zk_step": Allowed(once=("zk_read", "zk_written", "zk_conflict", "request_refused"), must=True),
    "upgrade_broker": Allowed(once=("broker_upgraded",), must=True),
    "migrate": Allowed(once=("migrated",), must=True),
}


def _everything_committed_and_answered(s: Any, e: Any) -> Any:
    return (s.committed == s.logged) & ~exists(
        Request, lambda r: (s.stage[r] == Stage.RECORDED) & (s.block_end(r) <= s.committed)
    )


AFTERWARDS = {
    "refused": "a broker with no id to give waits for a block or backs off; nobody else would ask for one",
    "commit": "everything appended is committed, and whoever waited for it is answered",
    "snapshot": "the snapshot says as much as the committed log",
}
"""Names of what is checked when a call returns, with the words for it."""

_LOG = (
    Observation("commit", before=_everything_committed_and_answered, rule="730.7"),
    Observation("snapshot", before=lambda s, e: ~s.record_follows, rule="730.7"),
)

AFTERWARDS_BY_VARIANT = {
    "kraft": (
        Observation("refused", before=lambda s, e: s.in_flight[e.broker] | s.backing_off[e.broker], rule="730.P3"),
        *_LOG,
    ),
    "zookeeper": (),
    "bridge": (
        Observation(
            "refused",
            before=lambda s, e: s.direct[e.broker] | s.in_flight[e.broker] | s.backing_off[e.broker],
            rule="730.P3",
        ),
        *_LOG,
    ),
}
