"""Leaders that forget: a restart, a tail that is lost, a producer that was idle, and what clients make of it.

A leader that starts again reads a snapshot, which has the last batch of each producer, and the log behind it: it knows
fewer batches than it did.  A leader that had no copy of the tail lacks those batches too.  A producer that was idle for
long is forgotten whole, and whatever comes from it then is taken as the first.

What the partition has written and does not know is refused as out of order.  A client that then sends it again under a
new number writes it twice; one that gives up, or has a single batch under way, does not.
"""

from fencepost.model.language import Bool, Set, action, axiom, each, excused, fault, open_hole, require, when
from fencepost.model.transactions.parts.sequences import Epoch, Number, Send, Sequences, SequencesV2


class Forgetful(Sequences):
    """Answers wait for replication (acks=all); a producer is forgotten only when nothing of it is on its way."""

    outside = (
        *open_hole(
            "no unclean election: what was answered is in the log of every later leader; the variant unclean has one",
            "unreplicated-tail", "truncation",
        ),
        *excused(
            "a producer is forgotten when the last copy of its batches is gone; the variant expired takes that away",
            "producer-expiry",
        ),
    )  # fmt: skip

    kept_from: Number  # of the numbers below the next one, those below this one are forgotten
    blank: Bool  # the partition knows nothing of the producer
    died: Set[Send, Epoch]  # no copy of this batch is left in the network

    safe_known: Epoch  # the same, as the replicas have it
    safe_expected: Number
    safe_blank: Bool
    copied: Set[Send]  # written, and replicated

    def can_arrive(s, a, e):
        return s.sent[a, e] & ~s.died[a, e]

    def takes_epoch(s, e):
        return s.blank | (s.known <= e)

    def comes_next(s, n, e):
        return s.blank | (n == when(e == s.known, s.expected, 0))

    def is_remembered(s, n):
        return ~s.blank & (s.expected <= n + s.window) & (s.kept_from <= n)

    def is_refused(s, n):
        return ~s.blank & Sequences.is_refused(s, n)

    @action(fair="weak")
    def write(s, a: Send, e: Epoch):
        """A batch arrives and is the next one, the first of a new epoch, or the first that the partition hears of its
        producer: it is written and answered."""
        known, known_from, blank, n = s.known, s.kept_from, s.blank, s.number[a, e]
        Sequences.write(s, a, e)
        s.kept_from = when(blank, n, when(e == known, known_from, 0))
        s.blank = False

    @action(fair="weak")
    def replicate(s):
        """The replicas have everything."""
        s.copied = each(lambda a: s.written[a])
        s.safe_known = s.known
        s.safe_expected = s.expected
        s.safe_blank = s.blank

    @action(fair="weak")
    def take_answer(s, a: Send):
        """The producer learns that its oldest batch was written and replicated."""
        require(s.is_answerable(a), rule="txn.26")
        Sequences.take_answer(s, a)

    def is_answerable(s, a):
        return s.copied[a]

    @fault(budget="restarts", danger=("leader-restart", "broker-restart"))
    def restart(s, n: Number):
        """The leader starts again, from a snapshot with the last batch and what the log has behind it."""
        require(~s.blank & (s.kept_from <= n) & (n < s.expected))
        s.kept_from = n

    @fault(budget="fail_overs", danger=("unreplicated-tail", "truncation"))
    def lose_tail(s):
        """A leader that lacks the tail takes over, or cuts it off, and knows the last batch that is left."""
        expected = s.safe_expected
        s.written = each(lambda a: s.copied[a])
        s.answered = each(lambda a, e: s.answered[a, e] & s.copied[a])
        s.known = s.safe_known
        s.expected = expected
        s.blank = s.safe_blank
        s.kept_from = expected - 1

    @fault(budget="expiries", danger="producer-expiry")
    def expire(s):
        """The producer was idle for long: every replica forgets it.  By then no copy of its batches is left."""
        require((s.settled == s.next) & ~s.blank)
        s.died = each(lambda a, e: s.died[a, e] | s.sent[a, e])
        s.blank = True
        s.safe_blank = True


class GivingUp(Forgetful):
    """A producer that fails what is refused as out of order, and goes on under a new epoch.  A transactional one
    aborts; some clients take it as fatal."""

    number_anew = None

    @action(fair="weak")
    def give_up(s, a: Send):
        """The oldest batch under way is refused as out of order: all that is under way fails."""
        epoch = s.epoch
        require(s.is_oldest_and_refused(a))
        s.epoch = epoch + 1
        s.next = 0
        s.settled = 0


class ForgetfulV2(Forgetful, SequencesV2):
    """Transactions each of which ends with a new epoch: what is refused is aborted."""

    number_anew = None

    @action
    def end(s):
        """The producer ends a transaction; its marker is replicated before it goes on."""
        s.end_and_replicate()

    @action(fair="weak")
    def abort_refused(s, a: Send):
        """The oldest batch under way is refused as out of order: the transaction is aborted."""
        require(s.is_oldest_and_refused(a))
        s.end_and_replicate()

    def end_and_replicate(s):
        epoch = s.epoch
        SequencesV2.end(s)
        s.kept_from = 0
        s.blank = False
        s.copied = each(lambda a: s.written[a])
        s.safe_known = epoch + 1
        s.safe_expected = 0
        s.safe_blank = False


class OneUnderWay(Forgetful):
    """A producer with one batch under way (max.in.flight.requests.per.connection=1), which numbers anew what is
    refused."""

    @axiom
    def remembers_what_is_under_way(s):
        return s.most <= 1


class Renumbering(Forgetful):
    """A producer with several batches under way, which numbers anew what is refused (KIP-360)."""

    @action(fair="weak")
    def number_anew(s, a: Send):
        """The oldest batch under way is refused as out of order: the producer raises its epoch by itself, and sends all
        that is under way again under new numbers."""
        Sequences.number_anew(s, a)


class RenumberingAnyway(Sequences):
    """A producer that raises its epoch on account of another partition, and numbers anew what is under way here."""

    @action
    def number_anew(s, a: Send):
        """Something was refused elsewhere."""
        require(s.is_under_way(a))
        s.send_anew()


class ForgottenTooSoon(GivingUp):
    """A producer is forgotten while its batches are on their way: its records carry timestamps of long ago, or a
    batch was delayed for long."""

    @fault(budget="expiries", danger="producer-expiry")
    def expire(s):
        """The last timestamp of the producer is long past."""
        require(~s.blank)
        s.blank = True
        s.safe_blank = True


class AnsweredEarly(Renumbering):
    """Answers that do not wait for replication, or an election that does not ask who has the tail."""

    def is_answerable(s, a):
        return s.written[a]
