"""This module has the runtimes as a history can observe them: that a thread looks for offsets and finds none becomes
visible only later."""

from fencepost.model.language import action, require
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Stage, Thread
from fencepost.model.source_commits.connectors import Mended


class SeenProposed(AtLeastOnce):
    """This is the proposed runtime whose threads may have looked at some time and found nothing."""

    @action
    def take_nothing(s, t: Thread):
        """A thread has looked before anything was collected, and flushes what the writer has."""
        require((s.stage[t] == Stage.IDLE) & (s.ends != t) & (s.life != Life.GONE))
        s.stage[t] = Stage.READY


class SeenMended(Mended):
    """This is today's runtime with its fix, whose threads may have looked at some time and found nothing."""

    @action
    def take_nothing(s, t: Thread):
        """A thread has looked before anything was collected, and flushes what the writer has."""
        require((s.stage[t] == Stage.IDLE) & ~s.taken[t] & (s.ends != t) & (s.life != Life.GONE))
        s.stage[t] = Stage.READY
