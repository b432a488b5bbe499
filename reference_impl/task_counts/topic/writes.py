"""Writes of the leader to the config topic for users and Connectors, and their transactions.

The documents give every record a transaction of its own, Kafka one to every call (618.25). The configurations of a set
come first, its commit record in a later transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.requests import Request
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script
from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.records import ConfigRecord

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.herder.herder import Herder

Job = Callable[["Writes"], Script]


class Writes:
    """The writes of one worker while it leads."""

    def __init__(self, herder: "Herder") -> None:
        self.herder = herder
        self.revision = herder.env.revision

    def may_write(self) -> bool:
        """Only the leader writes."""
        return self.herder.is_leader

    def serve(self, connector: str, job: Job, request: Request, forwarded: bool = False) -> Script:
        """On the herder's thread: do the job if this worker leads, else hand it on, once."""
        herder = self.herder
        if not self.may_write():
            leader = herder.env.workers[herder.leader].herder if herder.leader >= 0 else None
            if forwarded or leader is None:
                herder.env.emit(Kind.WRITE_REFUSED, node=herder.node, connector=herder.env.numbers[connector], error=-1)
                request.finish("not the leader")
            else:
                leader.submit(lambda _: leader.writes.serve(connector, job, request, forwarded=True))
            return
        try:
            yield from job(self)
        except OperationError as error:
            request.finish(str(error))
        else:
            request.finish()

    def transactions(self, batch: Sequence[ConfigRecord], connector: str) -> Script:
        """Write records: one transaction for all of them, or one for each (618.25). Raises OperationError."""
        groups = [[record] for record in batch] if self.revision.record_per_transaction else [list(batch)]
        for group in groups:
            if group:
                yield from self.herder.write(group, connector)

    def put_connector(self, connector: str, properties: Mapping[str, str]) -> Script:
        """A user's configuration; it also starts a stopped connector."""
        batch = [records.connector_record(connector, properties)]
        if self.revision.states_targets:
            batch.append(records.target_state_record(connector, "STARTED"))
        yield from self.transactions(batch, connector)

    def delete(self, connector: str) -> Script:
        """The connector goes; its task configurations and its count record stay (618.38)."""
        if self.herder.view.state.is_known(connector):
            batch = [records.connector_tombstone(connector), records.target_state_tombstone(connector)]
            yield from self.transactions(batch, connector)

    def put_tasks(self, connector: str, configs: Sequence[Mapping[str, str]]) -> Script:
        """A set of task configurations, then its commit record (618.3)."""
        state = self.herder.view.state
        if configs and state.target_state(connector) == "STOPPED":
            raise OperationError("write", -1, f"connector {connector} is stopped: no tasks for it")
        if state.is_known(connector):
            batch = [records.task_record(connector, task, config) for task, config in enumerate(configs)]
            yield from self.transactions(batch, connector)
            yield from self.transactions([records.commit_record(connector, len(configs))], connector)

    def stop(self, connector: str) -> Script:
        """A set of no tasks first, then the target state, which any worker may write, without the privilege."""
        if self.herder.view.state.is_known(connector):
            yield from self.put_tasks(connector, [])
            record = records.target_state_record(connector, "STOPPED")
            append = partial(self.herder.env.topic.append_plainly, record, self.herder.node)
            yield self.herder.operation("write", append, connector)
