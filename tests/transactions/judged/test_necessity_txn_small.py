"""What each rule on the partition side of transactions is for: the verdict on every mutation of the four small models.

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

from collections.abc import Mapping

import pytest
from fencepost.proofs.necessity.search import Necessity, necessity
from fencepost.properties.catalogue import protocols

Found = Mapping[tuple[str, str, str], Necessity]

READER, OFFSETS, LOG = "read-committed", "transactional-offsets", "transaction-log"
PARTITIONS = "transaction-partitions"
ABORTED_READ, MISSED, UNREAD = "only_what_was_committed", "all_that_was_committed", "read_in_the_end"
TWICE, NOT_WRITTEN, STRAYED = "written_once", "told_is_written", "in_its_transaction"
UNSETTLED, MEMORY, EARLY = "settled_in_the_end", "memory_is_what_the_log_says", "not_before_it_is_decided"
RECORDED, WRITTEN = "all_of_it_is_in_the_log", "memory_is_what_was_written"

NECESSARY = [
    (READER, "txn.17", "abort: last not updated", ABORTED_READ, 9),
    (READER, "txn.17", "abort: last one less", "all_that_was_committed", 11),
    (READER, "txn.17", "abort: last one more", "all_that_was_committed", 13),
    (READER, "txn.17", "begin: first not updated", ABORTED_READ, 9),
    (READER, "txn.17", "begin: first one less", ABORTED_READ, 9),
    (READER, "txn.17", "begin: first one more", "stable_is_decided", 2),
    (READER, "txn.17", "inclusive", ABORTED_READ, 3),
    (READER, "txn.17", "markers_need_no_replication", ABORTED_READ, 6),
    (READER, "txn.17", "no_high_watermark", ABORTED_READ, 4),
    (READER, "txn.17", "nothing", ABORTED_READ, 6),
    (READER, "txn.17", "only_if_it_begins_there", ABORTED_READ, 10),
    (READER, "txn.17", "only_if_it_ends_there", ABORTED_READ, 6),
    (READER, "txn.17", "unless_others_are_open", ABORTED_READ, 8),
    (READER, "txn.17", "whatever_comes_first", ABORTED_READ, 9),
    (READER, "txn.17", "wherever_it_begins", MISSED, 10),
    ("new-epoch", "txn.9", "the_same", STRAYED, 3),
    ("idempotent", "txn.12", "write: guard 1 dropped", TWICE, 7),
    ("idempotent", "txn.12", "write: guard 1 looser", TWICE, 7),
    ("idempotent", "txn.13", "send: next not updated", STRAYED, 3),
    ("idempotent", "txn.13", "send: next one less", STRAYED, 3),
    ("idempotent", "txn.13", "write: guard 1 dropped", TWICE, 3),
    ("idempotent", "txn.14", "know_again: guard 1 dropped", NOT_WRITTEN, 7),
    ("idempotent", "txn.14", "know_again: guard 2 dropped", NOT_WRITTEN, 3),
    ("idempotent", "txn.14", "know_again: guard 2 looser", NOT_WRITTEN, 3),
    ("idempotent", "txn.14", "know_again: guards dropped together", NOT_WRITTEN, 3),
    ("idempotent", "txn.14", "send: guard 1 dropped", TWICE, 8),
    ("idempotent", "txn.14", "send: guard 1 looser", TWICE, 8),
    ("new-epoch", "txn.14", "end: expected not updated", NOT_WRITTEN, 6),
    ("new-epoch", "txn.14", "end: expected one more", NOT_WRITTEN, 4),
    (OFFSETS, "txn.21", "aborted_all_the_same", MEMORY, 2),
    (OFFSETS, "txn.21", "at_once", MEMORY, 1),
    (OFFSETS, "txn.21", "expire: guard 1 dropped", MEMORY, 4),
    (OFFSETS, "txn.21", "fetch: guard 1 dropped", EARLY, 2),
    (OFFSETS, "txn.21", "in_order_of_completion", MEMORY, 3),
    (LOG, "txn.8", "acknowledge: guard 1 dropped", MEMORY, 2),
    (LOG, "txn.8", "commit: guard 1 dropped", "one_outcome", 6),
    (LOG, "txn.19", "remove_replaced: guard 1 dropped", MEMORY, 5),
    (LOG, "txn.19", "remove_replaced: guard 1 looser", MEMORY, 5),
    (LOG, "txn.19", "remove_tombstone: guard 1 dropped", MEMORY, 10),
    (LOG, "txn.19", "remove_tombstone: guard 2 dropped", MEMORY, 9),
    (LOG, "txn.19", "the_first", MEMORY, 8),
    (LOG, "txn.19", "without_prepares", MEMORY, 12),
    ("group-memory", "txn.27", "all_of_it", WRITTEN, 4),
    ("group-memory", "txn.27", "empty_one_fails", WRITTEN, 2),
    ("group-memory", "txn.27", "left_there", WRITTEN, 2),
    ("metadata", "txn.25", "finish: guard 1 dropped", RECORDED, 3),
    ("metadata", "txn.25", "newest_alone", "none_is_forgotten", 9),
    ("metadata", "txn.25", "no_last_epoch", RECORDED, 8),
    ("metadata", "txn.25", "no_other_ids", RECORDED, 6),
    ("metadata", "txn.25", "no_partitions", RECORDED, 7),
    ("metadata", "txn.25", "no_timeout", RECORDED, 3),
    ("metadata", "txn.25", "older_reader", RECORDED, 8),
]
"""Without it a promise fails: (variant, rule, mutation, promise, fewest steps)."""

LIVENESS = [
    (READER, "txn.17", "one_short", UNREAD),
    ("idempotent", "txn.12", "write: guard 1 stricter", UNSETTLED),
    ("idempotent", "txn.13", "continued", UNSETTLED),
    ("idempotent", "txn.13", "send: next one more", UNSETTLED),
    ("idempotent", "txn.14", "know_again: guard 2 stricter", UNSETTLED),
    ("idempotent", "txn.14", "know_again: guard 3 stricter", UNSETTLED),
    ("idempotent", "txn.14", "know_again: never", UNSETTLED),
    ("idempotent", "txn.14", "send: guard 1 stricter", UNSETTLED),
    (OFFSETS, "txn.21", "kept_over_abort", "answered_in_the_end"),
    (LOG, "txn.10", "complete: guard 1 dropped", "ended_in_the_end"),
    (LOG, "txn.19", "markers_forgotten", "ended_in_the_end"),
    (LOG, "txn.20", "expire: guard 1 dropped", "ended_in_the_end"),
]
"""Without it no promise fails, but something waits for ever."""

REDUNDANT = [
    ("idempotent", "txn.14", "know_again: guard 3 dropped"),
    ("idempotent", "txn.14", "know_again: guard 3 looser"),
    ("new-epoch", "txn.14", "end: expected one less"),
    (LOG, "txn.19", "remove_replaced: guard 1 stricter"),
]
"""The promises are proved without it, and work gets done: a partition may remember for longer, compaction wait; and one
less than 0 is 0."""

SHOWN = [
    ("read-committed-unclean", "txn.26", ABORTED_READ, 5),
    ("read-committed-inclusive", "txn.17", ABORTED_READ, 3),
    ("read-committed-short-list", "txn.17", ABORTED_READ, 6),
    ("read-committed-first-entry", "txn.17", ABORTED_READ, 9),
    ("cleaned-without-horizon", "txn.26", "ended_is_known_again", 8),
    ("cleaned-markers-too-soon", "txn.26", ABORTED_READ, 7),
    ("cleaned-markers-as-records", "txn.26", "ended_is_known_again", 7),
    ("cleaned-index-too-soon", "txn.26", ABORTED_READ, 7),
    ("kept-over-abort", "txn.14", NOT_WRITTEN, 6),
    ("cleared-by-abort", "txn.14", TWICE, 4),
    ("beyond-the-window", "txn.14", TWICE, 6),
    ("restarted", "txn.26", TWICE, 7),
    ("restarted-and-refused", "txn.26", "never_out_of_order", 5),
    ("expired-and-refused", "txn.26", "never_out_of_order", 4),
    ("expired", "txn.26", TWICE, 7),
    ("expired-too-soon", "txn.26", TWICE, 4),
    ("unclean", "txn.26", NOT_WRITTEN, 4),
    ("bumped-elsewhere", "txn.13", TWICE, 4),
    ("wrapped", "txn.13", TWICE, 6),
    ("dropped-v2", "txn.26", "nothing_hangs", 9),
    ("dropped-v2-fenced", "txn.26", "nothing_open_after_a_fence", 11),
    ("dropped-v1", "txn.26", "nothing_hangs", 10),
    ("dropped-v1-torn", "txn.26", "one_fate", 25),
    ("log-uncovered", "txn.8", "nothing_lost", 14),
    ("several-v1", "txn.15", "nothing_hangs", 10),
    ("several-v1-verified-late", "txn.9", "nothing_committed_unasked", 15),
    ("expired-v1", "txn.26", "nothing_hangs", 8),
    ("expired-v1-verified", "txn.26", "nothing_committed_unasked", 17),
    ("unclean-v2", "txn.26", "nothing_hangs", 10),
    ("unclean-v2-fenced", "txn.26", "nothing_open_after_a_fence", 12),
    ("unclean-v2-aborted", "txn.26", "nothing_hangs", 10),
    ("unclean-v2-aborted-torn", "txn.26", "one_fate", 19),
    ("unclean-v1", "txn.26", "nothing_hangs", 11),
    ("unclean-v1-torn", "txn.26", "one_fate", 25),
    ("offsets-fetched-early", "txn.21", EARLY, 2),
    ("offsets-by-completion", "txn.21", MEMORY, 3),
    ("offsets-left-pending", "txn.21", MEMORY, 3),
    ("metadata-4.3", "txn.25", RECORDED, 8),
    ("metadata-4.2", "txn.25", RECORDED, 6),
    ("metadata-4.3-timed-out", "txn.25", "retries_are_answered", 10),
    ("group-memory-empty-flush", "txn.27", WRITTEN, 2),
    ("offsets-marker-dropped", "txn.26", "as_the_coordinator_decided", 4),
    ("memory-ahead-of-log", "txn.8", MEMORY, 2),
    ("tombstones-removed-early", "txn.19", MEMORY, 10),
]
"""Known bugs, and where a guarantee ends: what is predicted does happen."""

MUTANTS = {
    "F05 the leader accepts an older epoch": ("idempotent", "txn.12", "write: guard 1 dropped"),
    "F24 the reader's limit is one too far": (READER, "txn.17", "inclusive"),
    "F25 duplicates are known over an abort": ("new-epoch", "txn.14", "end: expected not updated"),
    "G15 pending offsets survive an abort": (OFFSETS, "txn.21", "kept_over_abort"),
    "G16 an abort puts offsets in force": (OFFSETS, "txn.21", "aborted_all_the_same"),
    "G17 the transaction that ends last wins": (OFFSETS, "txn.21", "in_order_of_completion"),
    "G18 offsets expire under an open transaction": (OFFSETS, "txn.21", "expire: guard 1 dropped"),
}
"""The mutants a suite for these protocols has to kill, and where they are among ours."""


@pytest.fixture(scope="module")
def found() -> Found:
    """The verdicts of one run over the four protocols, by variant, rule and mutation."""
    every = (protocols()[name] for name in (READER, "idempotence", OFFSETS, LOG, PARTITIONS))
    return {(n.variant, n.rule, n.mutation): n for entry in every for n in necessity(entry, "smoke")}


@pytest.mark.parametrize(("variant", "rule", "name", "promise", "steps"), NECESSARY)
def test_necessary(found: Found, variant: str, rule: str, name: str, promise: str, steps: int) -> None:
    """A promise fails, in this many steps and no fewer, and the run is told."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.promise, verdict.steps) == ("necessary", promise, steps)
    assert verdict.evidence[0].startswith("  1  ")


@pytest.mark.parametrize(("variant", "rule", "name", "promise"), LIVENESS)
def test_liveness(found: Found, variant: str, rule: str, name: str, promise: str) -> None:
    """All promises hold, and progress fails."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.promise, verdict.engine) == ("liveness", promise, "progress")


@pytest.mark.parametrize(("variant", "rule", "name"), REDUNDANT)
def test_redundant(found: Found, variant: str, rule: str, name: str) -> None:
    """The promises are proved without it, unbounded."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.bound) == ("redundant", None)


@pytest.mark.parametrize(("variant", "rule", "promise", "steps"), SHOWN)
def test_shown(found: Found, variant: str, rule: str, promise: str, steps: int) -> None:
    """What is predicted of a known bug, or beyond a boundary, happens."""
    (verdict,) = [n for n in found.values() if n.variant == variant]
    assert (verdict.rule, verdict.verdict, verdict.promise, verdict.steps) == (rule, "shown", promise, steps)


def test_every_verdict_is_pinned(found: Found) -> None:
    """No mutation goes unnamed here, and none survives undecided."""
    named = {key[:3] for key in (*NECESSARY, *LIVENESS, *REDUNDANT)}
    named |= {(n.variant, n.rule, n.mutation) for n in found.values() if n.variant in {s[0] for s in SHOWN}}
    assert set(found) == named


@pytest.mark.parametrize("name", MUTANTS)
def test_listed_mutants_are_killed(found: Found, name: str) -> None:
    """Each breaks a promise or progress."""
    assert found[MUTANTS[name]].verdict in ("necessary", "liveness")
