"""This module has variants of partitions that fail their part of transactions, and of sequence numbers.

It has what such partitions guarantee and, case by case, what they break; partitions that have two records of a
transaction; and the tail of the transaction log. The cases of rule txn.26 are variants, each asked for what it breaks:
a marker that is dropped, a producer that is forgotten, a tail that is lost. What a restart from a snapshot accepts is
known batches, which is in `idempotence`.
"""

from collections.abc import Mapping

from fencepost.model.language import combined
from fencepost.model.language.properties import Properties
from fencepost.model.releases import (
    ABSTRACTION,
    ANY_NETWORK,
    MISTAKE,
    NOT_TRANSACTIONAL,
    PROMPT,
    UNCLEAN,
    UNVERIFIED,
    V1,
    V2,
    VERIFIED,
    Kafka,
    Of,
)
from fencepost.model.transactions.abstract.away import (
    Dropping,
    Mended,
    Mortal,
    MortalAsking,
    MortalPromptVerified,
    MortalV2,
    Unclean,
)
from fencepost.model.transactions.abstract.cores import PromptV1Core, PromptVerifiedCore, VerifiedCore
from fencepost.model.transactions.abstract.several import SeveralV1, SeveralVerified
from fencepost.model.transactions.abstract.uncovered import Uncovered
from fencepost.model.transactions.parts.forgetting import (
    AnsweredEarly,
    ForgetfulV2,
    ForgottenTooSoon,
    GivingUp,
    OneUnderWay,
    Renumbering,
    RenumberingAnyway,
)
from fencepost.model.transactions.parts.sequences import (
    BeyondTheWindow,
    ClearedByAbort,
    RetainedOverAbort,
    Sequences,
    SequencesV1,
    SequencesV2,
    Wrapping,
)
from fencepost.properties.entries import Profile, ProtocolEntry, Variant, all_but, wrong
from fencepost.properties.transactions.claims.core import V2Lemmas
from fencepost.properties.transactions.claims.core_overlapping import CoveredLemmas, CoveredPromises
from fencepost.properties.transactions.claims.core_v1 import (
    MortalLemmas,
    MortalPromptVerifiedLemmas,
    SeveralLemmas,
    SeveralPromises,
    SeveralV2Lemmas,
    VerifiedLemmas,
)
from fencepost.properties.transactions.claims.sequences import (
    ForgetfulLemmas,
    InOrder,
    Promises,
    Refusals,
    SequencesProperties,
)
from fencepost.properties.transactions.variants.bounds import REASONS, played

_QUIET = dict(transactions=2, partitions=1, fail_overs=0, fences=0, absences=0, restarts=0, tails=0, expiries=0)
_SEVERAL = dict(transactions=2, partitions=1, fail_overs=0, fences=0)
_TWO_PARTITIONS = dict(clients=1, transactions=1, partitions=2, fail_overs=1, restarts=0, tails=0, expiries=0)
_TAIL = dict(clients=1, transactions=1, partitions=2, epochs=2, fail_overs=2, fences=0, tails=1)
_EVERY_FAULT = dict(_QUIET, clients=1, epochs=2, absences=1, restarts=1, tails=1, expiries=1)
_RESTARTING = dict(_EVERY_FAULT, absences=0, tails=0)
_TWO_OWNERS = dict(_EVERY_FAULT, clients=2, transactions=2)
_NO_FAULT = dict(absences=0, restarts=0, tails=0, expiries=0)
_OTHER_OWNER = {"two owners": dict(_NO_FAULT, clients=2, epochs=3)}
_TORN = {"two partitions": dict(_NO_FAULT, clients=1, partitions=2, epochs=2)}
_LATE = ("nothing_committed_unasked", "as_told", "nothing_lost", "one_fate")
_SERVING = ("appended_in_the_end", "told_in_the_end", "on_its_way", "asked_to_end")
_RARE = ("fenced_while_open", "two_partitions")
_OF_TWO = ("open_after_a_fence", "two_owners")
_PROGRESS = ("ends_in_the_end", "decided_in_the_end", "prepared", "undecided")


def _several(
    name: str, properties: type[Properties], says: str, bounds: Mapping[str, int], *leaves_out: str,
    of: Of, features: Mapping[str, Mapping[str, int]] | None = None,
) -> Variant:  # fmt: skip
    bounds = {**_SEVERAL, **bounds}
    return Variant(
        name, properties, says, bounds={"smoke": bounds, "nightly": dict(bounds, fail_overs=1, fences=1)},
        leaves_out=(*_SERVING, *_RARE, *leaves_out), judged=(), features=features or {},
        of=of,
    )  # fmt: skip


TRANSACTION_PARTITIONS = ProtocolEntry(
    "transaction-partitions",
    "Partitions that go away, start again, lose a tail and forget, or have several records of a transaction: what is "
    "left of transactions.",
    (
        Variant(
            "parked-v2",
            V2Lemmas.asked_of(MortalV2, MortalLemmas),
            "v2: markers are kept for a partition that is away, and leaders ask again after every loss of memory",
            bounds={"smoke": _TWO_OWNERS, "nightly": dict(_TWO_OWNERS, epochs=3, restarts=1, fail_overs=1)},
            leaves_out=(*_SERVING, *_RARE, "both_ends"),
            features={**_OTHER_OWNER, **_TORN, "two partitions and a fail-over": _TWO_PARTITIONS},
            progress_bounds=(
                dict(_QUIET, clients=1, transactions=1, epochs=5, absences=1, restarts=1),
                dict(_QUIET, clients=1, transactions=1, epochs=5, absences=1, tails=1, expiries=1),
            ),
            judged=(), of=Kafka("4.2", "4.2", V2),
        ),
        Variant(
            "parked-v1-verified", VerifiedLemmas.asked_of(combined(MortalAsking, VerifiedCore), MortalLemmas),
            "v1 with verification: nothing hangs, no zombie writes", judged=(),
            bounds={"smoke": _RESTARTING, "nightly": dict(_RESTARTING, clients=2, fail_overs=1)},
            features={"two owners": dict(_NO_FAULT, clients=2)}, of=Kafka("3.6", "4.2", VERIFIED | ANY_NETWORK),
            leaves_out=(*_SERVING, *_RARE, *_PROGRESS, *_LATE, "both_ends", "told_before_the_marker", "told_aborted",
                        "away_at_its_marker"),
        ),
        Variant(
            "parked-v1-verified-prompt", MortalPromptVerifiedLemmas,
            "v1 with verification on a prompt network: partitions may forget, but not while markers are on their way",
            bounds={"smoke": _EVERY_FAULT, "nightly": dict(_EVERY_FAULT, clients=2, fail_overs=1)},
            leaves_out=(*_SERVING, *_RARE, *_PROGRESS), judged=(), features={**_OTHER_OWNER, **_TORN},
            of=Kafka("3.6", "4.2", VERIFIED | PROMPT),
        ),
        _several(
            "several-v2", SeveralV2Lemmas, "v2 with two records of a transaction in a partition",
            dict(clients=2, epochs=2), *_PROGRESS, "both_ends", "taken_for_who_missed_an_answer",
            features={"three epochs": dict(epochs=3), "two partitions": dict(clients=1, transactions=1, partitions=2)},
            of=Kafka("4.2", settings=V2),
        ),
        _several(
            "several-v1-verified", VerifiedLemmas.asked_of(SeveralVerified, SeveralLemmas),
            "v1 with verification and two records of a transaction in a partition: a late one asks or joins",
            dict(clients=1, epochs=1), *_LATE, *_PROGRESS, "both_ends", "told_before_the_marker", "told_aborted",
            "third_epoch", features={"two owners": dict(clients=2, epochs=2)},
            of=Kafka(settings=VERIFIED | ANY_NETWORK),
        ),
        _several(
            "log-covered", CoveredLemmas,
            "v2 where the log's tail may be lost, and markers of a Prepare wait until it is replicated",
            _TAIL, *_PROGRESS, *_OF_TWO, "both_ends", "epochs_go_up",  # an epoch that was given to none is taken back
            "taken_for_who_missed_an_answer", "third_epoch",
            features={"two owners": dict(clients=2, transactions=2, partitions=1, tails=0, fail_overs=0, epochs=3)},
            of=ABSTRACTION,
        ),
        wrong("log-uncovered", CoveredPromises.asked_of(Uncovered),
              "a coordinator that takes over sends markers of a Prepare without a copy, and both are lost", "txn.8",
              _TAIL, "nothing_lost", "as_told", "one_fate", of=Kafka("4.0.0", settings=V2)),
        wrong("several-v1", SeveralPromises.asked_of(SeveralV1),
              "v1: the second record comes after the end of its transaction", "txn.15",
              dict(_SEVERAL, clients=1, transactions=1, epochs=1), "nothing_hangs",
              of=Kafka(settings=UNVERIFIED | ANY_NETWORK)),
        wrong("several-v1-verified-late", VerifiedLemmas.asked_of(SeveralVerified, SeveralLemmas),
              "v1 with verification: the second record joins the next transaction, which shares its epoch", "txn.9",
              dict(_SEVERAL, clients=1, epochs=2), *_LATE, of=Kafka(settings=VERIFIED | ANY_NETWORK)),
        wrong("dropped-v2", MortalLemmas.asked_of(combined(Dropping, MortalV2)),
              "v2 of Kafka 4.3: a partition without a leader is taken for a deleted one, and the next transaction "
              "joins what stayed open there", "txn.26", dict(_QUIET, clients=1, epochs=3, absences=1), "nothing_hangs",
              "nothing_lost", "as_told", "nothing_committed_unasked", of=Kafka("4.3", settings=V2)),
        wrong("dropped-v2-fenced", MortalLemmas.asked_of(combined(Dropping, MortalV2)),
              "the same where the next transaction is another owner's: InitProducerId succeeds with a record still "
              "open", "txn.26", dict(_QUIET, clients=2, transactions=1, epochs=3, absences=1),
              "nothing_open_after_a_fence", of=Kafka("4.3", settings=V2)),
        wrong("dropped-v1", MortalLemmas.asked_of(combined(Dropping, MortalPromptVerified)),
              "the same in v1 with verification, where the next transaction has the same epoch", "txn.26",
              dict(_QUIET, clients=1, epochs=2, absences=1), "nothing_hangs", "nothing_lost", "as_told",
              "nothing_committed_unasked", of=Kafka("4.3", settings=VERIFIED)),
        wrong("dropped-v1-torn", MortalLemmas.asked_of(combined(Dropping, MortalPromptVerified)),
              "the same with two partitions, one of which is away: a transaction is committed in one, and the abort "
              "of the next one decides the other", "txn.26",
              dict(_QUIET, clients=1, partitions=2, epochs=1, absences=1), "one_fate",
              of=Kafka("4.3", settings=VERIFIED)),
        wrong("expired-v1", MortalLemmas.asked_of(combined(Mortal, PromptV1Core)),
              "v1: a partition forgets the epoch that kept a fenced producer out", "txn.26",
              dict(_QUIET, clients=2, epochs=3, expiries=1), "nothing_hangs", "nothing_open_after_a_fence",
              "no_zombie_write", "nothing_committed_unasked", of=Kafka(settings=UNVERIFIED)),
        wrong("expired-v1-verified", MortalLemmas.asked_of(combined(MortalAsking, PromptVerifiedCore)),
              "v1 with verification: a partition forgets the coordinator's epoch, and takes a marker left behind",
              "txn.26", dict(_QUIET, clients=1, epochs=2, fail_overs=1, expiries=1), "nothing_committed_unasked",
              "as_told", "nothing_lost", of=Kafka(settings=VERIFIED)),
        wrong("unclean-v2", MortalLemmas.asked_of(combined(Unclean, MortalV2)),
              "a leader takes over that lacks records that were acknowledged, or the marker behind them: what stays "
              "open hangs, and the next transaction decides it", "txn.26", dict(_QUIET, clients=1, epochs=3, tails=1),
              "nothing_hangs", "nothing_lost", "as_told", "nothing_committed_unasked",
              of=Kafka("4.0.0", settings=V2 | UNCLEAN)),
        wrong("unclean-v2-fenced", MortalLemmas.asked_of(combined(Unclean, MortalV2)),
              "the same where the next transaction is another owner's: InitProducerId succeeds with a record still "
              "open", "txn.26", dict(_QUIET, clients=2, transactions=1, epochs=3, tails=1),
              "nothing_open_after_a_fence", of=Kafka("4.0.0", settings=V2 | UNCLEAN)),
        wrong("unclean-v2-aborted", MortalLemmas.asked_of(combined(Mended, MortalV2)),
              "an operator aborts what hangs before another transaction can decide it: what was committed there is "
              "lost, and nothing else becomes visible", "txn.26", dict(_QUIET, clients=1, epochs=3, tails=1),
              "nothing_hangs", "nothing_lost", "as_told", asks=("nothing_committed_unasked", "decided_in_the_end"),
              of=Kafka("4.0.0", settings=V2 | UNCLEAN), progress_bounds=(dict(_QUIET, clients=1, epochs=3, tails=1),)),
        wrong("unclean-v2-aborted-torn", MortalLemmas.asked_of(combined(Mended, MortalV2)),
              "the same with two partitions: what the operator aborts in one is committed in the other", "txn.26",
              dict(_QUIET, clients=1, transactions=1, partitions=2, epochs=2, tails=1), "one_fate",
              of=Kafka("4.0.0", settings=V2 | UNCLEAN)),
        wrong("unclean-v1", MortalLemmas.asked_of(combined(Unclean, MortalPromptVerified)),
              "a leader takes over that lacks a marker, in v1 with verification, where the next transaction has the "
              "same epoch", "txn.26", dict(_QUIET, clients=1, epochs=2, tails=1), "nothing_hangs", "nothing_lost",
              "as_told", "nothing_committed_unasked", of=Kafka(settings=VERIFIED | UNCLEAN)),
        wrong("unclean-v1-torn", MortalLemmas.asked_of(combined(Unclean, MortalPromptVerified)),
              "the same with two partitions: a transaction is committed in one, and the abort of the next one "
              "decides the other", "txn.26", dict(_QUIET, clients=1, partitions=2, epochs=1, tails=1), "one_fate",
              of=Kafka(settings=VERIFIED | UNCLEAN)),
    ),
    {
        **{name: REASONS[name] for name in ("clients", "transactions", "partitions", "epochs", "fail_overs", "fences")},
        "absences": "a partition goes away once, at any moment, and comes back",
        "restarts": "all questions of a leader are lost at once; asking again is the same again",
        "tails": "one lost tail, which may be all that is not acknowledged, or where an election is unclean any end of the "
        "log; of the transaction log, its last record",
        "expiries": "a producer is forgotten whole; once more is the same again",
    },
    scenarios=(
        played(
            "KAFKA-14402-second", "a second record comes late, and opens a transaction that nothing will end",
            "several-v1", "several-v1-verified"),
        played(
            "KAFKA-14402-joins", "a second record comes late, and shares the fate of the next transaction",
            "several-v1-verified-late", "several-v2"),
        played(
            "uncovered-Prepare", "a coordinator acts on a record that it alone has, and is lost with it",
            "log-uncovered", "log-covered"),
        played(
            "KAFKA-20734", "the marker of a partition without a leader counts as written, and is never sent",
            "dropped-v2", "parked-v2"),
        played(
            "KAFKA-20734-v1", "the marker of the next transaction of the same epoch decides what stayed open",
            "dropped-v1", "parked-v1-verified-prompt"),
        played(
            "KAFKA-20716", "a leader without the marker of a transaction has it open again, and the next one decides it",
            "unclean-v2", "parked-v2"),
    ),
)  # fmt: skip


# These are the variants of sequence numbers: without transactions, under both forms of them, and with mistakes.

_SMALL = dict(sends=3, numbers=4, epochs=1, transactions=1, window=2, most=2, losses=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, sends=4, numbers=5, epochs=2, transactions=2),
    "nightly": dict(_SMALL, sends=5, numbers=6, epochs=2, transactions=2, window=3, most=3, losses=2),
}
_SEQUENCES_PROGRESS = (dict(_SMALL, sends=2), dict(_SMALL, sends=2, window=1, most=1, losses=2))
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
_SEQUENCES_LATE = ("in_its_transaction", "both_transactions", "settled_in_the_end")
"""`_SEQUENCES_LATE` lists properties that are not checked where transactions share an epoch, because there any late
batch is written in the next one, whatever is known."""

RENUMBERING = NOT_TRANSACTIONAL | {"max.in.flight.requests.per.connection": "5"}


def _of_refusals(name: str, properties: type[Properties], says: str, of: Of) -> Variant:
    """Return variants of the same models as above that are asked for refusals only."""
    others = all_but(properties, *_REFUSALS, roles=("lemma",))
    return Variant(
        name, properties, says, bounds=_BOUNDS, leaves_out=others, judged=(), of=of,
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
            progress_bounds=_SEQUENCES_PROGRESS,
            of=Kafka(settings=NOT_TRANSACTIONAL),
        ),
        Variant(
            "same-epoch",
            SequencesProperties.asked_of(SequencesV1),
            "transactions that leave the epoch as it is (v1)",
            bounds=_BOUNDS,
            progress_bounds=_SEQUENCES_PROGRESS,
            of=Kafka(settings=V1),
        ),
        Variant(
            "new-epoch",
            SequencesProperties.asked_of(SequencesV2),
            "transactions each of which ends with a new epoch (v2)",
            bounds=_BOUNDS,
            progress_bounds=_SEQUENCES_PROGRESS,
            of=Kafka("4.0.0", settings=V2),
        ),
        Variant(
            "kept-over-abort",
            Promises.asked_of(RetainedOverAbort),
            "numbers used again after an abort, by a producer that the partition remembers",
            "txn.14",
            expected={"told_is_written": "violated"},
            bounds={"smoke": _SMALL},
            leaves_out=_SEQUENCES_LATE,
            of=MISTAKE,
        ),
        Variant(
            "cleared-by-abort",
            Promises.asked_of(ClearedByAbort),
            "its repair, on a network in which batches may be late",
            "txn.14",
            expected={"told_is_written": "violated", "written_once": "violated"},
            bounds={"smoke": _SMALL},
            leaves_out=_SEQUENCES_LATE,
            of=MISTAKE,
        ),
        Variant(
            "beyond-the-window",
            Promises.asked_of(BeyondTheWindow),
            "more batches under way than the partition remembers",
            "txn.14",
            expected={"written_once": "violated"},
            bounds={"smoke": dict(_SMALL, sends=2, window=1)},
            leaves_out=("settled_in_the_end",),
            of=MISTAKE,
        ),
        Variant(
            "forgetful-giving-up",
            ForgetfulLemmas.asked_of(GivingUp),
            "leaders restart, lose a tail, forget; a producer that is refused gives up, and sends nothing again",
            bounds=_FORGETTING,
            leaves_out=("in_its_transaction", "both_transactions"),
            progress_bounds=(dict(_FORGETFUL, sends=2),),
            judged=(),
            of=Kafka(settings=V1),
        ),
        Variant(
            "forgetful-new-epoch",
            InOrder.asked_of(ForgetfulV2),
            "leaders restart, lose a tail, forget; a transaction that is refused is aborted (v2)",
            bounds=_FORGETTING,
            progress_bounds=(dict(_FORGETFUL, sends=2),),
            judged=(),
            of=Kafka("4.0.0", settings=V2),
        ),
        Variant(
            "forgetful-one-under-way",
            InOrder.asked_of(OneUnderWay),
            "leaders restart, lose a tail, forget; the producer has one batch under way, and would number it anew",
            bounds=_ONE_UNDER_WAY,
            leaves_out=("two_under_way", "forgotten_and_written"),
            progress_bounds=(dict(_FORGETFUL, sends=2, window=1, most=1),),
            judged=(),
            of=Kafka(settings=NOT_TRANSACTIONAL | {"max.in.flight.requests.per.connection": "1"}),
        ),
        _of_refusals(
            "answered-again",
            SequencesProperties.asked_of(Sequences, Refusals),
            "what is sent again is answered, and never out of order",
            of=Kafka(settings=NOT_TRANSACTIONAL),
        ),
        _of_refusals(
            "answered-again-new-epoch",
            SequencesProperties.asked_of(SequencesV2, Refusals),
            "the same in transactions of v2",
            of=Kafka("4.0.0", settings=V2),
        ),
        wrong(
            "restarted-and-refused",
            ForgetfulLemmas.asked_of(GivingUp, Refusals),
            "a leader restarts with one batch of several, and refuses the others when they are sent again",
            "txn.26",
            dict(_ONE_FAULT, restarts=1),
            "never_out_of_order",
            of=Kafka(),
        ),
        wrong(
            "expired-and-refused",
            ForgetfulLemmas.asked_of(GivingUp, Refusals),
            "a producer that was forgotten sends two batches, the second comes first, and the first is refused",
            "txn.26",
            dict(_ONE_FAULT, expiries=1),
            "never_out_of_order",
            of=Kafka(settings=NOT_TRANSACTIONAL),
        ),
        wrong(
            "restarted",
            Promises.asked_of(Renumbering),
            "a leader restarts with one batch of several, and the producer numbers the others anew",
            "txn.26",
            dict(_ONE_FAULT, restarts=1),
            "written_once",
            of=Kafka(settings=RENUMBERING),
        ),
        wrong(
            "expired",
            Promises.asked_of(Renumbering),
            "a producer that was forgotten sends two batches, which arrive in another order",
            "txn.26",
            dict(_ONE_FAULT, expiries=1),
            "written_once",
            of=Kafka(settings=RENUMBERING),
        ),
        wrong(
            "expired-too-soon",
            Promises.asked_of(ForgottenTooSoon),
            "a producer is forgotten while its batches are on their way: their timestamps are long past",
            "txn.26",
            dict(_ONE_FAULT, expiries=1),
            "written_once",
            of=Kafka(settings=RENUMBERING),
        ),
        wrong(
            "unclean",
            Promises.asked_of(AnsweredEarly),
            "a leader without the tail takes over although that was answered",
            "txn.26",
            dict(_ONE_FAULT, fail_overs=1),
            "written_once",
            "told_is_written",
            of=Kafka(settings=RENUMBERING | UNCLEAN),
        ),
        wrong(
            "bumped-elsewhere",
            Promises.asked_of(RenumberingAnyway),
            "a batch is refused in another partition, and the producer numbers anew what is under way here",
            "txn.13",
            _SMALL,
            "written_once",
        ),
        wrong(
            "wrapped",
            Promises.asked_of(Wrapping),
            "a copy comes late by a whole round of numbers",
            "txn.13",
            dict(_SMALL, window=1, most=1, round=2),
            "written_once",
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
        "losses": "a lost answer makes a batch be sent again; a second one makes no difference",
        "restarts": "one leaves a single batch remembered, which is the least",
        "fail_overs": "one lost tail, which may be all that is not replicated",
        "expiries": "a producer is forgotten whole; once more is the same again",
        "round": "two numbers, one more than are remembered, make the shortest round; shipped: 2^31",
    },
    scenarios=(
        played(
            "Redpanda-5026",
            "a batch is taken for an aborted one of the same number, answered, and not written",
            "kept-over-abort",
            "new-epoch",
        ),
        played(
            "KAFKA-14034",
            "a restarted leader refuses a batch that it has written, and the producer sends it under another number",
            "restarted",
            "forgetful-giving-up",
        ),
        played(
            "librdkafka-4953",
            "the epoch is raised on account of another partition, and what was written here is sent again",
            "bumped-elsewhere",
            "idempotent",
        ),
    ),
)
