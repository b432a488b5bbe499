"""This module compares the doctor with `kafka-transactions.sh find-hanging` on kinds of views.

The command takes a transaction that is open in a partition for hanging if no coordinator knows its producer id, or if
DescribeTransactions does not have the partition (TransactionsCommand.FindHangingTransactionsCommand). The producer's
epoch is not looked at. It looks only at producers whose last batch in the partition is older than
--max-transaction-timeout, 15 minutes by default, which no model has. The command itself is run on a live broker for
the third kind and the sixth (`test_four_are_distinguished_on_three_nodes`).

To compute all rows takes a minute or two, so that the page is of stored ones:

    python tests/script.py tests/campaigns/support/doctor_campaign.py hanging proofs/verdicts/find-hanging.json"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from fencepost.proofs.doctor.futures import (
    Other,
    Reached,
    Seen,
    fitting,
    members,
    models,
    reached,
    values,
    with_late_markers,
)
from numpy.typing import NDArray


class Kind(NamedTuple):
    """A `Kind` is a view in words, with a transaction version and release on which it is looked at."""

    says: str
    seen: Seen
    version: str = "2"
    release: str = "4.3"


class Row(NamedTuple):
    """A `Row` has what both find of a kind. `right` is computed over all that look so, in each model of the
    release: whether it will get no marker of its own here (txn.P10)."""

    kind: Kind
    command: str
    doctor: str
    right: str


KINDS = (
    Kind("its owner is at work", Seen("ONGOING", None, 0, True, "NONE")),
    Kind("it is prepared, and its marker is under way", Seen("PREPARED", "COMMIT", 1, True, "COMMIT")),
    Kind("its marker is missing, the id is at rest", Seen("IDLE", "COMMIT", 1, False, "COMMIT")),
    Kind("its marker is missing, another partition waits for its own",
         Seen("PREPARED", "COMMIT", 1, False, "COMMIT", Other(None, True))),
    Kind("its marker is missing, the id's next transaction is in other partitions",
         Seen("ONGOING", None, 1, False, "COMMIT", Other(None, True))),
    Kind("its marker is missing, the id's next transaction is in this partition too",
         Seen("ONGOING", None, 1, True, "COMMIT")),
    Kind("its marker is missing, the id is forgotten", Seen("IDLE", None, None, False, None)),
    Kind("it goes on, and is committed in another partition",
         Seen("ONGOING", None, 0, True, "NONE", Other("COMMITTED", True)), release="4.0.0"),
    Kind("a record came after its end, the id is at rest", Seen("IDLE", "COMMIT", 0, False, None), "1"),
    Kind("the id has a transaction here, and one epoch for all", Seen("ONGOING", None, 0, True, None), "1"),
)  # fmt: skip


def rows() -> list[Row]:
    return [Row(kind, _command(kind.seen), *_judged(kind)) for kind in KINDS]


def as_dict(row: Row) -> dict[str, str]:
    """Return a row as it is stored, with the words of its kind and not what is seen."""
    kind, command, doctor, right = row
    return {
        "kind": kind.says, "version": kind.version, "release": kind.release, "command": command, "doctor": doctor,
        "right": right,
    }  # fmt: skip


def _command(seen: Seen) -> str:
    return "hanging" if seen.behind is None or not seen.listed else "not hanging"


def _judged(kind: Kind) -> tuple[str, str]:
    """Return what the doctor says, and what is right."""
    first, *faulty = models(kind.release, kind.version)
    late = with_late_markers(first, kind.release, kind.version)
    tried = [first, *faulty] if late is None else [first, *faulty, late]
    fits = [model for model in tried if reached(model, kind.seen).columns.shape[1]]
    if first in fits:
        says = "not hanging"
    elif kind.seen.other is not None and reached(first, kind.seen._replace(other=None)).columns.shape[1]:
        says = "torn"
    else:
        says = "hanging" if fits else "unexplained"
    if not fits:
        return says, "no model reaches it"
    hangs = np.concatenate([_hanging(reached(model, kind.seen), kind.seen) for model in fits])
    return says, "hangs" if hangs.all() else "some of these hang" if hangs.any() else "does not hang"


def _hanging(found: Reached, seen: Seen) -> NDArray[np.bool_]:
    """Return of each transaction that looks so whether it will get no marker of its own (as `nothing_hangs` says)."""
    at = partial(values, found.layout, found.columns)
    phases, number = members(found.layout, "phase"), at("number")
    ongoing = (at("phase") == phases.index("ONGOING")) & (number == at("epoch"))
    prepared = (at("phase") == phases.index("PREPARED")) & (number == at("ended"))
    takes_part = (at("parts")[0] & ~at("marked")[0] & 1).astype(bool) & (ongoing | prepared)
    alone: NDArray[np.bool_] = ~takes_part[fitting(found.layout, found.columns, seen)]
    return alone


HANGS = ("hangs", "some of these hang")


def sections(stored: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield a section of a page, in Markdown, of rows as `as_dict` has them."""
    yield "## Compared with find-hanging"
    yield ""
    yield (
        "`kafka-transactions.sh find-hanging` takes an open transaction for hanging if no coordinator knows its "
        "producer id, or if the coordinator's present transaction does not have the partition. It looks only at "
        "producers whose last batch is older than `--max-transaction-timeout` (15 minutes)."
    )
    yield (
        "The command was run on a live cluster of 4.4.0: it found a missing marker, and no longer did once the next "
        "transaction had joined (`tests/live/kafka/test_live_doctor.py`). Of every kind, its rule "
        "(`TransactionsCommand.FindHangingTransactionsCommand`) is applied by `proofs/doctor/find_hanging.py`, without "
        "the 15 minutes. "
        "*Doctor* is computed in the models that the doctor asks, and *right*, whether it will get no marker of its "
        "own, over every state of these that looks so, within the doctor's bounds."
    )
    yield ""
    yield "| what is seen of an open transaction | version | Kafka | find-hanging | doctor | right |"
    yield "|---|---|---|---|---|---|"
    for row in stored:
        yield f"| {' | '.join(row[name] for name in ('kind', 'version', 'release', 'command', 'doctor', 'right'))} |"
    missed = [row for row in stored if row["right"] in HANGS and row["command"] == "not hanging"]
    named = sum(row["doctor"] != "not hanging" for row in missed)
    yield ""
    yield f"Of {len(stored)} kinds the command misses {len(missed)} that hang or may hang; the doctor names {named}."
