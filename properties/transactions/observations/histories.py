"""What the events of histories say about the model, where that differs from what they say to who drives a cluster.

Everything is seen in a history but when a record sets out for the transaction log.  So ``busy`` and ``away`` are what
the events explain: a record that is logged later was asked for before, or a coordinator goes away.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fencepost.model.language import exists, implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Fate, Txn
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.events import BY_VARIANT as DRIVEN
from fencepost.properties.transactions.observations.events import COLUMNS as SHARED
from fencepost.properties.transactions.observations.partitions import same_pair

COLUMNS: Mapping[str, Any] = SHARED
"""``others``: producers of another transactional id *have* an offset pending in the partition."""


def _pending_here(s, e):
    return exists(Txn, lambda t: s.fate[t, e.partition] == Fate.OPEN)


OFFSET_FETCHED = Observation(
    "offset_fetched",
    before=lambda s, e: (
        ((e.error == codes.NONE) | (e.error == codes.UNSTABLE))
        & ((_pending_here(s, e) | e.others) == (e.error == codes.UNSTABLE))
        & implies((e.error == codes.NONE) & e.reads, s.fate[e.txn, e.partition] == Fate.COMMITTED)
    ),
    rule="txn.21",
)


def _verify_code(s, e):
    """A fence is in memory before it is in the log, and leaders are told."""
    return ((e.error == codes.FENCED) & e.busy) | codes.verify_code(s, e)


def _may_come_late(begins):
    """A copy of a client's first InitProducerId may also come while the client asks again and names its pair."""
    return lambda s, e: (
        begins(s, e)
        & (~s.is_sent(e.client) | (s.again[e.client] & (e.named == 0) & ~s.stray[e.client]))
    )  # fmt: skip


def _coming_late(steps):
    """`come_late` stands before the step that it makes possible, and happens where that does."""
    following = (*steps[1:], None)
    return tuple(
        replace(do, when=_may_come_late(after.when)) if do.action == "come_late" and isinstance(after, Do) else do
        for do, after in zip(steps, following, strict=True)
    )


def _held(variant, o):
    if o.kind == "offset_fetched":
        return OFFSET_FETCHED
    if o.kind == "partition_checked" and variant == "v1-verified":
        return replace(o, before=_verify_code)
    if o.kind in ("txn_logged", "append_failed"):
        return replace(o, steps=_coming_late(o.steps))
    return o


def _further(is_taken):
    """One more record of a transaction that is over in the partition.  The model has another one in its place there,
    and nothing changes; only what lets it in is held against the model."""
    return Observation(
        "further_record",
        before=lambda s, e: (
            same_pair(s, e) & s.sent[e.txn, e.partition] & (s.known[e.partition] <= e.number)
            & ((s.fate[e.txn, e.partition] == Fate.COMMITTED) | (s.fate[e.txn, e.partition] == Fate.ABORTED))
            & is_taken(s, e)
        ),
        rule="txn.12",
    )  # fmt: skip


def _joins(s, e):
    """Something of that epoch is open there, so that the leader asks nobody."""
    return exists(Txn, lambda t: (s.fate[t, e.partition] == Fate.OPEN) & (s.number[t] == e.number))


_FURTHER = {
    "v1": (_further(lambda s, e: s.known[e.partition] <= e.number),),
    "v1-verified": (_further(lambda s, e: s.cleared[e.txn, e.partition] | _joins(s, e)),),
}

_BY_MODE: Mapping[str, tuple[Observation, ...]] = {
    variant: (*(_held(variant, o) for o in observations), *_FURTHER.get(variant, ()))
    for variant, observations in DRIVEN.items()
}
RELEASES = {"4.0": "v2", "4.3": "v2-4.3"}
"""Of v2: since KAFKA-19367 a fence has one bump.  What shows is the same."""
BY_VARIANT = {**_BY_MODE, RELEASES["4.3"]: _BY_MODE["v2"]}


def variant_of(manifest: Manifest) -> str:
    """The mode that the config names, and of v2 the release, 4.0 if it does not say.  Raises `HistoryError`."""
    mode, release = str(manifest.config.get("mode", "v2")), str(manifest.config.get("release", "4.0"))
    if mode not in DRIVEN:
        raise HistoryError(f"no model for mode {mode!r}")
    if mode == "v2" and release not in RELEASES:
        raise HistoryError(f"no model for v2 of release {release!r}; known: {', '.join(RELEASES)}")
    return RELEASES[release] if mode == "v2" else mode
