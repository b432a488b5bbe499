"""Source offsets as they ship, with one topic, as far as `Sources` has them: what the whole takes of source offsets is
held against this.

Left out of `WorkersTopic` are null offsets, records that a transformation drops, and transactions that the connector
has aborted, none of which `Sources` has.  A task that is started again is another instance, of a set of its own.  All
else is as it ships: instances that fail, crash, are fenced and go on, and requests to commit that are not answered.

What is added is read by no step: it keeps of transactions what the model forgets when they are committed.
`properties/end_to_end/claims/sources.py` has the proof that each step is one of `Sources`, or none.
"""

from fencepost.model.language import Ghost, Map, action, each, require, when
from fencepost.model.source_offsets.core import Instance, Partition, Stage
from fencepost.model.source_offsets.delivered import Offset
from fencepost.model.source_offsets.shipped import WorkersTopic


class OneRunEach(WorkersTopic):
    """The worker's topic, of a source with an offset for each record and a connector that aborts nothing."""

    submit_the_last = None
    filter_out = None
    abort_batch = None

    began: Ghost[Map[Instance, Partition, Offset]]  # the transaction of the instance began behind this record
    sender: Ghost[Map[Partition, Instance]]  # the last that sent an offset when it was not fenced
    first: Ghost[Instance]  # the first of all instances

    @action(fair="weak")
    def open(s, n: Instance):
        """An instance opens its producer once: its run is not followed by another one."""
        require(s.stage[n] == Stage.NEW)
        WorkersTopic.open(s, n)

    @action(fair="weak")
    def resume(s, n: Instance):
        """Its first transaction is to begin where it resumes."""
        WorkersTopic.resume(s, n)
        s.began = each(lambda m, p: when((m == n) & s.reads[n, p], s.goes_on(n, p), s.began[m, p]))

    @action(fair="weak")
    def flush(s, n: Instance):
        """Offsets of an instance that is not fenced are in the log."""
        WorkersTopic.flush(s, n)
        s.sender = each(lambda p: when(~s.fenced[n] & (0 < s.data[n, p]), n, s.sender[p]))

    @action(fair="weak")
    def call_commit(s, n: Instance):
        """The next transaction is to begin behind this one."""
        WorkersTopic.call_commit(s, n)
        s.began = each(lambda m, p: when((m == n) & s.reads[n, p], s.polled[n, p], s.began[m, p]))
