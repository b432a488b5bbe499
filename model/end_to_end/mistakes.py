"""These models have the mistakes of users of the end-to-end protocol that are more than one rule misread."""

from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.end_to_end.tasks import Tasks
from fencepost.model.group_fencing.core import Offset, Partition
from fencepost.model.language import Map, action, danger, each, exists, require, when
from fencepost.model.task_counts.abstract.core import Instance


class ReadsUncommitted(EndToEnd):
    """The group's consumer has the default isolation.level, and is given everything that is in the log."""

    written: Map[Partition, Offset]  # how many records are in the log, of whatever transactions
    content: Map[Partition, Offset, Offset]  # the source record at a place of the log

    @action(fair="weak")
    def send(s, k: Instance, p: Partition, i: Offset):
        """A record is in the log and readable at once."""
        Tasks.send(s, k, p, i)
        last = s.written[p] + 1
        s.written[p] = last
        s.content = each(lambda q, j: when((q == p) & (j == last), i, s.content[q, j]))

    def given(s, p):
        return s.written[p]

    @danger("isolation-level")
    def given_early(s):
        """A record can be read although its transaction is not committed."""
        return exists(Partition, lambda p: EndToEnd.given(s, p) < s.given(p))

    def record_at(s, p, i):
        return s.content[p, i]


class WithoutOffsets(EndToEnd):
    """A task commits its transaction without the offsets of its records in it."""

    @action(fair="weak")
    def ask_commit(s, k: Instance):
        """A task sends its request to commit without waiting for the offsets."""
        require(s.polls(k) & ~s.asked[k] & s.txn.has_something(k) & s.txn.is_current(k))
        s.asked[k] = True
