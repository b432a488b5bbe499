"""A group whose requests are in flight is refined to `shipped`, where an answer that is late is a member that is slow.

Explored within bounds; induction leaves some steps undecided, and nothing is said without bounds.
"""

from fencepost.model.group_fencing.by_requests import Phase, ShippedByRequests
from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Member, Partition, Stage
from fencepost.model.language import Properties, each, exists, refinement, when, witness

BY_ITSELF = (
    "arrive", "copy", "arrive_late", "put_out", "choose", "settle", "join", "hear_joined", "start_over",
    "hear_partitions", "hear_nothing", "ask", "hear_offset",
)  # fmt: skip


class ByRequests(Properties, of=ShippedByRequests):
    """What shipped, by requests."""

    @refinement(of=Shipped, leaves_out=("owner_refused",), actions=dict.fromkeys(BY_ITSELF, ()))
    def does_as_shipped(s):
        """What was answered is so for a member that has not heard it yet, and does nothing until then."""
        return {
            "knows": each(lambda m: s.newest_of(m, s.knows)),
            "stamp": each(lambda m: s.newest_of(m, s.stamp)),
            "assigned": each(lambda m, p: when(s.is_news(m), s.gets[m, p], s.assigned[m, p])),
            "has": each(lambda m, p: ~s.is_news(m) & (s.has[m, p] | s.says[m, p])),
            "first": each(lambda m, p: when(s.says[m, p], s.offset[m, p], s.first[m, p])),
            "next": each(lambda m, p: when(s.says[m, p], s.offset[m, p], s.next[m, p])),
        }

    def is_news(s, m):
        """It was given something of which it has not heard."""
        return s.knows[m] < s.answered[m]

    def newest_of(s, m, known):
        return when(s.is_news(m), s.answered[m], known[m])

    @witness(of="does_as_shipped")
    def hears_too_late(s):
        """A member is about to hear what it has in a generation that is over."""
        return exists(
            Member, lambda m: (0 < s.syncing[m]) & (s.answered[m] == s.syncing[m]) & (s.syncing[m] < s.newest)
        )

    @witness(of="does_as_shipped")
    def commits_meanwhile(s):
        """Offsets arrive of the generation that is, while the members join the next one."""
        return (s.phase == Phase.PREPARING) & exists(
            Member, lambda m: s.has_arrived(m) & s.takes(m, s.stamp[m]) & exists(Member, lambda n: s.joined[n])
        )

    @witness(of="does_as_shipped")
    def offset_of_another_time(s):
        """An answer to OffsetFetch is on its way to a member whose partition has another owner by now, who has sent its
        own offset."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & s.says[m, p] & (s.owner[p] == n) & s.is_in(n, p) & (s.stage[n] == Stage.SENT),
        )  # fmt: skip
