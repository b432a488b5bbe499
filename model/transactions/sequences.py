"""Idempotence: sequence numbers keep a batch that arrives twice from being written twice.

One producer and one partition.  A batch is known to the partition by epoch and number only.  What was sent stays in
the network: it may arrive at any time, any number of times, or never, and so may the answer that it was written.  The
producer takes answers in order, and has no more batches under way than the partition remembers.

Markers are written before the producer goes on; that they may be late is not of this model (txn.16).
"""

from ..language import (
    Bool,
    Constant,
    Ghost,
    Map,
    Nat,
    Protocol,
    Set,
    Sort,
    action,
    axiom,
    each,
    either,
    fault,
    forall,
    require,
    rule,
    when,
)  # fmt: skip


class Send(Sort, bound="sends"):
    """A batch as the application knows it: one logical send, however often it is sent."""


class Epoch(Nat, upto="epochs"):
    """Producer epoch."""


class Number(Nat, upto="numbers"):
    """A sequence number, counted in batches."""


class Turn(Nat, upto="transactions"):
    """Which transaction."""


class Sequences(Protocol):
    """The producer numbers what it sends; the partition takes the next number, and knows the last ones again."""

    window: Constant[Nat]  # how many batches the partition remembers
    most: Constant[Nat]  # how many batches the producer has under way

    epoch: Epoch
    next: Number  # of the producer's next batch
    settled: Number  # below this every batch was answered

    sent: Set[Send, Epoch]
    number: Map[Send, Epoch, Number]
    answered: Set[Send, Epoch]  # the answer that it was written is on its way
    told: Set[Send]  # the application was told so

    known: Epoch  # the partition: latest epoch
    expected: Number  # the next number in it

    turn: Ghost[Turn]  # the transaction that the producer is in
    turn_of: Ghost[Map[Send, Turn]]
    written: Ghost[Set[Send]]
    written_twice: Ghost[Bool]
    strayed: Ghost[Bool]  # a batch was written in another transaction than its own

    @axiom
    def remembers_one_at_least(s):
        return s.window >= 1

    @axiom
    def remembers_what_is_under_way(s):
        return s.most <= s.window

    @action
    def send(s, a: Send):
        """The producer numbers a new batch and sends it."""
        next, epoch = s.next, s.epoch
        require(forall(Epoch, lambda e: ~s.sent[a, e]))
        require(next < s.settled + s.most, rule="txn.14")
        s.sent[a, epoch] = True
        s.number[a, epoch] = next
        s.turn_of[a] = s.turn
        with rule("txn.13"):
            s.next = next + 1

    @action(fair="weak")
    def write(s, a: Send, e: Epoch):
        """A batch arrives and is the next one, or the first of a new epoch: it is written and answered."""
        n = s.number[a, e]
        require(s.sent[a, e])
        require(s.known <= e, rule="txn.12")
        require(n == when(e == s.known, s.expected, 0), rule="txn.13")
        s.written_twice = s.written_twice | s.written[a]
        s.strayed = s.strayed | (s.turn_of[a] != s.turn)
        s.written[a] = True
        s.answered[a, e] = True
        s.known = e
        s.expected = n + 1

    @action(fair="weak", rule="txn.14")
    def know_again(s, a: Send, e: Epoch):
        """A batch arrives whose number was written not long ago: it is answered and not written."""
        n = s.number[a, e]
        require(s.sent[a, e])
        require(e == s.known, rule="txn.14")
        require((n < s.expected) & s.is_remembered(n), rule="txn.14")
        s.answered[a, e] = True

    def is_remembered(s, n):
        return s.expected <= n + s.window

    @action(fair="weak")
    def take_answer(s, a: Send):
        """The producer learns that its oldest batch was written."""
        epoch, settled = s.epoch, s.settled
        require(s.answered[a, epoch] & (s.number[a, epoch] == settled) & (settled < s.next))
        s.told[a] = True
        s.settled = settled + 1

    @fault(budget="losses")
    def lose_answer(s, a: Send, e: Epoch):
        """An answer does not reach the producer."""
        require(s.answered[a, e])
        s.answered[a, e] = False

    @action
    def raise_epoch(s):
        """The producer gets a new epoch, of which this partition hears only by its batches: after InitProducerId, or
        a transaction elsewhere."""
        turn = s.turn
        require(s.settled == s.next)
        s.number_from_0(s.epoch + 1)
        s.turn = turn + 1

    def number_from_0(s, epoch):
        next = s.next
        s.epoch = epoch
        s.settled = either("txn.13", 0, continued=next)
        s.next = either("txn.13", 0, continued=next)

    @action(dead="what is under way is remembered, or is not yet written and comes next")
    def number_anew(s, a: Send):
        """The oldest batch under way is refused as out of order: without a transaction the producer raises its epoch
        by itself, and sends all that is under way again under new numbers."""
        epoch, settled, n = s.epoch, s.settled, s.number[a, s.epoch]
        require(s.sent[a, epoch] & (n == settled) & (n < s.next) & (epoch == s.known))
        require((s.expected < n) | ((n < s.expected) & ~s.is_remembered(n)))
        again = each(lambda b, e: when(e == epoch + 1, s.is_under_way(b), s.sent[b, e]))
        left = s.next - settled
        s.sent = again
        s.number = each(lambda b, e: when(e == epoch + 1, s.number[b, epoch] - settled, s.number[b, e]))
        s.epoch = epoch + 1
        s.next = left
        s.settled = 0

    def is_under_way(s, a):
        return s.sent[a, s.epoch] & (s.settled <= s.number[a, s.epoch])


class SequencesV1(Sequences):
    """Transactions that leave the epoch as it is: numbers go on, over commits and aborts alike."""

    @action
    def end(s):
        """The producer ends a transaction once every batch of it was answered."""
        turn = s.turn
        require(s.settled == s.next)
        s.turn = turn + 1


class SequencesV2(Sequences):
    """Every end of a transaction raises the epoch."""

    @action
    def end(s):
        """The producer ends a transaction, perhaps without waiting for answers to what it then aborts; the marker
        tells the partition the new epoch."""
        epoch, turn = s.epoch, s.turn
        new = either("txn.9", epoch + 1, the_same=epoch)
        s.number_from_0(new)
        s.known = new
        with rule("txn.14"):
            s.expected = 0
        s.turn = turn + 1


class KeptOverAbort(Sequences):
    """A producer that takes the numbers of aborted batches again, and a partition that still knows those batches
    (Redpanda PR 5026)."""

    given_up: Set[Send]

    @action(fair="weak")
    def take_answer(s, a: Send):
        """The producer learns that its oldest batch was written; of what it gave up it wants to know nothing."""
        require(~s.given_up[a])
        Sequences.take_answer(s, a)

    @action
    def abort(s):
        """The producer gives up what is under way, and goes on with the first number that was not answered."""
        s.give_up()

    def give_up(s):
        settled, turn = s.settled, s.turn
        s.given_up = each(lambda a: s.given_up[a] | s.is_under_way(a))
        s.next = settled
        s.turn = turn + 1


class ClearedByAbort(KeptOverAbort):
    """Its repair: an abort clears what the partition knows, and whatever comes next counts as next."""

    @action
    def abort(s):
        """The same, and the partition forgets numbers that may be used again."""
        s.expected = s.settled
        s.give_up()


class BeyondTheWindow(Sequences):
    """A producer with more batches under way than the partition remembers."""

    @axiom
    def remembers_what_is_under_way(s):
        return s.window < s.most

    @action
    def number_anew(s, a: Send):
        """The oldest batch under way is refused as out of order, though it was written: it is sent under a new
        number."""
        Sequences.number_anew(s, a)
