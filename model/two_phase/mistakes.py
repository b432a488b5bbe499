"""These models have two-phase commit as another text or change has it, one with another store, and one in which an
operator decides."""

from fencepost.model.language import action, each, fault, limit, require, when
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


class Operated(TwoPhase):
    """An operator decides what is open, after a look into the store. What an operator aborts is excused by the promises
    (`forced`), and here it is not, since this operator asks which decision breaks none. No variant has such an
    operator; `fencepost doctor` combines this with what a release does, from states in which a cluster may be."""

    @fault(budget="interventions", by="admin", to="store")
    def stop(s, to: Epoch):
        """The producers are stopped for good, so that the store gets no decision of theirs any more."""
        require((s.phase == Phase.ONGOING) & (s.client_epoch() < to))
        s.one_step(to)
        s.guard = to

    @fault(budget="interventions", danger="client-crash", by="admin", to="coordinator")
    def terminate(s, marker: Epoch, to: Epoch):
        """Admin.forceTerminateTransaction: of what the store has nothing of, this decides that it is aborted."""
        require((s.phase == Phase.ONGOING) & s.two_phase)
        require((s.epoch < marker) & (marker <= to) & (s.client_epoch() < to), rule="939.16")
        s.one_step(to)
        limit(marker <= s.epoch + 1)
        s.verdict = each(lambda t: when(s.is_open(t) & (s.verdict[t] == Outcome.NONE), Outcome.ABORT, s.verdict[t]))
        s.prepare(Outcome.ABORT, marker, to)

    @fault(budget="interventions", by="admin", to="coordinator")
    def resume(s, t: Txn):
        """EndTxn with commit is sent under the transaction's own id and epoch, as by its owner (FLIP-572)."""
        require(s.begun[t] & s.bound[t])
        s.choice[t] = Outcome.COMMIT
