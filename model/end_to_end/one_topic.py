"""This model has source offsets as they ship, with one topic and as far as `Sources` covers them, to check the
end-to-end model's view of source offsets.

Compared with `WorkersTopic` it leaves out null offsets, records that a transformation drops, and transactions that the
connector has aborted, none of which `Sources` has. A task that is started again is another instance, of a set of its
own. Everything else is as it ships: instances that fail, crash, are fenced and continue, and requests to commit that
are not answered.

No step reads the added variables, which record the transactions that `WorkersTopic` forgets when they are committed.
`properties/end_to_end/claims/sources.py` has the proof that each step is one of `Sources`, or none.
"""

from fencepost.model.language import Ghost, Map, action, each, require, when
from fencepost.model.source_offsets.core import Instance, Partition, Stage
from fencepost.model.source_offsets.delivered import Offset
from fencepost.model.source_offsets.shipped import WorkersTopic


class OneRunEach(WorkersTopic):
    """The worker's topic has a source with an offset for each record and a connector that aborts nothing."""

    submit_the_last = None
    filter_out = None
    abort_batch = None

    began: Ghost[Map[Instance, Partition, Offset]]  # the transaction of the instance began behind this record
    sender: Ghost[Map[Partition, Instance]]  # the last that sent an offset when it was not fenced
    first: Ghost[Instance]  # the first of all instances

    @action(fair="weak")
    def open(s, n: Instance):
        """An instance opens its producer once, since each instance has a single run."""
        require(s.stage[n] == Stage.NEW)
        WorkersTopic.open(s, n)

    @action(fair="weak")
    def resume(s, n: Instance):
        """An instance resumes, and its first transaction begins at that place."""
        WorkersTopic.resume(s, n)
        s.began = each(lambda m, p: when((m == n) & s.reads[n, p], s.goes_on(n, p), s.began[m, p]))

    @action(fair="weak")
    def flush(s, n: Instance):
        """The offsets of an instance that is not fenced are in the log."""
        WorkersTopic.flush(s, n)
        s.sender = each(lambda p: when(~s.fenced[n] & (0 < s.data[n, p]), n, s.sender[p]))

    @action(fair="weak")
    def call_commit(s, n: Instance):
        """An instance calls commit, and its next transaction begins after this one."""
        WorkersTopic.call_commit(s, n)
        s.began = each(lambda m, p: when((m == n) & s.reads[n, p], s.polled[n, p], s.began[m, p]))
