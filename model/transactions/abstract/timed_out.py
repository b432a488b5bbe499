"""In these models an append to the transaction log times out: memory stays unchanged, and the record may be in the log
all the same.

The producer gets COORDINATOR_NOT_AVAILABLE, no transition is pending any more, and the next one starts from memory
(TransactionStateManager.appendTransactionToLog). The record of that transition stands after the one in doubt and
supersedes it. A coordinator that takes over before that finds the record in doubt, or an earlier one, or none of them.
What it finds counts from then on, and nothing was reported of it before, since markers are sent and answers given after
an append that succeeded. Requests that are answered from memory, without an append, are meanwhile answered as if there
were no doubt.
"""

from fencepost.model.language import Bool, Set, action, each, fault, open_hole, require
from fencepost.model.transactions.abstract.core import Client, Core, Epoch, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import V2Core


class TimedOut(Core):
    """The records in doubt are those since the last append that succeeded, and so all of them start from the same
    memory. A record of the end of markers is never in doubt: that append is tried again until it succeeds, and the id
    is pending meanwhile (TransactionMarkerChannelManager.tryAppendToLog)."""

    init_in_doubt: Bool  # InitProducerId's next epoch
    added_in_doubt: Set[Partition]  # the transaction that is open, or begins, with this partition
    ended_in_doubt: Set[Txn]  # the end that its owner asked for
    fence_in_doubt: Bool  # the abort of what is open

    outside = open_hole(
        "a record that a coordinator has found in the log stays there; log-covered and log-uncovered have a tail that "
        "may be lost after that", "uncovered-log",
    )  # fmt: skip

    @fault(budget="failed_appends", danger="failed-append")
    def time_out_init(s):
        """The append for InitProducerId of an idle id times out."""
        require(s.phase == Phase.IDLE)
        s.init_in_doubt = True

    @fault(budget="failed_appends", danger="failed-append")
    def time_out_add(s, t: Txn, p: Partition):
        """The append that adds a partition times out."""
        require(s.begun[t] & s.sent[t, p] & (s.number[t] == s.epoch) & (s.phase != Phase.PREPARED))
        require(~(s.parts[p] & (s.phase == Phase.ONGOING)))
        s.added_in_doubt[p] = True

    @fault(budget="failed_appends", danger="failed-append")
    def time_out_end(s, t: Txn):
        """The append for EndTxn times out."""
        require((s.choice[t] != Outcome.NONE) & (s.number[t] == s.epoch) & s.in_time(t) & s.may_end(t))
        s.ended_in_doubt[t] = True

    @fault(budget="failed_appends", danger="failed-append")
    def time_out_fence(s):
        """The append that aborts an open transaction, timed out or found by InitProducerId, times out."""
        require(s.phase == Phase.ONGOING)
        s.fence_in_doubt = True

    # An append that succeeds supersedes every record in doubt

    def settle(s):
        s.init_in_doubt = False
        s.added_in_doubt = each(lambda p: False)
        s.ended_in_doubt = each(lambda t: False)
        s.fence_in_doubt = False

    @action
    def initialize(s, c: Client, to: Epoch):
        Core.initialize(s, c, to)
        s.settle()

    @fault(budget="fences")
    def fence_producers(s, to: Epoch):
        """Admin.fenceProducers bumps the epoch, and its record supersedes those in doubt."""
        Core.fence_producers(s, to)
        s.settle()

    def add(s, t, p):
        """A partition that is part of the transaction already needs no record, and the records in doubt remain."""
        there = s.parts[p] & (s.phase == Phase.ONGOING)
        Core.add(s, t, p)
        s.init_in_doubt = s.init_in_doubt & there
        s.added_in_doubt = each(lambda q: s.added_in_doubt[q] & there)
        s.ended_in_doubt = each(lambda u: s.ended_in_doubt[u] & there)
        s.fence_in_doubt = s.fence_in_doubt & there

    def prepare(s, outcome, marker, to):
        Core.prepare(s, outcome, marker, to)
        s.settle()

    # Another coordinator reads the log

    def depose(s):
        """The next coordinator finds none of the records in doubt."""
        s.settle()

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def find_init(s, to: Epoch):
        """The next coordinator finds InitProducerId in doubt: the id is idle under an epoch that no client has."""
        require(s.init_in_doubt & (s.epoch < to))
        s.one_step(to)
        s.epoch = to
        s.outcome = Outcome.NONE
        s.term = s.term + 1
        s.settle()

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def find_added(s, p: Partition):
        """The next coordinator finds a transaction open that has the partition in doubt."""
        require(s.added_in_doubt[p])
        s.parts[p] = True
        s.phase = Phase.ONGOING
        s.term = s.term + 1
        s.settle()

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def find_ended(s, t: Txn, marker: Epoch, to: Epoch):
        """The next coordinator finds the Prepare record in doubt and sends markers; the owner has to ask again."""
        require(s.ended_in_doubt[t])
        s.goes_on_with(marker, to)
        s.find_prepared(s.choice[t], marker, to)

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def find_fence(s, marker: Epoch, to: Epoch):
        """The next coordinator finds the fence in doubt, and aborts what its predecessor had open."""
        require(s.fence_in_doubt & (s.epoch < marker) & (marker <= to))
        s.one_step(to)
        s.find_prepared(Outcome.ABORT, marker, to)

    def find_prepared(s, outcome, marker, to):
        term = s.term
        s.prepare_in(term + 1, outcome, marker, to)
        s.term = term + 1
        s.settle()


class TimedOutV2(TimedOut, V2Core):
    """The `TimedOutV2` model is v2 with appends that time out."""

    @action(danger="lost-answer")
    def initialize_again(s, c: Client):
        """Repeating the answer to InitProducerId writes a record too, which supersedes those in doubt."""
        V2Core.initialize_again(s, c)
        s.settle()
