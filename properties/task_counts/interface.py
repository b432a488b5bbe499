"""What implementations of Connect offer, how one comes to rest after a run, and calls on it as data.

The plug: what fencepost needs of an implementation of exactly-once source connectors to drive and watch it.

Structural: nothing has to be imported or inherited.  ``factory(config)`` makes a Connect cluster and what it needs of
Kafka.  Its workers run in threads, and a thread runs until its next *operation* on the outside (Kafka, the group's
coordinator, another worker), where it waits until the driver lets the operation happen, fail, or get lost.

Config keys: ``seed``; ``mode`` ("A", "M" or "B": three texts of KIP-618; "shipped": Kafka 3.3 and later); ``workers``,
``connectors`` and ``max_tasks``; ``protocol`` of rebalances ("eager" or "cooperative"); ``preemptive_stop`` (618.22;
default True); ``group_id`` ("connect"); ``support`` of all workers or of each (default "disabled", as in Kafka; what is
driven here says "enabled"); ``graceful_shutdown_ms`` (5000); ``heartbeat_ms`` (a worker hears from the group so often,
and so learns late that its session has ended; 0, the default: at once); ``names`` of the connectors (default
``connector-0`` …).

Of the events only what topics, REST and coordinators show to everybody is needed (`BLACK_BOX`); every further kind of
the history vocabulary that an implementation emits is held against promises and model as well.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

from fencepost.properties import calls
from fencepost.properties.conformance_spec import Steps, Turned
from fencepost.properties.driving import Event, Program
from fencepost.properties.roles import Amount, Count, FromConfig, Index, InFlight, OneOf, Simplest
from fencepost.properties.task_counts.events import TASK_COUNTS

Thread = tuple[int, str, int, int, int]
"""(number, operation, worker, connector, task): -1 where it does not apply."""

OPERATIONS = (
    "read", "join", "assign", "sync", "claim", "write", "start_round", "fence", "check_round", "write_count",
    "end_round", "answer", "ask", "check_before", "open_producer", "check_after", "poll", "commit", "stop",
)  # fmt: skip
"""What threads wait for: the herder reads one record of the config topic, joins the group, computes the assignment as
its leader, takes its own; opens the leader's producer, writes in a transaction of it; a round of fencing starts (reads
to the end, decides), fences one id, reads and compares, writes the count, is taken out of those under way (where that
is a step of its own), answers who asked; a task asks for a round, reads to see whether it may, opens its producer,
reads again, sends records and offsets in a transaction, ends it; a thread ends."""

AT_WORK = frozenset({"poll", "commit"})
"""A task that runs does nothing else, for ever."""

OUTCOMES = ("ok", "failed", "lost")
"""The operation happens; does not, and its thread gets an error; happens, and its thread gets an error all the same."""

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
"""What an event may say, by name."""

BLACK_BOX = TASK_COUNTS.black_box
"""What every cluster shows."""


class System(Protocol):
    """A cluster that does nothing by itself: nothing happens between two calls."""

    def threads(self) -> Sequence[Thread]:
        """Those that wait, oldest first; not those of stalled workers."""

    def step(self, number: Number, outcome: Outcome = "ok") -> None:
        """The thread's operation happens, or does not, as one of `OUTCOMES` says; the thread runs to its next."""

    def configure(self, worker: Worker, connector: Connector, tasks: Tasks) -> bool:
        """A user asks this worker to create or reconfigure a connector, so that it has so many tasks.  This and the
        next four: False, and nothing happens, where it is refused."""

    def delete(self, worker: Worker, connector: Connector) -> bool:
        """A user asks to delete a connector."""

    def stop_connector(self, worker: Worker, connector: Connector) -> bool:
        """A user asks to stop a connector: a set of no tasks (shipped)."""

    def restart_connector(self, worker: Worker, connector: Connector) -> bool:
        """A user asks to start a connector again that failed."""

    def restart_task(self, worker: Worker, connector: Connector, task: int) -> bool:
        """A user asks to start a task again that failed."""

    def stall(self, worker: Worker) -> None:
        """The process pauses: its threads do nothing until `resume`, and what others answer waits for it."""

    def resume(self, worker: Worker) -> None:
        """It goes on, and knows nothing of what happened meanwhile."""

    def crash(self, worker: Worker) -> None:
        """The process is gone, and its threads with it."""

    def restart_worker(self, worker: Worker) -> None:
        """A new process of it starts."""

    def expire(self, worker: Worker) -> None:
        """Its session in the group ends: the others rebalance without it."""

    def set_support(self, worker: Worker, value: str) -> None:
        """Restart it with one of `SUPPORT`: "none" is a version without this feature."""

    def write_foreign(self, kind: str, connector: Connector, count: int) -> None:
        """A worker that is no leader appends a "set" or a "count" to the config topic."""

    def compact(self) -> None:
        """The config topic is compacted."""

    def advance(self, ms: int) -> None:
        """Virtual milliseconds pass: graceful time-outs, back-offs, the session key's life."""

    def status(self, connector: Connector, task: int) -> tuple[str, str]:
        """What REST says: "UNASSIGNED", "RUNNING", "FAILED", … or "" for what there is not, and the trace of a failure;
        task -1: of the connector itself."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""


class Permissions(Protocol):
    """Optional: a cluster that has it reveals what comes of a round that is not allowed to fence (618.7, 618.47)."""

    def set_fencing(self, connector: Connector, allowed: bool) -> None:
        """Give the connector's admin client the permission to write under the transactional ids of the connector's
        tasks, or take it away; at first it has it."""


def missing(system: Any, variant: str) -> list[str]:
    """Methods of the plug that an implementation lacks."""
    return calls.missing(system, (System,))


# Letting a cluster run: until a thread is about to do something, until nothing is under way, or to the end of all
# faults.
#
# Used by the machines and by the programs that they write, which is why it needs nothing but the plug.  Tasks that run
# would go on for ever, so they commit a transaction only where it is stated so.

MOST = 1_500
"""More operations than that without coming to rest, and it counts as going on for ever."""
RETRY_MS = 300
"""A back-off is 250 ms; a task that has to stop is given much longer."""
WAITS_MS = (1_000, 10_000, 400_000)
"""A back-off, a graceful shutdown, and a rebalance that is delayed until a worker may have come back."""
TRANSACTIONS = 2
"""So often each task that runs ends a transaction before it is stated that all is well."""
ROUNDS = 4
FAILED, UNASSIGNED = "FAILED", "UNASSIGNED"
BETWEEN = frozenset({"read", "join", "assign", "sync", "claim", "write", "ask", "answer", "stop"})
"""What a model of rounds and starts leaves out, or leaves to the thread that comes first."""


class Alone(NamedTuple):
    """What became of those that are up, before anybody starts again what failed.  ``at_work``: (connector, task) of
    those that poll; ``failed``: of those of which REST says that they failed, a Connector's task being -1; ``quiet``:
    False if something went on and on."""

    quiet: bool
    at_work: frozenset[tuple[int, int]]
    failed: frozenset[tuple[int, int]] = frozenset()


class Finished(NamedTuple):
    """What became of it.  ``at_work``: (connector, task) of those that poll; ``quiet``: False if something went on and
    on; ``restarts``: how often at most the same task, or Connector, had to be started again until it did not fail."""

    quiet: bool
    at_work: frozenset[tuple[int, int]]
    restarts: int = 0


def run(
    system: System, spared: str = "", worker: Worker = -1, connector: Connector = -1, task: int = -1, most: int = MOST
) -> int:
    """Let every operation happen, oldest first, and back-offs pass, until there is none left, or none but those
    ``spared``: such an operation (by this worker, of this connector, of this task) waits.  How many happened?"""

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
    """That worker's next operation of this kind happens, whatever has to come before it in the group and between
    workers; False if it does not come to that."""
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
    """Each task that runs (of this worker) ends so many transactions, and no other does anything; how many
    operations?"""
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
    """No faults any more: stalled workers go on, connectors may fence, everything happens that can, and every task that
    runs ends some transactions.  Nothing that failed is started again, and who is down stays so.

    ``tasks``: that a connector has at most; ``rebalance``: there is one more, for which no worker asks; in A a task
    that finds no count waits for it, and if the leader's round has failed there is none without it (618.14).
    ``waiting``: a user starts a Connector again once of which a task is UNASSIGNED; in M a round that failed has failed
    the Connector (618.11), and a worker that is out of the group may have written RUNNING over that
    (AbstractHerder.onStartup)."""
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
    """What is left gets on by itself, as in `get_on`, and what failed is started again, whatever REST says of it."""
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


def _at_work(system: System) -> frozenset[tuple[int, int]]:
    return frozenset(t[3:] for t in system.threads() if t[1] in AT_WORK)


def _restarted(system: System, workers: int, connector: int, tasks: int) -> list[int]:
    """A user starts again what REST says has failed, and a task that it says is UNASSIGNED and some worker has all the
    same: one that was out of the group may have written RUNNING over FAILED, and UNASSIGNED when it came back
    (AbstractHerder.onStartup writes whatever is there).  What was started again is returned."""
    statuses = {task: system.status(connector, task)[0] for task in range(-1, tasks)}
    failed = [task for task, status in statuses.items() if status == FAILED]
    for task in failed:
        _restart(system, workers, connector, task)
    unassigned = [task for task, status in statuses.items() if task >= 0 and status == UNASSIGNED]
    return failed + [task for task in unassigned if _restart(system, workers, connector, task)]


def _restart(system: System, workers: int, connector: int, task: int) -> bool:
    """A user asks for that of one worker after the other, until one is up and takes it; task -1: the Connector."""
    take = system.restart_connector if task < 0 else lambda worker, of: system.restart_task(worker, of, task)
    return any(take(worker, connector) for worker in range(workers))


def _rest(system: System) -> bool:
    """Until nothing happens but that tasks run; does that come?  Time passes between transactions, not in one, which
    would time out."""
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


# Programs on Connect clusters: the calls of the plug and of its helpers, what makes a program simpler, which dangers
# calls are, and the calls for a run of the model.
#
# A thread is named by the operation that it waits for, whose, and its position among those (oldest first).


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
    """A worker that is down comes back before the faults are over, which is what `finish` says: without that nothing
    has to come to rest, or to run."""
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
