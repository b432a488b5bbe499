"""Programs on Connect clusters: the calls of the plug and of its helpers, what makes a program simpler, which dangers
calls are, and the calls for a run of the model.

A thread is named by the operation that it waits for, whose, and its position among those (oldest first).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from fencepost.properties import calls
from fencepost.properties.agreement import Steps, Turned
from fencepost.properties.driving import Program
from fencepost.properties.roles import Amount, Simplest
from fencepost.properties.task_counts.driving.interface import COLUMNS, Permissions, System
from fencepost.properties.task_counts.history.events import TASK_COUNTS
from fencepost.properties.task_counts.scenarios.settling import do, finish, get_on, run, work


class Call(calls.Call):
    """One call."""

    interface = (System, Permissions)
    helpers = (run, do, work, get_on, finish)
    columns = COLUMNS
    filled = TASK_COUNTS.used_by
    keys: ClassVar = {
        "workers": Amount(), "connectors": Amount(), "max_tasks": Amount(), "protocol": Simplest("eager"),
        "heartbeat_ms": Simplest(0), "preemptive_stop": Simplest(True),
    }  # fmt: skip
    moving = ("connectors",)
    dangerous: ClassVar = {
        "step failed": ("loss",), "step lost": ("lost-answer",), "crash": ("client-crash",), "resume": ("zombie",),
        "expire": ("time-out",), "set_support none": ("worker-without-support",),
        "set_support disabled": ("worker-without-support",), "set_support preparing": ("worker-without-support",),
        "delete": ("deletion",), "compact": ("cleaning",),
    }  # fmt: skip


_OPERATIONS = {
    "start_round": "start_round", "fence": "fence", "check_round": "check_round", "write_count": "write_count",
    "write_refused": "write_count", "check_before": "check_before", "open_producer": "open_producer",
    "check_after": "check_after",
}  # fmt: skip


MOST_TASKS = 3
"""In a run of a model, and on the ways on from it."""
BY_THEMSELVES = frozenset({"assign", "ask", "answer", "hand_out", "read", "begin_start", "commit", "poll"})
"""Steps that a worker takes on the way to those for which there are calls."""


def valid(program: Program) -> bool:
    """Whoever is down comes back before the faults are over, which is what `finish` says: without that nothing has to
    come to rest, or to run."""
    down: set[int] = set()
    for call in program.calls:
        if call.name == "crash":
            down.add(call.get("worker"))
        elif call.name in ("restart_worker", "set_support"):
            down.discard(call.get("worker"))
        elif call.name == "finish" and down:
            return False
    return True


def call_of(action: str, parameters: Mapping[str, Any]) -> Call | None:
    """The call for a step of the full model with two workers; None for one that comes about by itself.

    The model lets a worker lead where the group does: so the other one drops out first.
    """
    worker = parameters.get("w", -1)
    if action == "reconfigure":
        return Call("configure", worker, 0, parameters["n"] + 1)
    if action == "elect":
        return Call("expire", 1 - worker)
    if action in _OPERATIONS:
        return Call("do", _OPERATIONS[action], worker)
    return None


def turned(steps: Steps) -> Turned:
    """A run of a model of rounds and starts.  A core that knows of no workers says too little to be led along."""
    calls = []
    for action, parameters in steps:
        call = call_of(action, parameters)
        if (call is None and action not in BY_THEMSELVES) or (call is not None and "w" not in parameters):
            return {}, (), action
        calls += [] if call is None else [call]
    return {"max_tasks": MOST_TASKS}, calls, ""
