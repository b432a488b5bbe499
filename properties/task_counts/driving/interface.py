"""The plug: what fencepost needs of an implementation of exactly-once source connectors to drive and watch it.

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

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties import calls
from fencepost.properties.driving import Event
from fencepost.properties.roles import Count, Index, InFlight, OneOf
from fencepost.properties.task_counts.history.events import TASK_COUNTS

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
        """Somebody who is no leader appends a "set" or a "count" to the config topic."""

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
    """Optional: a cluster that has it shows what comes of a round that is not allowed to fence (618.7, 618.47)."""

    def set_fencing(self, connector: Connector, allowed: bool) -> None:
        """Give the connector's admin client the permission to write under the transactional ids of the connector's
        tasks, or take it away; at first it has it."""


def missing(system: Any, variant: str) -> list[str]:
    """Methods of the plug that an implementation lacks."""
    return calls.missing(system, (System,))
