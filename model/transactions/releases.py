"""What brokers of different releases do differently, as one protocol: what one of them may do, whichever it is.

In v2 a fence was one bump and the abort that follows another one; since KAFKA-19367 the abort's bump is the fence.
"""

from ..language import action, require
from .coordinator import Pending
from .core import Core, Epoch
from .expiry import Expiring


class OfAnyRelease(Expiring):
    """v2 of brokers whose release is not known."""

    @action(fair="weak")
    def take_over(s, marker: Epoch, to: Epoch):
        """The fence is in the log, and with it the abort."""
        require(s.pending == Pending.FENCE)
        twice = (marker == s.fence_marker(s.fenced())) & (to == s.fence_target(s.fenced()))
        once = (marker == s.fence_marker(s.epoch)) & (to == s.fence_target(s.epoch))
        require(twice | once)
        Core.take_over(s, marker, to)
        s.overflow = s.overflow | (s.base + s.last + 1 < marker)
        s.ahead = False
        s.remembers = 0
        s.prepared()
        s.move_on(to)
        s.clear()
