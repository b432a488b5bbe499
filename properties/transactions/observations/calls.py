"""What each call on the plug lets happen, seen or unseen.

A driver knows what it does itself: a fail-over happens in ``fail_over`` and nowhere else.  Four kinds no implementation
shows, because nothing leaves the coordinator then: that it has begun to write what a request asked for (``init_begun``,
``add_begun``, ``end_begun``, ``check_begun``).
"""

from fencepost.model.language import implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Phase
from fencepost.model.transactions.detailed.coordinator import Pending
from fencepost.properties.agreement import Allowed
from fencepost.properties.transactions.observations.codes import quiet
from fencepost.properties.transactions.observations.events import BY_VARIANT, ask_for_epoch, fence_first
from fencepost.properties.transactions.online.requests import COMPOSITE

BEGUN = {"init": "init_begun", "add": "add_begun", "end": "end_begun", "check": "check_begun"}
HANDLED = {"init": "init_handled", "add": "add_handled", "end": "end_handled", "check": "partition_checked"}
WRITTEN = ("batch_appended", "batch_duplicate", "batch_refused")
CALLS = {
    **{
        f"deliver {kind}": Allowed(once=(BEGUN[kind], HANDLED[kind]), must=True)
        for kind in ("init", "add", "end", "check")
    },
    "deliver produce": Allowed(once=("check_asked", *WRITTEN), must=True),
    "deliver marker": Allowed(once=("marker_appended", "marker_refused"), must=True),
    "deliver check_answer": Allowed(once=WRITTEN),
    **{f"deliver {kind}_answer": Allowed() for kind in ("init", "add", "produce", "end", "marker")},
    **dict.fromkeys(
        ("drop", "init", "begin", "send", "commit", "abort", "restart_client", "fence", "change_leader", "read",
         "fetch_offset", "in_pieces", "leave", "come_back",
         "elect_unclean"),
        Allowed(),
    ),
    "log_append": Allowed(once=("txn_logged", "append_failed", "id_expired"), must=True),
    "fail_over": Allowed(once=("coordinator_loaded",), often=("txn_logged", "id_expired"), must=True),
    "advance": Allowed(often=("timed_out",)),
    "expire": Allowed(often=("timed_out",)),
    "forget": Allowed(often=("timed_out",)),
    **dict.fromkeys(COMPOSITE, Allowed()),  # followed where everything is shown
}  # fmt: skip


def _for_epoch(s, e):
    """A retry that names the epoch before is written to the log as well; to the model it is nothing new."""
    again = ~s.unknown & (e.named != 0) & (e.named == s.remembers) & (e.named != s.live())
    return (s.phase == Phase.IDLE) & (s.pending == Pending.NOTHING) & ~again


def _fence(s, e):
    return (s.phase == Phase.ONGOING) & (s.pending == Pending.NOTHING)


def _may_begin(s, e):
    return quiet(s) & ~e.busy


def _init_may_begin(s, e):
    right = s.unknown | (e.named == 0) | (e.named == s.live()) | (e.named == s.remembers)
    return _may_begin(s, e) & implies(s.phase == Phase.IDLE, right)


_record = {"t": "txn", "p": "partition"}

_BEGINNINGS = (
    Observation("init_begun", (*fence_first(_fence), *ask_for_epoch(_for_epoch)), before=_init_may_begin, rule="txn.5"),
    Observation("add_begun", (Do("ask_to_add_partition", _record),), before=_may_begin, rule="txn.5"),
    Observation("check_begun", (Do("ask_to_verify", _record),), before=_may_begin, rule="txn.5"),
    Observation("end_begun", (Do("ask_to_end", {"t": "txn"}),), before=_may_begin, rule="txn.5"),
)

SHOWN_AND_UNSHOWN = {variant: (*kinds, *_BEGINNINGS) for variant, kinds in BY_VARIANT.items()}
"""`observations.BY_VARIANT` with the four kinds that nobody shows."""
