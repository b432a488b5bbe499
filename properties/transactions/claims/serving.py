"""That transactions get their work done: what keeps a rule that stops all work from counting as redundant."""

from fencepost.model.language import Properties, exists, leads_to, service, witness
from fencepost.model.transactions.abstract.core import Fate, Outcome, Partition, Txn

_CEASING = ("take_over", "mark_late")
"""Time-outs, and late copies of markers: in a model in which nothing that was sent is ever gone, either could go on for
ever."""


class Serving(Properties):
    """Services of owners that are not fenced; a transaction that is ended by time-out was not served."""

    @service(rule="txn.P11", ceasing=_CEASING)
    def appended_in_the_end(s, t: Txn, p: Partition):
        """A record sent under the present epoch is appended, unless its owner aborts or is fenced."""
        return leads_to(
            s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT) & (s.choice[t] != Outcome.ABORT) & (s.number[t] == s.epoch),
            (s.fate[t, p] != Fate.ABSENT) | (s.choice[t] == Outcome.ABORT) | s.is_fenced(t) | s.is_disturbed(t),
        )

    @service(rule="txn.P11", ceasing=_CEASING)
    def told_in_the_end(s, t: Txn):
        """An owner that asks for an end is told of it, unless it is fenced first."""
        return leads_to(
            (s.choice[t] != Outcome.NONE) & ~s.told[t] & (s.number[t] == s.epoch),
            s.told[t] | (s.is_fenced(t) & ~s.success[t]) | s.is_disturbed(t),
        )

    def is_fenced(s, t):
        return s.number[t] < s.epoch

    def is_disturbed(s, t):
        """Other producers that never stop may keep this transaction from being done; in this model none does."""
        return ~s.begun[t]

    @witness(of="appended_in_the_end")
    def on_its_way(s):
        """A record of a transaction is under way, after one of an earlier transaction in the same partition."""
        return exists(
            Txn, Txn, Partition,
            lambda t, u, p: s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT) & (s.number[t] == s.epoch)
            & (s.fate[u, p] == Fate.COMMITTED) & (t != u),
        )  # fmt: skip

    @witness(of="told_in_the_end")
    def asked_to_end(s):
        """An owner has asked for a commit and knows nothing of it, after an earlier transaction that was committed."""
        return exists(
            Txn, Txn,
            lambda t, u: (s.choice[t] == Outcome.COMMIT) & ~s.told[t] & s.told[u] & (s.choice[u] == Outcome.COMMIT),
        )  # fmt: skip
