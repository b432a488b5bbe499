"""This module states what sequence numbers promise to a producer, and why.

The idea of the proof: in one epoch each number stands for one batch, so a number that is known already is that batch;
and writes are accepted only in the epoch that the partition knows, or at the start of a newer one.
"""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    service,
    when,
    witness,
)
from fencepost.model.transactions.parts.forgetting import (
    Forgetful,
)
from fencepost.model.transactions.parts.sequences import (
    Epoch,
    Send,
    Sequences,
)


class Promises(Properties):
    """These are the promises of every variant, the rejected ones included."""

    @promise(rule="txn.P6", broken="a batch is written twice")
    def written_once(s):
        """A batch is written once, however often it is sent and arrives, as long as no more batches are under way than
        the partition remembers."""
        return ~s.written_twice

    @promise(rule="txn.P4", broken="the success of {a} was reported to the application, and it is not in the log")
    def told_is_written(s):
        """A batch whose success was reported to the application is in the log."""
        return forall(Send, lambda a: implies(s.told[a], s.written[a]))

    @promise(rule="txn.P2", broken="a batch is written in a later transaction than its own")
    def in_its_transaction(s):
        """No batch is written in a later transaction than its own, whose outcome it would then share."""
        return ~s.strayed

    @service(rule="txn.P11", broken="{a} is under way, and is never answered nor given up")
    def settled_in_the_end(s, a: Send):
        """A batch under way is answered in the end, or its producer gives it up."""
        return leads_to(s.is_under_way(a), ~s.is_under_way(a))

    @witness(of="written_once")
    def late_copy(s):
        """Two batches were written one after the other, and a copy of the first one can still arrive."""
        return exists(
            Send, Send, Epoch,
            lambda a, b, e: s.written[a] & s.written[b] & s.sent[a, e] & s.sent[b, e]
            & (s.number[a, e] < s.number[b, e]),
        )  # fmt: skip

    @witness(of="told_is_written")
    def two_under_way(s):
        """Two batches are under way and both are written, and the producer has an answer for neither."""
        return exists(
            Send, Send,
            lambda a, b: (a != b) & s.is_under_way(a) & s.is_under_way(b) & s.written[a] & s.written[b],
        )  # fmt: skip

    @witness(of="in_its_transaction")
    def both_transactions(s):
        """Batches of two transactions were written to the partition."""
        return exists(Send, Send, lambda a, b: s.written[a] & s.written[b] & (s.turn_of[a] < s.turn_of[b]))


class SequencesProperties(Promises, of=Sequences):
    """These lemmas are about epochs, sequence numbers and the partition's memory."""

    @lemma
    def known_is_past(s):
        """The partition knows no epoch that is still to come, and no batch was sent in one."""
        return (s.known <= s.epoch) & forall(Send, Epoch, lambda a, e: implies(s.sent[a, e], e <= s.epoch))

    @lemma
    def settled_was_expected(s):
        """In the present epoch the partition expects a number between the producer's oldest batch under way and its
        next one."""
        return (
            (s.settled <= s.next)
            & (s.next <= s.settled + s.most)
            & implies(s.known == s.epoch, (s.settled <= s.expected) & (s.expected <= s.next))
            & implies(s.known < s.epoch, s.settled == 0)
        )

    @lemma
    def numbers_are_used(s):
        """Sequence numbers that were sent in the present epoch are below the producer's next one."""
        return forall(Send, Epoch, lambda a, e: implies(s.sent[a, e] & (e == s.epoch), s.number[a, e] < s.next))

    @lemma
    def one_batch_a_number(s):
        """No two batches have the same number in one epoch."""
        return forall(
            Send, Send, Epoch,
            lambda a, b, e: implies(s.sent[a, e] & s.sent[b, e] & (s.number[a, e] == s.number[b, e]), a == b),
        )  # fmt: skip

    @lemma
    def sent_in_one_epoch(s):
        """A batch is sent in one epoch only."""
        return forall(Send, Epoch, Epoch, lambda a, e, f: implies(s.sent[a, e] & s.sent[a, f], e == f))

    @lemma
    def written_is_expected_no_more(s):
        """Every batch that was written was sent in an epoch that is over or under a number that is past, and every
        batch of that kind in the partition's epoch was written."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(s.sent[a, e] & s.written[a], s.is_past(a, e))
            & implies(s.sent[a, e] & (e == s.known) & (s.number[a, e] < s.expected), s.written[a]),
        )  # fmt: skip

    def is_past(s, a, e):
        return (e < s.known) | ((e == s.known) & (s.number[a, e] < s.expected))

    @lemma
    def written_was_sent(s):
        """No batch is written, or known to the application, that was not sent."""
        return forall(Send, lambda a: implies(s.written[a], exists(Epoch, lambda e: s.sent[a, e])))

    @lemma
    def answered_was_written(s):
        """Only batches that were written are answered."""
        return forall(Send, Epoch, lambda a, e: implies(s.answered[a, e], s.sent[a, e] & s.written[a]))

    @lemma
    def to_come_is_of_this_transaction(s):
        """A batch that can still be written belongs to the producer's present epoch and transaction."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(s.sent[a, e] & ~s.is_past(a, e), (e == s.epoch) & (s.turn_of[a] == s.turn)),
        )  # fmt: skip


# These claims are about leaders that forget: under which conditions a batch is still written once.
#
# The idea of the proof: a leader never forgets the last batch, so that the only batch under way is recognised or is the
# next one; and a producer that gives up sends nothing under two numbers, so that nothing has to be recognised.


class ForgetfulLemmas(Promises, of=Forgetful):
    """These lemmas are about epochs, sequence numbers, and what the leader and its replicas know."""

    @witness(of="written_once")
    def forgotten_and_written(s):
        """A batch is in the log, under way, and forgotten by the leader, so that a copy of it would be refused."""
        return exists(
            Send, lambda a: s.written[a] & s.is_under_way(a) & s.is_refused(s.number[a, s.epoch]) & (s.known == s.epoch)
        )

    @witness(of="written_once")
    def forgotten_whole(s):
        """The partition has forgotten the producer, and the next batch is under way."""
        return s.blank & exists(Send, Send, lambda a, b: s.told[a] & s.can_arrive(b, s.epoch))

    @lemma
    def known_is_past(s):
        """The partition and its replicas know no epoch that is still to come, and no batch was sent in one."""
        return (
            (s.known <= s.epoch) & (s.safe_known <= s.epoch)
            & forall(Send, Epoch, lambda a, e: implies(s.sent[a, e], e <= s.epoch))
        )  # fmt: skip

    @lemma
    def settled_was_expected(s):
        """In the present epoch the partition and its replicas expect a number between the producer's oldest batch under
        way and its next one."""
        return (
            (s.settled <= s.next)
            & (s.next <= s.settled + s.most)
            & s.is_between(s.known, s.expected)
            & s.is_between(s.safe_known, s.safe_expected)
        )

    def is_between(s, known, expected):
        return implies(known == s.epoch, (s.settled <= expected) & (expected <= s.next)) & implies(
            known < s.epoch, s.settled == 0
        )

    @lemma
    def the_last_is_kept(s):
        """The leader remembers at least the last batch of a producer."""
        return s.blank | (s.kept_from < s.expected) | (s.kept_from == 0)

    @lemma
    def died_is_settled(s):
        """A batch that has no copies left was answered, or given up."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(s.died[a, e], s.sent[a, e] & ((e < s.epoch) | (s.number[a, e] < s.settled))),
        )  # fmt: skip

    numbers_are_used = SequencesProperties.numbers_are_used

    one_batch_a_number = SequencesProperties.one_batch_a_number

    sent_in_one_epoch = SequencesProperties.sent_in_one_epoch

    @lemma
    def written_was_sent(s):
        """Every batch in the log was sent, and every replicated batch is in the log."""
        return forall(
            Send,
            lambda a: implies(s.written[a], exists(Epoch, lambda e: s.sent[a, e])) & implies(s.copied[a], s.written[a]),
        )

    answered_was_written = SequencesProperties.answered_was_written

    @lemma
    def told_is_copied(s):
        """A batch that the application knows to be written is replicated."""
        return forall(Send, lambda a: implies(s.told[a], s.copied[a]))

    def is_past(s, a, e, known, expected):
        return (e < known) | ((e == known) & (s.number[a, e] < expected))

    @lemma
    def written_is_expected_no_more(s):
        """A batch that is in the log and can arrive again belongs to an epoch that is over, or has a number that is
        past."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(s.can_arrive(a, e) & s.written[a], ~s.blank & s.is_past(a, e, s.known, s.expected))
            & implies(
                s.can_arrive(a, e) & s.copied[a], ~s.safe_blank & s.is_past(a, e, s.safe_known, s.safe_expected)
            ),
        )  # fmt: skip

    @lemma
    def remembered_was_written(s):
        """A batch that the leader remembers is in the log; so is the last batch, which every replica knows."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(
                s.can_arrive(a, e) & (e == s.known) & (s.kept_from <= s.number[a, e]) & (s.number[a, e] < s.expected)
                & ~s.blank,
                s.written[a],
            )
            & implies(
                s.can_arrive(a, e) & (e == s.safe_known) & (s.number[a, e] + 1 == s.safe_expected) & ~s.safe_blank,
                s.copied[a],
            ),
        )  # fmt: skip

    @lemma
    def blank_is_fresh(s):
        """Where the producer was forgotten, a batch that can arrive is under way, or was given up with all batches
        before it."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(
                s.can_arrive(a, e) & (s.blank | s.safe_blank),
                when(e == s.epoch, s.settled <= s.number[a, e], s.settled == 0),
            ),
        )  # fmt: skip


class InOrder(ForgetfulLemmas, of=Forgetful):
    """These lemmas hold where no batch is given up without a marker."""

    @lemma
    def to_come_is_of_this_transaction(s):
        """A batch that can still be written belongs to the producer's present epoch and transaction."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(
                s.can_arrive(a, e)
                & (
                    s.blank | s.safe_blank
                    | ~s.is_past(a, e, s.known, s.expected) | ~s.is_past(a, e, s.safe_known, s.safe_expected)
                ),
                (e == s.epoch) & (s.turn_of[a] == s.turn),
            ),
        )  # fmt: skip


# A partition must not refuse a producer that is alone and sends again what it has no answer for (txn.P8).
#
# It does not, as long as it forgets nothing of the producer. A leader that has forgotten a batch takes its copy for one
# that is out of order: the producer then fails what it has under way, or aborts, though it only waited for an answer.


class Refusals(Promises):
    """These are the promises about refusals to one producer in one partition."""

    @promise(rule="txn.P8", broken="{a}, the oldest batch under way, is refused as out of order")
    def never_out_of_order(s):
        """The oldest batch under way is never refused as out of order, whether it is sent for the first time
        or again."""
        return forall(Send, lambda a: ~s.is_oldest_and_refused(a))

    @witness(of="never_out_of_order")
    def written_and_not_answered(s):
        """The oldest batch under way is in the log although its answer is lost, and the batch after it is in the log as
        well."""
        return exists(
            Send, Send,
            lambda a, b: s.sent[a, s.epoch] & s.written[a] & (s.number[a, s.epoch] == s.settled)
            & ~s.answered[a, s.epoch] & s.sent[b, s.epoch] & s.written[b] & (s.number[b, s.epoch] == s.settled + 1),
        )  # fmt: skip
