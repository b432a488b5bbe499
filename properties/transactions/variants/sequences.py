"""Sequence numbers in the catalogue: without transactions, under both forms of them, and what goes wrong otherwise."""

from collections.abc import Mapping

from fencepost.model.language.properties import Properties
from fencepost.model.releases import ANY_NETWORK, MISTAKE, NOT_TRANSACTIONAL, UNCLEAN, V1, V2, Kafka, Of
from fencepost.properties.entries import Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.transactions.claims.parts.forgetting import (
    AnsweredEarlyProperties,
    ForgetfulV2Properties,
    ForgottenTooSoonProperties,
    GivingUpProperties,
    OneUnderWayProperties,
    RenumberingAnywayProperties,
    RenumberingProperties,
)
from fencepost.properties.transactions.claims.parts.refused import (
    ForgetfulRefusals,
    SequencesRefusals,
    SequencesV2Refusals,
)
from fencepost.properties.transactions.claims.parts.sequences import (
    BeyondTheWindowProperties,
    ClearedByAbortProperties,
    KeptOverAbortProperties,
    SequencesProperties,
    SequencesV1Properties,
    SequencesV2Properties,
    WrappingProperties,
)
from fencepost.properties.transactions.variants.bounds import NOT_BOUNDED
from fencepost.properties.transactions.variants.scripts import SCRIPT

_SMALL = dict(sends=3, numbers=4, epochs=1, transactions=1, window=2, most=2, losses=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, sends=4, numbers=5, epochs=2, transactions=2),
    "nightly": dict(_SMALL, sends=5, numbers=6, epochs=2, transactions=2, window=3, most=3, losses=2),
}
_PROGRESS = (dict(_SMALL, sends=2), dict(_SMALL, sends=2, window=1, most=1, losses=2))
_FORGETFUL = dict(_SMALL, epochs=2, losses=0, restarts=1, fail_overs=1, expiries=1)
_FORGETTING: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _FORGETFUL,
    "nightly": dict(_FORGETFUL, sends=4, numbers=5, transactions=2, losses=1, restarts=2, fail_overs=2, expiries=2),
}
_ONE_UNDER_WAY: Mapping[Profile, Mapping[str, int]] = {
    profile: dict(bound, window=1, most=1) for profile, bound in _FORGETTING.items()
}
_ONE_FAULT = dict(_SMALL, losses=0, restarts=0, fail_overs=0, expiries=0)
_REFUSALS = ("never_out_of_order", "written_and_not_answered")
_LATE = ("in_its_transaction", "both_transactions", "settled_in_the_end")
"""Not asked where transactions share an epoch: there any late batch is written in the next one, whatever is known."""

RENUMBERING = NOT_TRANSACTIONAL | {"max.in.flight.requests.per.connection": "5"}


def _wrong(
    name: str, properties: type[Properties], rule: str, bounds: Mapping[str, int], breaks: tuple[str, ...], says: str,
    of: Of,
) -> Variant:  # fmt: skip
    """Asked for what it breaks only."""
    others = Names(lambda: (n for n in properties.properties if n not in breaks))
    return Variant(
        name, properties, says, rule, expected=dict.fromkeys(breaks, "violated"), bounds={"smoke": bounds},
        leaves_out=others, depth={"smoke": 8, "ci": 10, "nightly": 12}, of=of,
    )  # fmt: skip


def _of_refusals(name: str, properties: type[Properties], says: str, of: Of) -> Variant:
    """The same models as the variants above, asked for no more than refusals."""
    others = Names(lambda: (n for n, p in properties.properties.items() if p.role != "lemma" and n not in _REFUSALS))
    return Variant(
        name, properties, says, bounds=_BOUNDS, leaves_out=others, judged=(), depth=NOT_BOUNDED, of=of,
    )  # fmt: skip


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
            of=Kafka(settings=NOT_TRANSACTIONAL),
        ),
        Variant(
            "same-epoch",
            SequencesV1Properties,
            "transactions that leave the epoch as it is (v1)",
            bounds=_BOUNDS,
            progress_bounds=_PROGRESS,
            depth={"smoke": 8, "ci": 10, "nightly": 12},
            of=Kafka(settings=V1),
        ),
        Variant(
            "new-epoch",
            SequencesV2Properties,
            "transactions each of which ends with a new epoch (v2)",
            bounds=_BOUNDS,
            progress_bounds=_PROGRESS,
            depth={"smoke": 8, "ci": 10, "nightly": 12},
            of=Kafka("4.0.0", settings=V2),
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
            of=MISTAKE,
        ),
        Variant(
            "cleared-by-abort",
            ClearedByAbortProperties,
            "its repair, on a network in which batches may be late",
            "txn.14",
            expected={"told_is_written": "violated", "written_once": "violated"},
            bounds={"smoke": _SMALL},
            leaves_out=_LATE,
            of=MISTAKE,
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
            of=MISTAKE,
        ),
        Variant(
            "forgetful-giving-up",
            GivingUpProperties,
            "leaders restart, lose a tail, forget; a producer that is refused gives up, and sends nothing again",
            bounds=_FORGETTING,
            leaves_out=("in_its_transaction", "both_transactions"),
            progress_bounds=(dict(_FORGETFUL, sends=2),),
            depth={"smoke": 4, "ci": 9, "nightly": 11},
            judged=(),
            of=Kafka(settings=V1),
        ),
        Variant(
            "forgetful-new-epoch",
            ForgetfulV2Properties,
            "leaders restart, lose a tail, forget; a transaction that is refused is aborted (v2)",
            bounds=_FORGETTING,
            progress_bounds=(dict(_FORGETFUL, sends=2),),
            depth={"smoke": 4, "ci": 9, "nightly": 11},
            judged=(),
            of=Kafka("4.0.0", settings=V2),
        ),
        Variant(
            "forgetful-one-under-way",
            OneUnderWayProperties,
            "leaders restart, lose a tail, forget; the producer has one batch under way, and would number it anew",
            bounds=_ONE_UNDER_WAY,
            leaves_out=("two_under_way", "forgotten_and_written"),
            progress_bounds=(dict(_FORGETFUL, sends=2, window=1, most=1),),
            depth={"smoke": 4, "ci": 9, "nightly": 11},
            judged=(),
            of=Kafka(settings=NOT_TRANSACTIONAL | {"max.in.flight.requests.per.connection": "1"}),
        ),
        _of_refusals(
            "answered-again",
            SequencesRefusals,
            "what is sent again is answered, and never out of order",
            of=Kafka(settings=NOT_TRANSACTIONAL),
        ),
        _of_refusals(
            "answered-again-new-epoch",
            SequencesV2Refusals,
            "the same in transactions of v2",
            of=Kafka("4.0.0", settings=V2),
        ),
        _wrong(
            "restarted-and-refused",
            ForgetfulRefusals,
            "txn.26",
            dict(_ONE_FAULT, restarts=1),
            ("never_out_of_order",),
            "a leader restarts with one batch of several, and refuses the others when they are sent again",
            of=Kafka(),
        ),
        _wrong(
            "expired-and-refused",
            ForgetfulRefusals,
            "txn.26",
            dict(_ONE_FAULT, expiries=1),
            ("never_out_of_order",),
            "a producer that was forgotten sends two batches, the second comes first, and the first is refused",
            of=Kafka(settings=NOT_TRANSACTIONAL),
        ),
        _wrong(
            "restarted",
            RenumberingProperties,
            "txn.26",
            dict(_ONE_FAULT, restarts=1),
            ("written_once",),
            "a leader restarts with one batch of several, and the producer numbers the others anew",
            of=Kafka(settings=RENUMBERING),
        ),
        _wrong(
            "expired",
            RenumberingProperties,
            "txn.26",
            dict(_ONE_FAULT, expiries=1),
            ("written_once",),
            "a producer that was forgotten sends two batches, which arrive in another order",
            of=Kafka(settings=RENUMBERING),
        ),
        _wrong(
            "expired-too-soon",
            ForgottenTooSoonProperties,
            "txn.26",
            dict(_ONE_FAULT, expiries=1),
            ("written_once",),
            "a producer is forgotten while its batches are on their way: their timestamps are long past",
            of=Kafka(settings=RENUMBERING),
        ),
        _wrong(
            "unclean",
            AnsweredEarlyProperties,
            "txn.26",
            dict(_ONE_FAULT, fail_overs=1),
            ("written_once", "told_is_written"),
            "a leader without the tail takes over although that was answered",
            of=Kafka(settings=RENUMBERING | UNCLEAN),
        ),
        _wrong(
            "bumped-elsewhere",
            RenumberingAnywayProperties,
            "txn.13",
            _SMALL,
            ("written_once",),
            "a batch is refused in another partition, and the producer numbers anew what is under way here",
            of=MISTAKE,
        ),
        _wrong(
            "wrapped",
            WrappingProperties,
            "txn.13",
            dict(_SMALL, window=1, most=1, round=2),
            ("written_once",),
            "a copy comes late by a whole round of numbers",
            of=Kafka(settings=NOT_TRANSACTIONAL | ANY_NETWORK),
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
        "restarts": "one leaves a single batch remembered, which is the least",
        "fail_overs": "one lost tail, which may be all that is not replicated",
        "expiries": "a producer is forgotten whole; once more is the same again",
        "round": "two numbers, one more than are remembered, make the shortest round; shipped: 2^31",
    },
    scenarios=(
        Scenario(
            "Redpanda-5026",
            "a batch is taken for an aborted one of the same number, answered, and not written",
            "kept-over-abort",
            "new-epoch",
            script=SCRIPT,
        ),
        Scenario(
            "KAFKA-14034",
            "a restarted leader refuses a batch that it has written, and the producer sends it under another number",
            "restarted",
            "forgetful-giving-up",
            script=SCRIPT,
        ),
        Scenario(
            "librdkafka-4953",
            "the epoch is raised on account of another partition, and what was written here is sent again",
            "bumped-elsewhere",
            "idempotent",
            script=SCRIPT,
        ),
    ),
)
