"""This module has the variants of producer id blocks: the three ways in which blocks were and are granted, and every
way that is known to go wrong."""

from collections.abc import Mapping

from fencepost.model.id_blocks.lengths import Malformed
from fencepost.model.id_blocks.rejected import (
    FaultyController,
    Idempotent,
    IdempotentPerRequest,
    Threads,
    Uncoordinated,
    UncoordinatedDurable,
    UncoordinatedRepaired,
)  # fmt: skip
from fencepost.model.releases import ABSTRACTION, MISTAKE, TEXT, Kafka
from fencepost.properties.entries import Claim, Profile, ProtocolEntry, Scenario, Variant, wrong
from fencepost.properties.id_blocks.claims import (
    BridgeProperties,
    DefenceInDepth,
    KraftProperties,
    LengthsProperties,
    Promises,
    ZookeeperProperties,
)

Faults = Mapping[Profile, Mapping[str, int]]

_QUIET = dict(restarts=0, fail_overs=0, snapshots=0, time_outs=0, losses=0, copies=0, errors=0)
"""The bounds `_QUIET` allow no faults. A variant adds those that it is about."""

KRAFT: Faults = {
    "smoke": dict(_QUIET, brokers=2, requests=2, ids=3, size=1, restarts=1, fail_overs=1, snapshots=1, copies=1),
    "ci": dict(_QUIET, brokers=2, requests=2, ids=3, size=1, restarts=1, fail_overs=1, snapshots=1, time_outs=1, copies=1),
    "nightly": dict(brokers=2, requests=2, ids=4, size=2, restarts=1, fail_overs=1, snapshots=1, time_outs=1, losses=1, copies=1, errors=1),
}  # fmt: skip
ZOOKEEPER: Faults = {
    "smoke": dict(brokers=2, ids=5, size=2, restarts=2, losses=1),
    "ci": dict(brokers=3, ids=7, size=2, restarts=2, losses=1),
    "nightly": dict(brokers=3, ids=9, size=2, restarts=3, losses=2),
}
BRIDGE: Faults = {
    "smoke": dict(_QUIET, brokers=2, requests=2, controllers=1, ids=3, size=1, restarts=0, copies=1),
    "ci": dict(_QUIET, brokers=2, requests=2, controllers=2, ids=3, size=1, restarts=1, copies=1),
    "nightly": dict(KRAFT["ci"], controllers=2, losses=1),
}


PROGRESS: Mapping[str, tuple[Mapping[str, int], ...]] = {
    "zookeeper": (
        dict(brokers=2, ids=5, size=2, restarts=1, losses=1),
        dict(brokers=1, ids=4, size=2, restarts=0, losses=0),
    ),
    "bridge": (
        dict(_QUIET, brokers=1, requests=1, controllers=1, ids=2, size=1, restarts=1, fail_overs=1, errors=1, losses=1),
    ),
    "kraft": (
        dict(_QUIET, brokers=1, requests=1, ids=2, size=1, restarts=1, fail_overs=1, losses=1, errors=1, time_outs=1),
        dict(_QUIET, brokers=2, requests=2, ids=2, size=1, fail_overs=1, losses=1, errors=1),
    ),
}
"""Progress is about the time after the last fault, so one fault of each kind that leaves something to wait for is
enough. One broker is on its own, where no other broker's request helps it along, and two can conflict. With 4 ids in
blocks of 2, the last block ends with the ids."""


def _about(**bounds: int) -> Faults:
    """Return the bounds of a variant about these few faults: two brokers, two requests, blocks of one id."""
    return {"smoke": dict(_QUIET, brokers=2, requests=2, ids=2, size=1) | bounds}


REASONS = {
    "brokers": "every promise speaks of two brokers at most; a third only repeats what the first does to the second",
    "requests": "numbers of requests are used again; two let one be late, or a copy, while the other is under way",
    "ids": "one block for each broker and one more, so that a block is used up; ids that are left over show a limit off by one",
    "size": "a block of two ids has a first, a last and a used-up part; smoke takes one to stay small",
    "restarts": "one restart separates an incarnation from its successor; more only repeat it",
    "fail_overs": "one fail-over separates what was committed from what was not",
    "snapshots": "one snapshot followed by a fail-over shows whether it says enough",
    "time_outs": "a time-out lets an answer come late; one late answer at a time is enough to install a stale block",
    "losses": "a loss only takes a message away; the time-out that follows is what matters",
    "copies": "a copy is a second delivery; three of one message show no more than two",
    "errors": "an error answer starts one back-off",
    "controllers": "two processes that both believe to be the controller, or one",
    "threads": "two threads race for one block",
    "migrations": "a cluster moves once",
}


_TWICE = {"no_id_twice": "violated", "disjoint_blocks": "violated"}
_FOR_EVER = {"an_id_even_at_the_end": "violated"}
_WAITING = ("an_id_in_the_end", "an_id_even_at_the_end", "run_out", "nothing_left", "answered_twice")
_OF_BLOCKS = (*_WAITING, "fetched_ahead")
_SAFETY_ONLY = (*_OF_BLOCKS, "persisted_once", "never_answered")
"""A variant that is about blocks in use leaves out `_SAFETY_ONLY`: progress, and blocks that no broker got."""
_ALONE: Faults = {"smoke": dict(brokers=2, ids=4, size=2, restarts=1, migrations=1)}

_AFTER_A_SNAPSHOT = dict(brokers=1, copies=0, restarts=0, fail_overs=1, snapshots=1)
"""What a snapshot leaves out has its effect at the fail-over after it."""
_SAFE = ("no_id_twice", "disjoint_blocks")
_SAFETY = (*_SAFE, "used_up_for_ever")
REFERENCE = "fencepost.reference_impl.systems.id_blocks"
SIMULATED = dict(brokers=3, controllers=3, block_size=10, max_id=100_000, events=200)

ID_BLOCKS = ProtocolEntry(
    "id-blocks",
    "Producer id blocks (KIP-730): no producer id is handed out twice in a cluster.",
    (
        Variant("zookeeper", ZookeeperProperties, "every broker takes its blocks from ZooKeeper", bounds=ZOOKEEPER, expected=_FOR_EVER, progress_bounds=PROGRESS["zookeeper"],
                of=Kafka("3.6", "3.9", {"metadata": "ZooKeeper"})),
        Variant("bridge", BridgeProperties, "ZooKeeper and the RPC side by side, then the move to KRaft", bounds=BRIDGE, expected=_FOR_EVER, progress_bounds=PROGRESS["bridge"],
                features={"after the move": dict(_AFTER_A_SNAPSHOT, requests=1)},
                of=Kafka("3.6", "3.9", {"metadata": ("ZooKeeper", "migrating")})),
        Variant("kraft", KraftProperties, "the controller grants blocks from the metadata log", bounds=KRAFT, expected=_FOR_EVER, progress_bounds=PROGRESS["kraft"], for_mutants=DefenceInDepth,
                of=Kafka(settings={"metadata": "KRaft"})),
        Variant(
            "kraft-lengths", LengthsProperties, "controllers whose blocks differ in length, and brokers that take it from the answer",
            bounds={
                "smoke": dict(_QUIET, brokers=2, requests=2, ids=4, size=2),
                "ci": dict(_QUIET, brokers=2, requests=2, ids=4, size=2, fail_overs=1),
                "nightly": dict(_QUIET, brokers=2, requests=2, ids=5, size=2, fail_overs=1, restarts=1, snapshots=1, copies=1),
            },
            leaves_out=_WAITING, features={"a snapshot": _AFTER_A_SNAPSHOT}, of=ABSTRACTION,
        ),
        wrong("kraft-own-length", LengthsProperties, "the same, and a broker goes by the length that it knows", "730.8",
              _about(ids=4, size=2), "no_id_twice", reading="its_own_size"),
        Variant(
            "kraft-malformed", Promises.asked_of(Malformed), "a controller at fault, whose block runs past the last id, and the broker's check",
            "730.20", None, {}, _about(brokers=1, ids=4, size=2, errors=1), ("two_blocks_held",),
            asks=("no_id_twice",), of=ABSTRACTION,
        ),
        Variant(
            "kraft-malformed-taken", Promises.asked_of(Malformed), "the same without the check: ids wrap, and begin again", "730.20",
            ("730.20", "take: guard 1 dropped"), {"no_id_twice": "violated"}, _about(brokers=1, ids=4, size=2, errors=1),
            ("disjoint_blocks", "a_second_block_in_use", "two_blocks_held"), of=MISTAKE,
        ),
        Variant(
            "kraft-answer-first", KraftProperties, "the text's order taken literally: the answer before the commit", "730.7",
            ("730.7", "answer: guard 1 dropped"), _TWICE, _about(fail_overs=1), _SAFETY_ONLY, of=TEXT,
        ),
        Variant(
            "kraft-snapshot-of-block", KraftProperties, "the snapshot carries the latest block's first id", "730.10",
            ("730.10", "start_of_block"), _TWICE | dict.fromkeys(("used_up_for_ever", "persisted_once"), "violated"), _about(snapshots=1, fail_overs=1), (*_OF_BLOCKS, "never_answered"),
            of=MISTAKE,
        ),
        Variant(
            "bridge-from-block-start", BridgeProperties, "KRaft starts from ZooKeeper's latest block (KAFKA-15552)", "730.15",
            ("730.15", "start_of_block"), _TWICE | {"used_up_for_ever": "violated"}, _about(controllers=1), _SAFETY_ONLY,
            of=MISTAKE,
        ),
        Variant(
            "bridge-from-last-id", BridgeProperties, "KRaft starts from ZooKeeper's inclusive end", "730.15",
            ("730.15", "last_id"), _TWICE | {"used_up_for_ever": "violated"}, _about(controllers=1, ids=3), _SAFETY_ONLY,
            of=MISTAKE,
        ),
        Variant(
            "kraft-idempotent", KraftProperties.asked_of(Idempotent), "an answer remembered per broker id, without epoch or restart reset", "730.17",
            None, {"no_id_twice": "violated"}, _about(restarts=1, ids=3), _SAFETY_ONLY, of=TEXT,
        ),
        Variant(
            "kraft-idempotent-per-request", KraftProperties.asked_of(IdempotentPerRequest), "its repair: an answer remembered per request", "730.17",
            None, {}, _about(restarts=1, copies=1, ids=3), _SAFETY_ONLY, asks=_SAFETY, of=TEXT,
        ),
        Variant(
            "by-broker-id", Promises.asked_of(Uncoordinated), "a range per broker id, which no log remembers", "730.17", None, _TWICE, _ALONE,
            of=TEXT,
        ),
        Variant(
            "by-broker-id-durable", Promises.asked_of(UncoordinatedDurable), "the same with durable storage, over ids that ZooKeeper gave", "730.17",
            None, _TWICE, _ALONE, of=TEXT,
        ),
        Variant("by-broker-id-repaired", Promises.asked_of(UncoordinatedRepaired), "the same, clear of ZooKeeper's ids", "730.17", None, {}, _ALONE, asks=_SAFE,
                of=TEXT),
        Variant(
            "kraft-faulty-controller", KraftProperties.asked_of(FaultyController), "a controller at fault, and the broker's check", "730.20",
            None, {}, _about(ids=3, errors=1), _SAFETY_ONLY, asks=_SAFETY, of=ABSTRACTION,
        ),
        Variant(
            "kraft-faulty-controller-off-by-one", KraftProperties.asked_of(FaultyController), "the same with the check off by one (KAFKA-20031)", "730.20",
            ("730.20", "take: guard 1 looser"), {"no_id_twice": "violated"}, _about(ids=3, errors=1), _SAFETY_ONLY,
            of=MISTAKE,
        ),
        Variant("kraft-threads", KraftProperties.asked_of(Threads), "several threads per broker install the next block by test and set", "730.19",
                None, {}, _about(brokers=1, threads=2, restarts=1, copies=1, ids=3), (*_SAFETY_ONLY, "two_blocks_held"), asks=_SAFETY,
                of=Kafka()),
        Variant(
            "kraft-threads-without-test", KraftProperties.asked_of(Threads), "the same without the test (KAFKA-14694)", "730.19",
            ("730.19", "swap: guards dropped together"), {"no_id_twice": "violated"}, _about(brokers=1, threads=2, restarts=1, copies=1, ids=3), (*_SAFETY_ONLY, "two_blocks_held"),
            of=MISTAKE,
        ),
    ),
    REASONS,
    implementations=tuple((f"{REFERENCE}:reference", variant) for variant in ("kraft", "zookeeper", "bridge")),
    simulators=tuple((mode, f"{REFERENCE}:simulate_with_stats", dict(SIMULATED, mode=mode)) for mode in ("kraft", "zookeeper", "bridge")),
    # Controllers' logs and clients reveal neither answers nor their order.
    undecided={"id-blocks-kraft-3-nodes": frozenset({"answers_disjoint", "answered_after_commit", "handed_out_after_grant", "ids_increase", "conformance"})},
    claims=(
        Claim("730.11", "kraft", _SAFE, ("a_second_block_in_use",), "a broker takes the block as soon as the answer is there"),
        Claim("730.12", "kraft", _SAFE, ("fetched_ahead",), "a broker may ask for the next block at any time"),
        Claim("730.13", "bridge", _SAFE, ("both_ways_at_once",), "brokers and the controller write the same node"),
    ),
    scenarios=(
        Scenario("KAFKA-15552", "the move to KRaft gives out ZooKeeper's latest block again", "bridge-from-block-start", "bridge", True),
        Scenario("KAFKA-20031", "a block that starts at the last id held passes the broker's check", "kraft-faulty-controller-off-by-one", "kraft-faulty-controller", True),
        Scenario("KAFKA-14694", "two threads install the next block, and one claim counter serves both", "kraft-threads-without-test", "kraft-threads", True),
    ),
)  # fmt: skip

ENTRIES = (ID_BLOCKS,)
