"""The pieces of a source task that a broken implementation replaces; the defaults are the correct ones."""

from dataclasses import dataclass

from fencepost.reference_impl.source_commits.connector import Connector
from fencepost.reference_impl.source_commits.environment import Environment
from fencepost.reference_impl.source_commits.runtime.exactly_once import ExactlyOnceTask, TransactionThread
from fencepost.reference_impl.source_commits.runtime.offset_writer import OffsetStorageWriter
from fencepost.reference_impl.source_commits.runtime.submitted_records import SubmittedRecords
from fencepost.reference_impl.source_commits.runtime.task import Task, WorkerSourceTask
from fencepost.reference_impl.source_commits.runtime.threads import Committer, TaskThread


@dataclass(frozen=True, slots=True)
class Parts:
    """One of each."""

    connector: type[Connector] = Connector
    records: type[SubmittedRecords] = SubmittedRecords
    writer: type[OffsetStorageWriter] = OffsetStorageWriter
    task: type[WorkerSourceTask] = WorkerSourceTask
    thread: type[TaskThread] = TaskThread
    committer: type[Committer] = Committer
    exactly_once: type[ExactlyOnceTask] = ExactlyOnceTask
    transaction_thread: type[TransactionThread] = TransactionThread

    def new_task(self, env: Environment) -> Task:
        """The next instance."""
        return self.exactly_once(env) if env.config.is_transactional else self.task(env)
