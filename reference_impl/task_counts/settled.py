"""When a cluster at rest has settled: each task of each newest set works again."""

from collections.abc import Sequence

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.system import System
from fencepost.reference_impl.task_counts.topic.cluster_state import NOTHING, ClusterConfigState
from fencepost.reference_impl.task_counts.workload import Users


class Settled:
    """Asked after every step, of a history that grows: each row is looked at once, and a topic that is as it was is not
    read again.  ``bustle``: how many rows there were when a thread last had something to do but a task's work."""

    def __init__(self, system: System, users: Users, rows: Sequence[Sequence[int]]) -> None:
        self.system, self.users, self.rows = system, users, rows
        self.bustle = 0
        self._committed: set[tuple[int, int, int]] = set()  # (connector, task, set) of the commits since then
        self._counted = 0  # rows looked at for these
        self._newest: tuple[object, list[tuple[int, int, int]] | None] = None, None  # of the topic as it was last

    def __call__(self) -> bool:
        """Whether each connector has been created, and every task of every newest set has committed a transaction since
        the last time that any thread had something else to do."""
        if self.bustle >= len(self.rows) or len(self.users.created) < self.system.env.config.connectors:
            return False
        if self._counted < self.bustle:
            self._committed.clear()
            self._counted = self.bustle
        for row in self.rows[self._counted :]:
            if row[2] == Kind.TRANSACTION_COMMITTED:
                self._committed.add((row[4], row[5], row[7]))
        self._counted = len(self.rows)
        version = self.system.env.topic.version()
        if version != self._newest[0]:
            self._newest = version, self.newest_sets()
        sets = self._newest[1]
        return sets is not None and all(
            (connector, task, place) in self._committed for connector, place, tasks in sets for task in range(tasks)
        )

    def newest_sets(self) -> list[tuple[int, int, int]] | None:
        """(connector, place, tasks) of the newest set of every connector that exists, as the topic's end says; None
        while one of them is still to be written."""
        state = ClusterConfigState()
        for offset, record in self.system.config_topic():
            state.apply(record, offset)
        names = self.system.env.config.connector_names
        known = [(number, name) for number, name in enumerate(names) if state.is_known(name)]
        if any(
            name in state.inconsistent or (state.set_place(name) == NOTHING and state.target_state(name) != "STOPPED")
            for _, name in known
        ):
            return None
        return [(number, state.set_place(name), state.tasks(name)) for number, name in known]
