"""Programs on Connect clusters: the calls of the plug as data, what makes a program simpler, and the calls for a run of
the model.

A thread is named by the operation that it waits for, whose, and its position among those (oldest first).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fencepost.properties.driving import Program, Spelled
from fencepost.properties.task_counts.driving.interface import COLUMNS, System, Thread

SETTLING = "fencepost.properties.task_counts.driving.settling"
USERS = frozenset({"configure", "delete", "stop_connector", "restart_connector", "restart_task"})
PROCESSES = frozenset({"stall", "resume", "crash", "restart_worker", "expire"})


@dataclass(frozen=True)
class Call:
    """One call.  ``step`` says which thread by ``operation``, ``worker``, ``connector``, ``task`` and ``nth``, and what
    becomes of its operation; `settling` says what ``run``, ``work`` and ``finish`` do.

    ``value``: a number of tasks, milliseconds, or operations at most; ``kind``: what is written by somebody else, or a
    worker's support.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    always_compared: ClassVar[tuple[str, ...]] = ()

    name: str
    worker: int = -1
    connector: int = -1
    task: int = -1
    operation: str = ""
    nth: int = 0
    outcome: str = "ok"
    value: int = 0
    kind: str = ""

    def find(self, threads: Sequence[Thread]) -> Thread | None:
        """The thread that the call speaks of; None if none waits for that."""
        key = (self.operation, self.worker, self.connector, self.task)
        matching = [t for t in threads if t[1:] == key]
        return matching[self.nth] if self.nth < len(matching) else None

    @property
    def table_name(self) -> str:
        """Under which `calls.CALLS` has it."""
        return f"step {self.operation}" if self.name == "step" else self.name

    def spelled(self, system: System) -> Spelled | None:
        """What is called; None if it speaks of a thread that does not wait for that."""
        match self.name:
            case "step":
                thread = self.find(system.threads())
                if thread is None:
                    return None
                outcome = () if self.outcome == "ok" else (self.outcome,)
                return Spelled((thread[0], *outcome), message=thread, remark=_said_of(thread))
            case "configure":
                return Spelled((self.worker, self.connector, self.value))
            case "restart_task":
                return Spelled((self.worker, self.connector, self.task))
            case "delete" | "stop_connector" | "restart_connector":
                return Spelled((self.worker, self.connector))
            case "set_support":
                return Spelled((self.worker, self.kind))
            case "write_foreign":
                return Spelled((self.kind, self.connector, self.value))
            case "advance":
                return Spelled((self.value,))
            case "compact":
                return Spelled()
            case "run":
                return Spelled(self._spared(), self._spared_of(), helper=f"{SETTLING}:run")
            case "do":
                return Spelled((self.operation, self.worker), helper=f"{SETTLING}:do")
            case "work":
                named = {"worker": self.worker} if self.worker >= 0 else {}
                return Spelled((), named, helper=f"{SETTLING}:work")
            case "finish":
                more = {"rebalance": True} if self.value else {}
                return Spelled((self.worker, self.connector, self.task), more, helper=f"{SETTLING}:finish")
        return Spelled((self.worker,))

    def _spared(self) -> tuple[str, ...]:
        return (self.operation,) if self.operation else ()

    def _spared_of(self) -> dict[str, int]:
        named = {"worker": self.worker, "connector": self.connector, "task": self.task, "most": self.value or -1}
        return {key: value for key, value in named.items() if value >= 0}


def _said_of(thread: Thread) -> str:
    names = zip(("worker", "connector", "task"), thread[2:], strict=True)
    return ", ".join([thread[1], *(f"{name} {value}" for name, value in names if value >= 0)])


def step_of(thread: Thread, threads: Sequence[Thread], outcome: str = "ok") -> Call:
    """The call that lets this thread's operation happen, or not."""
    _, operation, worker, connector, task = thread
    nth = sum(1 for t in threads if t[1:] == thread[1:] and t[0] < thread[0])
    return Call("step", worker, connector, task, operation, nth, outcome)


def smaller(program: Program) -> Iterator[Program]:
    """The program on clusters that are smaller or simpler in one respect."""
    config, calls = program.config, program.calls

    def changed(**values: Any) -> Program:
        return Program({**config, **values}, tuple(_ending(c, {**config, **values}) for c in calls))

    named = [c for c in calls if c.name != "finish"]
    for key, used in (
        ("workers", max((c.worker for c in named), default=0) + 1),
        ("connectors", max((c.connector for c in named), default=0) + 1),
        ("max_tasks", max((c.value for c in named if c.name == "configure"), default=1)),
    ):
        for size in range(max(1, used), config[key]):
            yield changed(**{key: size})
    if config["protocol"] != "eager":
        yield changed(protocol="eager")
    if config["heartbeat_ms"]:
        yield changed(heartbeat_ms=0)
    if not config["preemptive_stop"]:
        yield changed(preemptive_stop=True)


def _ending(call: Call, config: Mapping[str, Any]) -> Call:
    """The end is told how large the cluster is."""
    return the_end(config) if call.name == "finish" else call


def the_end(config: Mapping[str, Any]) -> Call:
    """The call that ends all faults on a cluster of this configuration.  In A a task that finds no count waits for a
    rebalance, and if the leader's round has failed nobody asks for one (618.14)."""
    sizes = (config["workers"], config["connectors"], config["max_tasks"])
    return Call("finish", *sizes, value=int(config.get("mode") == "A"))


def simpler(program: Program) -> Iterator[Program]:
    """The program with one call that is simpler."""
    for i, call in enumerate(program.calls):
        options = []
        if call.outcome != "ok":
            options.append(replace(call, outcome="ok"))
        if call.name == "configure":
            options += [replace(call, value=n) for n in range(1, call.value)]
        if call.name in USERS and call.worker > 0:
            options.append(replace(call, worker=call.worker - 1))
        if call.name == "run" and call.operation:
            options.append(Call("run"))
        for option in options:
            yield replace(program, calls=(*program.calls[:i], option, *program.calls[i + 1 :]))
    for high in range(1, program.config["connectors"]):
        if not any(c.connector == high - 1 for c in program.calls if c.name != "finish"):
            moved = tuple(
                replace(c, connector=high - 1) if c.connector == high and c.name != "finish" else c
                for c in program.calls
            )
            if moved != program.calls:
                yield replace(program, calls=moved)


_OPERATIONS = {
    "start_round": "start_round", "fence": "fence", "check_round": "check_round", "write_count": "write_count",
    "write_refused": "write_count", "check_before": "check_before", "open_producer": "open_producer",
    "check_after": "check_after",
}  # fmt: skip


def call_of(action: str, parameters: Mapping[str, Any]) -> Call | None:
    """The call for a step of the full model with two workers; None for one that comes about by itself.

    The model lets a worker lead where the group does: so the other one drops out first.
    """
    worker = parameters.get("w", -1)
    if action == "reconfigure":
        return Call("configure", worker, 0, value=parameters["n"] + 1)
    if action == "elect":
        return Call("expire", 1 - worker)
    if action in _OPERATIONS:
        return Call("do", worker, operation=_OPERATIONS[action])
    return None


def dangers_of(call: Call) -> tuple[str, ...]:
    """Which of `fencepost.model.dangers` it is to make this call."""
    match call.name:
        case "step":
            return {"ok": (), "failed": ("loss",), "lost": ("lost-answer",)}[call.outcome]
        case "crash":
            return ("client-crash",)
        case "resume":
            return ("zombie",)
        case "expire":
            return ("time-out",)
        case "set_support":
            return () if call.kind == "enabled" else ("worker-without-support",)
        case "delete":
            return ("deletion",)
        case "compact":
            return ("cleaning",)
    return ()
