"""This module has the brokers: what each of them holds and does, whichever controller grants the blocks (KIP-730).

A broker hands out ids from a block that only its memory holds. When the block is used up, the broker must be granted
another, and a restart loses the rest. `RpcBrokers` adds the request for a block and a network that may lose, delay,
reorder and repeat messages.
"""

from fencepost.model.language import (
    Bool,
    Constant,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Set,
    Sort,
    action,
    axiom,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    kafka_excludes,
    not_of_this,
    open_hole,
    require,
    rule,
    when,
)


class Broker(Sort, bound="brokers"):
    """A `Broker` is a broker, identified by its id."""


class Id(Nat, upto="ids"):
    """An `Id` is a producer id, or the end of a range of them."""


class Epoch(Nat, upto="restarts"):
    """An `Epoch` is a broker epoch, which numbers the broker's incarnations."""


class Request(Sort, bound="requests"):
    """A `Request` is a request in flight with, eventually, its answer. A request for which no broker waits any more may
    be used again for another."""


class Stage(Enumeration):
    """A `Stage` is the progress of a request."""

    FREE, SENT, RECORDED, ANSWERED, REFUSED, LOST = range(6)


class IdBlocks(Protocol):
    """A block is a range of ids in one broker's memory, handed out from its first to its last."""

    actors = ("controller", "network", "admin", "ZooKeeper")

    outside = (
        *not_of_this(
            "an id is a number here; what is done under it is in the models of transactions",
            "several-ids", "several-groups", "several-records", "several-partitions", "slow-reader", "id-expiry",
            "end-of-epochs", "transaction-version", "leader-restart", "partition-away", "producer-expiry",
            "sequence-wrap", "no-time-out", "isolation-level",
        ),
        *open_hole("a broker takes one step at a time: kraft-threads has request handlers that do not", "two-threads"),
        *open_hole("what a controller knows is what its log says", "memory-without-log"),
        *not_of_this(
            "Connect takes no part",
            "rebalance", "leader-in-a-call", "worker-without-support", "empty-set", "one-task", "several-tasks",
            "several-connectors", "deletion", "re-creation", "id-collision",
        ),
        *not_of_this("a client only takes an id, and what it does not use is a gap", "client-crash"),
        *not_of_this("no rule reads a clock: a back-off and a time-out may end at any moment", "clock-step"),
        *kafka_excludes(
            "a broker that pauses keeps its block, which no other broker is given, and one that is fenced may ask for "
            "the next",
            "ClusterControlManager.checkBrokerEpoch",
            "zombie",
        ),
    )  # fmt: skip

    size: Constant[Nat]  # ids in a block
    ids: Constant[Nat]  # ids there are: 0 … ids - 1

    cursor: Map[Broker, Id]  # the next id that the broker hands out
    end: Map[Broker, Id]  # one past the last id of its current block

    given: Ghost[Set[Id]]  # handed out to some client
    given_twice: Ghost[Bool]
    granted: Ghost[Set[Id]]  # part of a block that was granted to some broker
    granted_twice: Ghost[Bool]

    @axiom
    def a_block_has_an_id(s):
        return s.size >= 1

    @action
    def hand_out(s, b: Broker):
        """A client's InitProducerId is answered with the next id of the current block."""
        id = s.cursor[b]
        require(id < s.end[b])
        s.given_twice = s.given_twice | s.given[id]
        s.given[id] = True
        s.cursor[b] = id + 1

    def start_of_block(s, next):
        """Return where the next block starts; past the last id, counting would begin again."""
        return when(next + s.size <= s.ids, next, 0)

    def grant(s, first):
        s.grant_up_to(first, first + s.size)

    def grant_up_to(s, first, end):
        s.granted_twice = s.granted_twice | exists(Id, lambda i: s.granted[i] & (first <= i) & (i < end))
        s.granted = each(lambda i: s.granted[i] | ((first <= i) & (i < end)))

    def forget_block(s, b):
        """Discard the block of a broker that restarts, since it was never persisted."""
        end = s.end[b]
        s.cursor[b] = either("730.3", 0, kept=end - s.size)
        s.end[b] = either("730.3", 0, kept=end)


class RpcBrokers(IdBlocks):
    """Brokers ask a controller for blocks with AllocateProducerIds, and may fetch one ahead."""

    epoch: Map[Broker, Epoch]  # the broker's own
    registered: Map[Broker, Epoch]  # the one under which the controller knows it
    ready: Set[Broker]  # has a next block, fetched ahead
    ready_first: Map[Broker, Id]
    in_flight: Set[Broker]  # asks for no other block until the next one is installed
    outstanding: Map[Broker, Option[Request]]  # the request whose answer it waits for
    backing_off: Set[Broker]

    stage: Map[Request, Stage]
    asker: Map[Request, Option[Broker]]
    asker_epoch: Map[Request, Epoch]
    original: Map[Request, Request]  # itself, or the request that this one is a second copy of
    first: Map[Request, Id]  # of the block recorded for it

    outside = (
        *kafka_excludes("AllocateProducerIds has one version", "AllocateProducerIdsRequest.json", "mixed-clients"),
    )

    def init(s):
        s.original = each(lambda r: r)

    @danger("late-copy")
    def comes_too_late(s):
        """A request or an answer is in flight for which no broker waits any more."""
        return exists(Request, lambda r: s.on_its_way(r) & forall(Broker, lambda b: s.outstanding[b] != s.original[r]))

    @danger("reordering")
    def either_may_be_first(s):
        """Two requests or answers of one broker are in flight, and either may arrive first."""
        return exists(
            Request, Request,
            lambda q, r: (q != r) & s.on_its_way(q) & s.on_its_way(r) & (s.asker[q] == s.asker[r]),
        )  # fmt: skip

    @danger("lost-answer")
    def answer_is_lost(s):
        """A granted block's answer is lost; the block is recognised by its first id, unless that is 0."""
        return exists(Request, lambda r: (s.stage[r] == Stage.LOST) & (0 < s.first[r]))

    def on_its_way(s, r):
        return (s.stage[r] == Stage.SENT) | (s.stage[r] == Stage.ANSWERED)

    @action(fair="weak", by="b", to="controller")
    def ask(s, b: Broker, r: Request):
        """A broker asks when it runs out of ids, or before, one request at a time, and not while it backs off."""
        require(s.stage[r] == Stage.FREE)
        require(~s.in_flight[b] & ~s.ready[b], rule="730.19")
        require(~s.backing_off[b])
        s.stage[r] = Stage.SENT
        s.asker[r] = b
        s.asker_epoch[r] = s.epoch[b]
        s.original[r] = r
        s.first[r] = 0
        s.in_flight[b] = True
        s.outstanding[b] = r

    def awaits(s, b, r):
        return (s.asker[r] == b) & (s.outstanding[b] == s.original[r])

    @action(fair="weak")
    def take(s, b: Broker, r: Request):
        """The outstanding request is answered with a block, the next one. For a second answer no broker waits."""
        require((s.stage[r] == Stage.ANSWERED) & (s.asker[r] == b))
        require(s.outstanding[b] == s.original[r], rule="730.19")
        require(s.end[b] <= s.first[r], rule="730.20")
        s.ready[b] = True
        s.ready_first[b] = s.first[r]
        s.keep_length(b, r)
        with rule("730.19"):
            s.outstanding[b] = None

    def length(s, r):
        """Return the number of ids in the block of an answer; `lengths.py` has controllers that differ."""
        return s.size

    def ready_length(s, b):
        return s.size

    def installed_length(s, b):
        return s.ready_length(b)

    def keep_length(s, b, r):
        """Remember the length of an answered block, where not all blocks have the same length."""

    def block_end(s, r):
        return s.first[r] + s.length(r)

    def in_answer(s, i, r):
        return (s.first[r] <= i) & (i < s.block_end(r))

    @action(fair="weak", dead="no controller that keeps its own rules grants an id that the broker already held")
    def reject(s, b: Broker, r: Request):
        """A faulty controller grants a block that starts below the end of the held one, and the broker ignores it."""
        require((s.stage[r] == Stage.ANSWERED) & s.awaits(b, r))
        require(s.first[r] < s.end[b])
        s.outstanding[b] = None
        s.in_flight[b] = False
        s.backing_off[b] = True

    @action(fair="weak")
    def fail(s, b: Broker, r: Request):
        """The outstanding request is answered with an error, and the broker backs off before it asks again."""
        require((s.stage[r] == Stage.REFUSED) & s.awaits(b, r))
        s.outstanding[b] = None
        with rule("730.5"):
            s.in_flight[b] = False
        s.backing_off[b] = True

    @action(fair="weak", rule="730.5")
    def end_back_off(s, b: Broker):
        require(s.backing_off[b])
        s.backing_off[b] = False

    @action(fair="weak")
    def install(s, b: Broker):
        """The current block is used up, and the broker installs the next one."""
        require((s.cursor[b] == s.end[b]) & s.ready[b])
        first, length = s.ready_first[b], s.installed_length(b)
        late = when(s.epoch[b] == 0, first + 1, first)
        s.cursor[b] = either("730.8", first, first_release_starts_one_late=late)
        s.end[b] = either(
            "730.8", first + length, first_release_starts_one_late=late + length, one_long=first + length + 1
        )
        s.ready[b] = False
        s.ready_first[b] = 0
        s.in_flight[b] = False

    @action(fair="weak")
    def time_out(s, b: Broker, r: Request):
        """A broker gives up a request that was lost, or whose answer was lost."""
        require((s.outstanding[b] == r) & (s.stage[r] == Stage.LOST))
        s.give_up(b)

    @fault(budget="time_outs", danger="time-out")
    def time_out_early(s, b: Broker, r: Request):
        """A broker gives up a request whose answer is only late, and that answer will find no broker waiting."""
        require(s.outstanding[b] == r)
        s.give_up(b)

    def give_up(s, b):
        s.outstanding[b] = None
        s.in_flight[b] = False

    @fault(budget="losses", danger="loss", by="network")
    def lose(s, r: Request):
        require((s.stage[r] == Stage.SENT) | (s.stage[r] == Stage.ANSWERED) | (s.stage[r] == Stage.REFUSED))
        s.stage[r] = Stage.LOST

    @fault(budget="copies", danger="duplicate", by="network")
    def repeat(s, r: Request, copy: Request):
        """The network delivers a copy of a request too, perhaps much later. Answers can always be delivered again."""
        require((s.stage[r] != Stage.FREE) & (s.stage[copy] == Stage.FREE) & (s.original[r] == r))
        s.stage[copy] = Stage.SENT
        s.asker[copy] = s.asker[r]
        s.asker_epoch[copy] = s.asker_epoch[r]
        s.original[copy] = r
        s.first[copy] = 0

    @action(fair="weak", by="network")
    def forget(s, r: Request):
        """A request for which no broker waits leaves the network, and its number is free for another request."""
        require((s.stage[r] != Stage.FREE) & (s.stage[r] != Stage.RECORDED))
        require(forall(Broker, lambda b: s.outstanding[b] != r))
        require(forall(Request, lambda q: (q == r) | (s.stage[q] == Stage.FREE) | (s.original[q] != r)))
        s.clear(r)

    def clear(s, r):
        s.stage[r] = Stage.FREE
        s.asker[r] = None
        s.asker_epoch[r] = 0
        s.original[r] = r
        s.first[r] = 0

    @fault(budget="restarts", danger="broker-restart")
    def restart(s, b: Broker):
        """A broker crashes, loses block, request and back-off, and restarts with an epoch new to the controller."""
        s.forget_block(b)
        s.epoch[b] = s.epoch[b] + 1
        s.ready[b] = False
        s.ready_first[b] = 0
        s.in_flight[b] = False
        s.outstanding[b] = None
        s.backing_off[b] = False

    @action(fair="weak")
    def register(s, b: Broker):
        require(s.registered[b] != s.epoch[b])
        s.registered[b] = s.epoch[b]
