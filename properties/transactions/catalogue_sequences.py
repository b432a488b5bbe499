"""Sequence numbers in the catalogue: without transactions, under both forms of them, and what goes wrong otherwise."""

from collections.abc import Mapping

from ..catalogue import Profile, ProtocolEntry, Scenario, Variant
from .sequences import (
    BeyondTheWindowProperties,
    ClearedByAbortProperties,
    KeptOverAbortProperties,
    SequencesProperties,
    SequencesV1Properties,
    SequencesV2Properties,
)

_SMALL = dict(sends=3, numbers=4, epochs=1, transactions=1, window=2, most=2, losses=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, sends=4, numbers=5, epochs=2, transactions=2),
    "nightly": dict(_SMALL, sends=5, numbers=6, epochs=2, transactions=2, window=3, most=3, losses=2),
}
_PROGRESS = (dict(_SMALL, sends=2), dict(_SMALL, sends=2, window=1, most=1, losses=2))
_LATE = ("in_its_transaction", "both_transactions", "settled_in_the_end")
"""Not asked where transactions share an epoch: there any late batch is written in the next one, whatever is known."""

IDEMPOTENCE = ProtocolEntry(
    "idempotence",
    "Sequence numbers: a batch that is sent again and again is written once, and one that was answered is written.",
    (
        Variant(
            "idempotent",
            SequencesProperties,
            "a producer without transactions",
            bounds=_BOUNDS,
            progress_bounds=_PROGRESS,
            depth={"smoke": 8, "ci": 10, "nightly": 12},
        ),
        Variant(
            "same-epoch",
            SequencesV1Properties,
            "transactions that leave the epoch as it is (v1)",
            bounds=_BOUNDS,
            progress_bounds=_PROGRESS,
            depth={"smoke": 8, "ci": 10, "nightly": 12},
        ),
        Variant(
            "new-epoch",
            SequencesV2Properties,
            "transactions each of which ends with a new epoch (v2)",
            bounds=_BOUNDS,
            progress_bounds=_PROGRESS,
            depth={"smoke": 8, "ci": 10, "nightly": 12},
        ),
        Variant(
            "kept-over-abort",
            KeptOverAbortProperties,
            "numbers used again after an abort, by a producer that the partition remembers",
            "txn.14",
            expected={"told_is_written": "violated"},
            bounds={"smoke": _SMALL},
            leaves_out=_LATE,
            depth={"smoke": 8, "ci": 10, "nightly": 12},
        ),
        Variant(
            "cleared-by-abort",
            ClearedByAbortProperties,
            "its repair, on a network in which batches may be late",
            "txn.14",
            expected={"told_is_written": "violated", "written_once": "violated"},
            bounds={"smoke": _SMALL},
            leaves_out=_LATE,
        ),
        Variant(
            "beyond-the-window",
            BeyondTheWindowProperties,
            "more batches under way than the partition remembers",
            "txn.14",
            expected={"written_once": "violated"},
            bounds={"smoke": dict(_SMALL, sends=2, window=1)},
            leaves_out=("settled_in_the_end",),
            depth={"smoke": 8, "ci": 10, "nightly": 12},
        ),
    ),
    {
        "sends": "two under way, and one more that may take the number of another",
        "numbers": "one more than there are batches, so that a number that is left out shows",
        "epochs": "one new epoch separates what is late from what is not",
        "transactions": "one end of a transaction, and batches on both sides of it",
        "window": "two: a first and a last batch that is remembered; shipped: 5",
        "most": "as many as are remembered, which is the most that is promised; shipped: 5",
        "losses": "a lost answer makes a batch be sent again; of a second one nobody can tell the difference",
    },
    scenarios=(
        Scenario(
            "Redpanda-5026",
            "a batch is taken for an aborted one of the same number, answered, and not written",
            "kept-over-abort",
            "new-epoch",
        ),
    ),
)
