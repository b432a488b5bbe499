"""The runtimes as they are seen from outside: that a thread looks, and finds nothing to take, shows only later."""

from fencepost.model.language import action, require
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Stage, Thread
from fencepost.model.source_commits.connectors import Shipped


class SeenProposed(AtLeastOnce):
    """The proposed runtime, of which threads have looked at some time and found nothing."""

    @action
    def take_nothing(s, t: Thread):
        """The thread has looked before what there is was collected; what the writer has it flushes."""
        require((s.stage[t] == Stage.IDLE) & (s.ends != t) & (s.life != Life.GONE))
        s.stage[t] = Stage.READY


class SeenShipped(Shipped):
    """Today's runtime, with the same."""

    @action
    def take_nothing(s, t: Thread):
        """The thread has looked before what there is was collected; what the writer has it flushes."""
        require((s.stage[t] == Stage.IDLE) & (s.ends != t) & (s.life != Life.GONE))
        s.stage[t] = Stage.READY
