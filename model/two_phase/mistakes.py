"""These models have two-phase commit as another text or change has it, and one with another store."""

from fencepost.model.language import action, each, fault, require, when
from fencepost.model.transactions.abstract.core import Client, Epoch, Outcome, Phase, Txn
from fencepost.model.transactions.abstract.cores import V2Core
from fencepost.model.two_phase.core import TwoPhase


class OlderWriter(TwoPhase):
    """The store refuses nothing."""

    @action(by="owner", to="store")
    def decide_commit(s, t: Txn):
        """The prepared state is written if nothing is written of the transaction."""
        require(s.ready[t] & (s.decision[t] == Outcome.NONE))
        s.decision[t] = Outcome.COMMIT
        s.verdict[t] = Outcome.COMMIT


class AbortWritten(OlderWriter):
    """The store refuses nothing, and who reads it and finds no decision writes that it aborts."""

    def read_for(s, c, found):
        s.guard = when(s.guard < s.held[c], s.held[c], s.guard)
        s.decision = each(
            lambda t: when(s.is_found(t, found) & (s.decision[t] == Outcome.NONE), Outcome.ABORT, s.decision[t])
        )


class Unretained(TwoPhase):
    """Kafka 4.1 and later: the coordinator refuses keepPreparedTxn (UNSUPPORTED_VERSION), and a producer that restarts
    initializes without it."""

    @action(fair="weak", by="coordinator", to="c")
    def retain(s, c: Client, to: Epoch):
        """InitProducerId of a producer that restarts aborts what is open, and is sent again."""
        require(s.restarted[c] & (s.phase == Phase.ONGOING) & s.two_phase)
        s.goes_on_with(to, to)
        s.prepare(Outcome.ABORT, to, to)


class OnePair(TwoPhase):
    """PR 22704: InitProducerId with keepPreparedTxn answers with the id and epoch of the open transaction, and writes
    nothing."""

    @action(fair="weak", by="coordinator", to="c")
    def retain(s, c: Client, to: Epoch):
        """InitProducerId with keepPreparedTxn finds an open transaction, and answers with its epoch."""
        require(s.restarted[c] & ~s.forbidden & s.two_phase & (s.phase == Phase.ONGOING) & (to == s.epoch))
        s.restarted[c] = False
        s.enabled[c] = True
        s.held[c] = to
        s.found[c] = to


class PairForgotten(TwoPhase):
    """A release that does not know the tagged fields of the second pair takes over, and writes the transaction
    without them."""

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"), by="coordinator")
    def fail_over(s):
        V2Core.fail_over(s)
        s.retained = False
