"""All that a coordinator knows of an id, where appends time out: then the log says more than memory does.

While replicas lag, a record gets into the log of the leader and is given up: memory keeps what it had, its sender is
told COORDINATOR_NOT_AVAILABLE and asks again, and the record may be replicated after that.  The next transition starts
from memory, and its record takes the place of the one in doubt.
"""

from fencepost.model.language import Bool, Ghost, action, danger, each, fault, open_hole, require, when
from fencepost.model.transactions.parts.metadata import Metadata, Partition, Phase, Request


class MetadataTimedOut(Metadata):
    """Of the records in doubt only the last one is found: an earlier one differs from it where two requests came in
    between, and the producer has one at a time."""

    outside = open_hole("a record in the log is replicated in the end; log-covered has a tail that may be lost",
                        "uncovered-log")  # fmt: skip

    lags: Bool  # replicas do not keep up: an append times out
    in_doubt: Ghost[Bool]  # the last record is one that timed out, and memory lacks it

    @fault(budget="failed_appends")
    def lag(s):
        """Fewer are in time than min.insync.replicas, or the last one takes too long."""
        require(~s.lags)
        s.lags = True

    @action(fair="weak")
    def catch_up(s):
        """They do again."""
        require(s.lags)
        s.lags = False

    @danger("failed-append")
    def differs(s):
        """The log has a transition that memory has not."""
        return s.in_doubt & ((s.phase != s.log_phase) | (s.epoch != s.log_epoch) | (s.id != s.log_id))

    def record(s, phase, id, epoch, last_epoch, next_id, timeout):
        """A record, and memory after it, unless that timed out."""
        s.log_phase = phase
        s.log_id = id
        s.log_epoch = epoch
        s.log_last_epoch = last_epoch
        s.log_previous_id = s.id
        s.log_next_id = next_id
        s.log_timeout = timeout
        s.in_doubt = s.lags
        last = (s.request == Request.NEXT) & (s.last <= s.own_epoch + 1)
        s.lost_at_the_end = s.lost_at_the_end | (s.lags & last)
        s.previous_id = when(s.lags, s.previous_id, s.id)
        s.phase = when(s.lags, s.phase, phase)
        s.id = when(s.lags, s.id, id)
        s.epoch = when(s.lags, s.epoch, epoch)
        s.last_epoch = when(s.lags, s.last_epoch, last_epoch)
        s.next_id = when(s.lags, s.next_id, next_id)
        s.timeout = when(s.lags, s.timeout, timeout)

    def transit(s, phase, id, epoch, last_epoch, next_id, timeout):
        """It says the partitions that memory has."""
        s.record(phase, id, epoch, last_epoch, next_id, timeout)
        s.log_parts = each(lambda q: s.parts[q])

    def reply(s, id, epoch):
        s.answered = ~s.lags
        s.answer_id = when(s.lags, s.answer_id, id)
        s.answer_epoch = when(s.lags, s.answer_epoch, epoch)

    @action
    def add(s, p: Partition):
        """A partition becomes part of the transaction."""
        require(s.is_ready() & s.is_mine() & (s.is_idle() | (s.phase == Phase.ONGOING)))
        s.record(Phase.ONGOING, s.id, s.epoch, s.last_epoch, s.next_id, s.timeout)
        s.log_parts = each(lambda q: s.parts[q] | (q == p))
        s.parts[p] = s.parts[p] | ~s.lags

    @action(fair="weak")
    def end_again(s):
        """An answer from memory needs no record."""
        require(s.asks_to_end() & s.is_idle() & s.is_ended_before())
        Metadata.reply(s, s.id, s.epoch)

    @action(fair="weak")
    def complete(s):
        """This append is tried again until it succeeds."""
        require(~s.lags)
        require((s.phase == Phase.PREPARE_COMMIT) | (s.phase == Phase.PREPARE_ABORT))
        rotates = s.next_id != 0
        done = when(s.phase == Phase.PREPARE_COMMIT, Phase.COMPLETE_COMMIT, Phase.COMPLETE_ABORT)
        s.record(done, when(rotates, s.next_id, s.id), when(rotates, 1, s.epoch), s.last_epoch, 0, s.timeout)
        s.parts = each(lambda p: False)
        s.log_parts = each(lambda p: False)

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator reads the record, in doubt or not."""
        Metadata.fail_over(s)
        s.in_doubt = False
