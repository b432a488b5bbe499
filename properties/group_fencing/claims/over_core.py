"""Where a member's transactions are the core of v2, the group does nothing else than where they are their interface."""

from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Fate, Partition, Stage
from fencepost.model.group_fencing.over_core import ProducerEpoch, ShippedOverCore
from fencepost.model.language import Part, Properties, each, exists, forall, implies, lemma, refinement, when
from fencepost.model.transactions.abstract.core import Client, Outcome, Phase, Txn
from fencepost.model.transactions.abstract.core import Fate as TxnFate
from fencepost.properties.transactions.claims.for_groups import FatedV2


class OverCore(Properties, of=ShippedOverCore):
    """What shipped, over the core of v2."""

    txn: Part[FatedV2]

    @lemma
    def epochs_begin_at_one(s):
        """No producer is given epoch 0."""
        return forall(Client, ProducerEpoch, lambda c, e: implies(s.txn.given[c, e], 0 < e))

    @lemma
    def at_work_in_the_present(s):
        """A member that does not poll, and is not fenced, is in a transaction of the newest epoch."""
        m, t = s.watched, s.now
        return implies(
            (s.stage[m] != Stage.POLLING) & ~s.mine_is_fenced(),
            s.is_mine(t) & (s.txn.number[t] == s.txn.epoch) & (s.txn.result[t] == Outcome.NONE),
        )

    @lemma
    def present_is_at_work(s):
        """A transaction of the newest epoch is the one in which the member is."""
        return forall(
            Txn,
            lambda t: implies(
                s.txn.begun[t] & (s.txn.number[t] == s.txn.epoch),
                (s.txn.owner[t] == s.mine) & (s.stage[s.watched] != Stage.POLLING) & (s.now == t),
            ),
        )

    @lemma
    def stages(s):
        """What the member has sent of its transaction, and what has come of it."""
        m, t = s.watched, s.now
        sent, fate = s.txn.sent[t, s.offsets], s.txn.fate[t, s.offsets]
        return (
            implies(s.stage[m] == Stage.PROCESSING, ~sent & (s.txn.choice[t] != Outcome.COMMIT))
            & implies(s.stage[m] == Stage.SENT, sent & (s.txn.choice[t] != Outcome.COMMIT))
            & implies((s.stage[m] == Stage.SENT) & ~s.mine_is_fenced(), fate == TxnFate.ABSENT)
            & implies(s.stage[m] == Stage.ACCEPTED, sent & (fate != TxnFate.ABSENT))
        )

    @lemma
    def requests(s):
        """TxnOffsetCommit says what the transaction has inputs of."""
        m, t = s.watched, s.now
        sent = (s.stage[m] == Stage.SENT) | (s.stage[m] == Stage.ACCEPTED)
        return implies(sent, s.request_stamp[t] == s.stamp[m]) & forall(
            Partition,
            lambda p: implies(sent, s.request[t, p] == when(s.is_in(m, p), s.next[m, p], 0)),
        )

    @lemma
    def prepared_is_mine(s):
        """So is the transaction that is prepared."""
        return forall(
            Txn,
            lambda t: implies(
                (s.txn.phase == Phase.PREPARED) & s.txn.begun[t] & (s.txn.number[t] == s.txn.ended),
                s.txn.owner[t] == s.mine,
            ),
        )

    @lemma
    def open_is_mine(s):
        """Offsets that are undecided are of the member's producer."""
        return forall(Txn, lambda t: implies(s.txn.fate[t, s.offsets] == TxnFate.OPEN, s.txn.owner[t] == s.mine))

    @lemma
    def pending_is_open(s):
        """Offsets are pending while the record that says them is undecided."""
        return forall(
            Partition,
            lambda p: implies(
                0 < s.pending[s.watched, p], exists(Txn, lambda t: s.txn.fate[t, s.offsets] == TxnFate.OPEN)
            ),
        )

    @lemma
    def begins_with_nothing(s):
        """Before its id is known the member has nothing."""
        m = s.watched
        return implies(s.txn.epoch == 0, s.stage[m] == Stage.POLLING) & forall(
            Partition,
            lambda p: implies(s.txn.epoch == 0, ~s.has[m, p] & (s.first[m, p] == 0) & (s.next[m, p] == 0)),
        )

    @refinement(
        of=Shipped,
        leaves_out=("owner_refused",),
        actions={
            "begin": ("process",), "send_offsets": ("send",), "accept_offsets": ("accept",),
            "end_txn": ("commit", "abort"), "answer_again": ("initialise",), "initialize_again": ("initialise",),
            "start": ("initialise",), "be_fenced": ("fence",), "mark_offsets": ("end",), "mark_offsets_late": ("end",),
            "txn.complete": ("end",), "txn.take_over": ("give_up", "fence"), "txn.fence_producers": ("fence",),
            **dict.fromkeys(
                (
                    "produce", "append_output", "be_refused", "ask_commit", "ask_abort", "mark_output",
                    "mark_output_late", "txn.ask", "txn.verify", "txn.learn", "txn.fail_over",
                ),
                (),
            ),
        },
    )  # fmt: skip
    def does_as_shipped(s):
        """The transactions of the watched member are what its coordinator and the partition of the offsets say."""
        return {
            "fate": each(lambda m: when(m == s.watched, s.fate_of_mine(), s.fate[m])),
            "fenced": each(lambda m: when(m == s.watched, s.mine_is_fenced(), s.fenced[m])),
        }

    def mine_is_fenced(s):
        """The newest epoch is not the producer's.  Of an id that is not known yet nobody has an epoch."""
        return ~s.has_newest() & (s.txn.epoch != 0)

    def is_mine(s, t):
        return s.txn.begun[t] & (s.txn.owner[t] == s.mine)

    def fate_of_mine(s):
        prepared = (
            (s.txn.phase == Phase.PREPARED)
            & (s.txn.known[s.offsets] < s.txn.marker_epoch)
            & exists(Txn, lambda t: s.is_mine(t) & (s.txn.number[t] == s.txn.ended))
        )
        decided = when(s.txn.outcome == Outcome.COMMIT, Fate.COMMITTED, Fate.ABORTED)
        is_open = exists(
            Txn, lambda t: s.is_mine(t) & (s.txn.number[t] == s.txn.epoch) & (s.txn.result[t] == Outcome.NONE)
        )
        return when(prepared, decided, when(is_open, Fate.OPEN, Fate.NONE))
