"""In these models an operator ends what is open in a partition, by a marker that no coordinator sent.

`kafka-transactions.sh abort` and Admin.abortTransaction send WriteTxnMarkers to the partition's leader, with the
producer id and epoch that the leader reports; the request itself could as well carry a commit. It names no transaction
version, so that a leader accepts an epoch that is not newer than its own (AbortTransactionHandler, ProducerAppendInfo).
The coordinator hears nothing of it.

No variant of the catalogue has an operator who does this at any time. `fencepost doctor` combines this model with the
variants of a release, and explores what may follow from the states in which a cluster may be.
"""

from fencepost.model.language import Bool, each, fault, require, when
from fencepost.model.transactions.abstract.away import Mortal
from fencepost.model.transactions.abstract.core import Fate, Partition


class Operated(Mortal):
    """The `Operated` model has an operator who decides whatever is open in a partition, also if it does not hang."""

    @fault(budget="interventions")
    def intervene(s, p: Partition, commit: Bool):
        """An operator's marker commits or aborts what is open in a partition."""
        require(~s.away[p] & s.something_open(p))
        end = when(commit, Fate.COMMITTED, Fate.ABORTED)
        s.fate = each(lambda t, q: when((q == p) & (s.fate[t, q] == Fate.OPEN), end, s.fate[t, q]))
        s.safe[p] = s.known[p]
        s.answer_questions(p, s.known[p])
