"""In these models leaders forget, by a restart, a lost tail, or the expiry of an idle producer, and clients react to
that.

A leader that restarts reads a snapshot, which has the last batch of each producer, and the log behind it, and so knows
fewer batches than before. A leader that had no copy of the tail lacks those batches too. A producer that was idle for
long is forgotten completely, and whatever comes from it then is taken as its first batch.

A partition refuses as out of order a batch that it has written and no longer knows. A client that then sends the batch
again under a new number writes it twice; a client that gives up, or has a single batch in flight, does not.
"""

from fencepost.model.language import Bool, Set, action, axiom, each, excused, fault, open_hole, require, when
from fencepost.model.transactions.parts.sequences import Epoch, Number, Send, Sequences, SequencesV2


class Forgetful(Sequences):
    """Answers wait for replication (acks=all), and only a producer with no batch in flight is forgotten."""

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
        """A batch arrives and is the next one, the first of a new epoch, or the first that the partition receives from
        its producer: it is written and answered."""
        known, known_from, blank, n = s.known, s.kept_from, s.blank, s.number[a, e]
        Sequences.write(s, a, e)
        s.kept_from = when(blank, n, when(e == known, known_from, 0))
        s.blank = False

    @action(fair="weak")
    def replicate(s):
        """The replicas catch up with the leader."""
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
        """The leader restarts from a snapshot with the last batch and what the log has behind it."""
        require(~s.blank & (s.kept_from <= n) & (n < s.expected))
        s.kept_from = n

    @fault(budget="fail_overs", danger=("unreplicated-tail", "truncation"))
    def lose_tail(s):
        """A leader that lacks the tail takes over, or truncates it, and knows the last batch that is left."""
        expected = s.safe_expected
        s.written = each(lambda a: s.copied[a])
        s.answered = each(lambda a, e: s.answered[a, e] & s.copied[a])
        s.known = s.safe_known
        s.expected = expected
        s.blank = s.safe_blank
        s.kept_from = expected - 1

    @fault(budget="expiries", danger="producer-expiry")
    def expire(s):
        """The producer was idle for long and every replica forgets it. No copy of its batches is in flight by then."""
        require((s.settled == s.next) & ~s.blank)
        s.died = each(lambda a, e: s.died[a, e] | s.sent[a, e])
        s.blank = True
        s.safe_blank = True


class GivingUp(Forgetful):
    """In the `GivingUp` model a producer fails the batches that are refused as out of order, and continues under a new
    epoch. A transactional producer aborts, and some clients treat the error as fatal."""

    number_anew = None

    @action(fair="weak", by="producer")
    def give_up(s, a: Send):
        """The oldest batch in flight is refused as out of order, and all batches in flight fail."""
        epoch = s.epoch
        require(s.is_oldest_and_refused(a))
        s.epoch = epoch + 1
        s.next = 0
        s.settled = 0


class ForgetfulV2(Forgetful, SequencesV2):
    """In the `ForgetfulV2` model each transaction ends with a new epoch, and a refused batch aborts its transaction."""

    number_anew = None

    @action
    def end(s):
        """The producer ends a transaction, whose marker is replicated before it continues."""
        s.end_and_replicate()

    @action(fair="weak", by="producer")
    def abort_refused(s, a: Send):
        """The oldest batch in flight is refused as out of order, and the transaction is aborted."""
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
    """A producer has one batch in flight (max.in.flight.requests.per.connection=1) and renumbers a refused batch."""

    @axiom
    def remembers_what_is_under_way(s):
        return s.most <= 1


class Renumbering(Forgetful):
    """A producer with several batches in flight gives refused batches new numbers (KIP-360)."""

    @action(fair="weak")
    def number_anew(s, a: Send):
        """The oldest batch in flight is refused as out of order: the producer raises its epoch by itself, and sends all
        batches in flight again under new numbers."""
        Sequences.number_anew(s, a)


class RenumberingAnyway(Sequences):
    """A producer raises its epoch because of another partition, and renumbers the batches in flight here."""

    @action
    def number_anew(s, a: Send):
        """A batch was refused in another partition, and the producer renumbers the batches in flight."""
        require(s.is_under_way(a))
        s.send_anew()


class ForgottenTooSoon(GivingUp):
    """In the `ForgottenTooSoon` model a producer is forgotten while its batches are in flight: its records have old
    timestamps, or a batch was delayed for long."""

    @fault(budget="expiries", danger="producer-expiry")
    def expire(s):
        """The last timestamp of the producer is long past, and the partition forgets it."""
        require(~s.blank)
        s.blank = True
        s.safe_blank = True


class AnsweredEarly(Renumbering):
    """Answers do not wait for replication, or an election does not consider which replica has the tail."""

    def is_answerable(s, a):
        return s.written[a]
