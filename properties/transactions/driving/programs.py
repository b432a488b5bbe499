"""Programs on transactions: the calls of the plug and of its helpers, what makes a program simpler, and which dangers
calls are.

A message is named by kind, source, target, and position among those (oldest first).
"""

from typing import ClassVar

from fencepost.properties import calls
from fencepost.properties.roles import Amount, Named, Simplest
from fencepost.properties.transactions.driving.interface import COLUMNS, System
from fencepost.properties.transactions.history.events import TRANSACTIONS
from fencepost.properties.transactions.scenarios.newcomers import newcomers
from fencepost.properties.transactions.scenarios.progress import progress
from fencepost.properties.transactions.scenarios.settling import expire, forget, in_pieces, probe, settle


class Call(calls.Call):
    """One call."""

    interface = (System,)
    helpers = (settle, probe, progress, expire, forget, in_pieces, newcomers)
    columns = COLUMNS
    filled = TRANSACTIONS.used_by
    always_compared: ClassVar[tuple[str, ...]] = ("error",)  # an answer without one is another answer
    keys: ClassVar = {
        "clients": Amount(),
        "ids": Amount(),
        "keys": Amount(),
        "groups": Amount(0),
        "partitions": Amount(unless=("groups",)),
        "max_epoch": Simplest(32767),
    }
    merged = ("partitions", "clients")
    dangerous: ClassVar = {
        "deliver keep": ("duplicate",),
        "drop": ("loss",),
        "drop *_answer": ("lost-answer",),
        "restart_client": ("client-crash",),
        "log_append ok": ("failed-append",),
        "fail_over": ("coordinator-fail-over",),
        "change_leader": ("broker-restart",),
        "leave": ("partition-away",),
        "forget": ("producer-expiry",),
        "elect_unclean": ("unreplicated-tail",),
    }


def message(kind: str, source: str, target: str, nth: int = 0) -> Named:
    """A message, by what it is."""
    return Named((kind, source, target), nth)
