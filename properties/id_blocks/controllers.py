"""The properties of each variant: which book is in force there, and the lemmas about who keeps it."""

from fencepost.model.id_blocks.bridge import Bridge, Controller
from fencepost.model.id_blocks.brokers import Broker, Id, Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language import forall, implies, lemma, when

from .promises import IdBlocksProperties, RpcProperties


class ControllerProperties(RpcProperties):
    """Lemmas about the KRaft controller."""

    @lemma
    def log_follows_memory(s):
        """The next block starts where the log ends; what is committed is not after it."""
        return (s.logged == s.next) & (s.committed <= s.next)

    @lemma
    def snapshot_and_log_say_all(s):
        """A controller that takes over finds the committed book: after the snapshot, or in it."""
        return s.record_follows | (s.snapshot == s.committed)

    @lemma
    def recorded_is_new(s):
        """A block that is recorded and not yet answered ends within memory, and none of it was granted."""
        return forall(
            Request, lambda r: implies(s.stage[r] == Stage.RECORDED, s.first[r] + s.size <= s.next)
        ) & forall(
            Request,
            Id,
            lambda r, i: implies((s.stage[r] == Stage.RECORDED) & s.in_block(i, s.first[r]), ~s.granted[i]),
        )

    @lemma
    def records_are_disjoint(s):
        """No two recorded blocks share an id."""
        return forall(
            Request,
            Request,
            lambda r, q: implies(
                (r != q) & (s.stage[r] == Stage.RECORDED) & (s.stage[q] == Stage.RECORDED),
                (s.first[r] + s.size <= s.first[q]) | (s.first[q] + s.size <= s.first[r]),
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

    @lemma
    def nothing_in_the_log_before(s):
        """Before the move the log is empty and no block is recorded in it."""
        return s.moved | (
            (s.next == 0)
            & (s.snapshot == 0)
            & ~s.record_follows
            & forall(Request, lambda r: s.stage[r] != Stage.RECORDED)
        )

    @lemma
    def moved_means_upgraded(s):
        """After the move no broker writes the node any more; only those that write it themselves read it."""
        return forall(
            Broker, lambda b: implies(s.moved, ~s.direct[b]) & implies(s.has_read[b], s.direct[b] & ~s.moved)
        )

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
            lambda c: (s.controller_version[c] <= s.version)
            & implies(
                s.controller_has_read[c] & (s.controller_version[c] == s.version),
                s.controller_next[c] == s.next_in_node(),
            ),
        )
