"""What each call on the plug lets happen, seen or unseen.

A driver decides every operation, so that what is not shown can only have happened in the call that let it happen.
"""

from fencepost.properties.agreement import Allowed
from fencepost.properties.task_counts.driving.interface import OPERATIONS

NOTHING = Allowed()
CALLS = {
    **{f"step {operation}": NOTHING for operation in OPERATIONS},
    **dict.fromkeys(
        ("configure", "delete", "stop_connector", "restart_connector", "restart_task", "stall", "resume", "crash",
         "restart_worker", "expire", "set_support", "write_foreign", "compact", "advance", "run", "work", "get_on",
         "finish", "do", "set_fencing"),
        NOTHING,
    ),
}  # fmt: skip
