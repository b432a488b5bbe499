"""What KIP-447 promises to a group: each input once in the output, and one producer at a time for each partition."""

from fencepost.model.group_fencing.by_requests import Phase, ShippedByRequests
from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Fate, Member, Partition, Stage
from fencepost.model.group_fencing.over_core import ProducerEpoch, ShippedOverCore
from fencepost.model.language import (
    Part,
    Properties,
    each,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    receptive,
    refinement,
    service,
    step,
    when,
    witness,
)
from fencepost.model.transactions.abstract.core import Client, Outcome, Txn
from fencepost.model.transactions.abstract.core import Fate as TxnFate
from fencepost.model.transactions.abstract.core import Phase as TransactionPhase
from fencepost.model.transactions.abstract.fated import Fated
from fencepost.properties.transactions.claims.core_overlapping import FatedV2


class Promises(Properties):
    """The promises of every form."""

    def may_commit(s, m, p):
        """The member's transaction has inputs of the partition, and would be taken and committed if it went on now."""
        taken = (s.stage[m] == Stage.ACCEPTED) | s.takes_of(m, p, s.stamp[m])
        return s.is_in(m, p) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & taken

    @promise(rule="447.P1")
    def nothing_twice(s):
        """No input is processed twice in what is committed."""
        return ~s.twice

    @promise(rule="447.P1")
    def nothing_skipped(s):
        """No input is left out of what is committed, and no committed offset is past what is."""
        return ~s.skipped & forall(Partition, lambda p: s.committed[p] <= s.done[p])

    @promise(rule="447.P1")
    def offsets_agree(s):
        """The committed offset is where the committed output ends, or a marker is on its way that says so."""
        return forall(
            Partition,
            lambda p: (s.done[p] == s.committed[p])
            | exists(
                Member,
                lambda m: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]) & (s.pending[m, p] == s.done[p]),
            ),
        )  # fmt: skip

    @promise(rule="447.P2")
    def one_producer(s):
        """No two members have transactions that could commit inputs of one partition."""
        return forall(
            Member, Member, Partition, lambda m, n, p: implies(m != n, ~(s.may_commit(m, p) & s.may_commit(n, p)))
        )  # fmt: skip

    @step(rule="447.P2")
    def only_owners(old, new):
        """Offsets are taken from the owner of their partition only, though no coordinator may ask who that is."""
        return forall(
            Member, Partition,
            lambda m, p: implies((old.pending[m, p] == 0) & (0 < new.pending[m, p]), old.owner[p] == m),
        )  # fmt: skip

    @promise(rule="447.2")
    def starts_from_what_counts(s):
        """An owner goes on from an offset that no other member's transaction will change."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m) & ~s.fenced[m] & (s.stage[m] == Stage.POLLING)
                & (s.fate[m] == Fate.NONE),
                (s.next[m, p] == s.committed[p]) & s.is_stable(p),
            ),
        )  # fmt: skip

    @promise(rule="447.P3")
    def owner_is_taken(s):
        """A member that owns all partitions of its transaction's inputs, and has since it polled, is not refused."""
        return ~s.owner_refused

    @service(rule="447.P3")
    def fetch_is_answered(s, m: Member, p: Partition):
        """The owner of a partition gets its offset in the end, unless it stops being that, is fenced or crashes."""
        owns = s.assigned[m, p] & (s.owner[p] == m) & s.is_up(m)
        return leads_to(owns & ~s.has[m, p] & (s.stage[m] == Stage.POLLING), s.has[m, p] | ~owns)

    @witness(of="nothing_twice")
    def a_zombie_sends(s):
        """Offsets are under way for inputs that another member has processed and committed since."""
        return exists(
            Member, Partition,
            lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.first[m, p] < s.committed[p]),
        )  # fmt: skip

    @witness(of="nothing_skipped")
    def comes_to_its_end(s):
        """A second transaction has committed inputs of a partition, and its marker is on its way."""
        return exists(
            Member, Partition,
            lambda m, p: (0 < s.committed[p]) & (s.fate[m] == Fate.COMMITTED) & (s.committed[p] < s.pending[m, p]),
        )  # fmt: skip

    @witness(of="offsets_agree")
    def marker_on_its_way(s):
        """Output is committed, and the marker for its offsets has not come."""
        return exists(Member, Partition, lambda m, p: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]))

    @witness(of="one_producer")
    def two_at_work(s):
        """Two members have processed inputs of one partition."""
        return exists(Member, Member, Partition, lambda m, n, p: (m != n) & s.is_in(m, p) & s.is_in(n, p))

    @witness(of="only_owners")
    def sent_by_another(s):
        """Offsets are under way of a member that does not own their partition any more."""
        return exists(Member, Partition, lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.owner[p] != m))

    @witness(of="starts_from_what_counts")
    def waits_for_a_marker(s):
        """An owner is to fetch, while a former one's commit is decided and its marker on its way."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (s.owner[p] == m) & s.assigned[m, p] & ~s.has[m, p] & (s.fate[n] == Fate.COMMITTED)
            & (0 < s.pending[n, p]) & (m != n),
        )  # fmt: skip

    @witness(of="owner_is_taken")
    def sends_in_time(s):
        """An owner has sent offsets, after a rebalance."""
        return exists(Member, Partition, lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.owner[p] == m))

    @witness(of="fetch_is_answered")
    def has_to_wait(s):
        """An owner is to fetch, while a former one's transaction is open and its offsets pending."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (s.owner[p] == m) & s.assigned[m, p] & ~s.has[m, p] & (s.fate[n] == Fate.OPEN)
            & (0 < s.pending[n, p]) & (m != n),
        )  # fmt: skip


# What the transactions of a group's members have to do with transactions: every member's are those of their interface.
#
# `Fated` is what the core of v2 is proved to do, for each client and the partition of the group's offsets, with
# requests that are lost, late and repeated, coordinators that change, overlap and leave appends in doubt
# (transactions/ core-v2-fated, core-v2-overlapping-fated, core-v2-timed-out-fated).  Here it is what the group does
# for each member. Both directions are stated: what a group does is a step of the interface, and what transactions do
# on their own a group is never in the way of.

STEPS: dict[str, tuple[str, ...]] = {"process": ("begin",), "refuse": ("abort",)}
"""What actions are to a member's transactions that do not have the name of a step of theirs."""


class OverTransactions(Properties):
    """Of each member."""

    def transactions_of(s, m):
        return {
            "open": (s.stage[m] != Stage.POLLING) & ~s.fenced[m],
            "accepted": (s.fate[m] != Fate.ABORTED) & exists(Partition, lambda p: 0 < s.pending[m, p]),
            "decided": when(
                s.fate[m] == Fate.COMMITTED,
                Outcome.COMMIT,
                when(s.fate[m] == Fate.ABORTED, Outcome.ABORT, Outcome.NONE),
            ),
            "fenced": s.fenced[m],
            "astray": exists(Partition, lambda p: s.is_astray(m, p)),
        }

    def is_astray(s, m, p):
        """Offsets are pending in the open transaction that it was not what was sent for."""
        of_it = (s.stage[m] == Stage.ACCEPTED) & (s.pending[m, p] == s.next[m, p])
        return (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (0 < s.pending[m, p]) & ~of_it

    @refinement(of=Fated, actions=STEPS)
    def does_as_fated(s, m: Member):
        """How a member's transactions look to the transaction coordinator."""
        return s.transactions_of(m)

    @receptive(does_as_fated, "end", "give_up", "fence")
    def follows_transactions(s):
        """A marker that arrives, a transaction that is aborted, a producer that is fenced: whenever transactions may do
        that to a member, the group goes along."""


class DraftOverTransactions(OverTransactions):
    """Where the initialisation of one member aborts the transactions of others."""

    @refinement(of=Fated, actions=STEPS | {"abort_for": ("give_up", "fence")})
    def does_as_fated(s, m: Member):
        """How a member's transactions look to the transaction coordinator."""
        return s.transactions_of(m)


class UpgradeOverTransactions(OverTransactions):
    """Where an old client takes the transactional id of a partition over besides."""

    @refinement(of=Fated, actions=STEPS | {"abort_for": ("give_up", "fence"), "claim": ("give_up",)})
    def does_as_fated(s, m: Member):
        """How a member's transactions look to the transaction coordinator."""
        return s.transactions_of(m)


# What a transaction, its offsets and its member have to do with one another, in every form of group fencing.


class Lemmas(Promises, OverTransactions):
    """Lemmas of every form: what a transaction, its offsets and its member have to do with one another."""

    @lemma
    def between_transactions(s):
        """A member that polls has nothing in a transaction; one that does not has it open, or begun while the marker of
        the one before is on its way, or is fenced."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.stage[m] == Stage.POLLING, ~s.is_in(m, p)),
        ) & forall(
            Member,
            lambda m: implies(
                ~s.fenced[m],
                when(
                    s.stage[m] == Stage.POLLING,
                    s.fate[m] != Fate.OPEN,
                    (s.fate[m] != Fate.NONE) & implies(s.stage[m] == Stage.ACCEPTED, s.fate[m] == Fate.OPEN),
                ),
            )
            & implies(s.fenced[m], s.fate[m] != Fate.OPEN),
        )  # fmt: skip

    @lemma
    def pending_in_a_transaction(s):
        """Offsets are pending of a transaction that is not over; of an open one whose producer is not fenced they are
        what its member has processed."""
        return forall(
            Member, Partition,
            lambda m, p: implies(0 < s.pending[m, p], s.fate[m] != Fate.NONE)
            & implies(
                (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (s.stage[m] == Stage.ACCEPTED) & s.is_in(m, p),
                s.pending[m, p] == s.next[m, p],
            )
            & implies(
                (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (0 < s.pending[m, p]),
                (s.stage[m] == Stage.ACCEPTED) & s.is_in(m, p),
            ),
        )  # fmt: skip

    def where_it_goes_on(s, m, p):
        """The committed offset, or the one that the member's last transaction brings."""
        decided = (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p])
        return when(decided, s.pending[m, p], s.committed[p])

    @lemma
    def one_is_pending(s):
        """Of a partition the offsets of one member at most are pending."""
        return forall(
            Member, Member, Partition,
            lambda m, n, p: implies((0 < s.pending[m, p]) & (0 < s.pending[n, p]), m == n),
        )  # fmt: skip

    @lemma
    def pending_goes_on(s):
        """What is pending of an open transaction begins at the committed offset; of a decided one it is past it."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                (0 < s.pending[m, p]) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m], s.first[m, p] == s.committed[p]
            )
            & implies((0 < s.pending[m, p]) & (s.fate[m] == Fate.COMMITTED), s.committed[p] < s.pending[m, p]),
        )  # fmt: skip

    @lemma
    def decided_is_done(s):
        """What a committed transaction has pending is where the output ends."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]), s.pending[m, p] == s.done[p]
            ),
        )  # fmt: skip


class OwnersGoOn(Lemmas):
    """Where commits are taken from those that own what they had."""

    @lemma
    def owner_goes_on(s):
        """What an owner has fetched, or committed since, is where the committed offset is or will be."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m) & ~s.fenced[m], s.first[m, p] == s.where_it_goes_on(m, p)
            ),
        ) & forall(
            Member, Member, Partition,
            lambda m, n, p: implies(s.has[m, p] & (s.owner[p] == m) & (m != n), s.pending[n, p] == 0),
        )  # fmt: skip


# A group whose requests are in flight is refined to `shipped`, where an answer that is late is a member that is slow.
#
# Explored within bounds; induction leaves some steps undecided, and nothing is said without bounds.

BY_ITSELF = (
    "arrive", "copy", "arrive_late", "put_out", "choose", "settle", "join", "hear_joined", "start_over",
    "hear_partitions", "hear_nothing", "ask", "hear_offset",
)  # fmt: skip


class ByRequests(Properties, of=ShippedByRequests):
    """What shipped, by requests."""

    @refinement(of=Shipped, leaves_out=("owner_refused",), actions=dict.fromkeys(BY_ITSELF, ()))
    def does_as_shipped(s):
        """What was answered is so for a member that has not heard it yet, and does nothing until then."""
        return {
            "knows": each(lambda m: s.newest_of(m, s.knows)),
            "stamp": each(lambda m: s.newest_of(m, s.stamp)),
            "assigned": each(lambda m, p: when(s.is_news(m), s.gets[m, p], s.assigned[m, p])),
            "has": each(lambda m, p: ~s.is_news(m) & (s.has[m, p] | s.says[m, p])),
            "first": each(lambda m, p: when(s.says[m, p], s.offset[m, p], s.first[m, p])),
            "next": each(lambda m, p: when(s.says[m, p], s.offset[m, p], s.next[m, p])),
        }

    def is_news(s, m):
        """It was given something of which it has not heard."""
        return s.knows[m] < s.answered[m]

    def newest_of(s, m, known):
        return when(s.is_news(m), s.answered[m], known[m])

    @witness(of="does_as_shipped")
    def hears_too_late(s):
        """A member is about to hear what it has in a generation that is over."""
        return exists(
            Member, lambda m: (0 < s.syncing[m]) & (s.answered[m] == s.syncing[m]) & (s.syncing[m] < s.newest)
        )

    @witness(of="does_as_shipped")
    def commits_meanwhile(s):
        """Offsets arrive of the generation that is, while the members join the next one."""
        return (s.phase == Phase.PREPARING) & exists(
            Member, lambda m: s.has_arrived(m) & s.takes(m, s.stamp[m]) & exists(Member, lambda n: s.joined[n])
        )

    @witness(of="does_as_shipped")
    def offset_of_another_time(s):
        """An answer to OffsetFetch is on its way to a member whose partition has another owner by now, who has sent its
        own offset."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & s.says[m, p] & (s.owner[p] == n) & s.is_in(n, p) & (s.stage[n] == Stage.SENT),
        )  # fmt: skip


# Where a member's transactions are the core of v2, the group does nothing else than where they are their interface.


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
                (s.txn.phase == TransactionPhase.PREPARED) & s.txn.begun[t] & (s.txn.number[t] == s.txn.ended),
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
            (s.txn.phase == TransactionPhase.PREPARED)
            & (s.txn.known[s.offsets] < s.txn.marker_epoch)
            & exists(Txn, lambda t: s.is_mine(t) & (s.txn.number[t] == s.txn.ended))
        )
        decided = when(s.txn.outcome == Outcome.COMMIT, Fate.COMMITTED, Fate.ABORTED)
        is_open = exists(
            Txn, lambda t: s.is_mine(t) & (s.txn.number[t] == s.txn.epoch) & (s.txn.result[t] == Outcome.NONE)
        )
        return when(prepared, decided, when(is_open, Fate.OPEN, Fate.NONE))
