"""The bridge leads from brokers on ZooKeeper, over a controller that writes the same node, to KRaft (KIP-730, Bridge
Release).

Brokers are upgraded one by one. The ZooKeeper-mode controller answers requests by compare-and-set on the node that the
other brokers still write. Once the cluster moves, KRaft continues from the value of the node. That the move fences the
ZooKeeper controller is assumed.
"""

from fencepost.model.id_blocks.brokers import Broker, Id, Request, RpcBrokers, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.zookeeper import Version, Zookeeper
from fencepost.model.language import (
    Bool,
    Map,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    excused,
    exists,
    fault,
    forall,
    require,
    when,
)


class Controller(Sort, bound="controllers"):
    """A `Controller` is a process that is, or still believes it is, the ZooKeeper-mode controller."""


class Bridge(Kraft, Zookeeper):
    """In the `Bridge` model brokers get blocks in both ways at once, and after the move from KRaft alone."""

    direct: Set[Broker]  # takes its blocks from ZooKeeper itself
    moved: Bool  # the cluster is in KRaft mode

    controller_has_read: Set[Controller]
    controller_next: Map[Controller, Id]
    controller_version: Map[Controller, Version]

    outside = excused(
        "the move is one step, after which no controller writes ZooKeeper: KIP-866's time of writing both, and the way "
        "back, are not modelled",
        "overlapping-coordinators",
    )

    @danger("mixed-clients")
    def both_ways(s):
        """One broker takes its blocks from ZooKeeper, and another asks the controller."""
        return exists(Broker, Broker, lambda b, c: s.direct[b] & ~s.direct[c])

    @danger("overlapping-coordinators")
    def two_controllers(s):
        """Two controllers have read the node, and either may write."""
        return exists(
            Controller, Controller, lambda c, d: (c != d) & s.controller_has_read[c] & s.controller_has_read[d]
        )

    def init(s):
        RpcBrokers.init(s)
        s.direct = each(lambda b: True)

    @action(fair="weak")
    def read(s, b: Broker):
        require(s.direct[b])
        Zookeeper.read(s, b)

    @action(fair="weak")
    def ask(s, b: Broker, r: Request):
        require(~s.direct[b])
        RpcBrokers.ask(s, b, r)

    @action(fair="weak")
    def allocate(s, b: Broker, r: Request):
        require(s.moved)
        Kraft.allocate(s, b, r)

    def refusable(s, b, r):
        """Return whether the broker epoch is stale, or the counter that is in force has no ids left."""
        next = when(s.moved, s.next, s.next_in_node())
        return (s.registered[b] != s.asker_epoch[r]) | (s.ids < next + s.size)

    @action(fair="weak")
    def controller_read(s, c: Controller):
        """The controller reads the node for a request that arrived."""
        require(~s.moved & ~s.controller_has_read[c])
        s.controller_has_read[c] = True
        s.controller_next[c] = s.next_in_node()
        s.controller_version[c] = s.version

    @action(fair="weak")
    def controller_write(s, c: Controller, b: Broker, r: Request):
        """The controller's conditional write is the commit, and the controller answers after it, never before."""
        require(~s.moved & s.controller_has_read[c])
        require((s.stage[r] == Stage.SENT) & (s.asker[r] == b))
        require(s.registered[b] == s.asker_epoch[r], rule="730.18")
        require(s.controller_version[c] == s.version, rule="730.2")
        require(s.controller_next[c] + s.size <= s.ids, rule="730.16")
        first = s.start_of_block(s.controller_next[c])
        s.put(first)
        s.stage[r] = Stage.ANSWERED
        s.first[r] = first
        s.controller_puts_aside(c)

    @action(fair="weak")
    def controller_conflict(s, c: Controller):
        """Another process wrote the node in between, and the controller has to read it again."""
        require(s.controller_has_read[c] & (s.controller_version[c] != s.version))
        s.controller_puts_aside(c)

    def controller_puts_aside(s, c):
        s.controller_has_read[c] = False
        s.controller_next[c] = 0
        s.controller_version[c] = 0

    @action(fair="weak")
    def upgrade(s, b: Broker):
        """A broker restarts with an inter-broker protocol that has the RPC, and from then on asks the controller."""
        require(s.direct[b])
        s.forget_block(b)
        s.put_aside(b)
        s.direct[b] = False

    @action(fair="weak", by="controller")
    def move(s):
        """KRaft takes over from ZooKeeper, and its log starts at the next free id of the node."""
        require(~s.moved)
        require(forall(Broker, lambda b: ~s.direct[b]), rule="730.14")
        start = s.next_in_node()
        next = either("730.15", start, start_of_block=start - s.size, last_id=start - 1, not_carried_over=0)
        s.moved = True
        s.next = next
        s.logged = next
        s.committed = next
        s.snapshot = next

    @fault(budget="restarts", danger="broker-restart")
    def restart(s, b: Broker):
        RpcBrokers.restart(s, b)
        s.put_aside(b)
