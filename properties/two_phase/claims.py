"""This module declares what two-phase commit (KIP-939) promises, in addition to what transactions promise, and why it
holds.

The idea: epochs that clients are answered with and epochs of transactions are apart, so that each EndTxn belongs to one
transaction; and the store says once what becomes of a transaction, since it refuses whom another has read for.
"""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    progress,
    promise,
    service,
    step,
    witness,
)
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Outcome, Partition, Phase, Txn
from fencepost.model.two_phase.core import TwoPhase
from fencepost.model.two_phase.mistakes import AbortWritten
from fencepost.properties.transactions.claims.core import V2Lemmas


class TwoPhasePromises(Properties):
    """These are the promises 939.P*, and those of transactions that depend on who decides."""

    @promise(
        rule="939.P1",
        broken="the outside coordinator decided to commit {t}, no operator aborted it, and its record in {p} is lost",
    )
    def decided_commit_happens(s):
        """Once the store has the decision to commit, no record of the transaction is missing or aborted, unless by an
        operator."""
        return s.each_record(
            lambda t, p, fate, late, sent: implies(
                (s.decision[t] == Outcome.COMMIT) & ~s.forced[t] & sent,
                (fate == Fate.OPEN) | (fate == Fate.COMMITTED),
            )
        )

    @promise(rule="939.P1", broken="{t} is committed in {p}, and that is not what was decided")
    def committed_as_decided(s):
        """No record of a transaction that is decided outside is committed unless that was decided."""
        return s.each_record(
            lambda t, p, fate, late, sent: implies(
                s.bound[t] & (fate == Fate.COMMITTED), s.verdict[t] == Outcome.COMMIT
            )
        )

    @promise(rule="939.P1", broken="{t} is aborted in {p}, and neither was that decided nor did an operator do it")
    def aborted_as_decided(s):
        """No record of a transaction that is decided outside is aborted unless that was decided, or an operator did
        it."""
        return s.each_record(
            lambda t, p, fate, late, sent: implies(
                s.bound[t] & (fate == Fate.ABORTED) & ~s.forced[t], s.verdict[t] == Outcome.ABORT
            )
        )

    @step(rule="939.P1", broken="{t} was decided, and is decided otherwise")
    def decided_once(old, new):
        """What was decided of a transaction stays decided."""
        return forall(Txn, lambda t: (old.verdict[t] == Outcome.NONE) | (new.verdict[t] == old.verdict[t]))

    @promise(rule="939.P2", broken="{t} was prepared, and has ended before anything was decided")
    def survives_until_decided(s):
        """A prepared transaction does not end before it is decided, unless an operator aborts it."""
        return forall(
            Txn,
            lambda t: implies(s.ready[t] & (s.verdict[t] == Outcome.NONE) & ~s.forced[t], s.result[t] == Outcome.NONE),
        )

    @promise(rule="939.P3", broken="{c} and {d} were answered with the same epoch for the transaction that is open")
    def one_answer(s):
        """No two clients are answered with the same epoch for a transaction that they found."""
        return forall(Client, Client, lambda c, d: implies((s.held[c] == s.held[d]) & (s.held[c] > 0), c == d))

    @step(rule="939.P3", broken="{t} is ended by a client that was answered before another one")
    def only_the_newest_ends_it(old, new):
        """A retained transaction that has no time-out ends as the client asks that was answered last, or by an
        operator."""

        def by_the_newest(t):
            return exists(Client, lambda c: (old.held[c] == old.facing) & (old.wants[c] == new.result[t]))

        return forall(
            Txn,
            lambda t: implies(
                old.retained
                & old.two_phase
                & old.begun[t]
                & (old.number[t] == old.epoch)
                & (new.result[t] != old.result[t]),
                new.forced[t] | by_the_newest(t),
            ),
        )

    @step(rule="939.P3", broken="{c} asks for the end of what it found, and that ends {t}")
    def ends_what_it_found(old, new):
        """A client that found a transaction ends no other one by its EndTxn, however late that comes."""
        return forall(
            Client, Txn,
            lambda c, t: implies(
                (new.next[c] != old.next[c]) & (new.result[t] != old.result[t]), old.found[c] == old.number[t]
            ),
        )  # fmt: skip

    @promise(
        rule="939.P4",
        broken="{p} accepted a record of {t} after the store was read for a new producer, and it is committed",
    )
    def nothing_after_the_read(s):
        """No record is committed that was accepted from an older producer after the store was read for a new one."""
        return forall(Txn, Partition, lambda t, p: ~(s.after_read[t, p] & (s.fate[t, p] == Fate.COMMITTED)))

    @service(rule="939.P5", ceasing=("mark_late",), broken="{c} restarts, and is never answered")
    def restart_is_answered(s, c: Client):
        """A client that restarts is answered in the end, unless two-phase commit is switched off."""
        return leads_to(s.restarted[c], ~s.restarted[c] | s.forbidden)

    @service(rule="939.P5", ceasing=("mark_late",), broken="{c} asks for the end of what it found, and has no answer")
    def found_is_ended(s, c: Client):
        """A client that asks for the end of what it found gets the answer in the end, unless there is a newer client,
        or an operator intervenes."""
        newer = (s.held[c] < s.fence) | (s.retained & (s.held[c] < s.facing))
        forced = exists(Txn, lambda t: s.forced[t] & (s.number[t] == s.found[c]))
        return leads_to(
            (s.wants[c] != Outcome.NONE) & s.retained & (s.held[c] == s.facing), s.completed[c] | newer | forced
        )

    @step(rule="939.P6", broken="an id opens transactions without time-out, which is not permitted")
    def only_with_permission(old, new):
        """Only while it is permitted does an id begin to open transactions without time-out."""
        return implies(~old.two_phase & new.two_phase, ~old.forbidden)

    # What transactions promise, where someone else decides

    @promise(rule="txn.P3", broken="{t}, which was never to be committed, is committed in {p}")
    def nothing_committed_unasked(s):
        """A record is committed only if its owner, or the outside coordinator, decided so."""
        return s.each_record(lambda t, p, fate, late, sent: implies(fate == Fate.COMMITTED, s.is_to_commit(t)))

    def is_to_commit(s, t):
        return (s.choice[t] == Outcome.COMMIT) | (s.decision[t] == Outcome.COMMIT)

    @progress(rule="txn.P10", broken="a transaction is prepared, or has a time-out, and is never completed")
    def ends_in_the_end(s):
        """Every transaction that has a time-out, or whose markers are on their way, is complete in the end, unless a
        client that asks for two-phase commit retains it."""
        return leads_to(
            (s.phase == Phase.PREPARED) | ((s.phase == Phase.ONGOING) & ~s.two_phase),
            (s.phase == Phase.IDLE) | ((s.phase == Phase.ONGOING) & s.two_phase),
        )

    @progress(rule="txn.P10", broken="the record of {t} in {p} stays undecided for ever")
    def decided_in_the_end(s, t: Txn, p: Partition):
        """No record stays undecided for ever while the id has a time-out."""
        return leads_to((s.fate[t, p] == Fate.OPEN) & ~s.two_phase, (s.fate[t, p] != Fate.OPEN) | s.two_phase)

    def is_fenced(s, t):
        return (s.number[t] < s.epoch) | s.retained

    @witness(of="decided_commit_happens")
    def decided_and_left(s):
        """What was decided to be committed is open, and a client has found it."""
        return exists(Txn, lambda t: (s.decision[t] == Outcome.COMMIT) & s.retained & (s.number[t] == s.epoch))

    @witness(of="committed_as_decided")
    def committed_by_another(s):
        """A client has committed what another one prepared."""
        return exists(
            Txn, Partition, Client,
            lambda t, p, c: (s.fate[t, p] == Fate.COMMITTED) & s.completed[c] & (s.choice[t] == Outcome.NONE)
            & (s.owner[t] != c),
        )  # fmt: skip

    @witness(of="aborted_as_decided")
    def aborted_undecided(s):
        """A prepared transaction is aborted by a client that found no decision."""
        return exists(
            Txn, Partition,
            lambda t, p: s.ready[t] & (s.fate[t, p] == Fate.ABORTED) & (s.decision[t] != Outcome.COMMIT) & ~s.forced[t],
        )  # fmt: skip

    @witness(of="decided_once")
    def may_still_be_written(s):
        """A client found no decision, and the owner, which is alive, still has the prepared state."""
        return exists(
            Txn, lambda t: s.ready[t] & (s.verdict[t] == Outcome.ABORT) & (s.choice[t] == Outcome.NONE) & s.retained
        )

    @witness(of="survives_until_decided")
    def retained_undecided(s):
        """A prepared transaction is retained, and not decided."""
        return exists(Txn, lambda t: s.ready[t] & (s.verdict[t] == Outcome.NONE) & s.retained)

    @witness(of="survives_until_decided")
    def found_without(s):
        """A client that does not ask for two-phase commit has found a prepared transaction."""
        return exists(Client, Txn, lambda c, t: s.retained & (s.held[c] == s.facing) & ~s.enabled[c] & s.ready[t])

    @witness(of="one_answer")
    def found_twice(s):
        """Two clients have found the same transaction."""
        return exists(Client, Client, lambda c, d: (c != d) & (s.found[c] == s.found[d]) & (s.found[c] > 0))

    @witness(of="only_the_newest_ends_it")
    def owner_wants_to_end_it(s):
        """A transaction is retained, and its owner has sent EndTxn as well."""
        return exists(Txn, lambda t: s.retained & (s.number[t] == s.epoch) & (s.choice[t] != Outcome.NONE))

    @witness(of="ends_what_it_found")
    def late_end(s):
        """A client has asked for the end of what it found, which has ended, and another transaction is open."""
        return exists(
            Client, Txn,
            lambda c, t: (s.wants[c] != Outcome.NONE) & s.begun[t] & (s.found[c] < s.number[t])
            & (s.number[t] == s.epoch) & (s.phase == Phase.ONGOING),
        )  # fmt: skip

    @witness(of="nothing_after_the_read")
    def accepted_after_the_read(s):
        """A record was accepted after the store was read for a new producer."""
        return exists(Txn, Partition, lambda t, p: s.after_read[t, p])

    @witness(of="restart_is_answered")
    def waits_for_markers(s):
        """A client restarts while markers are on their way."""
        return exists(Client, lambda c: s.restarted[c] & (s.phase == Phase.PREPARED))

    @witness(of="found_is_ended")
    def wants_an_end(s):
        """A client asks for the end of what it found, and has no answer yet."""
        return exists(Client, lambda c: (s.wants[c] == Outcome.COMMIT) & s.retained & (s.held[c] == s.facing))

    @witness(of="only_with_permission")
    def open_though_forbidden(s):
        """A transaction without time-out is open, and no other may be begun."""
        return s.two_phase & (s.phase == Phase.ONGOING) & s.forbidden

    @witness(of="committed_as_decided")
    def both_in_turn(s):
        """Under one id a transaction was decided by its owner, and another one outside."""
        return exists(
            Txn, Txn, Partition,
            lambda t, u, p: s.bound[t] & ~s.bound[u] & (s.fate[t, p] == Fate.COMMITTED)
            & (s.fate[u, p] == Fate.COMMITTED),
        )  # fmt: skip

    @witness(of="decided_commit_happens")
    def ended_though_forbidden(s):
        """What was found is committed while two-phase commit is switched off."""
        return s.forbidden & exists(Client, lambda c: s.completed[c] & (s.wants[c] == Outcome.COMMIT))


class TwoPhaseLemmas(TwoPhasePromises, V2Lemmas, of=TwoPhase):
    """These lemmas hold with any number of clients, transactions, partitions and epochs."""

    @lemma
    def committed_as_asked(s):
        """A transaction is committed only if its owner or the outside coordinator decided so."""
        return forall(Txn, lambda t: implies(s.result[t] == Outcome.COMMIT, s.is_to_commit(t)))

    @lemma
    def all_there_before_commit(s):
        """Every record of a transaction that is prepared, or that its owner commits, was acknowledged."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                ((s.choice[t] == Outcome.COMMIT) | s.ready[t]) & s.sent[t, p], s.fate[t, p] != Fate.ABSENT
            ),
        )  # fmt: skip

    def ended_last(s, t):
        return s.begun[t] & (s.number[t] == s.ended) & (s.outcome != Outcome.NONE) & (s.last == s.ended)

    @lemma
    def retained_is_open(s):
        """A retained transaction is open, and has an earlier epoch than the one that clients use."""
        return implies(s.retained, (s.phase == Phase.ONGOING) & (s.epoch < s.facing))

    @lemma
    def held_is_past(s):
        """An epoch with which a client was answered for what it found is later than that transaction's, and the client
        found the open transaction, or the one that ended last, or an earlier one."""
        return forall(
            Client,
            lambda c: (
                (
                    (s.held[c] == 0)
                    | (
                        (s.found[c] < s.held[c])
                        & ((s.held[c] < s.epoch) | (s.retained & (s.held[c] <= s.facing) & (s.found[c] == s.epoch)))
                    )
                )
                & implies(
                    (s.outcome != Outcome.NONE) & (s.ended < s.held[c]) & (s.held[c] <= s.last), s.found[c] == s.ended
                )
                & implies(s.phase == Phase.PREPARED, s.held[c] <= s.last)
            ),
        )

    @lemma
    def restarted_found_nothing(s):
        """A client that restarts and is not answered yet has found no transaction, and has no epoch."""
        return forall(Client, lambda c: implies(s.restarted[c], s.held[c] == 0)) & forall(
            Client, Epoch, lambda c, e: ~(s.restarted[c] & s.given[c, e])
        )

    @lemma
    def found_was_begun(s):
        """What a client found is a transaction of some producer."""
        return forall(
            Client, lambda c: (s.held[c] == 0) | exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.found[c]))
        )

    @lemma
    def held_is_no_transactions(s):
        """An epoch with which a client was answered for what it found is no epoch of a transaction, now or later."""
        return (
            forall(Client, Client, lambda c, d: (s.held[c] == 0) | ~s.given[d, s.held[c]])
            & forall(Client, Client, lambda c, d: (s.held[c] == 0) | (s.next[d] != s.held[c]))
            & forall(Client, Txn, lambda c, t: (s.held[c] == 0) | ~s.success[t] | (s.follows[t] != s.held[c]))
        )

    @lemma
    def last_is_past(s):
        """The epoch under which the last EndTxn may be repeated lies between the epoch of that transaction and the
        present one, where no transaction has its epoch."""
        return implies(
            s.outcome != Outcome.NONE,
            (s.ended <= s.last)
            & (s.last < s.epoch)
            & forall(Client, Epoch, lambda c, e: ~s.given[c, e] | (e <= s.ended) | (s.last < e))
            & forall(Txn, lambda t: ~s.success[t] | (s.follows[t] <= s.ended) | (s.last < s.follows[t]))
            & forall(Client, lambda c: (s.next[c] == 0) | (s.next[c] <= s.ended) | (s.last < s.next[c])),
        )

    @lemma
    def next_is_past(s):
        """An answer to EndTxn of a client that found the transaction has a later epoch than the client held, and none
        that the coordinator has not reached."""
        return forall(
            Client,
            lambda c: (
                (s.next[c] == 0)
                | ((s.held[c] > 0) & (s.held[c] < s.next[c]) & (s.next[c] <= s.epoch) & (s.wants[c] != Outcome.NONE))
            ),
        )

    @lemma
    def next_is_its_own(s):
        """No other client was given the epoch in that answer."""
        return forall(Client, Client, lambda c, d: (s.next[c] == 0) | ~s.given[d, s.next[c]] | (c == d))

    @lemma
    def next_goes_to_one(s):
        """No two clients have the same epoch in that answer."""
        return forall(Client, Client, lambda c, d: (s.next[c] == 0) | (s.next[c] != s.next[d]) | (c == d))

    @lemma
    def next_follows_nothing_else(s):
        """No owner of another transaction has that epoch in an answer."""
        return forall(
            Client, Txn,
            lambda c, t: (s.next[c] == 0) | ~s.success[t] | (s.follows[t] != s.next[c]) | (s.owner[t] == c),
        )  # fmt: skip

    @lemma
    def present_is_the_holders(s):
        """Where a client ended what it found, no other one has the present epoch, or an answer with it; and an answer
        with the present epoch is of the client that ended the last transaction."""

        def ended_it(c):
            return (s.outcome != Outcome.NONE) & (s.held[c] == s.last) & (s.held[c] > 0)

        return forall(
            Client, Client,
            lambda c, d: ~ended_it(c) | (~s.given[d, s.epoch] & (s.next[d] != s.epoch)) | (c == d),
        ) & forall(
            Client, Txn, lambda c, t: ~ended_it(c) | ~s.success[t] | (s.follows[t] != s.epoch) | (s.owner[t] == c)
        ) & forall(
            Client,
            lambda c: implies(
                (s.next[c] == s.epoch) & (s.next[c] > 0) & (s.outcome != Outcome.NONE),
                (s.held[c] == s.last) & (s.ended < s.last),
            ),
        )  # fmt: skip

    @lemma
    def patient_by_its_client(s):
        """A client that has the present epoch, or will have it with an answer, asks for two-phase commit only if the
        id has no time-out."""

        def agrees(c):
            return implies(s.enabled[c], s.two_phase)

        return (
            forall(Client, lambda c: implies(s.given[c, s.epoch], agrees(c)))
            & forall(Txn, lambda t: implies(s.success[t] & (s.follows[t] == s.epoch), agrees(s.owner[t])))
            & forall(Txn, lambda t: implies(s.ended_last(t), agrees(s.owner[t])))
            & forall(Client, lambda c: implies((s.next[c] == s.epoch) & (s.next[c] > 0), agrees(c)))
            & forall(
                Client,
                lambda c: implies(
                    (s.held[c] > 0)
                    & ((s.retained & (s.held[c] == s.facing)) | ((s.outcome != Outcome.NONE) & (s.held[c] == s.last))),
                    agrees(c),
                ),
            )
        )

    @lemma
    def bound_has_no_time_out(s):
        """The transaction of the present epoch is decided outside only if the id has no time-out."""
        return forall(Txn, lambda t: implies(s.bound[t] & (s.number[t] == s.epoch), s.two_phase))

    @lemma
    def decided_is_prepared(s):
        """The store has the decision to commit of prepared transactions alone, and of those that are decided outside
        alone."""
        return forall(
            Txn,
            lambda t: (
                implies(s.bound[t], s.begun[t])
                & implies(s.ready[t], s.bound[t])
                & ((s.decision[t] == Outcome.COMMIT) == (s.bound[t] & (s.verdict[t] == Outcome.COMMIT)))
                & implies(s.decision[t] == Outcome.COMMIT, s.ready[t])
                & implies(s.decision[t] == Outcome.ABORT, s.verdict[t] == Outcome.ABORT)
                & implies(s.verdict[t] != Outcome.NONE, s.begun[t])
                & (s.bound[t] | (s.verdict[t] != Outcome.COMMIT))
            ),
        )

    @lemma
    def chosen_as_decided(s):
        """The owner of a transaction that is decided outside asks for what was decided."""
        return forall(
            Txn,
            lambda t: (
                implies(s.bound[t] & (s.choice[t] != Outcome.NONE), s.verdict[t] == s.choice[t])
                & implies(s.ready[t] & (s.choice[t] == Outcome.ABORT), s.decision[t] == Outcome.ABORT)
            ),
        )

    @lemma
    def wanted_as_decided(s):
        """A client that found a transaction asks for what was decided of it."""
        return forall(
            Client, Txn,
            lambda c, t: implies(
                (s.wants[c] != Outcome.NONE) & s.begun[t] & (s.number[t] == s.found[c]), s.verdict[t] == s.wants[c]
            ),
        ) & forall(Client, lambda c: implies(s.wants[c] != Outcome.NONE, s.held[c] > 0))  # fmt: skip

    @lemma
    def aborted_for_good(s):
        """What is decided to be aborted is so in the store, or the store refuses to have it otherwise, or its owner has
        aborted it before it was prepared."""
        return forall(
            Txn,
            lambda t: (
                (s.verdict[t] != Outcome.ABORT)
                | (s.decision[t] == Outcome.ABORT)
                | s.is_refused(t)
                | ((s.choice[t] == Outcome.ABORT) & ~s.ready[t])
            ),
        )

    def is_refused(s, t):
        return s.number[t] < s.guard

    @lemma
    def ended_as_decided(s):
        """A transaction that is decided outside ends as decided, unless an operator aborts it; and what is to be
        aborted is not committed."""
        return forall(
            Txn,
            lambda t: (
                implies(s.bound[t] & (s.result[t] != Outcome.NONE), (s.result[t] == s.verdict[t]) | s.forced[t])
                & implies(s.forced[t], s.result[t] == Outcome.ABORT)
                & implies(s.verdict[t] == Outcome.ABORT, s.result[t] != Outcome.COMMIT)
            ),
        )

    @lemma
    def found_is_not_committed(s):
        """A transaction that a client has found is committed only as decided outside."""
        return forall(
            Client, Txn,
            lambda c, t: implies(
                (s.held[c] > 0) & s.begun[t] & (s.number[t] == s.found[c]) & ~s.bound[t],
                s.result[t] != Outcome.COMMIT,
            ),
        )  # fmt: skip

    @lemma
    def read_is_retained(s):
        """A transaction that its owner decides is to be aborted against its will only while it is retained."""
        return forall(
            Txn,
            lambda t: implies(
                s.begun[t] & ~s.bound[t] & (s.verdict[t] == Outcome.ABORT) & (s.choice[t] != Outcome.ABORT)
                & (s.number[t] == s.epoch),
                s.retained,
            ),
        )  # fmt: skip

    @lemma
    def read_is_past(s):
        """The store was read for no later epoch than the one that clients use, and what was read for a newer client
        than that of the open or prepared transaction is decided."""
        return (
            ((s.guard == 0) | (s.guard < s.epoch) | (s.retained & (s.guard <= s.facing)))
            & implies(s.phase == Phase.PREPARED, s.guard <= s.last)
            & forall(
                Txn,
                lambda t: implies(
                    s.begun[t] & s.is_under_way(t) & (s.number[t] < s.guard), s.verdict[t] != Outcome.NONE
                ),
            )
        )

    @lemma
    def accepted_late_is_aborted(s):
        """A record that was accepted after the store was read for a new producer belongs to a transaction that is to be
        aborted."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.after_read[t, p], s.verdict[t] == Outcome.ABORT),
        )  # fmt: skip


class AbortWrittenLemmas(TwoPhaseLemmas, of=AbortWritten):
    """The store refuses nothing, and what was read there without a decision is written to be aborted."""

    def is_refused(s, t):
        return ~s.begun[t]


class Fencing(TwoPhasePromises, V2Lemmas, of=TwoPhase):
    """This is what one may take InitProducerId with keepPreparedTxn for, and what it is not (939.23)."""

    @promise(rule="939.23", broken="{p} accepted a record of {t} after its producer was replaced, and it is committed")
    def nothing_after_the_answer(s):
        """No record is committed that was accepted after another producer was answered."""
        return forall(Txn, Partition, lambda t, p: ~(s.after_answer[t, p] & (s.fate[t, p] == Fate.COMMITTED)))

    @witness(of="nothing_after_the_answer")
    def accepted_after_the_answer(s):
        """A record was accepted after another producer was answered."""
        return exists(Txn, Partition, lambda t, p: s.after_answer[t, p])


class Waiting(TwoPhasePromises, V2Lemmas, of=TwoPhase):
    """This is what readers of shared partitions lose while no one decides (939.24)."""

    @progress(rule="939.24", broken="the record of {t} in {p} stays undecided for ever")
    def stable_offset_moves(s, t: Txn, p: Partition):
        """No record stays undecided for ever."""
        return leads_to(s.fate[t, p] == Fate.OPEN, s.fate[t, p] != Fate.OPEN)

    @witness(of="stable_offset_moves")
    def waits_for_a_decision(s):
        """A record of a transaction without time-out is open."""
        return exists(Txn, Partition, lambda t, p: (s.fate[t, p] == Fate.OPEN) & s.bound[t])
