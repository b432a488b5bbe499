"""What each call lets a broker do that acts by itself: it serves what the call delivers, and goes on with what is under
way.

``collapse``: whoever carries requests to the broker asks again where the answer only says so, so that one delivery may
be served more than once; ``timeouts``: transactions may time out at any moment.
"""

from collections.abc import Mapping

from fencepost.properties.agreement import Allowed

SERVED = {
    "init": ("init_given", "init_fenced", "init_refused", "unanswered"),
    "add": ("add_done", "add_refused", "unanswered"),
    "produce": ("record_written", "record_added", "record_refused", "unanswered"),
    "end": ("end_done", "end_refused", "unanswered"),
}
"""By kind of request: how it may be served."""

SERVICE = {kind: request for request, kinds in SERVED.items() for kind in kinds if kind != "unanswered"}
"""The same, by what was done."""

IN_PASSING = {"init": ("fenced_before",)}
"""What changes something though the answer says that it be tried again, which it then is."""

OTHER_CALLS = (
    "drop", "init", "begin", "send", "commit", "abort", "restart_client", "fence", "read", "fetch_offset", "advance",
    "expire", "forget", "in_pieces", "log_append", "fail_over", "change_leader", "leave", "come_back",
    "elect_unclean",
    "settle", "probe", "progress",
)  # fmt: skip


def calls(collapse: bool, timeouts: bool) -> Mapping[str, Allowed]:
    """By name of the call."""
    uncalled = ("marked", "completed", *(("timed_out",) if timeouts else ()))
    again = IN_PASSING if collapse else {}
    return {
        **{
            f"deliver {kind}": Allowed(kinds, (*uncalled, *again.get(kind, ())), must=True)
            for kind, kinds in SERVED.items()
        },
        **{f"deliver {kind}_answer": Allowed(often=uncalled) for kind in SERVED},
        **dict.fromkeys(OTHER_CALLS, Allowed(often=uncalled)),
    }  # fmt: skip
