"""This module states what producer id blocks promise, and the lemmas from which that follows for every controller.

The idea of the proof: every id below the *book* is used up; an id is first granted, then held by a broker, then handed
out, and belongs to at most one broker.
"""

from fencepost.model.id_blocks.bridge import Bridge, Controller
from fencepost.model.id_blocks.brokers import Broker, Id, Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.lengths import Lengths
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    lemma,
    progress,
    promise,
    service,
    step,
    when,
    witness,
)


class Promises(Properties):
    """Every variant makes these promises, the rejected ones included."""

    @promise(rule="730.P1", broken="a producer id is handed out twice")
    def no_id_twice(s):
        """No producer id is handed out twice, by whichever brokers, over restarts, fail-overs and migration."""
        return ~s.given_twice

    @promise(rule="730.P2", broken="two blocks that were granted share an id")
    def disjoint_blocks(s):
        """No two blocks that were ever granted share an id."""
        return ~s.granted_twice

    @witness(of="no_id_twice")
    def a_second_block_in_use(s):
        """Ids of two different blocks have been handed out."""
        return s.given[0] & exists(Id, lambda i: s.given[i] & (s.size <= i))

    @witness(of="disjoint_blocks")
    def two_blocks_held(s):
        """Two brokers hold a block at the same time."""
        return exists(Broker, Broker, lambda b, c: (b != c) & (s.cursor[b] < s.end[b]) & (s.cursor[c] < s.end[c]))


class IdBlocksProperties(Promises):
    """The properties of `IdBlocksProperties` hold of each variant that defines `book`, the ids used up so far, and
    `none_left`, whether no ids are left."""

    @step(rule="730.7", broken="the book goes back, so that ids of a persisted block can be granted again")
    def used_up_for_ever(old, new):
        """The book never goes back, so a persisted block is used up whether it was answered or not."""
        return old.book() <= new.book()

    @service(rule="730.P3", broken="{b} has run out of ids, and never gets one again, though the cluster has some left")
    def an_id_in_the_end(s, b: Broker):
        """A broker that has run out gets an id again in the end, once faults stop, unless the cluster has none left."""
        return leads_to_id(s, b, s.none_left())

    @progress(rule="730.16", broken="{b} has run out of ids, and never gets one again")
    def an_id_even_at_the_end(s, b: Broker):
        """A client gets an id in the end, even when the cluster runs out of ids. This property fails: the
        counterexample is a cycle in which brokers ask forever."""
        return leads_to_id(s, b, s.size == 0)

    @witness(of="used_up_for_ever")
    def a_gap(s):
        """An id was granted, no broker holds it, and a later id was handed out: the earlier one is used up."""
        return exists(
            Id,
            Id,
            lambda i, j: (i < j) & s.given[j] & s.granted[i] & ~s.given[i] & forall(Broker, lambda b: ~s.held(b, i)),
        )

    @witness(of="an_id_in_the_end")
    def run_out(s):
        """A broker has used up a block, and ids are left in the cluster."""
        return exists(Broker, lambda b: (s.cursor[b] == s.end[b]) & (s.end[b] > 0)) & ~s.none_left()

    @witness(of="an_id_even_at_the_end")
    def nothing_left(s):
        """A broker has run out of ids, and so has the cluster."""
        return s.none_left() & exists(Broker, lambda b: s.cursor[b] == s.end[b])

    def held(s, b, i):
        return (s.cursor[b] <= i) & (i < s.end[b])

    @lemma
    def cursor_within_block(s):
        """A broker's next id is in its block, or one past it."""
        return forall(Broker, lambda b: s.cursor[b] <= s.end[b])

    @lemma
    def given_was_granted(s):
        """Only ids of granted blocks are handed out."""
        return forall(Id, lambda i: implies(s.given[i], s.granted[i]))

    @lemma
    def granted_is_booked(s):
        """Every id of a granted block is below the book, so that a block that starts at the book is new."""
        return forall(Id, lambda i: implies(s.granted[i], i < s.book()))

    @lemma
    def held_was_granted(s):
        """Each id that a broker still has to hand out was granted and not handed out before."""
        return forall(Broker, Id, lambda b, i: implies(s.held(b, i), s.granted[i] & ~s.given[i]))

    @lemma
    def held_by_one(s):
        """No id is in the blocks of two brokers."""
        return forall(Broker, Broker, Id, lambda b, c, i: implies((b != c) & s.held(b, i), ~s.held(c, i)))

    @lemma
    def blocks_end_in_the_book(s):
        """No block ends past the book."""
        return forall(Broker, lambda b: s.end[b] <= s.book())


def leads_to_id(s, b, unless):
    return s.cursor[b] == s.end[b], (s.cursor[b] < s.end[b]) | unless


class RpcProperties(IdBlocksProperties):
    """The lemmas of `RpcProperties` are about brokers that ask a controller."""

    @witness(of="no_id_twice")
    def fetched_ahead(s):
        """A broker has its next block while it still hands out the current one (730.12)."""
        return exists(Broker, lambda b: s.ready[b] & (s.cursor[b] < s.end[b]) & s.given[0])

    @witness(of="disjoint_blocks")
    def answered_twice(s):
        """A request and its copy are both answered, each with its own block, and a broker waits for one answer."""
        return exists(
            Request, Request, lambda r, q: (r != q) & exists(Broker, lambda b: s.waits_for(b, r) & s.waits_for(b, q))
        )

    def in_ready(s, b, i):
        return s.ready[b] & (s.ready_first[b] <= i) & (i < s.ready_first[b] + s.ready_length(b))

    def waits_for(s, b, r):
        return (s.stage[r] == Stage.ANSWERED) & s.awaits(b, r)

    @lemma
    def ready_was_granted(s):
        """A block fetched ahead was granted, ends within the book, and none of its ids was handed out."""
        return forall(Broker, lambda b: implies(s.ready[b], s.ready_first[b] + s.ready_length(b) <= s.book())) & forall(
            Broker, Id, lambda b, i: implies(s.in_ready(b, i), s.granted[i] & ~s.given[i])
        )

    @lemma
    def ready_by_one(s):
        """No id of a block fetched ahead is in any current block, or in another block fetched ahead."""
        return forall(
            Broker,
            Broker,
            Id,
            lambda b, c, i: implies(s.in_ready(b, i), ~s.held(c, i) & ((b == c) | ~s.in_ready(c, i))),
        )

    @lemma
    def one_request_at_a_time(s):
        """A broker waits for one answer at most, and for none while it has a next block."""
        return forall(
            Broker,
            lambda b: (
                implies(s.outstanding[b] != None, s.in_flight[b] & ~s.ready[b])  # noqa: E711
                & implies(s.ready[b], s.in_flight[b])
            ),
        )

    @lemma
    def outstanding_is_its_own(s):
        """The request that a broker waits for is its own, and still in the network."""
        return forall(
            Broker,
            Request,
            lambda b, r: implies(
                s.outstanding[b] == r, (s.stage[r] != Stage.FREE) & (s.asker[r] == b) & (s.original[r] == r)
            ),
        )

    @lemma
    def copies_have_an_original(s):
        """While a copy is in the network, the number of its original stands for nothing else."""
        return forall(
            Request,
            lambda q: implies(
                s.stage[q] != Stage.FREE,
                (s.stage[s.original[q]] != Stage.FREE) & (s.original[s.original[q]] == s.original[q]),
            ),
        )

    @lemma
    def answered_was_granted(s):
        """The block of an answer was granted and ends within the book."""
        return forall(Request, lambda r: implies(s.stage[r] == Stage.ANSWERED, s.block_end(r) <= s.book())) & forall(
            Request,
            Id,
            lambda r, i: implies((s.stage[r] == Stage.ANSWERED) & s.in_answer(i, r), s.granted[i]),
        )

    @lemma
    def answers_are_disjoint(s):
        """No two answers have an id in common."""
        return forall(
            Request,
            Request,
            lambda r, q: implies(
                (r != q) & (s.stage[r] == Stage.ANSWERED) & (s.stage[q] == Stage.ANSWERED),
                (s.block_end(r) <= s.first[q]) | (s.block_end(q) <= s.first[r]),
            ),
        )

    def awaited(s, b, r, i):
        return s.waits_for(b, r) & s.in_answer(i, r)

    @lemma
    def awaited_is_new(s):
        """An id in an answer that a broker waits for was never handed out."""
        return forall(Broker, Request, Id, lambda b, r, i: implies(s.awaited(b, r, i), ~s.given[i]))

    @lemma
    def awaited_is_not_held(s):
        """An id in an answer that a broker waits for is in no broker's current block."""
        return forall(Broker, Request, Broker, Id, lambda b, r, c, i: implies(s.awaited(b, r, i), ~s.held(c, i)))

    @lemma
    def awaited_is_not_ready(s):
        """An id in an answer that a broker waits for is in no block fetched ahead."""
        return forall(Broker, Request, Broker, Id, lambda b, r, c, i: implies(s.awaited(b, r, i), ~s.in_ready(c, i)))

    @lemma
    def awaited_comes_after(s):
        """A block that a broker waits for starts past its current one."""
        return forall(Broker, Request, lambda b, r: implies(s.waits_for(b, r), s.end[b] <= s.first[r]))


# These are the properties of each variant: which book applies there, and the lemmas about what maintains it.


class ControllerProperties(RpcProperties):
    """`ControllerProperties` has the promises of the KRaft controller about its log, and lemmas about the log."""

    @promise(rule="730.P2", broken="two blocks that were committed to the log share an id")
    def persisted_once(s):
        """No two blocks that were ever committed to the log share an id, answered or not."""
        return ~s.persisted_twice

    @witness(of="persisted_once")
    def never_answered(s):
        """A block is persisted that was never answered, and a later block is in use."""
        return exists(Id, Id, lambda i, j: (i < j) & s.persisted[i] & ~s.granted[i] & s.given[j])

    @lemma
    def persisted_is_committed(s):
        """Every persisted id is below the end of the committed log."""
        return forall(Id, lambda i: implies(s.persisted[i], i < s.committed))

    @lemma
    def log_follows_memory(s):
        """The next block starts after the log, and the log does not end before its committed part."""
        return (s.committed <= s.logged) & (s.logged <= s.next)

    @lemma
    def snapshot_and_log_say_all(s):
        """A controller that takes over finds the committed book, in a record after the snapshot or in the snapshot."""
        return s.record_follows | (s.snapshot == s.committed)

    @lemma
    def recorded_is_new(s):
        """A block that is recorded and not answered ends within memory, and none of its ids was granted."""
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
        """A block recorded for a request that a broker waits for starts past the broker's current block."""
        return forall(
            Broker,
            Request,
            lambda b, r: implies((s.stage[r] == Stage.RECORDED) & s.awaits(b, r), s.end[b] <= s.first[r]),
        )


class NodeProperties(IdBlocksProperties):
    """The lemmas of `NodeProperties` are about brokers that write the block node themselves."""

    @lemma
    def read_is_of_this_version(s):
        """The id that a broker has read is the next id in the node, if the version is still the same."""
        return forall(
            Broker,
            lambda b: implies(s.has_read[b] & (s.read_version[b] == s.version), s.read_next[b] == s.next_in_node()),
        )

    @lemma
    def versions_go_up(s):
        """No broker has read a version newer than the node's."""
        return forall(Broker, lambda b: s.read_version[b] <= s.version)

    @lemma
    def reads_when_empty(s):
        """A broker that is taking a block has none."""
        return forall(Broker, lambda b: implies(s.has_read[b], s.cursor[b] == s.end[b]))


class KraftProperties(ControllerProperties, of=Kraft):
    """The book of KRaft is the committed log."""

    def book(s):
        return s.committed

    def none_left(s):
        return s.ids < s.next + s.size


class DefenceInDepth(KraftProperties, of=Kraft):
    """The lemmas of `DefenceInDepth` are declared for mutants in which the broker's check (730.20) alone keeps a block
    from being installed twice.

    They add nothing about the protocol itself, in which a block that is fetched ahead is no longer awaited.
    """

    def installable(s, b, r, i):
        return s.awaited(b, r, i) & (s.end[b] <= s.first[r])

    @lemma
    def installable_is_new(s):
        """An id in a block that passes the broker's check alone (730.20) was never handed out and is in no broker's
        block. The lemma is what remains of those about awaited blocks where an answer is awaited for too long."""
        return forall(
            Broker, Request, Broker, Id, lambda b, r, c, i: implies(s.installable(b, r, i), ~s.given[i] & ~s.held(c, i))
        )

    @lemma
    def installable_is_ready_once(s):
        """A block that passes the check is fetched ahead by no broker, unless by the one that awaits this block."""
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
    """The book of ZooKeeper mode is the node."""

    def book(s):
        return s.next_in_node()

    def none_left(s):
        return s.ids < s.next_in_node() + s.size


class BridgeProperties(NodeProperties, ControllerProperties, of=Bridge):
    """The book of the bridge is the node until the cluster moves, and the committed log from then on."""

    def book(s):
        return when(s.moved, s.committed, s.next_in_node())

    def none_left(s):
        return s.ids < when(s.moved, s.next, s.next_in_node()) + s.size

    @witness(of="disjoint_blocks")
    def both_ways_at_once(s):
        """One broker holds a block that it took from ZooKeeper itself, another one from the controller (730.13)."""
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
        """After the move no broker writes the node any more, and only brokers that write it themselves read it."""
        return forall(Broker, lambda b: implies(s.moved, ~s.direct[b]) & implies(s.has_read[b], s.direct[b] & ~s.moved))

    @lemma
    def direct_brokers_do_not_ask(s):
        """A broker that takes its blocks from ZooKeeper itself waits for no controller."""
        return forall(
            Broker,
            lambda b: implies(s.direct[b], ~s.ready[b] & ~s.in_flight[b] & (s.outstanding[b] == None)),  # noqa: E711
        )

    @lemma
    def controller_read_this_version(s):
        """The id that a controller has read is the next id in the node, if the version is still the same."""
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


# These are the properties of blocks of different lengths: those of blocks of one length, and lemmas about lengths.


class LengthsProperties(ControllerProperties, of=Lengths):
    """The book is the committed log, with blocks of several lengths."""

    def book(s):
        return s.committed

    def none_left(s):
        return s.ids < s.next + s.size

    @lemma
    def no_block_is_empty(s):
        """A block that is recorded, answered or fetched ahead has an id."""
        return forall(
            Request,
            lambda r: implies((s.stage[r] == Stage.RECORDED) | (s.stage[r] == Stage.ANSWERED), 0 < s.length_of[r]),
        ) & forall(Broker, lambda b: implies(s.ready[b], 0 < s.ready_length_of[b]))

    @lemma
    def recorded_is_logged(s):
        """A recorded block is in the log, which ends with it or after it."""
        return forall(Request, lambda r: implies(s.stage[r] == Stage.RECORDED, s.block_end(r) <= s.logged))

    @witness(of="no_id_twice")
    def lengths_differ(s):
        """A broker uses a block while another broker has a shorter block ready."""
        return exists(
            Broker, Broker,
            lambda b, c: s.ready[b] & (s.ready_length_of[b] < s.size) & (s.cursor[c] + s.ready_length_of[b] < s.end[c]),
        )  # fmt: skip
