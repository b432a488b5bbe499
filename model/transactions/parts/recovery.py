"""This model has the transaction log: what a coordinator remembers of its transactional ids, and what its successor
finds.

A transition is begun in memory as pending, its record is appended, and only then does it count. An append may fail, or
its outcome may stay unknown. Then the record may be in the log without the coordinator's knowledge, until the next one
supersedes it or a successor reads it. Pending transitions and queued markers are lost with the coordinator.

The log is replicated, so that its records are not lost, and compacted, so that only the last one of each id need be
there. The model leaves out for what a pending transition has to wait, and who may request one.
"""

from fencepost.model.language import (
    Enumeration,
    Ghost,
    Map,
    Nat,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    implies,
    not_of_this,
    open_hole,
    require,
    when,
)


class Id(Sort, bound="ids"):
    """An `Id` is a transactional id."""


class Epoch(Nat, upto="epochs"):
    """An `Epoch` is a producer epoch of an id."""


class Position(Nat, upto="log"):
    """A `Position` is a place in the log."""


class Phase(Enumeration):
    """A `Phase` is the state of a transaction; DEAD is a tombstone, after which an id is unknown."""

    UNKNOWN, EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE, DEAD = range(7)


class TransactionLog(Protocol):
    """The `TransactionLog` model has transitions in two steps, compaction, and fail-over of the coordinator."""

    actors = ("coordinator", "cleaner")

    outside = (
        *open_hole(
            "what the transaction log has stays there (acks=all, no unclean election); log-uncovered has a tail that "
            "is lost", "unreplicated-tail", "truncation",
        ),
        *open_hole("what a coordinator knows is what its log says, but for appends that fail", "memory-without-log"),
        *open_hole("a step is one of a whole process", "two-threads"),
        *open_hole("a record counts as soon as it is in the log: that takes a second copy of the log", "uncovered-log"),
        *open_hole(
            "one coordinator at a time: the variants named overlapping of the protocol transactions have a deposed one "
            "that still answers", "overlapping-coordinators",
        ),
        *open_hole(
            "of what the log says of an id only phase and epoch are here: the full models of the protocol transactions "
            "have producer ids that are used up, and variants with two transaction versions", "end-of-epochs",
            "transaction-version",
        ),
        *not_of_this(
            "who asks for a transition, how late and how often, is free here: each request is one more transition, or "
            "is sent away", "late-copy", "duplicate", "loss", "lost-answer", "reordering", "client-crash", "zombie",
            "mixed-clients", "time-out", "no-time-out",
        ),
        *not_of_this(
            "partitions and records are in the other models of transactions: here markers are sent or are not",
            "several-partitions", "several-records", "partition-away", "leader-restart", "producer-expiry",
            "sequence-wrap", "slow-reader", "several-groups", "isolation-level",
        ),
        *not_of_this("no step looks at a clock: an id may expire at any time at which it is idle", "clock-step"),
        *not_of_this(
            "brokers know of no workers, connectors or tasks", "rebalance", "leader-in-a-call",
            "worker-without-support", "empty-set", "one-task", "several-tasks", "several-connectors", "deletion",
            "re-creation", "id-collision",
        ),
    )  # fmt: skip

    end: Position
    id: Map[Position, Id]  # of which id the record is
    says: Map[Position, Phase]
    number: Map[Position, Epoch]
    kept: Set[Position]  # compaction has not removed the record

    cursor: Position  # how far the coordinator has read: to the end, but while it takes over
    phase: Map[Id, Phase]
    epoch: Map[Id, Epoch]
    pending: Map[Id, Phase]  # the phase to come; UNKNOWN for none
    pending_epoch: Map[Id, Epoch]
    appended: Set[Id]  # the record of the pending transition is in the log
    queued: Set[Id]  # its markers are to be sent

    newest: Ghost[Set[Position]]  # the last record of its id
    recorded: Ghost[Set[Id]]  # has a record
    doubtful: Ghost[Set[Id]]  # an append was given up whose record is in the log
    owed: Ghost[Set[Id]]  # partitions have an open transaction, and wait for its markers
    was_commit: Ghost[Set[Id]]  # the owner or a partition learned that the present transaction is committed
    was_abort: Ghost[Set[Id]]

    @danger("several-ids")
    def two_are_known(s):
        """The coordinator has two ids with something to remember."""
        return exists(Id, Id, lambda t, u: (t != u) & (s.phase[t] != Phase.UNKNOWN) & (s.phase[u] != Phase.UNKNOWN))

    def is_loaded(s):
        return s.cursor == s.end

    def is_prepared(s, phase):
        return (phase == Phase.PREPARE_COMMIT) | (phase == Phase.PREPARE_ABORT)

    def is_idle(s, phase):
        return (phase == Phase.EMPTY) | (phase == Phase.COMPLETE)

    # Transitions

    def start(s, t, phase, epoch):
        s.pending[t] = phase
        s.pending_epoch[t] = epoch

    def is_free(s, t):
        return s.is_loaded() & (s.pending[t] == Phase.UNKNOWN)

    @action
    def initialise(s, t: Id):
        """InitProducerId arrives for an id that is new or idle."""
        require(s.is_free(t) & (s.is_idle(s.phase[t]) | (s.phase[t] == Phase.UNKNOWN)))
        s.start(t, Phase.EMPTY, when(s.phase[t] == Phase.UNKNOWN, 0, s.epoch[t] + 1))

    @action
    def begin(s, t: Id):
        """The first partition of a transaction is added."""
        require(s.is_free(t) & s.is_idle(s.phase[t]))
        s.start(t, Phase.ONGOING, s.epoch[t])

    @action
    def commit(s, t: Id):
        """EndTxn asks for a commit."""
        s.may_end(t)
        s.start(t, Phase.PREPARE_COMMIT, s.epoch[t])

    @action(fair="weak")
    def abort(s, t: Id):
        """EndTxn asks for an abort, or the transaction has timed out."""
        s.may_end(t)
        s.start(t, Phase.PREPARE_ABORT, s.epoch[t])

    def may_end(s, t):
        require(s.is_free(t))
        require(s.phase[t] == Phase.ONGOING, rule="txn.8")

    @action(fair="weak")
    def complete(s, t: Id):
        """The markers are written, and the coordinator begins to record the completion."""
        require(s.is_free(t) & s.is_prepared(s.phase[t]))
        require(~s.queued[t], rule="txn.10")
        s.start(t, Phase.COMPLETE, s.epoch[t])

    @action(danger="id-expiry")
    def expire(s, t: Id):
        """The id was not used for a long time, and the coordinator begins to write its tombstone."""
        require(s.is_free(t) & (s.phase[t] != Phase.UNKNOWN))
        require(s.is_idle(s.phase[t]), rule="txn.20")
        s.start(t, Phase.DEAD, s.epoch[t])

    @action(fair="weak")
    def append(s, t: Id):
        """The record of a pending transition is appended to the log."""
        end = s.end
        require((s.pending[t] != Phase.UNKNOWN) & ~s.appended[t])
        s.newest = each(lambda o: (o == end) | (s.newest[o] & (s.id[o] != t)))
        s.id[end] = t
        s.says[end] = s.pending[t]
        s.number[end] = s.pending_epoch[t]
        s.kept[end] = True
        s.appended[t] = True
        s.recorded[t] = True
        s.was_commit[t] = s.was_commit[t] & (s.pending[t] != Phase.ONGOING)
        s.was_abort[t] = s.was_abort[t] & (s.pending[t] != Phase.ONGOING)
        s.end = end + 1
        s.cursor = end + 1

    @action(fair="weak")
    def acknowledge(s, t: Id):
        """The append has succeeded: memory follows, and the request is answered."""
        pending = s.pending[t]
        require(pending != Phase.UNKNOWN)
        require(s.appended[t], rule="txn.8")
        s.owed[t] = s.owed[t] | (pending == Phase.ONGOING)
        s.was_commit[t] = s.was_commit[t] | (pending == Phase.PREPARE_COMMIT)
        s.was_abort[t] = s.was_abort[t] | (pending == Phase.PREPARE_ABORT)
        s.phase[t] = s.known_as(pending)
        s.epoch[t] = s.epoch_of(pending, s.pending_epoch[t])
        s.queued[t] = s.is_prepared(pending)
        s.forget_pending(t)
        s.doubtful[t] = False

    def known_as(s, phase):
        return when(phase == Phase.DEAD, Phase.UNKNOWN, phase)

    def epoch_of(s, phase, epoch):
        return when(phase == Phase.DEAD, 0, epoch)

    def forget_pending(s, t):
        s.pending[t] = Phase.UNKNOWN
        s.pending_epoch[t] = 0
        s.appended[t] = False

    @fault(budget="failures", danger="failed-append")
    def give_up(s, t: Id):
        """The append fails, or its outcome stays unknown: the request is refused, and memory stays as it was."""
        require(s.pending[t] != Phase.UNKNOWN)
        s.doubtful[t] = s.doubtful[t] | s.appended[t]
        s.forget_pending(t)

    @action(fair="weak")
    def send_markers(s, t: Id):
        """The coordinator sends the markers to the partitions."""
        phase = s.phase[t]
        require(s.is_loaded() & s.queued[t] & s.is_prepared(phase))
        s.was_commit[t] = s.was_commit[t] | (phase == Phase.PREPARE_COMMIT)
        s.was_abort[t] = s.was_abort[t] | (phase == Phase.PREPARE_ABORT)
        s.owed[t] = False
        s.queued[t] = False

    # Compaction, and taking over

    @action(danger="cleaning", by="cleaner")
    def remove_replaced(s, x: Position, y: Position):
        """Compaction removes a record, since a later one of the same id is there."""
        require(s.kept[x] & s.kept[y] & (s.id[x] == s.id[y]))
        require(x < y, rule="txn.19")
        s.kept[x] = False

    @action(danger="cleaning", by="cleaner")
    def remove_tombstone(s, x: Position):
        """Compaction removes a tombstone, since no older record of the id is left, and no coordinator that is reading
        the log knows one. The retention of tombstones is longer than reading takes."""
        require(s.kept[x] & (s.says[x] == Phase.DEAD))
        require(s.is_loaded(), rule="txn.19")
        require(forall(Position, lambda y: implies((y < x) & (s.id[y] == s.id[x]), ~s.kept[y])), rule="txn.19")
        s.kept[x] = False

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator begins to read the log, and what only memory held is lost."""
        s.cursor = 0
        s.phase = each(lambda t: Phase.UNKNOWN)
        s.epoch = each(lambda t: 0)
        s.pending = each(lambda t: Phase.UNKNOWN)
        s.pending_epoch = each(lambda t: 0)
        s.appended = each(lambda t: False)
        s.queued = each(lambda t: False)
        s.doubtful = each(lambda t: False)

    @action(fair="weak")
    def read(s):
        """The new coordinator reads the next record, or what compaction left of it; the last record of an id counts."""
        place = s.cursor
        t, says, stored = s.id[place], s.says[place], s.kept[place]
        require(place < s.end)
        known, prepared = s.phase[t] != Phase.UNKNOWN, s.is_prepared(says)
        phase = either(
            "txn.19", s.known_as(says), the_first=when(known, s.phase[t], s.known_as(says)),
            without_prepares=when(prepared, s.phase[t], s.known_as(says)),
        )  # fmt: skip
        s.epoch[t] = when(stored, s.epoch_of(says, s.number[place]), s.epoch[t])
        s.queued[t] = when(stored, either("txn.19", prepared, markers_forgotten=False), s.queued[t])
        s.phase[t] = when(stored, phase, s.phase[t])
        s.cursor = place + 1
