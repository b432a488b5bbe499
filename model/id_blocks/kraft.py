"""In KRaft the active controller grants blocks from the metadata log (KIP-730 as shipped).

The content of the log is reduced to the end of its last record: `logged` includes records that are not committed yet,
and `committed` does not. A controller that takes over knows the snapshot and the committed records after it, and
nothing else.
"""

from fencepost.model.id_blocks.brokers import Broker, Id, Request, RpcBrokers, Stage
from fencepost.model.language import (
    Bool,
    Ghost,
    Set,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    kafka_excludes,
    not_of_this,
    require,
    rule,
    when,
)


class Kraft(RpcBrokers):
    """One active controller at a time appends, waits until a majority has the record, and answers."""

    outside = (
        *kafka_excludes(
            "a deposed controller commits nothing more, since its quorum has a newer epoch",
            "KafkaRaftClient; QuorumController answers after the commit",
            "overlapping-coordinators",
        ),
        *kafka_excludes(
            "a controller whose append fails resigns, which is a fail-over",
            "QuorumController.ControllerWriteEvent, renounce",
            "failed-append",
        ),
        *kafka_excludes(
            "a majority keeps what is committed, and what is not was granted to no broker",
            "KafkaRaftClient: high watermark",
            "unreplicated-tail",
        ),
        *not_of_this("the metadata log is not compacted: a snapshot takes the place of its beginning", "cleaning"),
    )

    next: Id  # the active controller's memory: first id of the next block
    logged: Id  # next free id by the last record of the log
    committed: Id  # next free id by the last committed record
    snapshot: Id  # next free id by the latest snapshot
    record_follows: Bool  # a committed record stands after the snapshot

    persisted: Ghost[Set[Id]]  # in a committed record, answered or not
    persisted_twice: Ghost[Bool]

    @danger("uncovered-log")
    def not_yet_committed(s):
        """A block is recorded, the next one is counted on from its end, and no majority has the record yet."""
        return exists(Request, lambda r: (s.stage[r] == Stage.RECORDED) & (s.committed < s.block_end(r)))

    @action(fair="weak", by="controller", to="b")
    def allocate(s, b: Broker, r: Request):
        """The controller receives the request, appends the record of the next block, and holds the answer back."""
        require((s.stage[r] == Stage.SENT) & (s.asker[r] == b))
        require(s.registered[b] == s.asker_epoch[r], rule="730.18")
        require(s.next + s.size <= s.ids, rule="730.16")
        first = s.start_of_block(s.next)
        s.stage[r] = Stage.RECORDED
        s.first[r] = first
        s.logged = first + s.size
        with rule("730.8"):
            s.next = first + s.size

    @action(fair="weak")
    def commit(s):
        """A majority has the next record."""
        require(s.committed != s.logged)
        s.persist(when(s.committed + s.size <= s.logged, s.committed + s.size, s.logged))

    def persist(s, end):
        first = s.committed
        s.persisted_twice = s.persisted_twice | exists(Id, lambda i: s.persisted[i] & (first <= i) & (i < end))
        s.persisted = each(lambda i: s.persisted[i] | ((first <= i) & (i < end)))
        s.committed = end
        s.record_follows = True

    @action(fair="weak")
    def answer(s, r: Request):
        require(s.stage[r] == Stage.RECORDED)
        require(s.block_end(r) <= s.committed, rule="730.7")
        s.stage[r] = Stage.ANSWERED
        s.grant_up_to(s.first[r], s.block_end(r))

    @action(fair="weak", by="controller", to="b")
    def refuse(s, b: Broker, r: Request):
        """The controller answers STALE_BROKER_EPOCH, or that no ids are left."""
        require((s.stage[r] == Stage.SENT) & (s.asker[r] == b))
        require(s.refusable(b, r))
        s.stage[r] = Stage.REFUSED

    def refusable(s, b, r):
        return (s.registered[b] != s.asker_epoch[r]) | (s.ids < s.next + s.size)

    @fault(budget="errors")
    def turn_away(s, r: Request):
        """The controller answers NOT_CONTROLLER, CLUSTER_AUTHORIZATION_FAILED or an unexpected error."""
        require(s.stage[r] == Stage.SENT)
        s.stage[r] = Stage.REFUSED

    @fault(budget="fail_overs", danger="coordinator-fail-over")
    def fail_over(s):
        """Another controller takes over: uncommitted records are lost, and requests that wait for them are refused."""
        known = when(s.record_follows, s.committed, s.snapshot)
        s.next = known
        s.logged = known
        s.committed = known
        s.first = each(lambda r: when(s.stage[r] == Stage.RECORDED, 0, s.first[r]))
        s.stage = each(lambda r: when(s.stage[r] == Stage.RECORDED, Stage.REFUSED, s.stage[r]))

    @fault(budget="snapshots", danger="truncation")
    def take_snapshot(s):
        """The log up to this point is replaced by one record, the next free id."""
        require(s.record_follows)
        s.snapshot = either("730.10", s.committed, start_of_block=s.committed - s.size, omitted=0)
        s.record_follows = False
