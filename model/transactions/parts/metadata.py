"""This model has everything that a coordinator knows of one transactional id, and what of it its successor reads (v2).

A transition is prepared first (TxnTransitMetadata). Then a record of it (TransactionLog.valueToBytes) is written, which
supersedes the previous one, and once that is durable, memory follows and the answer is sent. Each of these is a step,
with a failed append or a fail-over in between. The coordinator that takes over reads the record (TransactionLog.read),
field by field. `recovery.py` has many ids, and compaction.

There is one producer, which repeats each request that is not answered.
"""

from fencepost.model.language import (
    Bool,
    Constant,
    Enumeration,
    Ghost,
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
    kafka_excludes,
    not_of_this,
    open_hole,
    require,
    when,
)


class Partition(Sort, bound="partitions"):
    """A `Partition` is a partition of the transaction."""


class Epoch(Nat, upto="epochs"):
    """An `Epoch` is a producer epoch, from 1; 0 is none."""


class ProducerId(Nat, upto="producer_ids"):
    """A `ProducerId` is a producer id, from 1, in the order in which ids are allocated; 0 is none."""


class Timeout(Nat, upto="timeouts"):
    """A `Timeout` is a value of transaction.timeout.ms."""


class Phase(Enumeration):
    """A `Phase` is the state of the transaction; UNKNOWN means that there is no record."""

    UNKNOWN, EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(7)


class Stage(Enumeration):
    """A `Stage` is the progress of the pending transition: PREPARED, or WRITTEN to the log."""

    NOTHING, PREPARED, WRITTEN = range(3)


class Request(Enumeration):
    """A `Request` is what the producer waits for. FIRST is InitProducerId without a producer id and epoch, and NEXT is
    InitProducerId with those that it has."""

    NOTHING, FIRST, NEXT, COMMIT, ABORT = range(5)


class Metadata(Protocol):
    """A producer id has the epochs 1 to last, and one more that only markers carry (32767 in Kafka). Everything is in
    the log, as of KAFKA-20357; the releases before it are variants."""

    actors = ("coordinator", "producer", "network")

    last: Constant[Nat]

    phase: Phase
    id: ProducerId
    epoch: Epoch
    last_epoch: Epoch  # before the present one
    previous_id: ProducerId  # before the last transition
    next_id: ProducerId  # allocated when the epochs of the present one are used up
    parts: Set[Partition]
    timeout: Timeout

    stage: Stage
    to_phase: Phase  # the same after the transition that is pending
    to_id: ProducerId
    to_epoch: Epoch
    to_last_epoch: Epoch
    to_previous_id: ProducerId
    to_next_id: ProducerId
    to_parts: Set[Partition]
    to_timeout: Timeout
    answers: Bool  # the producer has asked for it

    log_phase: Phase  # the same in the last record
    log_id: ProducerId
    log_epoch: Epoch
    log_last_epoch: Epoch
    log_previous_id: ProducerId
    log_next_id: ProducerId
    log_parts: Set[Partition]
    log_timeout: Timeout

    allocated: ProducerId  # ids come from the controller, each once
    request: Request
    own_id: ProducerId  # the pair that the producer has; 0: none yet
    own_epoch: Epoch
    own_timeout: Timeout
    answered: Bool
    answer_id: ProducerId
    answer_epoch: Epoch

    refused: Bool  # the producer learned that it is fenced, or unknown, and stops
    too_slow: Ghost[Bool]  # a transaction of it was ended by time-out
    reserved: Ghost[Bool]  # it was given the epoch that only markers carry
    lost_at_the_end: Ghost[
        Bool
    ]  # an answer was lost that had the last epoch of a producer id, or the first of the next

    outside = (
        *open_hole("one producer, which is alone, and requests that come once; the full models have more",
                   "zombie", "client-crash", "late-copy", "duplicate", "reordering", "mixed-clients"),
        *open_hole("a record that a coordinator has read stays: log-covered and log-uncovered have a tail that may be "
                   "lost", "uncovered-log"),
        *open_hole("a coordinator that is deposed answers no more; core-v2-overlapping has that",
                   "overlapping-coordinators"),
        *open_hole("v2 from first to last", "transaction-version"),
        *open_hole("the id does not expire; v2-expiring has that", "id-expiry"),
        *kafka_excludes("coordinators keep what they know by id", "TransactionStateManager.scala", "several-ids"),
        *open_hole("every transaction has a time-out: one that takes part in a two-phase commit has none",
                   "no-time-out"),
        *open_hole("a record is made by one thread, and what it says is taken into memory by none but its own callback",
                   "memory-without-log", "two-threads"),
        *not_of_this(
            "it is about the coordinator's log alone, of which the last record counts", "loss", "several-groups",
            "several-records", "slow-reader", "unreplicated-tail", "leader-restart", "partition-away",
            "producer-expiry", "sequence-wrap", "cleaning", "truncation", "isolation-level",
        ),
        *not_of_this(
            "brokers know of no workers, connectors or tasks", "rebalance", "leader-in-a-call",
            "worker-without-support", "empty-set", "one-task", "several-tasks", "several-connectors", "deletion",
            "re-creation", "id-collision",
        ),
    )  # fmt: skip

    # The producer

    @action(by="producer", to="coordinator")
    def start(s, timeout: Timeout):
        """The producer sends its first InitProducerId."""
        require((s.request == Request.NOTHING) & (s.own_id == 0) & ~s.refused)
        s.own_timeout = timeout
        s.request = Request.FIRST

    @action(by="producer", to="coordinator")
    def start_again(s):
        """After an error that invalidated its sequence numbers the producer asks for the next epoch (KIP-360)."""
        require((s.request == Request.NOTHING) & (s.own_id != 0) & (s.phase != Phase.ONGOING) & ~s.refused)
        s.request = Request.NEXT

    @action(by="producer", to="coordinator")
    def commit(s):
        require(s.is_ready() & (s.phase == Phase.ONGOING))
        s.request = Request.COMMIT

    @action(by="producer", to="coordinator")
    def abort(s):
        """The producer may not know whether anything was added, and aborts to be sure."""
        require(s.is_ready())
        s.request = Request.ABORT

    @action(fair="weak", by="producer")
    def take(s):
        """The answer arrives at the producer."""
        require(s.answered)
        s.own_id = s.answer_id
        s.own_epoch = s.answer_epoch
        s.reserved = s.reserved | (s.last < s.answer_epoch)
        s.answered = False
        s.request = Request.NOTHING

    @fault(budget="losses", danger="lost-answer", by="network")
    def lose_answer(s):
        """The answer is lost, and the producer asks again."""
        require(s.answered)
        s.lose(s.answered)
        s.answered = False

    def lose(s, answer):
        """Record that an answer is lost, or never sent."""
        last = (s.request == Request.NEXT) & (s.last <= s.own_epoch + 1)
        s.lost_at_the_end = s.lost_at_the_end | (answer & last)

    def is_ready(s):
        return (s.request == Request.NOTHING) & (s.own_id != 0) & ~s.refused

    # What the coordinator does

    def is_idle(s):
        complete = (s.phase == Phase.COMPLETE_COMMIT) | (s.phase == Phase.COMPLETE_ABORT)
        return complete | (s.phase == Phase.EMPTY) | (s.phase == Phase.UNKNOWN)

    def is_asked(s):
        """Return whether a request waits for an answer. While a transition is pending it has to be repeated."""
        return (s.request != Request.NOTHING) & ~s.answered & ~s.refused & (s.stage == Stage.NOTHING)

    def asks_for_epoch(s):
        return s.is_asked() & ((s.request == Request.FIRST) | (s.request == Request.NEXT))

    def asks_to_end(s):
        return s.is_asked() & ((s.request == Request.COMMIT) | (s.request == Request.ABORT))

    def is_used_up(s, e):
        return s.last <= e

    def is_mine(s):
        """Return whether the request names the present producer id and epoch."""
        return (s.own_id == s.id) & (s.own_epoch == s.epoch)

    def is_rotated(s):
        """Return whether the request names the last epoch of the previous producer id."""
        return (s.previous_id == s.own_id) & (s.own_epoch == s.last)

    def transit(s, phase, id, epoch, last_epoch, next_id, timeout, parts, answers):
        """Prepare the transition to the given state; memory stays unchanged."""
        s.to_phase = phase
        s.to_id = id
        s.to_epoch = epoch
        s.to_last_epoch = last_epoch
        s.to_previous_id = s.id
        s.to_next_id = next_id
        s.to_parts = each(parts)
        s.to_timeout = timeout
        s.answers = answers
        s.stage = Stage.PREPARED

    @action(fair="weak")
    def write(s):
        """The record of the transition is written to the log."""
        require(s.stage == Stage.PREPARED)
        s.log_phase = s.to_phase
        s.log_id = s.to_id
        s.log_epoch = s.to_epoch
        s.log_last_epoch = either("txn.25", s.to_last_epoch, no_last_epoch=0, no_other_ids=0)
        s.log_previous_id = either("txn.25", s.to_previous_id, no_other_ids=0)
        s.log_next_id = either("txn.25", s.to_next_id, no_other_ids=0)
        s.log_parts = each(lambda p: either("txn.25", s.to_parts[p], no_partitions=False))
        s.log_timeout = either("txn.25", s.to_timeout, no_timeout=0)
        s.stage = Stage.WRITTEN

    @action(fair="weak")
    def finish(s):
        """The record is durable: memory follows, and the answer is sent, with the next producer id if there is one."""
        require(s.stage == Stage.WRITTEN, rule="txn.25")
        rotates = s.to_next_id != 0
        s.answer_id = when(s.answers, when(rotates, s.to_next_id, s.to_id), s.answer_id)
        s.answer_epoch = when(s.answers, when(rotates, 1, s.to_epoch), s.answer_epoch)
        s.answered = s.answered | s.answers
        s.phase = s.to_phase
        s.id = s.to_id
        s.epoch = s.to_epoch
        s.last_epoch = s.to_last_epoch
        s.previous_id = s.to_previous_id
        s.next_id = s.to_next_id
        s.parts = each(lambda p: s.to_parts[p])
        s.timeout = s.to_timeout
        s.drop()

    @fault(budget="failed_appends", danger="failed-append")
    def append_fails(s):
        """Too few replicas are in sync: nothing is written, and the producer asks again. The end of a transaction is
        tried again until it is written."""
        require((s.stage == Stage.PREPARED) & ~s.completes())
        s.drop()

    def completes(s):
        return (s.to_phase == Phase.COMPLETE_COMMIT) | (s.to_phase == Phase.COMPLETE_ABORT)

    def drop(s):
        s.stage = Stage.NOTHING
        s.to_phase = Phase.UNKNOWN
        s.to_id = 0
        s.to_epoch = 0
        s.to_last_epoch = 0
        s.to_previous_id = 0
        s.to_next_id = 0
        s.to_parts = each(lambda p: False)
        s.to_timeout = 0
        s.answers = False

    def reply(s, id, epoch):
        s.answered = True
        s.answer_id = id
        s.answer_epoch = epoch

    @action(fair="weak")
    def initialize(s):
        """InitProducerId gets the next epoch, or the first one of another producer id."""
        require(s.asks_for_epoch() & s.is_idle())
        require((s.request == Request.FIRST) | s.is_mine())
        named = when(s.request == Request.NEXT, s.own_epoch, 0)
        rotates = (s.phase == Phase.UNKNOWN) | s.is_used_up(s.epoch)
        id = when(rotates, s.allocated + 1, s.id)
        epoch = when(rotates, 1, s.epoch + 1)
        s.allocated = when(rotates, s.allocated + 1, s.allocated)
        s.transit(Phase.EMPTY, id, epoch, named, 0, s.own_timeout, lambda p: False, True)

    def is_answered_before(s):
        """Return whether InitProducerId names the previous epoch, of this producer id or of the previous one. Where the
        epochs are used up the coordinator fails first (prepareIncrementProducerEpoch)."""
        named = (s.own_epoch == s.last_epoch) & ((s.own_id == s.id) | s.is_rotated())
        return (s.request == Request.NEXT) & named & ~s.is_used_up(s.epoch)

    @action(fair="weak", rule="txn.2")
    def initialize_again(s):
        """InitProducerId gets the same answer once more, with another record that drops the previous producer id."""
        require(s.asks_for_epoch() & s.is_idle() & s.is_answered_before() & ~s.is_mine())
        s.transit(Phase.EMPTY, s.id, s.epoch, s.last_epoch, 0, s.own_timeout, lambda p: False, True)

    @action(fair="weak")
    def refuse_init(s):
        """InitProducerId is answered PRODUCER_FENCED, or UNKNOWN_SERVER_ERROR where the epochs are used up."""
        require(s.asks_for_epoch() & s.is_idle() & (s.request == Request.NEXT))
        require(~s.is_mine() & ~s.is_answered_before())
        s.refused = True

    @action
    def add(s, p: Partition):
        """A partition becomes part of the transaction, and the earlier ones stay part of it."""
        require(s.is_ready() & s.is_mine() & (s.is_idle() | (s.phase == Phase.ONGOING)) & (s.stage == Stage.NOTHING))
        s.transit(
            Phase.ONGOING, s.id, s.epoch, s.last_epoch, s.next_id, s.timeout,
            lambda q: either("txn.25", s.parts[q] | (q == p), newest_alone=q == p), False,
        )  # fmt: skip

    def prepare(s, phase, answers):
        """Prepare an end, which bumps the epoch. The next producer id is allocated if that was the last epoch."""
        used_up = s.is_used_up(s.epoch)
        next_id = when(used_up, s.allocated + 1, 0)
        s.allocated = when(used_up, s.allocated + 1, s.allocated)
        s.transit(phase, s.id, s.epoch + 1, s.epoch, next_id, s.timeout, lambda p: s.parts[p], answers)

    @action(fair="weak")
    def end(s):
        """EndTxn with the present producer id and epoch ends the open transaction, or an empty one with an abort."""
        require(s.asks_to_end() & s.is_mine())
        require((s.phase == Phase.ONGOING) | (s.is_idle() & (s.request == Request.ABORT)))
        s.prepare(when(s.request == Request.COMMIT, Phase.PREPARE_COMMIT, Phase.PREPARE_ABORT), True)

    def is_ended_before(s):
        """Return whether EndTxn names the previous epoch and asks for the outcome that its transaction had."""
        same = ((s.phase == Phase.COMPLETE_COMMIT) & (s.request == Request.COMMIT)) | (
            (s.phase == Phase.COMPLETE_ABORT) & (s.request == Request.ABORT)
        )
        bumped = (s.own_id == s.id) & (s.own_epoch + 1 == s.epoch)
        return same & (bumped | (s.is_rotated() & (s.epoch == 1)))

    @action(fair="weak")
    def end_again(s):
        """A repeated EndTxn gets the same answer."""
        require(s.asks_to_end() & s.is_idle() & s.is_ended_before())
        s.reply(s.id, s.epoch)

    @action(fair="weak")
    def refuse_end(s):
        """EndTxn is answered PRODUCER_FENCED, INVALID_PRODUCER_ID_MAPPING or INVALID_TXN_STATE."""
        require(s.asks_to_end() & (s.is_idle() | (s.phase == Phase.ONGOING)))
        ends = s.is_mine() & ((s.phase == Phase.ONGOING) | (s.request == Request.ABORT))
        require(~ends & ~s.is_ended_before())
        s.refused = True

    @action(danger=("time-out", "clock-step"))
    def time_out(s):
        """The transaction has taken too long, by whatever clock."""
        require((s.phase == Phase.ONGOING) & (s.stage == Stage.NOTHING))
        s.too_slow = True
        s.prepare(Phase.PREPARE_ABORT, False)

    @action(fair="weak")
    def complete(s):
        """The markers are written, and the next producer id takes over where the epochs are used up."""
        require(((s.phase == Phase.PREPARE_COMMIT) | (s.phase == Phase.PREPARE_ABORT)) & (s.stage == Stage.NOTHING))
        rotates = s.next_id != 0
        done = when(s.phase == Phase.PREPARE_COMMIT, Phase.COMPLETE_COMMIT, Phase.COMPLETE_ABORT)
        id, epoch = when(rotates, s.next_id, s.id), when(rotates, 1, s.epoch)
        s.transit(done, id, epoch, s.last_epoch, 0, s.timeout, lambda p: False, False)

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator reads the record, and what was pending is lost unless it is in the log. A coordinator of
        a release before a field was added ignores that field (a tag that it does not know)."""
        s.phase = s.log_phase
        s.id = s.log_id
        s.epoch = s.log_epoch
        s.last_epoch = either("txn.25", s.log_last_epoch, older_reader=0)
        s.previous_id = either("txn.25", s.log_previous_id, older_reader=0)
        s.next_id = either("txn.25", s.log_next_id, older_reader=0)
        s.parts = each(lambda p: s.log_parts[p])
        s.timeout = s.log_timeout
        s.lose(s.answers & (s.stage == Stage.WRITTEN))
        s.drop()

    @danger("end-of-epochs")
    def another_id(s):
        """The producer id has changed, or is about to change."""
        return s.allocated > 1

    @danger("several-partitions")
    def in_two(s):
        """The transaction has two partitions."""
        return exists(Partition, Partition, lambda p, q: (p != q) & s.parts[p] & s.parts[q])
