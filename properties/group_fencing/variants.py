"""This module has the variants of group fencing, their bounds and reasons, and which of them are driven and simulated.

The module also determines which variants the reference implementation has, and how their histories are simulated.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.group_fencing.classic import (
    ByGenerationStatic,
    Draft,
    EqualRefused,
    GroupIdOnly,
    LateMarkers,
    Probing,
)
from fencepost.model.group_fencing.cooperative import (
    Cooperative,
    DroppedMarkers,
    LateCopies,
    LateMarkersOfPartitions,
    TornTransactions,
)
from fencepost.model.group_fencing.modern import (
    AtSend,
    EpochAgain,
    Modern,
    OwnedAtSend,
    PatternChanged,
    Relaxed,
    RelaxedAtSend,
)
from fencepost.model.group_fencing.upgrade import AsShipped, NoMap, NoWaiting, Upgrade
from fencepost.model.releases import (
    ABSTRACTION,
    ANY_NETWORK,
    AT_ONCE,
    AT_THE_POLL,
    AT_THE_SEND,
    CLASSIC,
    CONSUMER,
    LISTENING,
    NAMES,
    TEXT,
    V1,
    V2,
    Kafka,
    Of,
)
from fencepost.properties.entries import (
    SELDOM_TAKEN,
    Claim,
    ProtocolEntry,
    Scenario,
    Variant,
    Wider,
    all_but,
    wrong,
)
from fencepost.properties.group_fencing.claims.core import ByRequests, OverCore, OverTransactions, Promises
from fencepost.properties.group_fencing.claims.shipped import (
    AtSendListeningLemmas,
    ByAssignmentLemmas,
    ByGenerationLemmas,
    ClassicLemmas,
    InTwoStepsLemmas,
    OfTheDraft,
    ReadAtThePoll,
    ShippedLemmas,
)

REFERENCE = "fencepost.reference_impl.systems.group_fencing"

RIGHT = (
    "shipped", "new-protocol", "new-protocol-relaxed", "draft-repaired-by-generation", "draft-repaired-by-assignment",
)  # fmt: skip
MISTAKES = frozenset({
    "draft", "draft-static-members", "group-id-only", "new-protocol-metadata-at-send",
    "new-protocol-relaxed-metadata-at-send",
})  # fmt: skip
"""The mistakes in `MISTAKES` are driven and simulated to observe what they break."""

CONFIG = {"events": 400, "records": 8, "transaction_timeout_ms": 400, "quiet_end": True}
"""Simulated histories have faults for ``events`` events, and then everything gets copied, if it can be."""

UNDECIDED = {
    f"group-fencing-kafka-{protocol}": frozenset(
        {
            "conformance",
            "fetches_are_stable",
            "held_while_pending",
            "last_written_counts",
            "no_other_error_ends_it",
        }
    )
    for protocol in ("classic", "consumer")
}
"""Recordings leave these properties undecided: neither clients nor logs reveal what the coordinator answers to a member
that fetches an offset, and in these recordings no error ends an instance."""

AT_POLL = {"metadata_at": "poll"}
NEW = ("new-protocol", "new-protocol-relaxed")
FOLLOWED = dict.fromkeys(NEW, 0.85)
"""Where a late heartbeat frees a partition that its member has by now, the rest is not followed. Of 600 histories 98 %
are followed to their end, 97 % with KIP-1251. Of 30, as few as are simulated at times, it may be less."""

DRIVEN = (*RIGHT, *sorted(MISTAKES))
IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", mode) for mode in DRIVEN)
SIMULATORS = tuple(
    (mode, f"{REFERENCE}:simulate_with_stats", {"mode": mode, **CONFIG, **(AT_POLL if mode in NEW else {})})
    for mode in DRIVEN
)


# These variants of KIP-447 are the draft, what repairs it, what shipped, and the new group protocol.
#
# The consequence of a misread rule, and each deviation of an application, a client or a release, is a variant of its
# own.


GENERATIONS = dict(members=2, partitions=1, epochs=2, inputs=1, rebalances=1, crashes=0, restarts=0, fencings=0)
EPOCHS = dict(
    members=2, partitions=1, epochs=5, inputs=1, rebalances=1, crashes=0, restarts=0, fences=0, fencings=0,
)  # fmt: skip
EPOCHS_CRASHING = dict(EPOCHS, epochs=4, crashes=1)
EPOCHS_DROPPING = dict(EPOCHS, epochs=4, fences=1)
EPOCHS_LEAVING = dict(EPOCHS, epochs=4, restarts=1)
EPOCHS_IN_PROGRESS = (EPOCHS_CRASHING, EPOCHS_DROPPING, EPOCHS_LEAVING)
COORDINATED = dict(GENERATIONS, fail_overs=1)
UPGRADED = dict(
    members=2, partitions=1, epochs=2, inputs=1, rebalances=1, crashes=0, upgrades=1, fail_overs=0, fencings=0,
)  # fmt: skip
CLASSIC_FEATURES: Mapping[str, Mapping[str, int]] = {
    "two inputs, and a member that crashes": dict(inputs=2, crashes=1),
    "two partitions": dict(partitions=2, inputs=1),
    "three generations": dict(epochs=3, rebalances=2),
    "a static member restarts": dict(restarts=1),
    "a producer is fenced": dict(fencings=1),
}
DYNAMIC_FEATURES = {
    **{name: more for name, more in CLASSIC_FEATURES.items() if not {"restarts", "fencings"} & more.keys()},
    "two partitions": dict(partitions=2, inputs=1, fail_overs=0),
}
EPOCH_FEATURES: Mapping[str, Mapping[str, int]] = {
    "two inputs": dict(inputs=2, epochs=4),
    "a member that crashes": EPOCHS_CRASHING,
    "a producer is fenced": dict(fencings=1, epochs=3),
    "two partitions": dict(partitions=2, epochs=3),
    "a member that drops what it owns": EPOCHS_DROPPING,
    "a static member leaves": EPOCHS_LEAVING,
}
OVER_CORE = dict(
    GENERATIONS, clients=1, transactions=2, logs=1, producer_epochs=3, fail_overs=0, watched=0, offsets=0,
    **{"txn.fail_overs": 0, "txn.fences": 0},
)  # fmt: skip
_ONE_TRANSACTION = dict(transactions=1)
OVER_CORE_FEATURES: Mapping[str, Mapping[str, int]] = {
    "a member that crashes": dict(_ONE_TRANSACTION, clients=2, crashes=1),
    "a producer is fenced": dict(_ONE_TRANSACTION, clients=2, fencings=1, **{"txn.fences": 1}),
    "another coordinator of transactions": dict(_ONE_TRANSACTION, fail_overs=1, **{"txn.fail_overs": 1}),
    "outputs, and their markers": dict(_ONE_TRANSACTION, logs=2),
    "two inputs": dict(inputs=2, producer_epochs=2),
}
BY_REQUESTS = dict(GENERATIONS, epochs=3, rebalances=2, copies=0)
BY_REQUESTS_FEATURES: Mapping[str, Mapping[str, int]] = {
    "a copy of a request": dict(copies=1),
    "a member that crashes": dict(crashes=1),
    "a producer is fenced": dict(fencings=1),
    "two partitions": dict(partitions=2),
    "two inputs": dict(inputs=2),
}
"""The bounds `BY_REQUESTS_FEATURES` allow two rebalances each, so that a member can be notified of the first one when
the second is over (`hears_too_late`)."""

A_THIRD: Mapping[str, Mapping[str, int]] = {"a third member": dict(members=3, epochs=3, rebalances=2, inputs=2)}
A_THIRD_MEMBER: Wider = {"ci": A_THIRD, "nightly": A_THIRD}
"""A third member is explored with one rebalance, one epoch and one input more than two members have."""

REASONS = {
    "members": "a former owner and the one after it; a third is the second again (ci and nightly have it)",
    "partitions": "one that changes its owner; a second one shares its transaction",
    "epochs": "the generation of a former owner, and that of the one after it; with epochs of members: two that join, one "
    "that is put out, and joins again",
    "inputs": "one that is processed once, or twice; a second one follows it in the transaction, or in the next",
    "rebalances": "one that changes the owner; a second one changes it back",
    "crashes": "a member that loses its memory once, with a transaction open",
    "clients": "a producer; one that takes its place",
    "transactions": "one whose requests come late, and one that they meet",
    "logs": "the partition of the offsets, and one of outputs",
    "producer_epochs": "of the first owner, and after each transaction",
    "watched": "any member: they are alike",
    "offsets": "any partition: they are alike",
    "txn.fail_overs": "another coordinator, which sends markers again",
    "txn.fences": "an administrator fences once",
    "restarts": "a static member that is replaced once, or leaves once and comes back",
    "fences": "a member that is told once that its epoch is old, or that it is unknown",
    "fencings": "a producer that is fenced once, with nothing to abort",
    "copies": "one request, or marker, that is there twice",
    "absences": "the group's partition is without a leader once, when a marker is due",
    "tails": "one Prepare record that is lost once markers of it were sent",
    "upgrades": "one client is old and one is new",
    "fail_overs": "a coordinator that forgets once",
}


LATE = "a late marker decides the next transaction (before KIP-1228)"
DROPPED = "the marker of a partition without a leader is dropped (KAFKA-20734)"
HALF = "a coordinator acts on a Prepare record that may be lost, and half of a transaction is committed (txn.P2)"


def _over_v2(settings: Mapping[str, str], since: str = NAMES[0], until: str = NAMES[-1]) -> Of:
    """Return the releases in which members' transactions are as `Fated` specifies, which no release fulfils completely,
    with what each span lacks."""
    spans = (("4.0.0", "4.1", LATE), ("4.2", "4.2", HALF), ("4.3", "trunk", DROPPED))
    cut = [(max(since, a, key=NAMES.index), min(until, b, key=NAMES.index), lacks) for a, b, lacks in spans]
    return tuple(Kafka(a, b, {**V2, **settings}, lacks) for a, b, lacks in cut if NAMES.index(a) <= NAMES.index(b))


def _main(name: str, properties: Any, says: str, bounds: Mapping[str, int], **more: Any) -> Variant:
    settings: dict[str, Any] = dict(progress_bounds=(bounds,))
    return Variant(name, properties, says, bounds={"smoke": bounds}, **(settings | more))


NOT_OVER_CORE = all_but(OverCore, "does_as_shipped", "txn.nothing_hangs", roles=("lemma",))
"""The composed model's promises are those of the models that it refines. Of the properties of transactions only those
remain on which the proof rests."""
OUTPUT = ("nothing_twice", "nothing_skipped", "offsets_agree")
OF_ONE_OWNER = ("one_producer", "only_owners", "owner_is_taken")
TWICE = ("nothing_twice", "one_producer", "only_owners", "starts_from_what_counts")

VARIANTS = (
    _main(
        "shipped", ShippedLemmas,
        "Kafka 2.5 and later over transactions that refuse late requests (transaction.version 2; before it, see "
        "late-copies): a commit needs a member of the group's generation", GENERATIONS,
        features=CLASSIC_FEATURES, wider=A_THIRD_MEMBER, progress_bounds=(dict(GENERATIONS, crashes=1),),
        of=_over_v2(CLASSIC),
    ),
    _main(
        "shipped-cooperative", ClassicLemmas.asked_of(Cooperative), "the same, where members keep their partitions over a rebalance", GENERATIONS,
        features=CLASSIC_FEATURES, wider=A_THIRD_MEMBER, progress_bounds=(dict(GENERATIONS, crashes=1),), judged=(),
        leaves_out=("owner_is_taken", "sends_in_time"), of=_over_v2(CLASSIC),
    ),
    Variant(
        "shipped-over-core-v2", OverCore, "what shipped, where a member's transactions are the core of v2 itself",
        bounds={"smoke": OVER_CORE, "nightly": dict(OVER_CORE, inputs=2)}, features=OVER_CORE_FEATURES,
        leaves_out=NOT_OVER_CORE, judged=(), of=ABSTRACTION,  # no release keeps transactions so whole
    ),
    Variant(
        "shipped-by-requests", ByRequests, "what shipped, where the group's requests and answers are in flight",
        bounds={"smoke": BY_REQUESTS}, features=BY_REQUESTS_FEATURES, judged=(),
        proof=False, of=_over_v2(CLASSIC),
    ),
    wrong("late-copies", Promises.asked_of(LateCopies, OverTransactions),
          "over brokers that take a late copy of a commit in the producer's next transaction", "447.18",
          dict(GENERATIONS, inputs=2, copies=1), "nothing_twice", "nothing_skipped", "offsets_agree", "does_as_fated",
          of=Kafka(settings=V1 | ANY_NETWORK)),
    wrong("late-marker", Promises.asked_of(LateMarkersOfPartitions),
          "over brokers of 4.0 and 4.1, on which a late copy of a marker decides the producer's next transaction",
          "447.18", dict(GENERATIONS, inputs=2, copies=1, tails=0), "nothing_skipped", "offsets_agree",
          asks=(*OF_ONE_OWNER, "nothing_twice", "fetch_is_answered"),
          progress_bounds=(dict(GENERATIONS, copies=1, tails=1),), of=Kafka("4.0.0", "4.1", V2 | CLASSIC)),
    wrong("dropped-marker", Promises.asked_of(DroppedMarkers),
          "over brokers of 4.3, which drop the marker of the group's partition while that has no leader (KAFKA-20734)",
          "447.18", dict(GENERATIONS, inputs=2, absences=1, tails=0), "nothing_twice", "fetch_is_answered",
          asks=(*OF_ONE_OWNER, "nothing_skipped"), progress_bounds=(dict(GENERATIONS, absences=1, tails=1),),
          of=Kafka("4.3", settings=V2 | CLASSIC)),
    wrong("torn-transaction", Promises.asked_of(TornTransactions),
          "over coordinators of v2, which send markers of a Prepare record that may be lost: half of a transaction "
          "is committed", "447.18", dict(GENERATIONS, inputs=2, tails=1), *OUTPUT, "one_producer",
          "starts_from_what_counts", asks=("only_owners", "owner_is_taken", "fetch_is_answered"),
          progress_bounds=(dict(GENERATIONS, crashes=1, tails=1),),
          of=(Kafka("4.0.0", "4.1", V2 | CLASSIC, LATE), Kafka("4.2", "4.2", V2 | CLASSIC), Kafka("4.3", settings=V2 | CLASSIC, lacks=DROPPED))),
    wrong("unstable-fetch", ShippedLemmas, "a fetch is answered while an offset is pending in a transaction", "447.9",
          GENERATIONS, "nothing_twice", "one_producer", "starts_from_what_counts", reading="fetch: guard 1 dropped"),
    wrong("draft", Promises.asked_of(Draft), "the draft: another producer is refused after a later commit only (H1)",
          "447.8", COORDINATED, *TWICE, of=TEXT),
    _main(
        "draft-repaired-by-generation", ByGenerationLemmas,
        "the draft, comparing with the generation that the group has; members are dynamic",
        COORDINATED, features=DYNAMIC_FEATURES, progress_bounds=(dict(COORDINATED, crashes=1),),
        judged=("447.2", "447.8", "447.9", "447.16", "447.17", "447.18"), of=TEXT,
    ),
    wrong("draft-static-members", Promises.asked_of(ByGenerationStatic),
          "that repair, where a static member restarts in its generation under another producer id (H2)", "447.19",
          dict(COORDINATED, restarts=1), *TWICE, of=TEXT),
    _main(
        "draft-repaired-by-assignment", ByAssignmentLemmas,
        "the draft, where an initialisation fences every instance that was initialised for a partition of it",
        dict(COORDINATED, restarts=1), features=DYNAMIC_FEATURES, progress_bounds=(dict(COORDINATED, crashes=1),),
        leaves_out=("only_owners", "owner_is_not_fenced", "stale_one_asks", "sent_by_another"),
        judged=("447.2", "447.3", "447.5", "447.6", "447.8", "447.9", "447.17", "447.18", "447.19"), of=TEXT,
    ),
    wrong("draft-equal-generation", ByAssignmentLemmas,
          "there a former instance of a static member, in the same generation, fences the one that is in its place",
          "447.19", dict(COORDINATED, restarts=1), "owner_is_not_fenced", of=TEXT),
    wrong("draft-older-generation", ByAssignmentLemmas,
          "there an initialisation of an older generation, which comes late, fences the owner", "447.19", COORDINATED,
          "owner_is_not_fenced", reading="abort_for: guard 1 dropped", of=TEXT),
    wrong("group-id-only", Promises.asked_of(GroupIdOnly),
          "clients that send no generation and no member id are taken unasked", "447.16", GENERATIONS, *TWICE,
          of=Kafka(settings={"clients of the group": "name no member"})),
    wrong("probed-version", Promises.asked_of(Probing),
          "clients ask one broker for its version, and an older one coordinates the group", "447.20", COORDINATED,
          *TWICE, of=TEXT),
    _main("new-protocol", ReadAtThePoll.asked_of(Modern), "KIP-848 until 4.2: a commit needs the member's epoch, read at the poll", EPOCHS,
          leaves_out=("owner_is_taken", "sends_in_time"), features=EPOCH_FEATURES, progress_bounds=EPOCHS_IN_PROGRESS,
          of=_over_v2(AT_THE_POLL, "4.0.0", "4.2")),
    wrong("new-protocol-owner-refused", ReadAtThePoll.asked_of(Modern),
          "an owner is refused whose epoch went on since its poll", "447.21", EPOCHS, "owner_is_taken",
          of=Kafka("4.0.0", "4.2", AT_THE_POLL)),
    _main("new-protocol-relaxed", ReadAtThePoll.asked_of(Relaxed), "KIP-1251: an older epoch is taken for what was assigned by then", EPOCHS,
          features=EPOCH_FEATURES, progress_bounds=EPOCHS_IN_PROGRESS, of=_over_v2(AT_THE_POLL | AT_ONCE, "4.3")),
    wrong("new-protocol-pattern-changed", Promises.asked_of(PatternChanged),
          "there an application changes its pattern within a transaction: a partition leaves it, and its epoch stays",
          "447.21", EPOCHS, *TWICE, of=Kafka("4.3", settings=CONSUMER | {"subscription": "changes"})),
    wrong("new-protocol-epoch-again", Promises.asked_of(EpochAgain),
          "there a member is removed, and joins again in the epoch that it had, before the group is assigned anew",
          "447.21", EPOCHS, *TWICE,
          of=Kafka("4.3", settings=CONSUMER | {"group.consumer.assignment.interval.ms": "1000"})),
    _main("new-protocol-listener-metadata-at-send", AtSendListeningLemmas,
          "metadata read at the send, by an application that has a rebalance listener", EPOCHS,
          leaves_out=("owner_is_taken", "sends_in_time"), features=EPOCH_FEATURES, progress_bounds=EPOCHS_IN_PROGRESS,
          of=_over_v2(LISTENING, "4.2", "4.2")),
    wrong("new-protocol-revoked-in-the-background", AtSendListeningLemmas,
          "the same before KAFKA-20332: the background thread gives a partition up in the middle of a transaction",
          "447.21", dict(EPOCHS, epochs=3), "one_producer", "only_owners", "starts_from_what_counts", "nothing_twice",
          reading="revoke: guard 1 dropped", of=Kafka("4.0.0", "4.2", LISTENING)),
    wrong("new-protocol-metadata-at-send", Promises.asked_of(AtSend),
          "the application reads the group's metadata as it sends", "447.21", EPOCHS, *TWICE,
          of=Kafka("4.0.0", "4.2", AT_THE_SEND)),
    wrong("new-protocol-relaxed-metadata-at-send", Promises.asked_of(RelaxedAtSend), "the same, with KIP-1251",
          "447.21", EPOCHS, *TWICE, of=Kafka("4.3", settings=AT_THE_SEND)),
    wrong("new-protocol-owner-metadata-at-send", Promises.asked_of(OwnedAtSend),
          "the same, if the coordinator asked who owns the partition", "447.21", EPOCHS, "nothing_twice"),
    wrong("draft-equal-generation-refused", OfTheDraft.asked_of(EqualRefused),
          "there a static member that restarts waits for the next generation", "447.19", dict(COORDINATED, restarts=1),
          "fetch_is_answered", progress_bounds=(dict(COORDINATED, restarts=1, fail_overs=0),), of=TEXT),
    wrong("markers-may-wait", Promises.asked_of(LateMarkers),
          "nothing bounds how long a marker takes, whatever the time-out of transactions", "447.10", GENERATIONS,
          "fetch_is_answered", progress_bounds=(GENERATIONS,), of=Kafka("4.3")),
    wrong("upgrade", Promises.asked_of(Upgrade), "clients of both kinds, with the draft's map and its waiting",
          "447.12", UPGRADED, *TWICE, of=TEXT),
    wrong("upgrade-without-map", Promises.asked_of(NoMap), "the same without 447.8", "447.12", UPGRADED, *TWICE,
          of=TEXT),
    wrong("upgrade-without-waiting", Promises.asked_of(NoWaiting), "the same without 447.9", "447.12", UPGRADED, *TWICE,
          of=TEXT),
    wrong("upgrade-as-shipped", Promises.asked_of(AsShipped),
          "clients of both kinds as shipped: what names the group alone is taken unasked", "447.12", UPGRADED, *TWICE,
          of=Kafka(settings={"clients of the group": "name no member"})),
    _main("upgrade-in-two-steps", InTwoStepsLemmas,
          "first every client sends its generation, then ids change", UPGRADED, features={"two upgrades": dict(upgrades=2, inputs=2)},
          leaves_out=("owner_is_taken", "sends_in_time", "fetch_is_answered", "has_to_wait"), progress_bounds=(),
          judged=("447.9",), of=TEXT),
)  # fmt: skip

_OF_LEAVERS = ("initialise", "withdraw", "give_back", "come_back", "be_fenced", "be_unknown")
"""A few programs of the new protocol may have no member that is removed, or that gives back what it had."""

GROUP_FENCING = ProtocolEntry(
    "group-fencing",
    "Group-aware fencing (KIP-447): a group that reads, processes and writes, each input once.",
    VARIANTS,
    REASONS,
    IMPLEMENTATIONS,
    SIMULATORS,
    on_request=MISTAKES,
    undecided=UNDECIDED,
    followed=FOLLOWED,
    examples={"smoke": 12},
    left_out={
        **dict.fromkeys(("shipped", "draft-repaired-by-generation"), dict.fromkeys(("initialise",), SELDOM_TAKEN)),
        "draft-repaired-by-assignment": {"refuse": SELDOM_TAKEN},
        **dict.fromkeys(("new-protocol", "new-protocol-relaxed"), dict.fromkeys(_OF_LEAVERS, SELDOM_TAKEN)),
    },
    histories={"smoke": 30, "ci": 1_000, "nightly": 50_000},
    claims=(
        Claim("447.15", "draft-repaired-by-assignment", OUTPUT, ("copies_part",),
              "a second copy of the assignment, which parts from the group's, does no harm where it fences only"),
        Claim("447.12", "upgrade-in-two-steps", OUTPUT, ("both_kinds",),
              "clients of both kinds are safe in one group once all of them send their generation"),
    ),
    scenarios=(
        Scenario("H1", "a zombie's commit comes before its successor's first one, and is taken", "draft",
                 "draft-repaired-by-generation"),
        Scenario("H2", "two producers of one member commit in one generation", "draft-static-members", "shipped"),
        Scenario("KAFKA-9346", "the next owner fetches an offset that a pending commit is about to change", "unstable-fetch",
                 "shipped"),
        Scenario("KAFKA-9365", "a client that names the group alone commits what another one has processed",
                 "group-id-only", "shipped"),
        Scenario("KAFKA-20332", "a partition is given up in the background while its inputs are processed",
                 "new-protocol-revoked-in-the-background", "new-protocol-listener-metadata-at-send"),
        Scenario("rejoined-in-the-background", "a member is put out and joins again while it processes, and sends what it "
                 "lost under its new epoch", "new-protocol-metadata-at-send", "new-protocol"),
    ),
)  # fmt: skip
ENTRIES = (GROUP_FENCING,)
