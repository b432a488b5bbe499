"""This model has idempotence: with sequence numbers a partition avoids writing a batch twice that arrives twice.

There is one producer and one partition. A batch is known to the partition by epoch and number only. What was sent stays
in the network: it may arrive at any time, any number of times, or never, and so may the answer that it was written. The
producer takes answers in order, and has no more batches in flight than the partition remembers.

Markers are written before the producer continues, and this model leaves out that they may be late (txn.16). The
partition forgets nothing but the oldest batches that it remembers; `forgetting.py` has leaders that forget more.
"""

from fencepost.model.language import (
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
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    kafka_excludes,
    not_of_this,
    open_hole,
    require,
    rule,
    when,
)


class Send(Sort, bound="sends"):
    """A `Send` is a batch as the application knows it: one logical send, however often it is sent."""


class Epoch(Nat, upto="epochs"):
    """An `Epoch` is a producer epoch."""


class Number(Nat, upto="numbers"):
    """A `Number` is a sequence number, counted in batches."""


class Turn(Nat, upto="transactions"):
    """A `Turn` is the number of a transaction."""


class Sequences(Protocol):
    """The producer numbers what it sends, and the partition takes the next number and recognises the last ones."""

    actors = ("leader", "producer", "network")

    outside = (
        *open_hole(
            "the leader stays, or the next one knows as many batches as it did and has all that it wrote: the "
            "variants of forgetful leaders have those that do not, and unclean one that lacks what was answered",
            "leader-restart", "broker-restart", "unreplicated-tail", "truncation",
        ),
        *open_hole("the leader forgets no producer; the variant expired has one that does", "producer-expiry"),
        *open_hole(
            "no copy of a batch arrives when its number comes round again, 2^31 numbers later; the variant wrapped has "
            "one that does", "sequence-wrap",
        ),
        *not_of_this(
            "one instance of a producer, under an id of its own; who may use an id is for the "
            "coordinator to say", "client-crash", "zombie", "mixed-clients", "several-ids", "id-expiry", "time-out",
            "end-of-epochs", "coordinator-fail-over", "overlapping-coordinators", "uncovered-log", "failed-append",
            "transaction-version", "partition-away", "no-time-out",
        ),
        *open_hole("what a leader knows of a producer is what its log says, or less", "memory-without-log"),
        *open_hole("a step is one of a whole process", "two-threads"),
        *not_of_this(
            "sequence numbers are counted in each partition, of one producer's batches there", "reordering",
            "several-groups", "several-partitions",
        ),
        *not_of_this("no record is read", "slow-reader", "isolation-level"),
        *kafka_excludes("the cleaner keeps the last batch of every producer that it knows, if need be without records",
                       "Cleaner.cleanInto: lastRecordsOfActiveProducers", "cleaning"),
        *not_of_this("nothing here looks at a clock; the expiry of a producer may come at any time", "clock-step"),
        *not_of_this(
            "brokers know of no workers, connectors or tasks", "rebalance", "leader-in-a-call",
            "worker-without-support", "empty-set", "one-task", "several-tasks", "several-connectors", "deletion",
            "re-creation", "id-collision",
        ),
    )  # fmt: skip

    window: Constant[Nat]  # how many batches the partition remembers
    most: Constant[Nat]  # how many batches the producer has under way

    epoch: Epoch
    next: Number  # of the producer's next batch
    settled: Number  # below this every batch was answered

    sent: Set[Send, Epoch]
    number: Map[Send, Epoch, Number]
    answered: Set[Send, Epoch]  # the answer that it was written is on its way
    told: Set[Send]  # the application learned that it was written

    known: Epoch  # the latest epoch that the partition knows
    expected: Number  # the next number that the partition expects in that epoch
    written: Set[Send]  # what is in its log

    turn: Ghost[Turn]  # the transaction that the producer is in
    turn_of: Ghost[Map[Send, Turn]]
    written_twice: Ghost[Bool]
    strayed: Ghost[Bool]  # a batch was written in another transaction than its own

    @danger("late-copy")
    def answered_and_still_arriving(s):
        """A batch was answered, and copies of it may still arrive."""
        return exists(Send, Epoch, lambda a, e: s.told[a] & s.can_arrive(a, e))

    @danger("loss")
    def never_arrived(s):
        """A batch was sent and is not in the log, while a later one is."""
        return exists(Send, Send, Epoch, lambda a, b, e: s.sent[a, e] & ~s.written[a] & s.sent[b, e] & s.written[b])

    @danger("several-records")
    def several_of_one_transaction(s):
        """Two batches of one transaction are in the log."""
        return exists(Send, Send, lambda a, b: (a != b) & s.written[a] & s.written[b] & (s.turn_of[a] == s.turn_of[b]))

    @axiom
    def remembers_one_at_least(s):
        return s.window >= 1

    @axiom
    def remembers_what_is_under_way(s):
        return s.most <= s.window

    @action(by="producer", to="leader")
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
        require(s.can_arrive(a, e))
        require(s.takes_epoch(e), rule="txn.12")
        require(s.comes_next(n, e), rule="txn.13")
        s.written_twice = s.written_twice | s.written[a]
        s.strayed = s.strayed | (s.turn_of[a] != s.turn)
        s.written[a] = True
        s.answered[a, e] = True
        s.known = e
        s.expected = n + 1

    def can_arrive(s, a, e):
        return s.sent[a, e]

    def takes_epoch(s, e):
        return s.known <= e

    def comes_next(s, n, e):
        return n == when(e == s.known, s.expected, 0)

    @action(fair="weak", rule="txn.14", danger="duplicate")
    def know_again(s, a: Send, e: Epoch):
        """A batch arrives whose number was written not long ago: it is answered and not written."""
        n = s.number[a, e]
        require(s.can_arrive(a, e))
        require(e == s.known, rule="txn.14")
        require((n < s.expected) & s.is_remembered(n), rule="txn.14")
        s.answered[a, e] = True

    def is_remembered(s, n):
        return s.expected <= n + s.window

    @action(fair="weak", by="producer")
    def take_answer(s, a: Send):
        """The producer learns that its oldest batch was written."""
        epoch, settled = s.epoch, s.settled
        require(s.answered[a, epoch] & (s.number[a, epoch] == settled) & (settled < s.next))
        s.told[a] = True
        s.settled = settled + 1

    @fault(budget="losses", danger="lost-answer", by="network")
    def lose_answer(s, a: Send, e: Epoch):
        """An answer does not reach the producer."""
        require(s.answered[a, e])
        s.answered[a, e] = False

    @action(by="producer")
    def raise_epoch(s):
        """The producer gets a new epoch, after InitProducerId or a transaction elsewhere. This partition learns of the
        epoch only by the producer's batches."""
        turn = s.turn
        require(s.settled == s.next)
        s.number_from_0(s.epoch + 1)
        s.turn = turn + 1

    def number_from_0(s, epoch):
        next = s.next
        s.epoch = epoch
        s.settled = either("txn.13", 0, continued=next)
        s.next = either("txn.13", 0, continued=next)

    @action(dead="what is under way is remembered, or is not yet written and comes next", by="producer")
    def number_anew(s, a: Send):
        """The oldest batch in flight is refused as out of order: without a transaction the producer raises its epoch by
        itself, and sends all batches in flight again under new numbers."""
        require(s.is_oldest_and_refused(a))
        s.send_anew()

    def is_oldest_and_refused(s, a):
        n = s.number[a, s.epoch]
        return s.sent[a, s.epoch] & (n == s.settled) & (n < s.next) & s.is_refused(n)

    def is_refused(s, n):
        """Return whether this number of the present epoch is out of order."""
        return (s.epoch == s.known) & ((s.expected < n) | ((n < s.expected) & ~s.is_remembered(n)))

    def send_anew(s):
        epoch, settled = s.epoch, s.settled
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
    """Transactions leave the epoch unchanged, and numbers continue over commits and aborts alike."""

    @action(by="producer")
    def end(s):
        """The producer ends a transaction once every batch of it was answered."""
        turn = s.turn
        require(s.settled == s.next)
        s.turn = turn + 1


class SequencesV2(Sequences):
    """In the `SequencesV2` model every end of a transaction raises the epoch."""

    @action(by="producer")
    def end(s):
        """The producer ends a transaction, perhaps without waiting for answers to what it then aborts. The partition
        learns the new epoch from the marker."""
        epoch, turn = s.epoch, s.turn
        new = either("txn.9", epoch + 1, the_same=epoch)
        s.number_from_0(new)
        s.known = new
        with rule("txn.14"):
            s.expected = 0
        s.turn = turn + 1


class RetainedOverAbort(Sequences):
    """In the `RetainedOverAbort` model a producer uses the numbers of aborted batches again, and the partition still
    knows those batches (Redpanda PR 5026)."""

    given_up: Set[Send]

    @action(fair="weak", by="producer")
    def take_answer(s, a: Send):
        """The producer learns that its oldest batch was written, and ignores answers to batches that it gave up."""
        require(~s.given_up[a])
        Sequences.take_answer(s, a)

    @action(by="producer")
    def abort(s):
        """The producer gives up the batches in flight, and continues with the first number that was not answered."""
        s.give_up()

    def give_up(s):
        settled, turn = s.settled, s.turn
        s.given_up = each(lambda a: s.given_up[a] | s.is_under_way(a))
        s.next = settled
        s.turn = turn + 1


class ClearedByAbort(RetainedOverAbort):
    """As a repair of `RetainedOverAbort` an abort clears what the partition knows, and any batch is next."""

    @action(by="producer")
    def abort(s):
        """The producer gives up the batches in flight, and the partition forgets numbers that may be used again."""
        s.expected = s.settled
        s.give_up()


class BeyondTheWindow(Sequences):
    """In the `BeyondTheWindow` model a producer has more batches in flight than the partition remembers."""

    @axiom
    def remembers_what_is_under_way(s):
        return s.window < s.most

    @action(by="producer")
    def number_anew(s, a: Send):
        """The oldest batch in flight was written and is refused, and is sent under a new number."""
        Sequences.number_anew(s, a)


class Wrapping(Sequences):
    """In the `Wrapping` model numbers begin again after the last one, and a copy is late by a whole round."""

    round: Constant[Nat]  # how many numbers there are; shipped: 2^31

    @axiom
    def a_round_is_longer_than_the_window(s):
        return s.window < s.round

    def comes_next(s, n, e):
        return s.is_the_same(n, when(e == s.known, s.expected, 0))

    def is_the_same(s, n, m):
        """Return whether these are one number, counted in this round or in the previous one."""
        return (n == m) | (n + s.round == m) | (m + s.round == n)
