"""The producers of the full model ask for an epoch, receive an answer, or learn that they must stop.

A producer retries every request whose outcome it does not know. `Core` has what a producer does with an epoch, and this
module has how it gets and loses one.
"""

from fencepost.model.language import (
    Bool,
    Constant,
    Ghost,
    Map,
    Nat,
    Set,
    action,
    danger,
    exists,
    fault,
    forall,
    implies,
    require,
    when,
)
from fencepost.model.transactions.abstract.core import Client, Core, Epoch, Txn


class Producers(Core):
    """Epochs are numbered over all producer ids: those of the present id start at `base`, and 0 is none. A producer id
    has the epochs base … base + last, and one more that only a fence may carry (32766 and 32767 in Kafka). The next id
    starts at base + last + 2."""

    last: Constant[Nat]  # the last epoch of a producer id that an owner gets

    base: Epoch  # the first epoch of the present producer id
    asking: Set[Client]  # its InitProducerId is under way
    again: Set[Client]  # its InitProducerId names the epoch that it holds
    answered: Map[Client, Epoch]  # the epoch in the answer to it; 0: no answer
    ready: Set[Client]
    holds: Map[Client, Epoch]  # the epoch that it received last
    stray: Set[Client]  # a copy of its first InitProducerId arrives late
    dead: Set[Client]  # it learned that it is fenced, and stops

    overflow: Ghost[Bool]  # a producer was given the epoch that only a fence may carry, or a fence went past it
    crowded: Ghost[Bool]  # there were two producers, or one that took too long
    forgetful: Ghost[Bool]  # a fail-over lost the memory of a retry that was under way
    lost_at_the_end: Ghost[Bool]  # an answer was lost that had the last epoch of a producer id, to a request naming one
    copied: Ghost[Bool]  # a copy came late of a request that names no epoch
    expired: Ghost[Bool]  # the transactional id was forgotten
    returned: Ghost[Bool]  # a producer that was fenced was given an epoch for naming its old one

    def init(s):
        s.base = 1

    @action
    def start(s, c: Client):
        """A producer calls initTransactions. Admin.fenceProducers asks in the same way, and does no more (618.12)."""
        require(~s.asking[c] & ~s.ready[c] & ~s.dead[c])
        s.crowded = s.crowded | exists(Client, lambda d: (d != c) & (s.asking[d] | s.ready[d]))
        s.asking[c] = True

    @fault(budget="reinits")
    def start_again(s, c: Client):
        """After an error that invalidated its sequence numbers, and the abort that followed, a producer asks for the
        next epoch and names the one that it has (KIP-360)."""
        require(s.ready[c])
        require(forall(Txn, lambda t: implies(s.begun[t] & (s.owner[t] == c), s.told[t])))
        s.ready[c] = False
        s.asking[c] = True
        s.again[c] = True

    @fault(budget="copies", danger=("late-copy", "duplicate"))
    def come_late(s, c: Client):
        """The network delivers a copy of the first InitProducerId, which was answered; a second answer is ignored."""
        require((s.ready[c] | s.again[c] | s.dead[c] | (s.asking[c] & (s.answered[c] != 0))) & ~s.stray[c])
        s.stray[c] = True
        s.copied = True

    @fault(budget="losses", danger=("lost-answer", "loss"))
    def lose_answer(s, c: Client):
        require(s.asking[c] & (s.answered[c] != 0))
        s.lost_at_the_end = s.lost_at_the_end | (s.again[c] & (s.base + s.last <= s.answered[c]))
        s.answered[c] = 0

    @action(fair="weak")
    def take(s, c: Client):
        """The answer to InitProducerId arrives at the producer."""
        require(s.asking[c] & (s.answered[c] != 0))
        s.holds[c] = s.answered[c]
        s.answered[c] = 0
        s.again[c] = False
        s.asking[c] = False
        s.ready[c] = True

    @action
    def begin(s, c: Client, t: Txn, e: Epoch):
        """A producer begins a transaction with the epoch that it has."""
        require(s.ready[c] & (s.holds[c] == e))
        require(forall(Txn, lambda u: implies(s.begun[u] & (s.owner[u] == c), s.told[u])))
        Core.begin(s, c, t, e)

    @action(fair="weak")
    def learn(s, t: Txn):
        require(s.ready[s.owner[t]])
        Core.learn(s, t)
        s.holds[s.owner[t]] = s.follows[t]
        s.overflow = s.overflow | s.is_last_of_all(s.follows[t])

    @danger("end-of-epochs")
    def next_id(s):
        """The epochs of a producer id are used up."""
        return s.base > 1

    def is_last_of_all(s, e):
        """Return whether this is the epoch that no owner may have, of the present or the previous producer id."""
        return (e == s.base + s.last + 1) | (e + 1 == s.base)

    def comes_back(s, c):
        """Return whether the producer names its epoch although another producer has been given a later one."""
        later = exists(Client, Epoch, lambda d, e: (d != c) & s.given[d, e] & (s.holds[c] < e))
        return (s.expected(c) != 0) & later

    def is_sent(s, c):
        """Return whether an InitProducerId of this producer is in flight and not answered."""
        return (s.asking[c] & (s.answered[c] == 0)) | s.stray[c]

    def expected(s, c):
        """Return the epoch that the InitProducerId names; 0 is none."""
        return when(s.again[c] & ~s.stray[c], s.holds[c], 0)

    def stop(s, c):
        s.dead[c] = True
        s.asking[c] = False
        s.ready[c] = False
        s.again[c] = False
