"""Appends that time out: what keeps them from doing harm is that nothing is said of a record in doubt."""

from fencepost.model.language import fault
from fencepost.model.transactions.abstract.core import Txn
from fencepost.model.transactions.abstract.timed_out import TimedOutV2
from fencepost.proofs.engines.explore import explore
from fencepost.properties.catalogue import Variant, protocols
from fencepost.properties.transactions.claims.core import Promises

BOUNDS = dict(clients=1, transactions=1, partitions=1, epochs=3, fail_overs=1, fences=0, failed_appends=1)
SHIPPED = protocols()["transactions"].variant("core-v2-timed-out")


class AnsweredInDoubt(TimedOutV2):
    """A coordinator that answers EndTxn when its append has timed out, since the record is in the log."""

    @fault(budget="failed_appends")
    def time_out_end(s, t: Txn):
        epoch = s.epoch
        TimedOutV2.time_out_end(s, t)
        s.success[t] = True
        s.follows[t] = epoch + 1


class AnsweredPromises(Promises, of=AnsweredInDoubt):
    """The promises of such a coordinator."""


def verdicts(variant: Variant, *names: str) -> dict[str, tuple[str, ...]]:
    """By name, the steps to a violation, or to a witness; without those that there are none to."""
    made = explore(variant.spec, {name: variant.asked[name] for name in names}, BOUNDS)
    assert made.complete
    return {n: tuple(event.action for event in made.traces[n].events) for n in names if n in made.traces}


def test_an_answer_in_doubt_is_a_lie() -> None:
    """The owner is told of a commit, and its transaction is aborted.  With no answer until the append has succeeded
    nothing of the kind happens within the same bounds."""
    broken = verdicts(Variant("answered-in-doubt", AnsweredPromises, "answers too early"), "as_told", "nothing_lost")
    assert "time_out_end" in broken["as_told"] and "take_over" in broken["as_told"]
    assert "time_out_end" in broken["nothing_lost"]
    assert verdicts(SHIPPED, "as_told", "nothing_lost") == {}


def test_a_commit_in_doubt_is_carried_out_by_another_coordinator() -> None:
    """The owner asked for it, was sent away, and finds it done, though no append for it has succeeded."""
    [steps] = verdicts(SHIPPED, "committed_unheard").values()
    assert steps == (
        "initialize", "begin", "send", "ask", "verify", "append", "commit", "time_out_end", "find_ended", "mark",
    )  # fmt: skip
