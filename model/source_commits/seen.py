"""The runtimes as they are seen from outside: that a thread looks, and finds nothing to take, shows only later."""

from fencepost.model.language import action, require
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Stage, Thread
from fencepost.model.source_commits.connectors import Mended


class SeenProposed(AtLeastOnce):
    """The proposed runtime, of which threads have looked at some time and found nothing."""

    @action
    def take_nothing(s, t: Thread):
        """The thread has looked before what there is was collected; what the writer has it flushes."""
        require((s.stage[t] == Stage.IDLE) & (s.ends != t) & (s.life != Life.GONE))
        s.stage[t] = Stage.READY


class SeenMended(Mended):
    """Today's runtime with its mend, and the same."""

    @action
    def take_nothing(s, t: Thread):
        """The thread has looked before what there is was collected; what the writer has it flushes."""
        require((s.stage[t] == Stage.IDLE) & ~s.taken[t] & (s.ends != t) & (s.life != Life.GONE))
        s.stage[t] = Stage.READY
