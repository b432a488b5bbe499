"""What sequence numbers promise to a producer, and why it is so.

The idea of the proof: in one epoch each number stands for one batch, so a number that is known again is that batch;
and only the epoch that the partition knows is written to, or the start of a newer one.
"""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, lemma, promise, service, witness
from fencepost.model.transactions.parts.sequences import (
    BeyondTheWindow,
    ClearedByAbort,
    Epoch,
    KeptOverAbort,
    Send,
    Sequences,
    SequencesV1,
    SequencesV2,
    Wrapping,
)


class Promises(Properties):
    """What every variant promises, the rejected ones included."""

    @promise(rule="txn.P6")
    def written_once(s):
        """One logical send is written once, however often it is sent and arrives, while no more are under way than
        the partition remembers."""
        return ~s.written_twice

    @promise(rule="txn.P4")
    def told_is_written(s):
        """A batch that the application was told of is in the log."""
        return forall(Send, lambda a: implies(s.told[a], s.written[a]))

    @promise(rule="txn.P2")
    def in_its_transaction(s):
        """No batch is written in a later transaction than its own, whose fate it would then share."""
        return ~s.strayed

    @service(rule="txn.P11")
    def settled_in_the_end(s, a: Send):
        """A batch under way is answered in the end, or given up by its producer."""
        return leads_to(s.is_under_way(a), ~s.is_under_way(a))

    @witness(of="written_once")
    def late_copy(s):
        """A batch was written, another one after it, and a copy of the first one can still arrive."""
        return exists(
            Send, Send, Epoch,
            lambda a, b, e: s.written[a] & s.written[b] & s.sent[a, e] & s.sent[b, e]
            & (s.number[a, e] < s.number[b, e]),
        )  # fmt: skip

    @witness(of="told_is_written")
    def two_under_way(s):
        """Two batches are under way, both are written, and the producer was told of neither."""
        return exists(
            Send, Send,
            lambda a, b: (a != b) & s.is_under_way(a) & s.is_under_way(b) & s.written[a] & s.written[b],
        )  # fmt: skip

    @witness(of="in_its_transaction")
    def both_transactions(s):
        """Batches of two transactions were written."""
        return exists(Send, Send, lambda a, b: s.written[a] & s.written[b] & (s.turn_of[a] < s.turn_of[b]))


class SequencesProperties(Promises, of=Sequences):
    """Lemmas about epochs, numbers and the partition's memory."""

    @lemma
    def known_is_past(s):
        """The partition knows no epoch that is still to come, and nothing was sent in one."""
        return (s.known <= s.epoch) & forall(Send, Epoch, lambda a, e: implies(s.sent[a, e], e <= s.epoch))

    @lemma
    def settled_was_expected(s):
        """In the present epoch the partition is between the producer's oldest batch under way and its next one."""
        return (
            (s.settled <= s.next)
            & (s.next <= s.settled + s.most)
            & implies(s.known == s.epoch, (s.settled <= s.expected) & (s.expected <= s.next))
            & implies(s.known < s.epoch, s.settled == 0)
        )

    @lemma
    def numbers_are_used(s):
        """Numbers of the present epoch are below the next one."""
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
        """A batch is sent in one epoch."""
        return forall(Send, Epoch, Epoch, lambda a, e, f: implies(s.sent[a, e] & s.sent[a, f], e == f))

    @lemma
    def written_is_expected_no_more(s):
        """What was written was sent, in an epoch that is over, or under a number that is past; and all those are."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(s.sent[a, e] & s.written[a], s.is_past(a, e))
            & implies(s.sent[a, e] & (e == s.known) & (s.number[a, e] < s.expected), s.written[a]),
        )  # fmt: skip

    def is_past(s, a, e):
        return (e < s.known) | ((e == s.known) & (s.number[a, e] < s.expected))

    @lemma
    def written_was_sent(s):
        """Nothing is written, or known to the application, that was not sent."""
        return forall(Send, lambda a: implies(s.written[a], exists(Epoch, lambda e: s.sent[a, e])))

    @lemma
    def answered_was_written(s):
        """There are no answers but to what was written."""
        return forall(Send, Epoch, lambda a, e: implies(s.answered[a, e], s.sent[a, e] & s.written[a]))

    @lemma
    def to_come_is_of_this_transaction(s):
        """What can still be written is of the producer's present epoch and transaction."""
        return forall(
            Send, Epoch,
            lambda a, e: implies(s.sent[a, e] & ~s.is_past(a, e), (e == s.epoch) & (s.turn_of[a] == s.turn)),
        )  # fmt: skip


class SequencesV1Properties(SequencesProperties, of=SequencesV1):
    """The promises about sequence numbers with transactions that leave the epoch as it is."""


class SequencesV2Properties(SequencesProperties, of=SequencesV2):
    """The promises about sequence numbers with a new epoch at the end of every transaction."""


class KeptOverAbortProperties(Promises, of=KeptOverAbort):
    """The promises, of numbers used again and remembered."""


class ClearedByAbortProperties(Promises, of=ClearedByAbort):
    """The promises, of numbers used again and forgotten."""


class BeyondTheWindowProperties(Promises, of=BeyondTheWindow):
    """The promises, of a producer with too many batches under way."""


class WrappingProperties(Promises, of=Wrapping):
    """The promises, of numbers that begin again."""
