"""This module defines what fencepost needs of an implementation of exactly-once source connectors to drive and watch
it, how a run comes to rest, and calls as data.

The interface is structural: nothing has to be imported or inherited. ``factory(config)`` makes a Connect cluster and
what it needs of Kafka. Its workers run in threads. A thread runs until its next *operation* on the outside (Kafka, the
group's coordinator, another worker), where it waits until the driver lets the operation happen, fail, or get lost.

The config keys are ``seed``; ``mode`` ("A", "M" or "B": three texts of KIP-618; "shipped": Kafka 3.3 and later);
``workers``, ``connectors`` and ``max_tasks``; ``protocol`` of rebalances ("eager" or "cooperative");
``preemptive_stop`` (618.22; default True); ``group_id`` ("connect"); ``support`` of all workers or of each (default
"disabled", as in Kafka; driven clusters set "enabled"); ``graceful_shutdown_ms`` (5000); ``heartbeat_ms`` (the interval
at which a worker hears from the group, so that it learns late that its session has ended; 0, the default: at once);
``names`` of the connectors (default ``connector-0`` …). Where they matter, an implementation may have further keys; the
reference's are in its CONNECT.md.

An implementation has to emit only those events that topics, REST and coordinators reveal to every observer
(`BLACK_BOX`). Each further kind of the history vocabulary that it emits is checked against promises and model as well.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

from fencepost.properties import calls
from fencepost.properties.conformance_spec import Steps, Turned
from fencepost.properties.driving import Event, Program, read
from fencepost.properties.roles import Amount, Count, FromConfig, Index, InFlight, OneOf, Simplest
from fencepost.properties.task_counts.events import TASK_COUNTS

Thread = tuple[int, str, int, int, int]
"""A `Thread` is (number, operation, worker, connector, task), with -1 where a column does not apply."""

OPERATIONS = (
    "read", "join", "assign", "sync", "claim", "write", "start_round", "fence", "check_round", "write_count",
    "end_round", "answer", "ask", "check_before", "open_producer", "check_after", "poll", "commit", "stop",
)  # fmt: skip
"""Threads wait for the operations in `OPERATIONS`. The herder reads one record of the config topic, joins the group,
computes the assignment as its leader, and takes its own assignment; it opens the leader's producer and writes in a
transaction of it. A fencing round starts (reads to the end, decides), fences one id, reads and compares, writes the
count, is removed from the rounds under way (where that is a step of its own), and answers the worker that asked. A task
asks for a round, reads to see whether it may start, opens its producer, reads again, sends records and offsets in a
transaction, and ends it. Last, a thread ends."""

AT_WORK = frozenset({"poll", "commit"})
"""A running task repeats the operations in `AT_WORK` forever and does nothing else."""

OUTCOMES = ("ok", "failed", "lost")
"""With "ok" the operation happens, with "failed" it does not happen and its thread gets an error, and with "lost" it
happens but its thread gets an error all the same."""

SUPPORT = ("none", "disabled", "preparing", "enabled")


def _remark(thread: Thread) -> str:
    names = zip(("worker", "connector", "task"), thread[2:], strict=True)
    return ", ".join([thread[1], *(f"{name} {value}" for name, value in names if value >= 0)])


Worker = Annotated[int, Index("workers", among=6)]
Connector = Annotated[int, Index("connectors", among=4)]
Tasks = Annotated[int, Count("max_tasks")]
_WAITING = InFlight((None, Index("workers"), Index("connectors"), None), _remark)
Number = Annotated[int, _WAITING]
Waiting = Annotated[Thread, _WAITING]
Outcome = Annotated[str, OneOf("ok", "ok", "failed", "lost")]

COLUMNS = TASK_COUNTS.names

BLACK_BOX = TASK_COUNTS.black_box


class System(Protocol):
    """A `System` is a cluster that does nothing by itself: nothing happens between two calls."""

    def threads(self) -> Sequence[Thread]:
        """Return the threads that wait, oldest first, without those of stalled workers."""

    def step(self, number: Number, outcome: Outcome = "ok") -> None:
        """Let the thread's operation end in one of `OUTCOMES`, and let the thread run to its next operation."""

    def configure(self, worker: Worker, connector: Connector, tasks: Tasks) -> bool:
        """Ask this worker, as a user, to create or reconfigure a connector with that many tasks. This method and the
        next four return False, and nothing happens, if the request is refused."""

    def delete(self, worker: Worker, connector: Connector) -> bool:
        """Ask the worker, as a user, to delete a connector."""

    def stop_connector(self, worker: Worker, connector: Connector) -> bool:
        """Ask the worker, as a user, to stop a connector, which writes a set of no tasks (shipped)."""

    def restart_connector(self, worker: Worker, connector: Connector) -> bool:
        """Ask the worker, as a user, to restart a connector that failed."""

    def restart_task(self, worker: Worker, connector: Connector, task: int) -> bool:
        """Ask the worker, as a user, to restart a task that failed."""

    def stall(self, worker: Worker) -> None:
        """Pause the worker's process: its threads do nothing until `resume`, and answers to others wait for it."""

    def resume(self, worker: Worker) -> None:
        """Let a paused worker go on, which knows nothing of what happened meanwhile."""

    def crash(self, worker: Worker) -> None:
        """End the worker's process together with its threads."""

    def restart_worker(self, worker: Worker) -> None:
        """Start a new process of the worker."""

    def expire(self, worker: Worker) -> None:
        """End the worker's session in the group, so that the other workers rebalance without it."""

    def set_support(self, worker: Worker, value: str) -> None:
        """Restart the worker with one of `SUPPORT`, where "none" is a version without this feature."""

    def write_foreign(self, kind: str, connector: Connector, count: int) -> None:
        """Append a "set" or a "count" to the config topic as a worker that is not the leader."""

    def compact(self) -> None:
        """Compact the config topic."""

    def advance(self, ms: int) -> None:
        """Let virtual milliseconds pass, for graceful time-outs, back-offs, and the lifetime of the session key."""

    def status(self, connector: Connector, task: int) -> tuple[str, str]:
        """Return the status that REST reports ("UNASSIGNED", "RUNNING", "FAILED", … or "" if there is none) and the
        trace of a failure. Task -1 stands for the connector itself."""

    def drain_events(self) -> Sequence[Event]:
        """Return the events since the last call, in order."""


class Permissions(Protocol):
    """A cluster with `Permissions` reveals what follows from a round that may not fence (618.7, 618.47)."""

    def set_fencing(self, connector: Connector, allowed: bool) -> None:
        """Grant or revoke the connector's admin client's permission to write under the transactional ids of the
        connector's tasks, which it has at first."""


def missing(system: Any, variant: str) -> list[str]:
    return calls.missing(system, (System,))


# These functions let a cluster run: until a thread is about to do something, until nothing is under way, or to the end
# of all faults.
#
# The machines and the programs that they write use them, so they need nothing but the interface. Running tasks would go
# on forever, so they commit a transaction only where that is stated.

MOST = 1_500
"""A cluster that does more operations than `MOST` without coming to rest counts as never coming to rest."""
RETRY_MS = 300
"""`RETRY_MS` is longer than a back-off, which is 250 ms. A task that has to stop is given much longer."""
WAITS_MS = (1_000, 10_000, 400_000)
"""`WAITS_MS` are the times of a back-off, a graceful shutdown, and a rebalance delayed for a worker's return."""
TRANSACTIONS = 2
"""Each running task ends `TRANSACTIONS` transactions before the run is judged."""
ROUNDS = 4
FAILED, UNASSIGNED = "FAILED", "UNASSIGNED"
BETWEEN = frozenset({"read", "join", "assign", "sync", "claim", "write", "ask", "answer", "stop"})
"""`BETWEEN` are the operations that a model of rounds and starts omits, or leaves to whichever thread comes first."""


class Alone(NamedTuple):
    """An `Alone` is the state of the workers that are up, before any user restarts what failed. ``at_work`` has
    (connector, task) of each task that polls. ``failed`` has those whose failure REST reports, with task -1 for a
    Connector. ``quiet`` is False if some activity never ended."""

    quiet: bool
    at_work: frozenset[tuple[int, int]]
    failed: frozenset[tuple[int, int]] = frozenset()


class Finished(NamedTuple):
    """A `Finished` is the state at the end of a run. ``at_work`` has (connector, task) of each task that polls.
    ``quiet`` is False if some activity never ended. ``restarts`` is the greatest number of times that one task or
    Connector had to be restarted until it did not fail."""

    quiet: bool
    at_work: frozenset[tuple[int, int]]
    restarts: int = 0


def run(
    system: System, spared: str = "", worker: Worker = -1, connector: Connector = -1, task: int = -1, most: int = MOST
) -> int:
    """Let every operation happen, oldest first, and let back-offs pass, until no operation is left but those ``spared``
    (by this worker, of this connector, of this task), and return how many operations happened."""

    def waits(thread: Thread) -> bool:
        return thread[1] in AT_WORK or (
            thread[1] == spared
            and all(mine in (-1, its) for mine, its in zip((worker, connector, task), thread[2:], strict=True))
        )

    done, patient = 0, True
    while done < most:
        thread = next((t for t in system.threads() if not waits(t)), None)
        if thread is not None:
            system.step(thread[0])
            done, patient = done + 1, True
        elif patient:
            system.advance(RETRY_MS)
            patient = False
        else:
            break
    return done


def do(system: System, operation: str, worker: Worker) -> bool:
    """Let the worker's next operation of this kind happen, after whatever has to precede it in the group and between
    workers, and return whether it happened."""
    patient = True
    for _ in range(MOST):
        waiting = system.threads()
        wanted = next((t for t in waiting if t[1] == operation and t[2] == worker), None)
        thread = wanted or next((t for t in waiting if t[1] in BETWEEN), None)
        if thread is not None:
            system.step(thread[0])
            if wanted is not None:
                return True
            patient = True
        elif patient:
            system.advance(RETRY_MS)
            patient = False
        else:
            break
    return False


def work(system: System, worker: Worker = -1, transactions: int = 1) -> int:
    """Let each running task (of this worker) end that many transactions, and return the number of operations."""
    done = 0
    for number in sorted({t[0] for t in system.threads() if t[1] in AT_WORK and worker in (-1, t[2])}):
        for _ in range(2 * transactions):
            if any(t[0] == number and t[1] in AT_WORK for t in system.threads()):
                system.step(number)
                done += 1
    return done


def get_on(
    system: System,
    workers: Annotated[int, FromConfig("workers")],
    connectors: Annotated[int, FromConfig("connectors")],
    tasks: Annotated[int, FromConfig("max_tasks")],
    rebalance: Annotated[bool, FromConfig(lambda config: config.get("mode") == "A")] = False,
    waiting: Annotated[bool, FromConfig(lambda config: config.get("mode") == "M")] = False,
) -> Alone:
    """End all faults: stalled workers go on, connectors may fence, everything happens that can, and each running task
    ends some transactions. What failed is not restarted, and a worker that is down stays down.

    ``tasks`` is the most that a connector has. ``rebalance`` adds one more rebalance, for which no worker asks: in A a
    task that finds no count waits for it, and if the leader's round has failed there is none otherwise (618.14).
    ``waiting`` lets a user restart each Connector once that has an UNASSIGNED task: in M a failed round has failed the
    Connector (618.11), and a worker that is out of the group may have overwritten that status with RUNNING
    (AbstractHerder.onStartup).
    """
    for worker in range(workers):
        system.resume(worker)
    permit = getattr(system, "set_fencing", None)
    if callable(permit):
        for connector in range(connectors):
            permit(connector, True)
    quiet = _rest(system)
    if rebalance:
        for worker in range(workers):
            system.expire(worker)
        quiet = quiet and _rest(system)
    if waiting:
        for connector in range(connectors):
            if any(system.status(connector, task)[0] == UNASSIGNED for task in range(tasks)):
                _restart(system, workers, connector, -1)
        quiet = quiet and _rest(system)
    every = [(connector, task) for connector in range(connectors) for task in range(-1, tasks)]
    return Alone(quiet, _at_work(system), frozenset(one for one in every if system.status(*one)[0] == FAILED))


def finish(
    system: System,
    workers: Annotated[int, FromConfig("workers")],
    connectors: Annotated[int, FromConfig("connectors")],
    tasks: Annotated[int, FromConfig("max_tasks")],
    rebalance: Annotated[bool, FromConfig(lambda config: config.get("mode") == "A")] = False,
    waiting: Annotated[bool, FromConfig(lambda config: config.get("mode") == "M")] = False,
) -> Finished:
    """Let the cluster go on by itself, as in `get_on`, and restart what failed, whatever REST reports about it."""
    quiet = get_on(system, workers, connectors, tasks, rebalance, waiting).quiet
    failed: Counter[tuple[int, int]] = Counter()  # how often there was something to be started again, and what
    for _ in range(ROUNDS):
        found = [_restarted(system, workers, c, tasks) for c in range(connectors)] if quiet else []
        if not any(found):
            break
        failed.update((c, task) for c, each in enumerate(found) for task in each)
        quiet = _rest(system)
    mended = (times for (c, task), times in failed.items() if system.status(c, task)[0] != FAILED)
    return Finished(quiet, _at_work(system), max(mended, default=0))


class Resting(NamedTuple):
    """A `Resting` is what a cluster at rest has come to, as plain data that a live cluster gives too: from the config
    topic, the control socket of its connector, and the transaction log. ``sets`` has for each connector that there is
    the size of its newest set (-1: there is none yet), and ``counts`` its newest task count, also of a deleted one.
    ``polls`` has the worker of each (connector, task) that polls. ``claims`` has for each (connector, task) how its
    transactional id was claimed, in the order of epochs: "producer_opened" or "id_fenced"."""

    sets: Mapping[int, int]
    counts: Mapping[int, int]
    polls: Mapping[tuple[int, int], int]
    claims: Mapping[tuple[int, int], tuple[str, ...]]


def at_rest(system: System, events: Iterable[Event]) -> Resting:
    """Return what the cluster has come to, after all its events; those of the black box are enough."""
    sets: dict[int, int] = {}
    counts: dict[int, int] = {}
    claims: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
    for event in events:
        kind, connector = read(event, "kind"), read(event, "connector", -1)
        if kind == "connector_written":
            sets.setdefault(connector, -1)
        elif kind == "connector_tombstoned":
            sets.pop(connector, None)
        elif kind == "set_written" and connector in sets:
            sets[connector] = read(event, "count")
        elif kind == "count_written":
            counts[connector] = read(event, "count")
        elif kind == "count_tombstoned":
            counts.pop(connector, None)
        elif kind in ("producer_opened", "id_fenced") and read(event, "epoch", -1) >= 0:
            claim = read(event, "producer_id"), read(event, "epoch"), kind
            claims.setdefault((connector, read(event, "task")), []).append(claim)
    polls = {(thread[3], thread[4]): thread[2] for thread in system.threads() if thread[1] in AT_WORK}
    return Resting(sets, counts, polls, {of: tuple(kind for *_, kind in sorted(each)) for of, each in claims.items()})


def _at_work(system: System) -> frozenset[tuple[int, int]]:
    return frozenset(t[3:] for t in system.threads() if t[1] in AT_WORK)


def _restarted(system: System, workers: int, connector: int, tasks: int) -> list[int]:
    """Restart what REST reports as failed, and each task that it reports as UNASSIGNED although some worker has it, and
    return what was restarted.

    A worker that was out of the group may have overwritten FAILED with RUNNING, and that with UNASSIGNED when it came
    back (AbstractHerder.onStartup writes whatever the state is).
    """
    statuses = {task: system.status(connector, task)[0] for task in range(-1, tasks)}
    failed = [task for task, status in statuses.items() if status == FAILED]
    for task in failed:
        _restart(system, workers, connector, task)
    unassigned = [task for task, status in statuses.items() if task >= 0 and status == UNASSIGNED]
    return failed + [task for task in unassigned if _restart(system, workers, connector, task)]


def _restart(system: System, workers: int, connector: int, task: int) -> bool:
    """Ask one worker after the other for a restart until one accepts it. Task -1 stands for the Connector."""
    take = system.restart_connector if task < 0 else lambda worker, of: system.restart_task(worker, of, task)
    return any(take(worker, connector) for worker in range(workers))


def _rest(system: System) -> bool:
    """Return whether the cluster comes to rest, so that only running tasks still act. Time passes between transactions
    and not within one, which would time out."""
    quiet = run(system) < MOST
    work(system)
    for ms in WAITS_MS:
        _end_transactions(system)
        system.advance(ms)
        quiet = quiet and run(system) < MOST
    work(system, transactions=TRANSACTIONS)
    _end_transactions(system)
    quiet = quiet and run(system) < MOST
    return quiet


def _end_transactions(system: System) -> None:
    for thread in [t for t in system.threads() if t[1] == "commit"]:
        system.step(thread[0])


# These are the programs on Connect clusters: the calls of the interface and of its helpers, what makes a program
# simpler, which dangers calls are, and the calls for a run of the model.
#
# A thread is named by its operation, by its worker, connector and task, and by its position among the threads that have
# these in common (oldest first).


class Call(calls.Call):
    interface = (System, Permissions)
    helpers = (run, do, work, get_on, finish)
    columns = COLUMNS
    errors = TASK_COUNTS.errors
    filled = TASK_COUNTS.used_by
    keys: ClassVar = {
        "workers": Amount(), "connectors": Amount(), "max_tasks": Amount(), "protocol": Simplest("eager"),
        "heartbeat_ms": Simplest(0), "preemptive_stop": Simplest(True), "held": Simplest(()),
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
"""A run of a model, and each continuation of it, has at most `MOST_TASKS` tasks."""
BY_THEMSELVES = frozenset({"assign", "ask", "answer", "hand_out", "read", "begin_start", "commit", "poll"})
"""A worker takes the steps in `BY_THEMSELVES` by itself on the way to the steps for which there are calls."""


def valid(program: Program) -> bool:
    """Return whether every worker that is down comes back before `finish`, which expects tasks to run."""
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
    """Return the call for a step of the full model with two workers, or None for a step that happens by itself.

    In the model a worker leads when the group elects it, so the call lets the other worker drop out of the group first.
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
    """Return the calls for a run of a model of rounds and starts. A core without workers determines no calls."""
    calls = []
    for action, parameters in steps:
        call = call_of(action, parameters)
        if (call is None and action not in BY_THEMSELVES) or (call is not None and "w" not in parameters):
            return {}, (), action
        calls += [] if call is None else [call]
    return {"max_tasks": MOST_TASKS}, calls, ""
