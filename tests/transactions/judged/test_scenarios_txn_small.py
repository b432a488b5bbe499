"""Bugs of Kafka and its kin on the partition side of transactions, by their public numbers: with the bug a promise
fails, mended it holds within the same bounds."""

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.necessity.search import first_broken
from fencepost.properties.catalogue import ProtocolEntry, Scenario, bounds_of, protocols

PARTS = ("read-committed", "idempotence", "transactional-offsets", "transaction-partitions", "transaction-log")
ENTRIES = [protocols()[name] for name in PARTS]
SCENARIOS = {known.name: (entry, known) for entry in ENTRIES for known in entry.scenarios}
RUNS = {
    "Redpanda-3036": ("only_what_was_committed", ["begin", "fetch", "take"]),
    "AutoMQ-754": ("only_what_was_committed", ["begin", "abort", "replicate", "replicate", "fetch", "take"]),
    "librdkafka-3369": (
        "only_what_was_committed",
        ["abort_nothing", "begin", "abort", "replicate", "replicate", "replicate", "fetch", "take", "take"],
    ),
    "KAFKA-13727": (
        "only_what_was_committed",
        ["begin", "replicate", "abort", "replicate", "clean_marker", "fetch", "take"],
    ),
    "KAFKA-14055": (
        "all_that_was_committed",
        [
            "begin",
            "replicate",
            "abort",
            "replicate",
            "begin",
            "commit",
            "replicate",
            "clean_marker",
            "replicate",
            "fetch",
            "take",
            "take",
            "take",
        ],
    ),
    "Redpanda-5026": ("told_is_written", ["send", "write", "abort", "send", "know_again", "take_answer"]),
    "KAFKA-14034": ("written_once", ["send", "send", "write", "write", "restart", "number_anew", "write"]),
    "librdkafka-4953": ("written_once", ["send", "write", "number_anew", "write"]),
    "KAFKA-14402-second": (
        "nothing_hangs",
        [
            "initialize",
            "begin",
            "add_partition",
            "send",
            "append",
            "send_more",
            "abort",
            "end",
            "mark",
            "append_second",
        ],
    ),
    "KAFKA-14402-joins": (
        "one_fate",
        [
            "initialize",
            "begin",
            "add_partition",
            "send",
            "send_more",
            "abort",
            "ask",
            "verify",
            "end",
            "append",
            "mark",
            "complete",
            "learn",
            "begin",
            "add_partition",
            "commit",
            "ask_again",
            "verify_again",
            "append_second",
            "end",
            "mark",
        ],
    ),
    "uncovered-Prepare": (
        "one_fate",
        [
            "initialize",
            "begin",
            "send",
            "ask",
            "verify",
            "take_over",
            "fail_over",
            "send",
            "lose_record",
            "ask",
            "verify",
            "append",
            "append",
            "commit",
            "end",
            "cover",
            "mark",
            "mark_late",
        ],
    ),
    "KAFKA-20734": (
        "nothing_committed_unasked",
        [
            "initialize",
            "begin",
            "send",
            "ask",
            "verify",
            "append",
            "leave",
            "take_over",
            "drop",
            "complete",
            "initialize_again",
            "begin",
            "come_back",
            "send",
            "ask",
            "verify",
            "append",
            "replicate",
            "commit",
            "end",
            "mark",
        ],
    ),
    "KAFKA-20716": (
        "nothing_committed_unasked",
        [
            "initialize",
            "begin",
            "send",
            "ask",
            "verify",
            "append",
            "take_over",
            "fall_behind",
            "mark",
            "complete",
            "initialize_again",
            "begin",
            "send",
            "ask",
            "verify",
            "append",
            "replicate",
            "commit",
            "end",
            "lose_tail",
            "mark",
        ],
    ),
    "KAFKA-20734-v1": (
        "nothing_committed_unasked",
        [
            "initialize",
            "begin",
            "add_partition",
            "send",
            "ask",
            "verify",
            "abort",
            "end",
            "append",
            "learn",
            "leave",
            "drop",
            "begin",
            "complete",
            "add_partition",
            "commit",
            "come_back",
            "end",
            "mark",
        ],
    ),
    "KAFKA-20357-in-doubt": (
        "retries_are_answered_before_the_end",
        [
            "start",
            "initialize",
            "write",
            "finish",
            "take",
            "start_again",
            "initialize",
            "write",
            "fail_over",
            "refuse_init",
        ],
    ),
    "KAFKA-20310": (
        "no_reserved_epoch",
        [
            "start",
            "initialize",
            "write",
            "finish",
            "lose_answer",
            "initialize",
            "write",
            "finish",
            "take",
            "start_again",
            "initialize",
            "write",
            "finish",
            "take",
            "abort",
            "end",
            "write",
            "fail_over",
            "complete",
            "write",
            "finish",
            "end_again",
            "take",
        ],
    ),
    "KAFKA-20845": ("memory_is_what_was_written", ["change", "add_large"]),
    "KAFKA-9346": ("not_before_it_is_decided", ["commit_in_transaction", "fetch"]),
}
"""The promise that the bug breaks, and how, but for the order of what is independent."""


def test_the_known_bugs() -> None:
    """Each has a run written down."""
    assert set(SCENARIOS) == set(RUNS)


UNSCRIPTED = {"KAFKA-20357-in-doubt", "KAFKA-20845"}
"""What the model alone tells."""


def test_which_are_told_by_the_model_alone() -> None:
    """Those, and no more."""
    assert {name for name, (_, known) in SCENARIOS.items() if not known.played} == UNSCRIPTED


def bug(name: str) -> tuple[ProtocolEntry, Scenario, dict[str, int]]:
    """Where the bug is in the catalogue, and the bounds that it needs."""
    entry, known = SCENARIOS[name]
    return entry, known, bounds_of(entry.variant(known.broken), "smoke")


@pytest.mark.parametrize("name", RUNS)
def test_broken(name: str) -> None:
    """The promise fails in the fewest steps, which are those of the report."""
    entry, known, bound = bug(name)
    promise, steps = RUNS[name]
    variant = entry.variant(known.broken)
    found = first_broken(variant.spec, {promise: variant.asked[promise]}, bound)
    assert found is not None
    assert sorted(event.action for event in found[1].events) == sorted(steps)


FEW = {"KAFKA-20845": 10}
"""One operation and one batch: there is no more to do."""


@pytest.mark.parametrize("name", RUNS)
def test_mended(name: str) -> None:
    """Within the same bounds the protocol as it should be keeps every promise, and does something."""
    entry, known, bound = bug(name)
    variant = entry.variant(known.fixed)
    asked = {n: p for n, p in variant.kept.items() if p.role in ("promise", "step")}
    made = explore(variant.spec, asked, bound)
    assert made.violated == []
    assert made.complete
    assert sum(made.taken.values()) > FEW.get(name, 1000)
