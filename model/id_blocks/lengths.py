"""In these models blocks have several lengths: controllers of several versions grant them, and brokers take the length
from the answer (730.8).

The first release has blocks of 1,000 ids, and nothing in the protocol requires the next one to have the same. A
controller chooses any length up to `size`, which here is the longest one.
"""

from fencepost.model.id_blocks.brokers import Broker, Id, Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import Map, action, each, either, fault, require, rule, when


class Lengths(Kraft):
    """In the `Lengths` model each block has the length that the present controller chooses."""

    length_of: Map[Request, Id]  # ids in the block recorded for it
    ready_length_of: Map[Broker, Id]

    def length(s, r):
        return s.length_of[r]

    def ready_length(s, b):
        return s.ready_length_of[b]

    def installed_length(s, b):
        """A broker that assumes its own block length has ids beyond its block."""
        return either("730.8", s.ready_length_of[b], its_own_size=s.size)

    def keep_length(s, b, r):
        s.ready_length_of[b] = s.length_of[r]

    @action(fair="weak")
    def allocate(s, b: Broker, r: Request, n: Id):
        require((s.stage[r] == Stage.SENT) & (s.asker[r] == b) & (0 < n) & (n <= s.size))
        require(s.registered[b] == s.asker_epoch[r], rule="730.18")
        require(s.next + n <= s.ids, rule="730.16")
        first = when(s.next + n <= s.ids, s.next, 0)
        s.stage[r] = Stage.RECORDED
        s.first[r] = first
        s.length_of[r] = n
        s.logged = first + n
        with rule("730.8"):
            s.next = first + n

    @action(fair="weak")
    def commit(s, r: Request):
        """A majority has the next record, which is that of this request."""
        require((s.stage[r] == Stage.RECORDED) & (s.first[r] == s.committed))
        s.persist(s.block_end(r))

    @action(fair="weak")
    def install(s, b: Broker):
        Kraft.install(s, b)
        s.ready_length_of[b] = 0

    def clear(s, r):
        Kraft.clear(s, r)
        s.length_of[r] = 0

    @fault(budget="fail_overs", danger="coordinator-fail-over")
    def fail_over(s):
        s.length_of = each(lambda r: when(s.stage[r] == Stage.RECORDED, 0, s.length_of[r]))
        Kraft.fail_over(s)

    @fault(budget="restarts", danger="broker-restart")
    def restart(s, b: Broker):
        Kraft.restart(s, b)
        s.ready_length_of[b] = 0


class Malformed(Lengths):
    """A faulty controller sends a block that runs past the last id, which here is one before `ids` (730.20). Numbers of
    64 bits wrap around there, and a broker that takes the block hands out ids from the beginning again."""

    @action(fair="weak")
    def allocate(s, b: Broker, r: Request, n: Id):
        require(s.next + n < s.ids)
        Lengths.allocate(s, b, r, n)

    @fault(budget="errors", by="controller", to="b")
    def grant_past_the_end(s, b: Broker, r: Request):
        """The faulty controller grants the rest of the ids, and one more."""
        require((s.stage[r] == Stage.SENT) & (s.asker[r] == b) & (s.next < s.ids))
        s.stage[r] = Stage.ANSWERED
        s.first[r] = s.next
        s.length_of[r] = s.ids - s.next

    def is_malformed(s, r):
        return s.ids <= s.block_end(r)

    @action(fair="weak")
    def take(s, b: Broker, r: Request):
        require(~s.is_malformed(r), rule="730.20")
        Lengths.take(s, b, r)

    @action(fair="weak")
    def reject(s, b: Broker, r: Request):
        """The broker treats a malformed block as if no answer had arrived: it backs off, and asks again."""
        require((s.stage[r] == Stage.ANSWERED) & s.awaits(b, r) & s.is_malformed(r))
        s.outstanding[b] = None
        s.in_flight[b] = False
        s.backing_off[b] = True

    @action
    def hand_out(s, b: Broker):
        """A broker hands out the next id; after the last id follows the first one again."""
        id = s.cursor[b]
        given = when(id + 1 == s.ids, 0, id)
        require(id < s.end[b])
        s.given_twice = s.given_twice | s.given[given]
        s.given[given] = True
        s.cursor[b] = id + 1
