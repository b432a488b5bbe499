"""This module enters transactions in the catalogue: v1, v1 with verification, v2; each as a core that is proved and in
full.

What v1 guarantees on a network that is prompt, and what it loses on any other, are variants of their own; so is every
bug that is publicly known, as a misread rule.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.language import combined
from fencepost.model.releases import (
    ANY_NETWORK,
    MISTAKE,
    PROMPT,
    TEXT,
    TRANSACTIONAL,
    UNVERIFIED,
    V1,
    V2,
    VERIFIED,
    Kafka,
    Of,
)
from fencepost.model.transactions.abstract.cores import LateMarkerCore, PromptVerifiedCore, V1Core, VerifiedCore
from fencepost.model.transactions.abstract.overlapping import OverlappingV1
from fencepost.model.transactions.abstract.versions import OneEpoch
from fencepost.model.transactions.detailed.expiry import Expiring
from fencepost.model.transactions.detailed.releases import V2Mended, V2Of42, V2Of400, V2OfTrunk, V2Upgraded
from fencepost.properties.entries import (
    SELDOM_TAKEN,
    Names,
    Profile,
    ProtocolEntry,
    Variant,
    all_but,
    violated,
    wrong,
)
from fencepost.properties.transactions.claims.core import Promises, V2Lemmas, V2MutantLemmas
from fencepost.properties.transactions.claims.core_overlapping import (
    FatedLateV1,
    FatedOverlappingV2,
    FatedPromptV1,
    FatedTimedOutV2,
    FatedV2,
    FatedVerified,
    OverlappingV2Lemmas,
    TimedOutV2Lemmas,
)
from fencepost.properties.transactions.claims.core_v1 import (
    PromptV1Lemmas,
    PromptV1MutantLemmas,
    PromptVerifiedLemmas,
    VerifiedLemmas,
)
from fencepost.properties.transactions.claims.full import (
    FullPromises,
    PromptV1Promises,
    PromptVerifiedPromises,
    V1Promises,
    V2Promises,
    VerifiedPromises,
    VersionsPromises,
)
from fencepost.properties.transactions.variants.bounds import (
    BEFORE_KIP_1228,
    CORE,
    CORE_PROGRESS,
    EXPIRING,
    FAIL_OVER_IN_A_RETRY,
    FEATURES,
    FULL,
    HANGING,
    LAST_EPOCH,
    LATE,
    LATE_MARKER,
    OF_V1,
    OVERLAPPING,
    OVERLAPPING_PROGRESS,
    PROGRESS,
    REASONS,
    ROTATION,
    TIMED_OUT,
    TIMED_OUT_PROGRESS,
    TWO_PARTITIONS,
    VERIFIED_PROGRESS,
    VERSIONS,
    played,
)
from fencepost.properties.transactions.variants.partitions import IDEMPOTENCE, TRANSACTION_PARTITIONS
from fencepost.properties.transactions.variants.reading import READ_COMMITTED, TRANSACTION_LOG, TRANSACTIONAL_OFFSETS

REFERENCE = "fencepost.reference_impl.systems.transactions"
Bounds = Mapping[Profile, Mapping[str, int]]

_LATE = ("nothing_committed_unasked", "as_told", "nothing_lost", "one_fate")
_HANGS = ("nothing_hangs", "nothing_open_after_a_fence")
_ESCAPES = (*_HANGS, "no_zombie_write", "nothing_committed_unasked", "as_told")
_LONE = ("alone_never_fenced",)
_OVER = ("never_fenced_by_a_fail_over",)
_KNOWN = ("alone_and_known_never_fenced",)
_FENCED = (*_LONE, *_OVER, *_KNOWN, "never_fenced_before_the_end")
_LIVENESS = ("ends_in_the_end", "decided_in_the_end", "answered_in_the_end", "initialized_in_the_end")
_SERVING = ("appended_in_the_end", "told_in_the_end", "on_its_way", "asked_to_end")
_WAITING = ("prepared", "undecided", "waiting", "waiting_for_an_epoch")
_RARE = (
    "next_producer_id", "refused_to_return", "two_partitions", "two_owners", "fenced_while_open", "both_ends",
    "open_after_a_fence", "somebody_fenced", "third_epoch", "told_aborted", "told_before_the_marker",
    "open_while_prepared", "answered_the_second_time", "at_the_last_epoch", "answered_over_a_fail_over", *_WAITING,
)  # fmt: skip


_TWICE_PROVED = ("one_fate", "epochs_go_up")
"""`_TWICE_PROVED` lists properties that are not checked in full models, where only two mistakes at once break them.
Every step there is one of the core's, where one mistake is enough."""

_ENDS = ("ends_in_the_end",)
_ROTATED = ("epochs_go_up", "no_epoch_past_the_last", "never_fenced_before_the_end")
_ANSWERED = ("answered_in_the_end", "initialized_in_the_end")
_UPGRADED = ("epochs_go_up", "no_epoch_past_the_last", "nothing_hangs", "nothing_committed_unasked", "as_told")
_NOT_OF_A_RETRY = (
    *_LIVENESS, *_WAITING, *(name for name in _RARE if name not in ("at_the_last_epoch", "answered_over_a_fail_over")),
    "one_fate", "no_epoch_past_the_last", "fenced_for_good", "no_zombie_write", "nothing_committed_unasked", "one_owner",
    "epochs_go_up",
)  # fmt: skip

NEVER_AT_REST = frozenset({"none_hanging", "calls_come_to_an_end"})
"""`NEVER_AT_REST` lists properties that are not checked on simulated histories, each of which is cut after a number of
events, so that something may still be to happen."""
HIDDEN_BY_LOGS = frozenset({
    "appended_while_added", "completed_after_markers", "duplicates_answered_rightly",
    "ends_answered_as_logged", "fenced_appends_unread", "fetches_stop_at_stable", "init_answered_when_idle",
    "lone_client_never_fenced", "markers_after_prepare", "markers_as_decided", "prepared_as_asked",
    "stable_below_open", "stable_never_falls",
})  # fmt: skip
"""`HIDDEN_BY_LOGS` lists properties that are not checked on recordings: logs on disk and clients reveal neither what a
coordinator answers and checks nor the last stable offset, and have no order among one another."""


SINCE_KIP_1228 = Kafka("4.2", settings=V2)
BEFORE = Kafka("4.0.0", "4.1", V2)
CHANGING = TRANSACTIONAL | {"transaction.version": "changing"}
PROMPT_VERIFIED = Kafka(settings=VERIFIED | PROMPT)


def _bounds(smoke: Mapping[str, int], **nightly: int) -> Bounds:
    return {"smoke": smoke, "nightly": {**smoke, **nightly}}


def _core(name: str, properties: Any, says: str, **more: Any) -> Variant:
    settings: dict[str, Any] = dict(
        bounds=_bounds(CORE, epochs=4), features={"two partitions": TWO_PARTITIONS},
        progress_bounds=CORE_PROGRESS,
    )  # fmt: skip
    return Variant(name, properties, says, **(settings | more))


def _full(name: str, properties: Any, says: str, *features: str, **more: Any) -> Variant:
    known = {**FEATURES, **OF_V1}
    chosen = {feature: known[feature] for feature in features if feature} if features else FEATURES
    settings: dict[str, Any] = dict(bounds=_bounds(FULL, epochs=5), features=chosen, proof=False, judged=())
    return Variant(name, properties, says, **(settings | more))


def _bug(
    name: str, properties: Any, says: str, rule: str, mutation: str, breaks: str | tuple[str, ...],
    bounds: Mapping[str, int], of: Of = MISTAKE,
) -> Variant:  # fmt: skip
    """Return a misread rule as a variant, within the bounds in which it has an effect."""
    broken = (breaks,) if isinstance(breaks, str) else breaks
    leaves = Names(
        lambda: (n for n in (*_LIVENESS, *_SERVING, *_RARE) if n in properties.properties and n not in broken)
    )
    progress = (bounds,) if set(broken) & set(_LIVENESS) else ()
    return wrong(
        name, properties, says, rule, bounds, *broken, reading=mutation, leaves_out=leaves, progress_bounds=progress,
        of=of,
    )  # fmt: skip


def _fated(name: str, properties: Any, says: str, bounds: Mapping[str, int], **more: Any) -> Variant:
    """Return a variant that is asked what a group has to know of its members' transactions, and only what that rests
    on."""
    rests = ("one_owner", "nothing_hangs", "taken_for_who_missed_an_answer")
    others = all_but(properties, *rests, roles=("lemma", "refinement"))
    return Variant(name, properties, says, bounds={"smoke": bounds}, leaves_out=others, judged=(), **more)


TRANSACTIONS = ProtocolEntry(
    "transactions",
    "Transactions of one transactional id: fenced owners, one outcome, nothing lost.",
    (
        _core("core-v2", V2Lemmas, "the core of v2: every transaction has an epoch of its own", full="v2",
              for_mutants=V2MutantLemmas, of=SINCE_KIP_1228),
        _core(
            "core-v1-verified", VerifiedLemmas, "the core of v1 with verification: nothing hangs, no zombie writes",
            expected=violated(*_LATE), judged=("txn.15",), of=Kafka(settings=VERIFIED | ANY_NETWORK),
            bounds=_bounds(dict(CORE, epochs=2, fail_overs=0)),
        ),
        _core("core-v1-prompt", PromptV1Lemmas, "the core of v1 on a network that is prompt",
              for_mutants=PromptV1MutantLemmas, of=Kafka(settings=UNVERIFIED | PROMPT)),
        _core("core-v1-verified-prompt", PromptVerifiedLemmas, "the same with verification", judged=(),
              of=PROMPT_VERIFIED),
        _core("core-v2-overlapping", OverlappingV2Lemmas, "the core of v2, where deposed coordinators still answer",
              judged=(), features={"two partitions": dict(TWO_PARTITIONS, transactions=1, fail_overs=1)},
              progress_bounds=OVERLAPPING_PROGRESS, of=SINCE_KIP_1228),
        _core("core-v2-timed-out", TimedOutV2Lemmas,
              "the core of v2, where appends time out whose records are in the log, for another coordinator to find",
              judged=(), bounds=_bounds(TIMED_OUT, epochs=4),
              features={"two partitions": dict(TWO_PARTITIONS, transactions=1, fail_overs=1)},
              progress_bounds=TIMED_OUT_PROGRESS, of=SINCE_KIP_1228),
        _fated("core-v2-fated", FatedV2, "the core of v2 does to each client, and each partition, what a group relies on",
               dict(CORE, epochs=2), of=SINCE_KIP_1228),
        _fated("core-v2-overlapping-fated", FatedOverlappingV2, "so it does where deposed coordinators still answer",
               dict(CORE, epochs=2), of=SINCE_KIP_1228),
        _fated("core-v2-timed-out-fated", FatedTimedOutV2, "so it does where appends are in doubt",
               dict(TIMED_OUT, epochs=2), of=SINCE_KIP_1228),
        _fated("core-v1-prompt-fated", FatedPromptV1, "v1 does on a network that is prompt, and without fail-over",
               dict(CORE, fail_overs=0), proof=False, of=Kafka(settings=UNVERIFIED | PROMPT)),
        wrong("core-v1-not-fated", FatedLateV1, "v1 does not: offsets that come late are taken in another transaction",
              "txn.15", dict(CORE, fail_overs=0, fences=0), "does_as_fated", proof=False,
              of=Kafka(settings=UNVERIFIED)),
        wrong("core-v1-verified-not-fated", FatedVerified,
              "nor does v1 with verification: requests that come late open and end a transaction of no client", "txn.9",
              dict(CORE, epochs=2, fail_overs=0, fences=0), "does_as_fated", proof=False,
              of=Kafka(settings=VERIFIED | ANY_NETWORK)),
        _core(
            "core-versions", VersionsPromises, "transactions of v1 and of v2 under one id, while transaction.version changes",
            proof=False, judged=("txn.24",), bounds=_bounds(VERSIONS, changes=2, fail_overs=1),
            features={
                "two partitions": dict(partitions=2, epochs=2), "two owners": dict(clients=2),
            }, progress_bounds=(VERSIONS,), of=Kafka("4.2", settings=CHANGING),
        ),
        _full("v2", V2Promises, "the full coordinator of Kafka 4.3 and 4.4, every end of a transaction bumps the epoch",
              expected=violated(*_LONE, *_OVER, *_KNOWN), judged=("txn.2", "txn.4", "txn.5", "txn.10", "txn.18"),
              progress_bounds=PROGRESS, leaves_out=_TWICE_PROVED,
              of=(Kafka("4.3", "4.4.0", V2), Kafka("4.2", "4.2", V2, "a fail-over loses the next producer id (KAFKA-20310)"))),
        _full(
            "v2-trunk", FullPromises.asked_of(V2OfTrunk), "the same after Kafka 4.4: who takes over knows of the epoch before (KAFKA-20357)",
            "late copies", "a retry at the last epoch", judged=("txn.25",), expected=violated(*_LONE, *_KNOWN),
            bounds=_bounds(FAIL_OVER_IN_A_RETRY, epochs=5), leaves_out=_NOT_OF_A_RETRY, of=Kafka("trunk", settings=V2),
        ),
        _full(
            "v2-mended", FullPromises.asked_of(V2Mended), "and a retry at the last epoch is looked for before the end of the epochs",
            "late copies", "a retry at the last epoch", expected=violated(*_LONE),
            bounds=_bounds(FAIL_OVER_IN_A_RETRY, epochs=5), leaves_out=_NOT_OF_A_RETRY, of=TEXT,
        ),
        _full(
            "v1-prompt", PromptV1Promises, "v1 in full, on a network that is prompt", "two partitions of v1", "retries",
            "a fenced producer asks again", "fail-over", "fail-over in a retry", "the last epoch of v1",
            "a retry at the last epoch", expected=violated(*_LONE, *_OVER, *_KNOWN), judged=("txn.18",),
            progress_bounds=PROGRESS[3:], leaves_out=_TWICE_PROVED, of=Kafka(settings=UNVERIFIED | PROMPT),
        ),
        _full(
            "v1-verified-prompt", PromptVerifiedPromises, "the same with verification", "two partitions of v1", "fail-over",
            "fail-over in a retry", "a retry at the last epoch", expected=violated(*_LONE, *_OVER, *_KNOWN),
            progress_bounds=VERIFIED_PROGRESS,
            leaves_out=("next_producer_id", "refused_to_return", "no_epoch_past_the_last", "fenced_for_good",
            *_TWICE_PROVED),
            of=PROMPT_VERIFIED,
        ),
        _full(
            "v1", V1Promises, "v1 as it is: a late EndTxn decides the next transaction, a late record hangs", "two owners",
            "two partitions of v1", rule="txn.9", expected=violated(*_LATE, *_HANGS, "no_zombie_write", *_FENCED), bounds=_bounds(LATE),
            leaves_out=(*_LIVENESS, *_WAITING, "next_producer_id", "refused_to_return", "answered_the_second_time"),
            of=Kafka(settings=UNVERIFIED | ANY_NETWORK),
        ),
        _full(
            "v1-verified", VerifiedPromises, "verification keeps records from hanging, and lets a late EndTxn decide",
            "two owners", "two partitions of v1", rule="txn.9", expected=violated(*_LATE, *_FENCED), bounds=_bounds(LATE),
            asks=(*_HANGS, "no_zombie_write"), of=Kafka(settings=VERIFIED | ANY_NETWORK),
        ),
        wrong("v1-late-marker", Promises.asked_of(LateMarkerCore),
              "a late marker decides the next transaction, verified or not", "txn.9", LATE_MARKER, *_LATE, proof=False,
              of=Kafka(settings=V1 | ANY_NETWORK)),
        wrong("v1-verified-overlapping", Promises.asked_of(combined(OverlappingV1, VerifiedCore)),
              "a deposed coordinator says yes to a leader: a record hangs, and is committed after its owner was "
              "fenced", "txn.15", dict(CORE, epochs=3), *_HANGS, "no_zombie_write", proof=False,
              of=Kafka(settings=VERIFIED | ANY_NETWORK)),
        wrong("v1-overlapping-prompt", Promises.asked_of(combined(OverlappingV1, PromptVerifiedCore)),
              "a deposed coordinator takes a partition for added, or an EndTxn for repeated: a commit is lost, and "
              "told", "txn.15", OVERLAPPING, *_LATE, "nothing_hangs", proof=False, of=Kafka(settings=VERIFIED)),
        Variant(
            "v1-hanging", Promises.asked_of(V1Core), "a record that comes after its transaction is over opens another, for ever",
            "txn.15", None, violated("decided_in_the_end", "nothing_hangs"), {"smoke": HANGING},
            ("two_partitions", "two_owners", "fenced_while_open", "both_ends", "open_after_a_fence", "third_epoch"),
            (HANGING,), of=Kafka(settings=UNVERIFIED | ANY_NETWORK),
        ),
        wrong("v2-fail-over-forgets", V2Promises,
              "a retry that names its epoch meets a coordinator that remembers none", "txn.25", FAIL_OVER_IN_A_RETRY,
              *_LONE, *_OVER, proof=False, of=Kafka("4.0.0", "4.4.0", V2)),
        wrong("v2-rotation-lost", FullPromises.asked_of(V2Of42),
              "Kafka 4.0 to 4.2: a fail-over while the producer id changes goes back to the old one, past its last "
              "epoch", "txn.25", ROTATION, *_ROTATED, proof=False, asks=_ANSWERED, of=Kafka("4.0.0", "4.2", V2),
              progress_bounds=(ROTATION,)),
        wrong("v2-late-first-request", V2Promises, "a late copy of the first InitProducerId fences its own sender",
              "txn.2", dict(FULL, clients=1, copies=1), *_LONE, proof=False, of=Kafka("4.0.0", settings=V2)),
        Variant(
            "v2-upgraded", FullPromises.asked_of(V2Upgraded), "Kafka 4.3 and 4.4 on what 4.2 left past the last epoch: it ends, by a marker "
            "of its own epoch, behind which a record that comes late hangs", "txn.23", None, violated(*_UPGRADED),
            {"smoke": ROTATION}, Names(lambda: (n for n in FullPromises.asked_of(V2Upgraded).properties if n not in (*_UPGRADED, *_ENDS))),
            (ROTATION,), proof=False, asks=_ENDS,
            of=Kafka("4.3", "4.4.0", V2 | {"transaction log": "of 4.2 or before"}),
        ),
        wrong("v2-upgraded-strict", FullPromises.asked_of(V2Upgraded),
              "the same with partitions that refuse that marker: what is stuck stays so", "txn.23", ROTATION, *_ENDS,
              reading="no_last_epoch", proof=False, progress_bounds=(ROTATION,)),
        _full(
            "v2-expiring", FullPromises.asked_of(Expiring), "ids that are not used are forgotten, and who was fenced stops", "", rule="txn.20",
            expected=violated(*_LONE), asks=("fenced_for_good",), leaves_out=("refused_to_return",),
            bounds=_bounds(EXPIRING), of=Kafka("4.2", "4.4.0", V2),
        ),
        _full(
            "v2-expiring-recovered", FullPromises.asked_of(Expiring), "the same, and who was fenced comes back (KAFKA-18019)", "",
            rule="txn.20", reading=("txn.20", "recovers"), expected=violated("fenced_for_good", *_LONE),
            bounds=_bounds(EXPIRING), of=MISTAKE,  # of clients of before 4.0, which speak no v2
        ),
        _bug(
            "v1-verified-without-recheck", PromptVerifiedLemmas, "a marker comes between the answer and the append", "txn.15",
            "append: guard 2 dropped", _ESCAPES, CORE,
        ),
        _bug(
            "v1-verified-any-question", PromptVerifiedLemmas, "an answer is taken for the answer to a later question",
            "txn.15", "any_question", _ESCAPES, CORE,
        ),
        _bug(
            "v1-time-out-without-bump", PromptV1Lemmas, "a transaction that took too long is aborted, and its owner not fenced",
            "txn.18", "take_over: guard 1 looser", (*_ESCAPES, "nothing_lost"), CORE,
        ),
        _bug(
            "v1-marker-of-old-epoch", PromptV1Lemmas, "the abort markers of InitProducerId carry the epoch before the bump",
            "txn.3", "old_epoch", tuple(n for n in _ESCAPES if n != "as_told"), CORE,
        ),
        _bug(
            "v2-any-open-transaction", V2Lemmas, "what is open in the partition is taken for this transaction", "txn.16",
            "any_epoch", "nothing_hangs", CORE,
        ),
        _bug(
            "v2-before-kip-1228", V2Lemmas, "Kafka 4.0 and 4.1: a marker's epoch only has to be not older than the "
            "partition's, so that a late copy decides the next transaction", "txn.23", "not_older", _LATE, BEFORE_KIP_1228, BEFORE,
        ),
        Variant(
            "v2-before-kip-1228-fenced", V2Lemmas, "there, late markers let no zombie write, and leave nothing open",
            "txn.23", ("txn.23", "not_older"), bounds={"smoke": CORE}, progress_bounds=CORE_PROGRESS[:1],
            of=BEFORE,
            asks=("no_zombie_write", "nothing_open_after_a_fence", "nothing_hangs", "one_owner", "epochs_go_up",
                  "ends_in_the_end", "decided_in_the_end"),
        ),
        _bug(
            "versions-by-feature", VersionsPromises, "a partition checks a marker by the cluster's transaction.version, and "
            "refuses those of v1 once that is 2", "txn.24", "by_the_feature", ("ends_in_the_end", "decided_in_the_end"),
            VERSIONS,
        ),
        _bug(
            "versions-unchecked", VersionsPromises, "a partition checks every marker as one of v1", "txn.24", "by_none",
            _LATE[:3], VERSIONS, Kafka("4.0.0", "4.1", CHANGING),
        ),
        wrong("versions-one-epoch", Promises.asked_of(OneEpoch),
              "a producer goes from v1 to v2 under the epoch that it has: its next records join what is open", "txn.16",
              VERSIONS, *_LATE[:3], proof=False),
        _bug(
            "v2-epoch-before-pending", V2Promises, "the epoch is looked at before what is pending", "txn.5",
            "refuse_end: guard 1 dropped", _FENCED, FULL,
        ),
        _bug(
            "v2-bumps-past-the-last", FullPromises.asked_of(V2Of400), "Kafka 4.0.0: the abort bumps once more after a fence to the last epoch", "txn.4",
            "bumps_anyway", "no_epoch_past_the_last", LAST_EPOCH, Kafka("4.0.0", "4.0.0", V2),
        ),
        _bug(
            "v2-no-next-id", V2Promises, "a fence to the last epoch does not go on to the next producer id", "txn.4", "stays",
            "no_epoch_past_the_last", LAST_EPOCH,
        ),
        _bug(
            "v2-marker-once-only", V2Promises, "a marker whose answer was lost is refused when it comes again", "txn.23",
            "only_newer", "ends_in_the_end", dict(FULL, clients=1, transactions=1, epochs=6, losses=1),
        ),
    ),
    REASONS,
    parts=("idempotence", "transactional-offsets", "read-committed", "transaction-log", "transaction-partitions"),
    examples={"smoke": 12},
    left_out={
        "v2": dict.fromkeys(("start_again", "answer_init_again", "refuse_init", "fail_init"), SELDOM_TAKEN),
        "v1-verified": {"refuse_init": SELDOM_TAKEN},
        "v1": dict.fromkeys(("refuse_init", "fail_init"), SELDOM_TAKEN),
    },
    implementations=tuple((f"{REFERENCE}:reference", mode) for mode in ("v2", "v1-verified", "v1")),
    histories={"nightly": 50_000},
    simulators=tuple(
        (mode, f"{REFERENCE}:simulate_with_stats", {"mode": mode, "events": 300}) for mode in ("v2", "v1-verified", "v1")
    ),
    undecided={
        **dict.fromkeys(("v2", "v1-verified"), NEVER_AT_REST),
        "v1": frozenset({"calls_come_to_an_end"}),
        **{f"transactions-kafka-{what}": HIDDEN_BY_LOGS for what in ("clean", "sigkill")},
        "transactions-kafka-zombie": HIDDEN_BY_LOGS | {"clients_get_on"},  # no client commits after it
    },
    followed={"v1-verified": 0.9, "v1": 0.75},  # the model has one record of a transaction in a partition (KAFKA-14402)
    scenarios=(
        played("KAFKA-17754", "a late EndTxn decides the next transaction", "v1", "v2"),
        played("KAFKA-17754-verified", "verification does not help against that", "v1-verified", "v2"),
        played("KAFKA-14402", "a late record opens a transaction that never ends", "v1", "v1-verified"),
        played("KAFKA-14884", "verification and append are two steps", "v1-verified-without-recheck", "core-v1-verified-prompt"),
        played("KAFKA-14884-ABA", "one question is taken for another", "v1-verified-any-question", "core-v1-verified-prompt"),
        played("KAFKA-6119", "a time-out aborts without a fence", "v1-time-out-without-bump", "core-v1-prompt"),
        played("KAFKA-5231", "InitProducerId aborts with the old epoch", "v1-marker-of-old-epoch", "core-v1-prompt"),
        played("KAFKA-18575", "the first record races the markers of the transaction before", "v2-any-open-transaction", "core-v2"),
        played("KAFKA-18464", "an empty abort right after a commit fences its own producer", "v2-epoch-before-pending", "v2"),
        played("KAFKA-19367", "two bumps in one abort go past the last epoch", "v2-bumps-past-the-last", "v2"),
        played("KAFKA-20090", "a time-out at the last epoch leaves nowhere to go", "v2-no-next-id", "v2"),
        played("KAFKA-19999", "a marker sent again is refused for ever", "v2-marker-once-only", "v2"),
        played("KAFKA-20357", "a retry meets a coordinator that does not know the epoch before", "v2-fail-over-forgets",
                  "v2-trunk"),
        played("KAFKA-20310", "a coordinator takes over while the producer id changes, and hands out the last epoch",
                  "v2-rotation-lost", "v2"),
        played("KIP-1228", "a late marker of one transaction decides the next", "v2-before-kip-1228", "core-v2"),
        played("KAFKA-19446", "a partition does not know of which transaction version a marker is", "versions-by-feature",
                  "core-versions"),
        played("late-marker-v1", "a late marker tears a transaction of v1 apart", "v1-late-marker", "core-v2"),
        played("deposed-coordinator", "one that was deposed answers a leader from its cache", "v1-verified-overlapping",
                  "core-v2-overlapping"),
        played("deposed-coordinator-prompt", "one that was deposed answers an owner from its cache",
                  "v1-overlapping-prompt", "core-v2-overlapping"),
        played("KAFKA-18019", "a fenced producer comes back when its id is forgotten", "v2-expiring-recovered", "v2-expiring"),
    ),
)  # fmt: skip

ENTRIES = (
    TRANSACTIONS,
    IDEMPOTENCE,
    READ_COMMITTED,
    TRANSACTIONAL_OFFSETS,
    TRANSACTION_LOG,
    TRANSACTION_PARTITIONS,
)
"""`ENTRIES` includes the parts, each a protocol of its own."""
