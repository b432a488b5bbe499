"""This module has the claims on the full models, and on transaction versions as a feature.

The full models promise what the cores do, and in addition properties of epochs that end, of producers that are alone,
and of progress.
"""

from fencepost.model.language import combined, exists, forall, implies, leads_to, progress, promise, refinement, witness
from fencepost.model.transactions.abstract.core import Client, Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import (
    PromptV1Core,
    PromptVerifiedCore,
    V1Core,
    V2Core,
    VerifiedCore,
)
from fencepost.model.transactions.abstract.versions import TwoVersions
from fencepost.model.transactions.detailed.full import (
    V1,
    V2,
    LateEnds,
    Verified,
)
from fencepost.properties.transactions.claims.core import Promises


class FullPromises(Promises):
    """These are the promises of a coordinator with memory and log, and of producers that retry."""

    @promise(rule="txn.P7", broken="a producer is given the epoch that is reserved for fences")
    def no_epoch_past_the_last(s):
        """No producer is given the epoch that is reserved for fences."""
        return ~s.overflow

    @promise(rule="txn.P8", broken="{c} is alone, and is fenced for repeating its own requests")
    def alone_never_fenced(s):
        """A producer that is alone, and ends its transactions in time, is never fenced for repeating its own requests.
        The property fails: see `alone_and_known_never_fenced`."""
        return forall(Client, lambda c: implies(s.dead[c], s.crowded))

    @promise(
        rule="txn.P8",
        broken="{c} is alone and known, no late copy came, no fail-over happened while it repeated its "
        "request, and it is fenced",
    )
    def alone_and_known_never_fenced(s):
        """A producer that is alone is never fenced under three conditions: no fail-over happened while it repeated an
        InitProducerId that names its epoch (KIP-360), no copy of an InitProducerId that names none arrived late, and
        the transactional id was not forgotten.

        The property fails at the end of a producer id's epochs: see `never_fenced_before_the_end`.
        """
        return forall(Client, lambda c: implies(s.dead[c], s.is_excused() | s.forgetful))

    @promise(
        rule="txn.P8",
        broken="{c} is alone and known, no late copy came, no answer with a last epoch was lost, and it is fenced",
    )
    def never_fenced_before_the_end(s):
        """A producer that is alone is never fenced under the three conditions of `alone_and_known_never_fenced` and a
        fourth: no answer was lost that has the last epoch of a producer id and is for an InitProducerId that names the
        epoch before."""
        return forall(Client, lambda c: implies(s.dead[c], s.is_excused() | s.forgetful | s.lost_at_the_end))

    @promise(
        rule="txn.P8",
        broken="{c} is alone, and is fenced because its coordinator failed over while it repeated its request",
    )
    def never_fenced_by_a_fail_over(s):
        """A producer that is alone is never fenced because its coordinator failed over while it repeated an
        InitProducerId that names its epoch. If it is fenced, the reason is a late copy, an id that was forgotten, or
        the last epoch of a producer id."""
        return forall(Client, lambda c: implies(s.dead[c], s.is_excused() | s.lost_at_the_end))

    def is_excused(s):
        """Decide whether there was another producer or too little time, a copy arrived late, or the id was
        forgotten."""
        return s.crowded | s.copied | s.expired

    @promise(rule="txn.P1", broken="a producer that was fenced gets a new epoch by naming its old one")
    def fenced_for_good(s):
        """A producer that was fenced by another one, which has its answer, gets no new epoch by naming its old one."""
        return ~s.returned

    @progress(rule="txn.P11", broken="the owner of {t} asks for its end, and is neither answered nor fenced")
    def answered_in_the_end(s, t: Txn):
        """A producer that asks for the end of its transaction gets an answer in the end, or is fenced."""
        return leads_to((s.choice[t] != Outcome.NONE) & ~s.told[t], s.told[t] | s.dead[s.owner[t]])

    @progress(rule="txn.P11", broken="{c} asks for an epoch, and neither gets one nor is fenced")
    def initialized_in_the_end(s, c: Client):
        """A producer that asks for an epoch gets one in the end, or is fenced."""
        return leads_to(s.asking[c], ~s.asking[c])

    @witness(of="no_epoch_past_the_last")
    def next_producer_id(s):
        """The epochs of a producer id are used up, and the next producer id is in use."""
        return s.base > 1

    @witness(of="alone_never_fenced")
    def somebody_fenced(s):
        """A producer has been fenced."""
        return exists(Client, lambda c: s.dead[c])

    @witness(of="alone_and_known_never_fenced")
    def answered_the_second_time(s):
        """A producer that is alone repeats a request, and is not fenced for it."""
        return ~s.crowded & exists(Client, lambda c: s.asking[c] & s.again[c] & (s.expected(c) == s.remembers))

    @witness(of="never_fenced_before_the_end")
    def at_the_last_epoch(s):
        """A producer that is alone has the last epoch of a producer id, and goes on with it."""
        return ~s.crowded & exists(Client, lambda c: s.ready[c] & (s.holds[c] == s.base + s.last))

    @witness(of="never_fenced_by_a_fail_over")
    def answered_over_a_fail_over(s):
        """A producer that is alone repeats a request to another coordinator."""
        return ~s.crowded & (s.term != 0) & exists(Client, lambda c: s.asking[c] & s.again[c] & (s.answered[c] == 0))

    @witness(of="fenced_for_good")
    def refused_to_return(s):
        """A fenced producer has asked for an epoch by naming its old one."""
        return exists(Client, lambda c: s.asking[c] & s.comes_back(c))

    @witness(of="answered_in_the_end")
    def waiting(s):
        """A producer waits for the answer to its EndTxn."""
        return exists(Txn, lambda t: (s.choice[t] != Outcome.NONE) & ~s.told[t])

    @witness(of="initialized_in_the_end")
    def waiting_for_an_epoch(s):
        """A producer waits for the answer to its InitProducerId."""
        return exists(Client, lambda c: s.asking[c])


STEPS: dict[str, tuple[str, ...]] = {
    "mark_unheard": ("mark",),
    **dict.fromkeys(
        (
            "start", "start_again", "come_late", "lose_answer", "take", "ask_for_epoch", "answer_init_again",
            "refuse_init", "fail_init", "fence_first", "time_out", "ask_to_end", "refuse_end", "append_fails",
            "straggle", "take_out_again",
        ),
        (),
    ),
}  # fmt: skip
"""`STEPS` maps each action of the full model to actions of the core; an action that is absent is the core's action of
the same name."""
V1_STEPS = STEPS | {"ask_to_add_partition": (), "refuse_add": ()}


def _of_core(core, actions):
    @refinement(of=core, actions=actions)
    def does_as_the_core(s):
        """The log and the partitions of the full model determine the state of the core."""
        return {}

    return does_as_the_core


class V1Promises(FullPromises, of=combined(LateEnds, V1)):
    """These are the promises of the full model of v1."""

    does_as_the_core = _of_core(V1Core, V1_STEPS)


class VerifiedPromises(FullPromises, of=combined(LateEnds, Verified)):
    """These are the promises of the full model of v1 with verification."""

    does_as_the_core = _of_core(VerifiedCore, V1_STEPS)


class V2Promises(FullPromises, of=V2):
    """These are the promises of the full model of v2."""

    does_as_the_core = _of_core(V2Core, STEPS | {"ask_to_verify": (), "answer_init_again": ("initialize_again",)})


class PromptV1Promises(FullPromises, of=combined(V1, PromptV1Core)):
    """These are the promises of the full model of v1 on a prompt network."""

    does_as_the_core = _of_core(PromptV1Core, V1_STEPS)


class PromptVerifiedPromises(FullPromises, of=combined(Verified, PromptVerifiedCore)):
    """These are the promises of the full model of v1 with verification on a prompt network."""

    does_as_the_core = _of_core(PromptVerifiedCore, V1_STEPS)


# These promises hold while transaction.version is changed.


class VersionsPromises(Promises, of=TwoVersions):
    """These are the promises of one transactional id whose owners use different transaction versions."""

    @witness(of="nothing_hangs")
    def open_over_the_change(s):
        """A transaction of v1 is prepared and has an open record, while the version is already 2."""
        return (
            s.second & ~s.prepared_second & (s.phase == Phase.PREPARED)
            & exists(Txn, Partition, lambda t, p: s.fate[t, p] == Fate.OPEN)
        )  # fmt: skip

    @witness(of="nothing_lost")
    def one_of_each(s):
        """A transaction of v1 and one of v2 are committed in the same partition."""
        return exists(
            Txn, Txn, Partition,
            lambda t, u, p: s.begun[t] & ~s.bumps[t] & s.bumps[u] & (s.fate[t, p] == Fate.COMMITTED)
            & (s.fate[u, p] == Fate.COMMITTED),
        )  # fmt: skip
