"""KIP-447 promises a group that each input is in the output once and each partition has one producer at a time."""

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
    """Every form makes these promises."""

    def may_commit(s, m, p):
        """Return whether the member's transaction has inputs of the partition and would be committed if it went on."""
        taken = (s.stage[m] == Stage.ACCEPTED) | s.takes_of(m, p, s.stamp[m])
        return s.is_in(m, p) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & taken

    @promise(rule="447.P1", broken="an input is processed twice in what is committed")
    def nothing_twice(s):
        """No input is processed twice in what is committed."""
        return ~s.twice

    @promise(
        rule="447.P1",
        broken="an input is left out of what is committed, or a committed offset is past the committed output",
    )
    def nothing_skipped(s):
        """No input is left out of what is committed, and no committed offset is past the committed output."""
        return ~s.skipped & forall(Partition, lambda p: s.committed[p] <= s.done[p])

    @promise(
        rule="447.P1",
        broken="the committed offset of {p} is not where its committed output ends, and no marker on its way "
        "will put it there",
    )
    def offsets_agree(s):
        """The committed offset is where the committed output ends, or a marker that makes it so is on its way."""
        return forall(
            Partition,
            lambda p: (s.done[p] == s.committed[p])
            | exists(
                Member,
                lambda m: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]) & (s.pending[m, p] == s.done[p]),
            ),
        )  # fmt: skip

    @promise(rule="447.P2", broken="{m} and {n} both have a transaction that could commit inputs of {p}")
    def one_producer(s):
        """No two members have transactions that could commit inputs of one partition."""
        return forall(
            Member, Member, Partition, lambda m, n, p: implies(m != n, ~(s.may_commit(m, p) & s.may_commit(n, p)))
        )  # fmt: skip

    @step(rule="447.P2", broken="offsets of {p} are accepted from {m}, which does not own it")
    def only_owners(old, new):
        """Offsets are accepted from their partition's owner only, although no coordinator may check the owner."""
        return forall(
            Member, Partition,
            lambda m, p: implies((old.pending[m, p] == 0) & (0 < new.pending[m, p]), old.owner[p] == m),
        )  # fmt: skip

    @promise(
        rule="447.2",
        broken="{m}, which owns {p}, resumes there from an offset that is not the committed one, or that "
        "another member's transaction may still change",
    )
    def starts_from_what_counts(s):
        """An owner resumes from an offset that no other member's transaction will change."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m) & ~s.fenced[m] & (s.stage[m] == Stage.POLLING)
                & (s.fate[m] == Fate.NONE),
                (s.next[m, p] == s.committed[p]) & s.is_stable(p),
            ),
        )  # fmt: skip

    @promise(
        rule="447.P3",
        broken="a member that has owned all partitions of its transaction's inputs since it polled is refused",
    )
    def owner_is_taken(s):
        """A member that has owned all partitions of its transaction's inputs since it polled is not refused."""
        return ~s.owner_refused

    @service(rule="447.P3", broken="{m}, which owns {p}, never gets its offset there")
    def fetch_is_answered(s, m: Member, p: Partition):
        """The owner of a partition gets its offset in the end, unless it loses the partition, is fenced or crashes."""
        owns = s.assigned[m, p] & (s.owner[p] == m) & s.is_up(m)
        return leads_to(owns & ~s.has[m, p] & (s.stage[m] == Stage.POLLING), s.has[m, p] | ~owns)

    @witness(of="nothing_twice")
    def a_zombie_sends(s):
        """Offsets are in flight for inputs that another member has processed and committed since."""
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
        """Output is committed, and the marker for its offsets has not arrived."""
        return exists(Member, Partition, lambda m, p: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]))

    @witness(of="one_producer")
    def two_at_work(s):
        """Two members have processed inputs of one partition."""
        return exists(Member, Member, Partition, lambda m, n, p: (m != n) & s.is_in(m, p) & s.is_in(n, p))

    @witness(of="only_owners")
    def sent_by_another(s):
        """Offsets are in flight from a member that does not own their partition any more."""
        return exists(Member, Partition, lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.owner[p] != m))

    @witness(of="starts_from_what_counts")
    def waits_for_a_marker(s):
        """An owner is about to fetch an offset while a former owner's commit is decided and its marker on its way."""
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
        """An owner is about to fetch an offset while a former owner's transaction is open and has offsets pending."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (s.owner[p] == m) & s.assigned[m, p] & ~s.has[m, p] & (s.fate[n] == Fate.OPEN)
            & (0 < s.pending[n, p]) & (m != n),
        )  # fmt: skip


# These properties relate the group to transactions: the transactions of every member are those of their interface.
#
# `Fated` is what the core of v2 is proved to do, for each client and the partition of the group's offsets, with
# requests that are lost, late and repeated, and coordinators that change, overlap and leave appends in doubt
# (transactions/ core-v2-fated, core-v2-overlapping-fated, core-v2-timed-out-fated). Here it is what the group does for
# each member. Both directions are stated: what a group does is a step of the interface, and a group never prevents what
# transactions do on their own.

STEPS: dict[str, tuple[str, ...]] = {"process": ("begin",), "refuse": ("abort",)}
"""`STEPS` maps each action to the steps of a member's transactions that it stands for, where the names differ."""


class OverTransactions(Properties):
    """The properties of `OverTransactions` relate the group to the transactions of each of its members."""

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
        """Return whether the member's open transaction has offsets pending that the member has not sent for it."""
        of_it = (s.stage[m] == Stage.ACCEPTED) & (s.pending[m, p] == s.next[m, p])
        return (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (0 < s.pending[m, p]) & ~of_it

    @refinement(of=Fated, actions=STEPS)
    def does_as_fated(s, m: Member):
        """The group refines the transactions of each member as the transaction coordinator sees them."""
        return s.transactions_of(m)

    @receptive(does_as_fated, "end", "give_up", "fence")
    def follows_transactions(s):
        """Whenever transactions may deliver a marker to a member, abort its transaction or fence its producer, the
        group can take that step as well."""


class DraftOverTransactions(OverTransactions):
    """The properties of `DraftOverTransactions` apply where initialising a member aborts others' transactions."""

    @refinement(of=Fated, actions=STEPS | {"abort_for": ("give_up", "fence")})
    def does_as_fated(s, m: Member):
        """The group refines the transactions of each member as the transaction coordinator sees them."""
        return s.transactions_of(m)


class UpgradeOverTransactions(OverTransactions):
    """The properties of `UpgradeOverTransactions` apply where an old client may take over a partition's id."""

    @refinement(of=Fated, actions=STEPS | {"abort_for": ("give_up", "fence"), "claim": ("give_up",)})
    def does_as_fated(s, m: Member):
        """The group refines the transactions of each member as the transaction coordinator sees them."""
        return s.transactions_of(m)


# These lemmas relate a transaction, its offsets and its member in every form of group fencing.


class Lemmas(Promises, OverTransactions):
    """The lemmas of `Lemmas` hold of every form and relate a transaction, its offsets and its member."""

    @lemma
    def between_transactions(s):
        """A member that polls has nothing in a transaction. A member that does not poll has its transaction open, or
        has begun it while the marker of the preceding one is on its way, or is fenced."""
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
        """Offsets are pending only for a transaction that is not over. In an open transaction whose producer is not
        fenced they are the inputs that its member has processed."""
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
        """Return the committed offset, or the one that the member's last transaction brings if that is decided."""
        decided = (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p])
        return when(decided, s.pending[m, p], s.committed[p])

    @lemma
    def one_is_pending(s):
        """At most one member has offsets of a partition pending."""
        return forall(
            Member, Member, Partition,
            lambda m, n, p: implies((0 < s.pending[m, p]) & (0 < s.pending[n, p]), m == n),
        )  # fmt: skip

    @lemma
    def pending_goes_on(s):
        """The pending offsets of an open transaction begin at the committed offset, those of a decided one after it."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                (0 < s.pending[m, p]) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m], s.first[m, p] == s.committed[p]
            )
            & implies((0 < s.pending[m, p]) & (s.fate[m] == Fate.COMMITTED), s.committed[p] < s.pending[m, p]),
        )  # fmt: skip

    @lemma
    def decided_is_done(s):
        """The pending offset of a committed transaction is where the output ends."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]), s.pending[m, p] == s.done[p]
            ),
        )  # fmt: skip


class OwnersGoOn(Lemmas):
    """The lemmas of `OwnersGoOn` hold where commits are accepted from owners of the partitions of their inputs."""

    @lemma
    def owner_goes_on(s):
        """The offset that an owner has fetched, or committed since, is or will be the committed offset."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m) & ~s.fenced[m], s.first[m, p] == s.where_it_goes_on(m, p)
            ),
        ) & forall(
            Member, Member, Partition,
            lambda m, n, p: implies(s.has[m, p] & (s.owner[p] == m) & (m != n), s.pending[n, p] == 0),
        )  # fmt: skip


# A group whose requests are in flight refines `shipped`, where a late answer is a slow member.
#
# This is explored within bounds. Induction leaves some steps undecided, so nothing is claimed without bounds.

BY_ITSELF = (
    "arrive", "copy", "arrive_late", "put_out", "choose", "settle", "join", "hear_joined", "start_over",
    "hear_partitions", "hear_nothing", "ask", "hear_offset",
)  # fmt: skip


class ByRequests(Properties, of=ShippedByRequests):
    """The properties of `ByRequests` relate what shipped, modelled by requests, to what shipped, modelled by steps."""

    @refinement(of=Shipped, leaves_out=("owner_refused",), actions=dict.fromkeys(BY_ITSELF, ()))
    def does_as_shipped(s):
        """The model by requests refines what shipped, where an answer takes effect for a member before it is delivered,
        and the member does nothing until then."""
        return {
            "knows": each(lambda m: s.newest_of(m, s.knows)),
            "stamp": each(lambda m: s.newest_of(m, s.stamp)),
            "assigned": each(lambda m, p: when(s.is_news(m), s.gets[m, p], s.assigned[m, p])),
            "has": each(lambda m, p: ~s.is_news(m) & (s.has[m, p] | s.says[m, p])),
            "first": each(lambda m, p: when(s.says[m, p], s.offset[m, p], s.first[m, p])),
            "next": each(lambda m, p: when(s.says[m, p], s.offset[m, p], s.next[m, p])),
        }

    def is_news(s, m):
        """Return whether the member has been answered with something that it has not received yet."""
        return s.knows[m] < s.answered[m]

    def newest_of(s, m, known):
        return when(s.is_news(m), s.answered[m], known[m])

    @witness(of="does_as_shipped")
    def hears_too_late(s):
        """A member is about to learn its assignment of a generation that is over."""
        return exists(
            Member, lambda m: (0 < s.syncing[m]) & (s.answered[m] == s.syncing[m]) & (s.syncing[m] < s.newest)
        )

    @witness(of="does_as_shipped")
    def commits_meanwhile(s):
        """Offsets of the current generation arrive while members join the next one."""
        return (s.phase == Phase.PREPARING) & exists(
            Member, lambda m: s.has_arrived(m) & s.takes(m, s.stamp[m]) & exists(Member, lambda n: s.joined[n])
        )

    @witness(of="does_as_shipped")
    def offset_of_another_time(s):
        """An answer to OffsetFetch is on its way, while the partition's next owner has already sent an offset."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & s.says[m, p] & (s.owner[p] == n) & s.is_in(n, p) & (s.stage[n] == Stage.SENT),
        )  # fmt: skip


# A group whose members' transactions are the core of v2 does nothing beyond a group whose members' transactions are
# their interface.


class OverCore(Properties, of=ShippedOverCore):
    """The properties of `OverCore` relate what shipped to the core of transactions v2."""

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
        """A transaction of the newest epoch is the one that the member is in."""
        return forall(
            Txn,
            lambda t: implies(
                s.txn.begun[t] & (s.txn.number[t] == s.txn.epoch),
                (s.txn.owner[t] == s.mine) & (s.stage[s.watched] != Stage.POLLING) & (s.now == t),
            ),
        )

    @lemma
    def stages(s):
        """The member's stage agrees with what it has sent in its transaction and with the fate of those offsets."""
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
        """TxnOffsetCommit contains the offsets of exactly those partitions of which the transaction has inputs."""
        m, t = s.watched, s.now
        sent = (s.stage[m] == Stage.SENT) | (s.stage[m] == Stage.ACCEPTED)
        return implies(sent, s.request_stamp[t] == s.stamp[m]) & forall(
            Partition,
            lambda p: implies(sent, s.request[t, p] == when(s.is_in(m, p), s.next[m, p], 0)),
        )

    @lemma
    def prepared_is_mine(s):
        """The transaction that is prepared is of the member's producer."""
        return forall(
            Txn,
            lambda t: implies(
                (s.txn.phase == TransactionPhase.PREPARED) & s.txn.begun[t] & (s.txn.number[t] == s.txn.ended),
                s.txn.owner[t] == s.mine,
            ),
        )

    @lemma
    def open_is_mine(s):
        """Undecided offsets are of the member's producer."""
        return forall(Txn, lambda t: implies(s.txn.fate[t, s.offsets] == TxnFate.OPEN, s.txn.owner[t] == s.mine))

    @lemma
    def pending_is_open(s):
        """Offsets are pending only while the record that has them is undecided."""
        return forall(
            Partition,
            lambda p: implies(
                0 < s.pending[s.watched, p], exists(Txn, lambda t: s.txn.fate[t, s.offsets] == TxnFate.OPEN)
            ),
        )

    @lemma
    def begins_with_nothing(s):
        """Before its producer id is known, the member has fetched and processed nothing."""
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
        """The composed model refines what shipped, where the coordinator and the offsets partition determine the
        watched member's transactions."""
        return {
            "fate": each(lambda m: when(m == s.watched, s.fate_of_mine(), s.fate[m])),
            "fenced": each(lambda m: when(m == s.watched, s.mine_is_fenced(), s.fenced[m])),
        }

    def mine_is_fenced(s):
        """Return whether another producer has the newest epoch, which none has before the id is known."""
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
