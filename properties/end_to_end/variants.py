"""This module has the whole's entries in the catalogue: the whole from the interfaces of its parts, the parts that
fulfil these interfaces, and wrong variants.

`histories.py` has the properties that histories of the whole system must satisfy; their simulator is no variant of the
model.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.end_to_end.mistakes import ReadsUncommitted, WithoutOffsets
from fencepost.model.releases import ABSTRACTION
from fencepost.properties.end_to_end.claims.abstract import (
    AdmittedByConnect,
    DeliveredByGroup,
    EndToEndProperties,
    HandedByKraft,
    MarkersCome,
    Promises,
)
from fencepost.properties.end_to_end.claims.over_core import (
    DetailedProperties,
    OverCoreProperties,
)
from fencepost.properties.end_to_end.claims.sources import ResumedByTheWorkersTopic
from fencepost.properties.entries import Claim, Names, ProtocolEntry, Variant, all_but, wrong

SIMULATOR = "fencepost.reference_impl.systems.end_to_end:simulate"

Bounds = Mapping[str, int]
ABSTRACT = dict(
    instances=2, partitions=1, tasks=2, generations=2, ids=1, inputs=1, records=1, watched=0, fences=1, stops=0,
)  # fmt: skip
ONE_TASK = dict(tasks=1, generations=1, ids=0, inputs=2, records=2, fences=0)
FEATURES: Mapping[str, Bounds] = {
    "two records": ONE_TASK,
    "instances that end, and are fenced": dict(tasks=1, ids=0, stops=1),
    "two source partitions": dict(generations=1, partitions=2, instances=1),
}
TWO_RECORDS = ABSTRACT | ONE_TASK
ONE_ID = dict(ABSTRACT, generations=1, ids=0, fences=0)
DETAILED = dict(
    instances=1, partitions=1, tasks=1, generations=1, workers=1, elections=1, failures=0, late_fences=0, brokers=1,
    requests=1, ids=1, size=1, restarts=0, fail_overs=0, snapshots=0, time_outs=0, losses=0, copies=0, errors=0,
    members=1, epochs=1, inputs=2, records=2, rebalances=0, crashes=0, fencings=0, watched=0,
)  # fmt: skip
ONE_RECORD = dict(instances=1, inputs=1, records=1)
DETAILED_FEATURES: Mapping[str, Bounds] = {
    "a rebalance": dict(ONE_RECORD, epochs=2, rebalances=1),
    "two workers": dict(ONE_RECORD, workers=2, elections=2),
}
OVER_CORE = {
    **TWO_RECORDS, "inputs": 1, "records": 1, "partitions": 2, "transactions": 1, "producer_epochs": 3,
    "fail_overs": 0, "offsets": 1, "core.fail_overs": 0, "core.fences": 0,
}  # fmt: skip
OVER_CORE_FEATURES: Mapping[str, Bounds] = {
    "two transactions": dict(instances=1, transactions=2),
    "another coordinator": {"instances": 1, "producer_epochs": 2, "fail_overs": 1, "core.fail_overs": 1},
}
PRODUCERS = dict(producers=2, logs=2, names=2)
CONNECT = dict(workers=2, tasks=1, instances=2, generations=2, elections=2, failures=0)
KRAFT = dict(
    brokers=2, requests=2, ids=2, size=1, restarts=0, fail_overs=1, snapshots=0, time_outs=0, losses=0, copies=0,
    errors=0,
)  # fmt: skip
GROUP = dict(members=2, partitions=1, epochs=2, inputs=1, records=1, rebalances=1, crashes=0, restarts=0, fencings=0)
SOURCES = dict(
    instances=2, partitions=1, records=2, inputs=2, ids=0, sets=2, failures=1, crashes=0, fencings=0,
)  # fmt: skip
REASONS = {
    "instances": "one that is shut out, and the one that shuts it out",
    "partitions": "one; a second one shares transactions and the log of offsets",
    "tasks": "one; a second one has a transactional id of its own",
    "generations": "one; from a second one another task may read a source partition",
    "ids": "the last one, from 0: one for each transactional id",
    "fences": "one that comes when an instance has begun",
    "stops": "an instance that ends, and may start again",
    "inputs": "one that is committed, and one that follows it",
    "records": "as many as inputs",
    "watched": "any source partition: they are alike",
    "producers": "one that is shut out, and the one that shuts it out",
    "logs": "one that the marker has come to, and one that it has not",
    "names": "two transactional ids",
    "workers": "a former leader, and the one after it",
    "elections": "one that makes a leader, and one that takes the topic from it",
    "failures": "a round that fails, or a task",
    "sets": "a set of tasks, and the one that takes its place",
    "brokers": "two that ask for blocks",
    "requests": "one of each",
    "size": "a block of one id is used up at once",
    "late_fences": "none: a request to fence that comes late",
    "fail_overs": "a controller that knows the log alone",
    "transactions": "one; a second one begins while the markers of the first are under way",
    "producer_epochs": "each initialisation and each end of a transaction takes one",
    "offsets": "the last partition, which no source partition's records go to",
    "core.fail_overs": "a coordinator that takes over in the middle of markers",
    "core.fences": "none: Admin.fenceProducers comes as the round of a leader does",
    "members": "a former owner, and the one after it",
    "epochs": "the generation of a former owner, and that of the one after it",
    "rebalances": "one that changes the owner",
    **dict.fromkeys(
        ("restarts", "snapshots", "time_outs", "losses", "copies", "errors", "crashes", "fencings"),
        "none: what the interface is kept with is proved without bounds",
    ),
}


def _guaranteed(name: str, properties: Any, says: str, bounds: Bounds, *asked: str) -> Variant:
    """Return a variant that is asked only for the interface of a part and the lemmas that it rests on."""
    others = all_but(properties, *asked, roles=("lemma",))
    return Variant(
        name, properties, says, bounds={"smoke": bounds}, leaves_out=others, judged=(),
        of=ABSTRACTION,
    )  # fmt: skip


RESTS_ON = (
    "whole.connect.opened_before", "whole.txn.one_unsettled", "whole.txn.open_is_of_the_newest",
    "whole.txn.waiting_is_decided", "whole.txn.all_that_is_there_waits", "whole.txn.committed_by_the_newest",
    "whole.commits_while_running", "whole.under_its_own_id", "whole.written_in_transactions", "core.one_owner",
    "core.nothing_hangs",
)  # fmt: skip
NOT_OVER_CORE = Names(
    lambda: (
        n for n, p in OverCoreProperties.properties.items()
        if n == "does_as_v2"
        or ("." in n and n not in RESTS_ON and (n.startswith("whole.") or p.role != "lemma"))
    )
)  # fmt: skip
"""These are `does_as_v2` and the properties that were proved of the whole and of the core separately, except those on
which the agreement of the two rests."""
SINK = ("each_once", "none_left_out")
RESUME = "resumes_where_it_ended"

VARIANTS = (
    Variant(
        "abstract", EndToEndProperties,
        "Connect, producer ids and a group that copies, by the interfaces that their cores are proved to keep; "
        "transactions by theirs, in which the core of v2 may take the place of any one id's (abstract-over-core-v2); "
        "source offsets as the worker's topic has them, with the exceptions that sources-resume names",
        bounds={"smoke": ABSTRACT}, features=FEATURES,
        progress_bounds=(TWO_RECORDS | dict(inputs=1, records=1),), of=ABSTRACTION,
    ),
    Variant(
        "detailed", DetailedProperties,
        "the same over the cores of Connect, producer ids and the group: leaders and rounds, blocks of ids, members and "
        "rebalances; each step is one of the abstract whole's",
        bounds={"smoke": DETAILED, "nightly": dict(DETAILED, instances=2)}, features=DETAILED_FEATURES,
        proof=False, leaves_out=("comes_to_the_sink", "committed_and_not_given", "written_by_two"),
        judged=(), of=ABSTRACTION,
    ),
    Variant(
        "abstract-over-core-v2", OverCoreProperties,
        "abstract, where the core of v2 is in the place of one task's transactional id, as Connect's tasks use it: the "
        "whole keeps in step with it, and is in the way of nothing that it does by itself", bounds={"smoke": OVER_CORE},
        features=OVER_CORE_FEATURES, leaves_out=NOT_OVER_CORE, judged=(), of=ABSTRACTION,
        proof_from="nightly",  # most of a minute of one core, for the states in which each of its many actions can happen
    ),
    _guaranteed("producers", MarkersCome, "the transactions of many producers are to each what the interface of one says",
          PRODUCERS, "does_as_fated", "offsets_do_as_fated", "markers_come",
          "markers_come_to_offsets", "one_newest_by_the_interface", "nothing_of_the_fenced_by_the_interface",
          "one_after_another", "shut_out_in_between"),
    _guaranteed("connect-admits", AdmittedByConnect, "Connect as it shipped admits instances as its interface says",
    CONNECT,
          "does_as_admission", "all_covered", "an_earlier_task_left"),
    _guaranteed("kraft-hands-out", HandedByKraft,
    "KRaft's blocks hand each producer id out once, as the interface says", KRAFT,
          "does_as_handed"),
    _guaranteed("group-delivers", DeliveredByGroup,
    "the group that shipped delivers each partition as the interface says",
          GROUP, "does_as_delivered", "offsets_agree", "marker_on_its_way"),
    _guaranteed("sources-resume", ResumedByTheWorkersTopic,
          "source offsets in the worker's topic, as they shipped, are to each source partition what the whole has of them, "
          "where no offset is null, no record dropped and no transaction aborted by the connector", SOURCES,
          "does_as_sources", "resume_not_ahead", "open_when_over", "committed_unheard"),
    wrong("read-uncommitted", Promises.asked_of(ReadsUncommitted),
          "the group's consumer has the default isolation.level", "txn.17", TWO_RECORDS, *SINK),
    wrong("without-offsets", Promises.asked_of(WithoutOffsets), "a task commits its transaction without the offsets",
          "618.27", TWO_RECORDS, *SINK, RESUME),
    wrong("offsets-at-once", EndToEndProperties, "a task's offsets count before its transaction is committed", "618.27",
          TWO_RECORDS, "none_left_out", RESUME, reading="source.at_once"),
    wrong("nobody-shut-out", EndToEndProperties, "a producer that initialises shuts out no other of its id", "txn.1",
          TWO_RECORDS, *SINK, RESUME, reading="txn.shuts_nobody_out"),
    wrong("from-the-beginning", EndToEndProperties, "a task that starts does not look where the last one ended",
          "618.P2", TWO_RECORDS, *SINK, reading="source.from_the_beginning"),
    wrong("unchecked-start", EndToEndProperties, "a task polls while one of an earlier set may commit", "618.19",
          ABSTRACT, RESUME, reading="connect.unchecked"),
    wrong("resumed-too-early", EndToEndProperties,
          "a task looks where the last one ended before it knows that no earlier one may commit", "618.19",
          dict(ABSTRACT, inputs=2, records=2), *SINK, reading="before_the_look"),
    wrong("ids-twice", EndToEndProperties, "two transactional ids are given one producer id", "730.8", ONE_ID, RESUME,
          reading="ids.once_more"),
)  # fmt: skip

ENTRIES = (
    ProtocolEntry(
        "end-to-end",
        "From the sources of Connect's tasks through one Kafka to the sink of a group that copies: everything at once.",
        VARIANTS,
        REASONS,
        simulators=(("whole", SIMULATOR, {}),),
        histories={"smoke": 20, "ci": 100, "nightly": 1_000},
        # The events of the group report its offsets; those end to end report how much input it has in the end.
        undecided={
            "transactions": frozenset({"group_offsets_forward", "group_offsets_kept", "group_offsets_stable"}),
            "group-fencing": frozenset({"everything_copied"}),
        },
        # Few instances learn that they are fenced, or end by an error.
        seldom={
            "transactions": frozenset({"lone_client_never_fenced"}),
            "group-fencing": frozenset({"no_other_error_ends_it"}),
        },
        survivors={
            ("618.19", "before_the_look"): "within the bounds of resumed-too-early, where two records are read, it breaks "
            "each once and none left out",
            ("txn.3", "txn.fence: guard 2 dropped"): "what is left undecided in a log counts for no reader: who waits for it "
            "is not asked here, and transactions has it judged",
        },
        claims=(
            Claim("618.P2", "abstract", (*SINK, RESUME), ("written_by_two", "zombie_writes"),
                  "from the source to the sink of a group that copies, each record once and in order"),
        ),
    ),
)  # fmt: skip
