"""These models have what KIP-730 rejected, and what implementations got wrong, each with its repair."""

from fencepost.model.id_blocks.brokers import Broker, Id, IdBlocks, Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import Map, Option, Set, Sort, action, danger, each, exists, fault, forall, require, when


class Idempotent(Kraft):
    """The controller remembers the block of each broker id, and answers a broker that asks again with the same block
    (730.17). It does not check the broker's epoch or which request it answered, so that a restarted broker gets the
    block of its previous incarnation."""

    remembered: Map[Broker, Option[Request]]  # the request that the remembered block answered
    remembered_first: Map[Broker, Id]

    @action(fair="weak")
    def answer(s, r: Request, b: Broker):
        require(s.asker[r] == b)
        Kraft.answer(s, r)
        s.remembered[b] = s.original[r]
        s.remembered_first[b] = s.first[r]

    def same_request(s, b, r):
        """Return a true condition, since this controller does not check which request its memory answers."""
        return s.remembered[b] == s.remembered[b]

    @action(fair="weak", by="controller", to="b")
    def answer_again(s, b: Broker, r: Request):
        """The controller answers with the remembered block again, and writes no record."""
        require((s.stage[r] == Stage.SENT) & (s.asker[r] == b) & (s.remembered[b] != None))  # noqa: E711
        require(s.registered[b] == s.asker_epoch[r], rule="730.18")
        require(s.same_request(b, r))
        s.stage[r] = Stage.ANSWERED
        s.first[r] = s.remembered_first[b]

    @action(fair="weak")
    def allocate(s, b: Broker, r: Request):
        require((s.remembered[b] == None) | ~s.same_request(b, r))  # noqa: E711
        Kraft.allocate(s, b, r)

    @fault(budget="fail_overs", danger="coordinator-fail-over")
    def fail_over(s):
        Kraft.fail_over(s)
        s.remembered = each(lambda b: None)
        s.remembered_first = each(lambda b: 0)


class IdempotentPerRequest(Idempotent):
    """The repaired controller remembers which request it answered, and repeats the answer for that one only."""

    def same_request(s, b, r):
        return s.remembered[b] == s.original[r]

    @action(fair="weak")
    def ask(s, b: Broker, r: Request):
        """A broker sends a new request with a new number. What the controller remembers under a number that is used
        again belongs to an earlier request, and is dropped."""
        Kraft.ask(s, b, r)
        s.remembered = each(lambda c: when(s.remembered[c] == r, None, s.remembered[c]))


class FaultyController(Kraft):
    """A faulty controller grants a block that starts at the last id that the broker holds (KAFKA-20031). The broker's
    check (730.20) is its only defence. With `<` in place of `<=` the block is taken, and one id is handed out twice."""

    @fault(budget="errors", by="controller", to="b")
    def grant_overlapping(s, b: Broker, r: Request):
        require((s.stage[r] == Stage.SENT) & (s.asker[r] == b) & (0 < s.end[b]))
        s.stage[r] = Stage.ANSWERED
        s.first[r] = s.end[b] - 1


class Thread(Sort, bound="threads"):
    """A `Thread` is a request handler of a broker."""


class Threads(Kraft):
    """Several threads of a broker find the current block used up and try to install the next one (KAFKA-14694). Each
    thread installs what it saw, and one that is late must find that the block is no longer there (test and set)."""

    saw: Map[Broker, Thread, Option[Id]]  # first id of the next block, when the thread looked

    install = None

    @action
    def look(s, b: Broker, t: Thread):
        require((s.cursor[b] == s.end[b]) & s.ready[b])
        s.saw[b, t] = s.ready_first[b]

    @action(fair="weak")
    def swap(s, b: Broker, t: Thread, first: Id):
        require(s.saw[b, t] == first)
        require(s.ready[b] & (s.ready_first[b] == first) & (s.cursor[b] == s.end[b]), rule="730.19")
        s.cursor[b] = first
        s.end[b] = first + s.size
        s.ready[b] = False
        s.ready_first[b] = 0
        s.in_flight[b] = False
        s.saw[b, t] = None

    @danger("two-threads")
    def two_look(s):
        """Two threads of a broker try to install the same block."""
        return exists(
            Broker, Thread, Thread,
            lambda b, t, u: (t != u) & (s.saw[b, t] != None) & (s.saw[b, t] == s.saw[b, u]),  # noqa: E711
        )  # fmt: skip

    @action(fair="weak")
    def come_late(s, b: Broker, t: Thread, first: Id):
        """A thread finds that another thread has installed the block."""
        require((s.saw[b, t] == first) & ~(s.ready[b] & (s.ready_first[b] == first)))
        s.saw[b, t] = None

    @fault(budget="restarts", danger="broker-restart")
    def restart(s, b: Broker):
        Kraft.restart(s, b)
        s.saw = each(lambda c, t: when(c == b, None, s.saw[c, t]))


class Uncoordinated(IdBlocks):
    """Each broker has a range of its own in its configuration, and asks no controller (730.17). The range is in no log.
    A restart begins it again, and nothing prevents an overlap with ids that ZooKeeper granted before."""

    floor: Id  # ids below were granted by ZooKeeper before, and are in use
    configured: Set[Broker]
    range_first: Map[Broker, Id]

    def clear_of_zookeeper(s, first):
        return s.floor == s.floor

    def resume(s, b):
        """Return where a broker continues after a restart; it has no durable storage."""
        return s.range_first[b]

    @fault(budget="migrations", by="ZooKeeper")
    def zookeeper_gave(s, i: Id):
        """The ids below i were handed out by way of ZooKeeper before the model starts."""
        require((s.floor == 0) & (i <= s.ids) & forall(Broker, lambda b: ~s.configured[b]))
        s.floor = i
        s.given = each(lambda j: j < i)
        s.granted = each(lambda j: j < i)

    @action(fair="weak", by="admin", to="b")
    def configure(s, b: Broker, first: Id):
        """An administrator gives a broker a range that no other broker has."""
        require(~s.configured[b] & (first + s.size <= s.ids))
        require(
            forall(
                Broker,
                lambda c: (
                    ~s.configured[c] | (first + s.size <= s.range_first[c]) | (s.range_first[c] + s.size <= first)
                ),
            )
        )
        require(s.clear_of_zookeeper(first), rule="730.17")
        s.configured[b] = True
        s.range_first[b] = first
        s.cursor[b] = first
        s.end[b] = first + s.size
        s.grant(first)

    @fault(budget="restarts", danger="broker-restart")
    def restart(s, b: Broker):
        require(s.configured[b])
        s.cursor[b] = s.resume(b)


class UncoordinatedDurable(Uncoordinated):
    """In this half of the repair of `Uncoordinated` each broker persists how far it has handed out its range.
    ZooKeeper's ids can still be handed out again."""

    def resume(s, b):
        return s.cursor[b]


class UncoordinatedRepaired(UncoordinatedDurable):
    """Both repairs of `Uncoordinated` together are durable storage in every broker, and ranges that start after
    ZooKeeper's. This is coordination again."""

    def clear_of_zookeeper(s, first):
        return s.floor <= first
