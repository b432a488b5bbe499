"""The properties of each variant: which book is in force there, and the lemmas about who keeps it."""

from fencepost.model.id_blocks.bridge import Bridge, Controller
from fencepost.model.id_blocks.brokers import Broker, Id, Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language import exists, forall, implies, lemma, promise, when, witness
from fencepost.properties.id_blocks.claims.promises import IdBlocksProperties, RpcProperties


class ControllerProperties(RpcProperties):
    """What the KRaft controller promises of its log, and lemmas about it."""

    @promise(rule="730.P2")
    def persisted_once(s):
        """No two blocks that the log ever had for good share an id, answered or not."""
        return ~s.persisted_twice

    @witness(of="persisted_once")
    def never_answered(s):
        """A block is persisted that was never answered, and a later one is in use."""
        return exists(Id, Id, lambda i, j: (i < j) & s.persisted[i] & ~s.granted[i] & s.given[j])

    @lemma
    def persisted_is_committed(s):
        """What was persisted is used up by the committed log."""
        return forall(Id, lambda i: implies(s.persisted[i], i < s.committed))

    @lemma
    def log_follows_memory(s):
        """The next block starts after the log, and the log does not end before what is committed of it."""
        return (s.committed <= s.logged) & (s.logged <= s.next)

    @lemma
    def snapshot_and_log_say_all(s):
        """A controller that takes over finds the committed book: after the snapshot, or in it."""
        return s.record_follows | (s.snapshot == s.committed)

    @lemma
    def recorded_is_new(s):
        """A block that is recorded and not yet answered ends within memory, and none of it was granted."""
        return forall(Request, lambda r: implies(s.stage[r] == Stage.RECORDED, s.block_end(r) <= s.next)) & forall(
            Request,
            Id,
            lambda r, i: implies((s.stage[r] == Stage.RECORDED) & s.in_answer(i, r), ~s.granted[i]),
        )

    @lemma
    def records_are_disjoint(s):
        """No two recorded blocks share an id."""
        return forall(
            Request,
            Request,
            lambda r, q: implies(
                (r != q) & (s.stage[r] == Stage.RECORDED) & (s.stage[q] == Stage.RECORDED),
                (s.block_end(r) <= s.first[q]) | (s.block_end(q) <= s.first[r]),
            ),
        )

    @lemma
    def recorded_comes_after(s):
        """A block recorded for a request that a broker waits for starts past its current one."""
        return forall(
            Broker,
            Request,
            lambda b, r: implies((s.stage[r] == Stage.RECORDED) & s.awaits(b, r), s.end[b] <= s.first[r]),
        )


class NodeProperties(IdBlocksProperties):
    """Lemmas about brokers that write the block node themselves."""

    @lemma
    def read_is_of_this_version(s):
        """What a broker read is what the node says, if the version is still the same."""
        return forall(
            Broker,
            lambda b: implies(s.has_read[b] & (s.read_version[b] == s.version), s.read_next[b] == s.next_in_node()),
        )

    @lemma
    def versions_go_up(s):
        """No broker has read a version that is still to come."""
        return forall(Broker, lambda b: s.read_version[b] <= s.version)

    @lemma
    def reads_when_empty(s):
        """A broker that is taking a block has none."""
        return forall(Broker, lambda b: implies(s.has_read[b], s.cursor[b] == s.end[b]))


class KraftProperties(ControllerProperties, of=Kraft):
    """The book is the committed log."""

    def book(s):
        return s.committed

    def none_left(s):
        return s.ids < s.next + s.size


class DefenceInDepth(KraftProperties, of=Kraft):
    """Lemmas declared for mutants in which the broker's check (730.20) alone keeps a block from being installed twice.

    Of the protocol itself they say nothing: there a block that is fetched ahead is awaited no more.
    """

    def installable(s, b, r, i):
        return s.awaited(b, r, i) & (s.end[b] <= s.first[r])

    @lemma
    def installable_is_new(s):
        """An id in a block that passes the broker's check alone (730.20) was never handed out, and is in no broker's
        block: what is left of the lemmas about awaited blocks where an answer is awaited for too long."""
        return forall(
            Broker, Request, Broker, Id, lambda b, r, c, i: implies(s.installable(b, r, i), ~s.given[i] & ~s.held(c, i))
        )

    @lemma
    def installable_is_ready_once(s):
        """A block that passes the check is fetched ahead by no broker, except perhaps by the one that awaits it, as the
        same block."""
        return forall(
            Broker,
            Request,
            Broker,
            Id,
            lambda b, r, c, i: implies(
                s.installable(b, r, i) & s.in_ready(c, i), (b == c) & (s.ready_first[c] == s.first[r])
            ),
        )

    @lemma
    def ready_comes_after(s):
        """A block fetched ahead starts past the current one."""
        return forall(Broker, lambda b: implies(s.ready[b], s.end[b] <= s.ready_first[b]))


class ZookeeperProperties(NodeProperties, of=Zookeeper):
    """The book is the node."""

    def book(s):
        return s.next_in_node()

    def none_left(s):
        return s.ids < s.next_in_node() + s.size


class BridgeProperties(NodeProperties, ControllerProperties, of=Bridge):
    """The book is the node until the cluster moves, and the committed log from then on."""

    def book(s):
        return when(s.moved, s.committed, s.next_in_node())

    def none_left(s):
        return s.ids < when(s.moved, s.next, s.next_in_node()) + s.size

    @witness(of="disjoint_blocks")
    def both_ways_at_once(s):
        """One broker holds a block from ZooKeeper by its own hand, and another one by the controller's (730.13)."""
        return exists(
            Broker,
            Broker,
            lambda b, c: s.direct[b] & ~s.direct[c] & (s.cursor[b] < s.end[b]) & (s.cursor[c] < s.end[c]) & ~s.moved,
        )

    @lemma
    def nothing_in_the_log_before(s):
        """Before the move the log is empty and no block is recorded in it."""
        return s.moved | (
            (s.next == 0)
            & (s.snapshot == 0)
            & (s.committed == 0)
            & ~s.record_follows
            & forall(Request, lambda r: s.stage[r] != Stage.RECORDED)
        )

    @lemma
    def moved_means_upgraded(s):
        """After the move no broker writes the node any more; only those that write it themselves read it."""
        return forall(Broker, lambda b: implies(s.moved, ~s.direct[b]) & implies(s.has_read[b], s.direct[b] & ~s.moved))

    @lemma
    def direct_brokers_do_not_ask(s):
        """A broker that takes its blocks from ZooKeeper waits for no controller."""
        return forall(
            Broker,
            lambda b: implies(s.direct[b], ~s.ready[b] & ~s.in_flight[b] & (s.outstanding[b] == None)),  # noqa: E711
        )

    @lemma
    def controller_read_this_version(s):
        """What a controller read is what the node says, if the version is still the same."""
        return forall(
            Controller,
            lambda c: (
                (s.controller_version[c] <= s.version)
                & implies(
                    s.controller_has_read[c] & (s.controller_version[c] == s.version),
                    s.controller_next[c] == s.next_in_node(),
                )
            ),
        )
