"""What the rows of a recording of real brokers say about the model of one transactional id.

A recording has what clients saw and what lies in the logs.  The rest is hidden: that a request arrived and was judged,
that a leader asked the coordinator and was answered, that another coordinator took over, that a producer's time was up.
Such a step is taken together with the row that shows its effect, or, where a client was told an error, as a row of its
own between the request and the answer.

Columns that events of histories have mean what they mean there (`events.py`).  ``further`` is a second partition that
the same record of the transaction log adds, where there is one (``more``).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fencepost.model.language import Bool, exists, implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Fate, Outcome, Partition, Txn
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.codes import NONE
from fencepost.properties.transactions.observations.events import BY_VARIANT as SHOWN
from fencepost.properties.transactions.observations.events import COLUMNS as SHARED
from fencepost.properties.transactions.observations.events import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
)
from fencepost.properties.transactions.observations.partitions import RECORD

COLUMNS: Mapping[str, Any] = {**SHARED, "further": Partition, "more": Bool}

HIDDEN = {"init_taken": "init_handled", "fence_told": "init_handled", "add_taken": "add_handled",
          "end_told": "end_handled"}  # fmt: skip
"""By answer that a client took: what the coordinator did, as a row of its own where it was an error."""

NOT_THE_COORDINATORS = frozenset({
    codes.UNKNOWN_PARTITION, codes.NOT_LEADER, codes.TIMED_OUT, codes.NOT_ENOUGH_REPLICAS,
})  # fmt: skip
"""Codes that a client tells of itself, or of a partition: they say nothing of the coordinator."""

_further = {"t": "txn", "p": "further"}
_client = {"c": "client"}
_txn = {"t": "txn"}


def _next_term(s, e):
    return s.term < e.term


LOADED = Do("fail_over", {}, when=_next_term)
"""Another coordinator took over before this: it wrote it, or sent the marker."""

# Answers, and what the coordinator did for one without an error where no record of its log says so


def _init_again(s, e):
    return (e.error == NONE) & s.asking[e.client] & (s.answered[e.client] == 0)


def _holds(s, e):
    return implies(e.error == NONE, s.holds[e.client] == e.number)


def _end_again(s, e):
    return (e.error == NONE) & s.begun[e.txn] & ~s.success[e.txn]


def _follows(s, e):
    """The transaction ended as its owner asked, and this is the epoch that follows."""
    told = (e.error == NONE) & s.begun[e.txn]
    return implies(told, e.commit == (s.choice[e.txn] == Outcome.COMMIT)) & implies(
        told & (e.number != 0), s.follows[e.txn] == e.number
    )


def _added_before(s, e):
    return (e.error == NONE) & ~s.added[e.txn, e.partition]


def _is_added(s, e):
    return implies(e.error == NONE, s.added[e.txn, e.partition])


INIT_AGAIN = Do("answer_init_again", _client, when=_init_again)
TOLD = {
    "init_taken": (INIT_AGAIN, _holds),
    "fence_told": (INIT_AGAIN, _holds),
    "end_told": (Do("answer_again", _txn, when=_end_again), _follows),
    "add_taken": (Do("add_partition", RECORD, when=_added_before), _is_added),
}

# Records


def _joins(s, e):
    return exists(Txn, lambda t: (s.fate[t, e.partition] == Fate.OPEN) & (s.number[t] == s.number[e.txn]))


def _asks(s, e):
    """The leader does not know yet that this record may be written."""
    knows = s.cleared[e.txn, e.partition] & s.asked[e.txn, e.partition]
    return (s.fate[e.txn, e.partition] == Fate.ABSENT) & ~_joins(s, e) & ~knows


ASKED = (Do("ask", RECORD, when=_asks), Do("verify", RECORD, when=_asks))

# The log of transactions


def _adds(s, e):
    return e.logged == ONGOING


def _adds_more(s, e):
    return (e.logged == ONGOING) & e.more


def _adding(variant):
    """One record of the log adds a partition, or two; in v2 on behalf of a leader that asks."""
    ask, add = ("ask_to_verify", "verify") if variant == "v2" else ("ask_to_add_partition", "add_partition")
    steps = []
    for when, columns in ((_adds_more, _further), (_adds, RECORD)):
        asked = (Do("ask", columns, when=when),) if variant == "v2" else ()
        steps += [*asked, Do(ask, columns, when=when), Do(add, columns, when=when)]
    return tuple(steps)


def _may_follow(s, e):
    """No coordinator that was deposed writes; a retry of InitProducerId is written once more with its epoch."""
    again = (e.logged == EMPTY) & ~(s.epoch < e.number)
    return (
        (s.term <= e.term) & (e.term <= s.term + 1)
        & implies(again, (s.epoch == e.number) & (s.remembers != 0))
        & implies(e.logged == COMPLETE_COMMIT, s.outcome == Outcome.COMMIT)
        & implies(e.logged == COMPLETE_ABORT, s.outcome == Outcome.ABORT)
    )  # fmt: skip


def _recorded(variant, o):
    if o.kind in TOLD:
        again, after = TOLD[o.kind]
        return replace(o, steps=(again, *o.steps), before=None, after=after)
    if o.kind == "batch_appended" and variant != "v1":
        return replace(o, steps=(*ASKED, *o.steps))
    if o.kind == "marker_appended":
        return replace(o, steps=(LOADED, *o.steps), before=lambda s, e: e.term <= s.term + 1)
    if o.kind == "txn_logged":
        adding = _adding(variant)
        others = tuple(do for do in o.steps if do.action not in {step.action for step in adding})
        return replace(o, steps=(LOADED, *adding, *others), before=_may_follow)
    if o.kind == "end_handled" and variant != "v2":
        return replace(o, before=codes.end_code_v1_over_the_wire)
    return o


BY_VARIANT: Mapping[str, tuple[Observation, ...]] = {
    variant: tuple(_recorded(variant, o) for o in observations) for variant, observations in SHOWN.items()
}
