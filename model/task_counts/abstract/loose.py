"""What implementations do beside the steps of the cores, and what cannot hurt: they lead before they have claimed the
topic, and an id may be fenced late, by a round that is over or by a worker that never had one.

The core leaves both out, since neither lets an instance commit that could not before: `lead` lets no worker write, and
a fence only ends what is live.  An implementation is followed through these forms.
"""

from fencepost.model.language import action, each
from fencepost.model.task_counts.abstract.core import Core, Task, Worker
from fencepost.model.task_counts.abstract.cores import ACore, BCore, MCore, ShippedCore


class Loose(Core):
    """The core with both."""

    @action
    def lead(s, w: Worker):
        """The group makes a worker its leader, who has not claimed the topic yet."""
        s.leads[w] = True

    @action(danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """The coordinator raises the epoch of an id, and no round waits for it."""
        s.live = each(lambda k: s.live[k] & (s.task[k] != i))


class LooseA(Loose, ACore):
    """The leader fences during the rebalance."""


class LooseM(Loose, MCore):
    """The Connector's owner asks for the round."""


class LooseB(Loose, BCore):
    """Each task's start asks for a round."""


class LooseShipped(Loose, ShippedCore):
    """Kafka 3.3 and later."""
