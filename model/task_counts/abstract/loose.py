"""This module adds two harmless steps of implementations to the cores: a worker leads before it has claimed the topic,
and an id may be fenced late, by a round that is over or by a worker that never had one.

The core leaves both out, since neither lets an instance commit that could not before: `lead` lets no worker write, and
a fence only ends what is live. Histories of an implementation are checked against these forms.
"""

from fencepost.model.language import action, each
from fencepost.model.task_counts.abstract.as_shipped import Claiming
from fencepost.model.task_counts.abstract.core import Core, Task, Worker
from fencepost.model.task_counts.abstract.cores import ACore, BCore, MCore, ShippedCore


class Loose(Core):
    """The loose core is the core with early leaders and late fences."""

    @action
    def lead(s, w: Worker):
        """The group makes a worker its leader that has not claimed the config topic yet."""
        s.leads[w] = True

    @action(danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """The coordinator raises the epoch of a transactional id although no round waits for it."""
        s.live = each(lambda k: s.live[k] & (s.task[k] != i))


class LooseA(Loose, ACore):
    """In the loose form of A, the leader fences during the rebalance."""


class LooseM(Loose, MCore):
    """In the loose form of M, the Connector's owner asks for the round."""


class LooseB(Loose, BCore):
    """In the loose form of B, each task's start asks for a round and then reads the topic itself."""


class LooseShipped(Loose, ShippedCore):
    """The loose form of what shipped is Kafka 3.3 and later."""


class LooseClaiming(Loose, Claiming):
    """In the loose form of the releases, a task that the newest set does not have is started again."""
