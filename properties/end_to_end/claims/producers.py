"""What the transactions of many producers are to each of them and each log: the interface of one, and nothing else."""

from fencepost.model.end_to_end.producers import Log, Producer, Producers
from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    lemma,
    promise,
    refinement,
    unhindered,
    when,
    witness,
)
from fencepost.model.transactions.abstract.core import Outcome
from fencepost.model.transactions.abstract.fated import Fated

STEPS: dict[str, tuple[str, ...]] = {
    "initialise": ("initialise", "fence"), "accept_offsets": ("accept",), "mark": ("end",), "mark_offsets": ("end",),
    "complete": ("end",), "give_up": ("give_up", "fence"), "accept_in_vain": (), "accept_offsets_in_vain": (),
}  # fmt: skip


class ProducersProperties(Properties, of=Producers):
    """Of each producer, and between those of one transactional id."""

    @promise(rule="txn.P7")
    def one_newest_by_the_interface(s):
        """Of the producers of a transactional id one at most has the newest epoch."""
        return forall(
            Producer, Producer,
            lambda j, k: implies(s.alike(j, k) & ~s.fenced[j] & ~s.fenced[k], j == k),
        )  # fmt: skip

    def alike(s, j, k):
        return s.known[j] & s.known[k] & (s.name[j] == s.name[k])

    @promise(rule="txn.P1")
    def nothing_of_the_fenced_by_the_interface(s):
        """Where a producer has the newest epoch, no other one of the id has anything in a log that may come to
        count."""
        return forall(
            Producer, Producer,
            lambda j, k: implies(
                s.alike(j, k) & ~s.fenced[k] & (j != k), ~s.open[j] & ~s.is_decided(j) & ~s.has_offsets[j]
            ),
        ) & forall(
            Producer, Producer, Log,
            lambda j, k, q: implies(s.alike(j, k) & ~s.fenced[k] & (j != k), ~s.has[j, q]),
        )  # fmt: skip

    @witness(of="one_newest_by_the_interface")
    def one_after_another(s):
        """A producer has been shut out by another one of its id."""
        return exists(Producer, Producer, lambda j, k: s.alike(j, k) & s.fenced[j] & ~s.fenced[k])

    @witness(of="nothing_of_the_fenced_by_the_interface")
    def shut_out_in_between(s):
        """A producer has begun a transaction, another one of its id was fenced."""
        return exists(Producer, Producer, lambda j, k: s.alike(j, k) & s.fenced[j] & s.open[k])

    @lemma
    def one_unsettled(s):
        """Of the producers of a transactional id one at most has a transaction that is not over."""
        return forall(
            Producer, Producer,
            lambda j, k: implies(s.alike(j, k) & s.is_at_it(j) & s.is_at_it(k), j == k),
        )  # fmt: skip

    def is_at_it(s, k):
        return s.open[k] | s.is_decided(k)

    @lemma
    def open_is_of_the_newest(s):
        """A producer that has a transaction open has the newest epoch of an id; so had one whose transaction is
        decided."""
        return forall(
            Producer, lambda k: implies(s.open[k], ~s.fenced[k]) & implies(s.is_at_it(k), s.known[k])
        )  # fmt: skip

    @lemma
    def waiting_is_decided(s):
        """Where a marker is to come, the transaction is decided."""
        return forall(Producer, lambda k: implies(s.awaits_offsets[k], s.is_decided(k))) & forall(
            Producer, Log, lambda k, q: implies(s.awaits[k, q], s.is_decided(k))
        )

    @lemma
    def all_that_is_there_waits(s):
        """What is in a log waits for the marker of its transaction, or is of one that is open."""
        return forall(
            Producer, Log,
            lambda k, q: implies(s.has[k, q], when(s.is_decided(k), s.awaits[k, q], s.open[k])),
        ) & forall(
            Producer,
            lambda k: implies(s.has_offsets[k], when(s.is_decided(k), s.awaits_offsets[k], s.open[k])),
        )  # fmt: skip

    @lemma
    def committed_by_the_newest(s):
        """A transaction whose markers say that it is committed is of a producer that nothing has shut out."""
        return forall(Producer, lambda k: implies(s.outcome[k] == Outcome.COMMIT, ~s.fenced[k]))

    def view(s, k, has, awaits):
        return {
            "open": s.open[k],
            "accepted": has & ~(awaits & (s.outcome[k] == Outcome.ABORT)),
            "decided": when(awaits, s.outcome[k], Outcome.NONE),
            "fenced": s.fenced[k],
            "astray": has & ~awaits & ~s.is_current(k),
        }

    @refinement(of=Fated, actions=STEPS)
    def does_as_fated(s, k: Producer, o: Log):
        """Of a log of records."""
        return s.view(k, s.has[k, o], s.awaits[k, o])

    @refinement(of=Fated, actions=STEPS)
    def offsets_do_as_fated(s, k: Producer):
        """Of the log of offsets."""
        return s.view(k, s.has_offsets[k], s.awaits_offsets[k])


class MarkersCome(ProducersProperties, of=Producers):
    """Nothing is in the way of markers."""

    @unhindered(ProducersProperties.does_as_fated, "end")
    def markers_come(s):
        """Whenever a marker may come to a log of records, nothing is in its way."""

    @unhindered(ProducersProperties.offsets_do_as_fated, "end")
    def markers_come_to_offsets(s):
        """Nor is it where one may come to the log of offsets."""
