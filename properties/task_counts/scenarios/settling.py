"""Letting a cluster run: until a thread is about to do something, until nothing is under way, or to the end of all
faults.

Used by the machines and by the programs that they write, which is why it needs nothing but the plug.  Tasks that run
would go on for ever, so they commit a transaction only where it is said so.
"""

from collections import Counter
from typing import Annotated, NamedTuple

from fencepost.properties.roles import FromConfig
from fencepost.properties.task_counts.driving.interface import AT_WORK, Connector, System, Thread, Worker

MOST = 1_500
"""More operations than that without coming to rest, and it counts as going on for ever."""
RETRY_MS = 300
"""A back-off is 250 ms; a task that has to stop is given much longer."""
WAITS_MS = (1_000, 10_000, 400_000)
"""A back-off, a graceful shutdown, and a rebalance that is delayed until a worker may have come back."""
TRANSACTIONS = 2
"""So often each task that runs ends a transaction before it is said that all is well."""
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
    said = {task: system.status(connector, task)[0] for task in range(-1, tasks)}
    failed = [task for task, status in said.items() if status == FAILED]
    for task in failed:
        _restart(system, workers, connector, task)
    unassigned = [task for task, status in said.items() if task >= 0 and status == UNASSIGNED]
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
