"""This module has what the tasks of a connector do with their transactions and source partitions."""

from typing import TYPE_CHECKING, Any

from fencepost.model.end_to_end.producers import Log, Name, Producer, Producers
from fencepost.model.end_to_end.sources import Sources
from fencepost.model.group_fencing.core import Offset, Partition
from fencepost.model.id_blocks.brokers import Id
from fencepost.model.language import Map, Part, Set, action, either, exists, part, require
from fencepost.model.task_counts.abstract.core import Generation, Instance, Task
from fencepost.model.transactions.abstract.core import Outcome


class Tasks:
    """The `Tasks` mixin has what the tasks of a connector do with their transactions and their sources, whatever
    Connect allows. The composing protocol defines `polls`, `reads` and `is_starting`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    txn: Part[Producers] = part(
        joint=[
            "initialise",
            "fence",
            "begin",
            "accept",
            "accept_offsets",
            "commit",
            "abort",
            "mark",
            "mark_offsets",
        ],
        sorts={Producer: Instance, Log: Partition, Name: Task},
    )
    source: Part[Sources] = part(joint=["open", "resume", "send", "send_offsets", "commit", "mark", "mark_offsets"])

    planned: Set[Generation, Task, Partition]  # in a set of task configurations the task reads the source partition

    known: Set[Task]  # the transactional id of the task has a producer id
    id: Map[Task, Id]
    asked: Set[Instance]  # its request to commit is in flight

    @action(by="leader")
    def plan(s, g: Generation, p: Partition, i: Task):
        """The connector's configurations of a set assign the source partition to one task."""
        require(~exists(Task, lambda j: s.planned[g, j, p]))
        s.planned[g, i, p] = True

    def is_committing(s, k):
        """Return whether the instance's transaction is to be committed and its markers are not everywhere."""
        return s.txn.outcome[k] == Outcome.COMMIT

    @action(fair="weak")
    def resume(s, k: Instance, p: Partition):
        """An instance that may poll reads where a source partition was left."""
        require(either("618.19", s.polls(k), before_the_look=s.is_starting(k)) & s.reads(k, p))
        s.source.resume(k, p)

    @action(fair="weak")
    def begin(s, k: Instance):
        """An instance that polls begins a transaction."""
        require(s.polls(k))
        s.txn.begin(k)

    @action(fair="weak")
    def send(s, k: Instance, p: Partition, i: Offset):
        """A record is read from the source, and is in its log."""
        require(s.polls(k) & ~s.asked[k] & ~s.txn.has_offsets[k])
        s.txn.accept(k, p)
        s.source.send(k, p, i)

    @action(fair="weak")
    def send_offsets(s, k: Instance):
        """The offsets of the records in the transaction are written before its end."""
        require(s.polls(k) & ~s.asked[k] & ~s.txn.has_offsets[k])
        require(exists(Partition, lambda p: s.source.wrote[k, p]))
        s.txn.accept_offsets(k)
        s.source.send_offsets(k)

    @action(fair="weak")
    def ask_commit(s, k: Instance):
        """An instance sends its request to commit, which may be in flight for long."""
        require(s.polls(k) & ~s.asked[k] & s.txn.has_offsets[k] & s.txn.is_current(k))
        s.asked[k] = True

    @action(fair="weak", by="coordinator", to="k")
    def commit(s, k: Instance):
        """The coordinator accepts the request to commit."""
        require(s.asked[k])
        s.asked[k] = False
        s.txn.commit(k)
        s.source.commit(k)

    @action(fair="weak", danger=("loss", "client-crash"))
    def end_unheard(s, k: Instance):
        """The request to commit is refused, or lost, and the instance does not send it again."""
        require(s.asked[k])
        s.asked[k] = False

    # These steps are of an instance that has ended. What arrives then is in no committed transaction, since no request
    # to commit is in flight when an instance ends.

    @action
    def send_late(s, k: Instance, p: Partition):
        """A record of an instance that no longer polls arrives at its log."""
        require(~s.polls(k))
        s.txn.accept(k, p)

    @action
    def send_offsets_late(s, k: Instance):
        """Offsets of an instance that no longer polls arrive at their log."""
        require(~s.polls(k))
        s.txn.accept_offsets(k)

    @action
    def retake(s, k: Instance):
        """An instance asked to abort a transaction that took too long, and the answer has the newest epoch."""
        require(~s.is_starting(k) & ~s.polls(k) & s.txn.known[k])
        s.txn.initialise(k, s.txn.name[k])

    @action(by="coordinator", to="k")
    def abort(s, k: Instance):
        """An instance has asked for an abort when it ended, and the coordinator accepts that."""
        require(~s.polls(k))
        s.txn.abort(k)

    # Markers

    @action(fair="weak", by="coordinator", to="p")
    def mark(s, k: Instance, p: Partition):
        """A marker arrives at a log of records."""
        commit = s.txn.outcome[k] == Outcome.COMMIT
        s.txn.mark(k, p)
        s.source.mark(k, p, commit)

    @action(fair="weak", by="coordinator")
    def mark_offsets(s, k: Instance):
        """A marker, which names the producer id, arrives at the log of source offsets."""
        i, commit = s.source.under[k], s.txn.outcome[k] == Outcome.COMMIT
        s.txn.mark_offsets(k)
        s.source.mark_offsets(i, commit)
