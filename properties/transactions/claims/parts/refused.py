"""Whether a partition refuses a producer that is alone and sends again what it was not told of (txn.P8).

It does not, as long as it forgets nothing of the producer.  A leader that has forgotten a batch takes its copy for one
that is out of order: the producer then fails what it has under way, or aborts, though all it did was to wait for an
answer.
"""

from fencepost.model.language import exists, forall, promise, witness
from fencepost.model.transactions.parts.forgetting import GivingUp
from fencepost.model.transactions.parts.sequences import Send, Sequences, SequencesV2
from fencepost.properties.transactions.claims.parts.forgetting import GivingUpProperties
from fencepost.properties.transactions.claims.parts.sequences import (
    Promises,
    SequencesProperties,
    SequencesV2Properties,
)


class Refusals(Promises):
    """The promises of one producer in one partition."""

    @promise(rule="txn.P8")
    def never_out_of_order(s):
        """The oldest batch under way, sent again or for the first time, is never refused as out of order."""
        return forall(Send, lambda a: ~s.is_oldest_and_refused(a))

    @witness(of="never_out_of_order")
    def written_and_not_answered(s):
        """The oldest batch under way is in the log, its answer is lost, and the batch after it is there as well."""
        return exists(
            Send, Send,
            lambda a, b: s.sent[a, s.epoch] & s.written[a] & (s.number[a, s.epoch] == s.settled)
            & ~s.answered[a, s.epoch] & s.sent[b, s.epoch] & s.written[b] & (s.number[b, s.epoch] == s.settled + 1),
        )  # fmt: skip


class SequencesRefusals(SequencesProperties, Refusals, of=Sequences):
    """Without transactions."""


class SequencesV2Refusals(SequencesV2Properties, Refusals, of=SequencesV2):
    """Where every end of a transaction raises the epoch."""


class ForgetfulRefusals(GivingUpProperties, Refusals, of=GivingUp):
    """The promises of a partition leader that starts again, loses a tail of its log, or forgets a producer."""
