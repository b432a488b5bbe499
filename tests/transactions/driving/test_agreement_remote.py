"""Agreement is tested with brokers that act by themselves, of which only the clients' requests, answers and reads are
visible (about 40 s). The reference made prompt is followed in all three modes, and defects are found.

A defect that only the model finds breaks no promise that a client can see, or breaks it only later or at times.
"""

from dataclasses import replace

import pytest
import remote_doubles
from fencepost.proofs.testing import ImplementationError, agree
from fencepost.proofs.testing import tracker as tracking
from fencepost.properties.transactions.interface import Call, message
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.defects.transactions import REGISTRY
from fencepost.reference_impl.live.tcp.connection import WireError
from prompt import prompt

NOT_FOLLOWED = {
    "probe does much that is not shown",
    "progress does much that is not shown",
    "settle does much that is not shown",
    "there is no room for so many epochs",
    "a record comes late, and others of its transaction in the same partition came in time",
}

QUICKLY_SHRUNK = replace(OVER_THE_WIRE, replays=250)


def driven(implementation, variant, **options):
    return agree(implementation, protocol=QUICKLY_SHRUNK, variant=variant, **options)


@pytest.mark.parametrize(
    ("variant", "config"),
    [("v2", {}), ("v2", {"release": "4.3"}), ("v2", {"collapse": True}), ("v1", {}), ("v1-verified", {})],
)
def test_reference_is_followed(variant, config):
    report = driven(prompt, variant, max_examples=4, steps=20, seed=3, config=config)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert (report.verdict, report.model) == ("holds", variant)
    assert set(report.coverage.beyond) <= NOT_FOLLOWED
    assert "txn_logged" not in report.observed
    assert {"initialize", "end", "append", "mark", "complete", "take"} <= set(report.coverage.actions)


def test_time_outs_are_followed():
    report = driven(prompt, "v2", max_examples=8, steps=20, seed=2, config={"timeouts": True})
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.coverage.actions["time_out"]


BY_PROMISES = {
    "abort_commits_offset", "abort_keeps_epoch", "abort_keeps_pending_offset", "aborted_index_misses_fences",
    "aborted_list_cut_short", "add_overwrites", "commits_early", "end_keeps_epoch", "end_takes_older_epoch",
    "fence_gives_up", "fence_takes_any_answer", "fenced_continues", "init_keeps_epoch", "init_retry_is_fenced",
    "init_takes_new_id",
    "last_partition_forgotten", "lost_commit_told_ok", "new_epoch_continues", "numbers_go_on",
    "offsets_applied_at_once",
    "older_answers_taken", "older_epoch_accepted", "pending_offsets_visible", "reader_skips_for_ever",
    "reads_to_the_end", "renumbers_the_latest_partition", "retry_numbered_anew",
    "sequence_reused", "six_in_flight", "stable_offset_inclusive",
    "unverified", "waits_after_an_abort", "window_outlives_epoch",
}  # fmt: skip
"""Each of these defects breaks a promise, or a rule that leads to one, in what clients and readers see."""

BY_THE_MODEL = {
    "add_takes_older_epoch", "fence_markers_keep_epoch", "init_answers_before_completion",
    "init_leaves_transaction_open", "new_epoch_takes_any_sequence", "produces_before_add",
    "sequence_unchecked", "time_out_keeps_epoch", "verifies_any_partition", "window_of_four",
}  # fmt: skip
"""Each of these defects gives an answer that the model does not allow, and breaks a promise later or never.

Other defects are not tried over the wire, or are out of reach from outside the brokers: the epochs end after 32,767
transactions, ids expire after a week, and a driver cannot replace a coordinator, make its log fail, or delay, lose or
repeat the brokers' own messages.
"""

QUICK = {
    "abort_commits_offset", "aborted_list_cut_short", "end_keeps_epoch", "end_takes_older_epoch",
    "init_keeps_epoch", "older_epoch_accepted", "pending_offsets_visible", "produces_before_add", "reads_to_the_end",
    "sequence_unchecked", "unverified", "window_outlives_epoch",
}  # fmt: skip
"""These dozen defects are tested in every run, and the others at night."""
FEW = 4
"""One of this many seeds finds the defect."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.nightly(nights=16))
        for name in sorted(BY_PROMISES | BY_THE_MODEL)
    ],
)
def test_broken_broker_is_found(name):
    """One of a few seeds finds a short program that fails by itself, since a broker that acts by itself leaves less to
    the driver."""
    factory, config = remote_doubles.broken(name), dict(REGISTRY[name].needs)
    if name == "time_out_keeps_epoch":
        config["timeouts"] = True
    mode, by_promises = config.pop("mode", "v2"), name in BY_PROMISES
    reports = (
        driven(factory, mode, config=config, max_examples=100, steps=20, promises_only=by_promises, seed=seed)
        for seed in range(FEW)
    )
    report = next((found for found in reports if found.verdict != "holds"), None)
    assert report is not None, f"not found for the seeds 0 to {FEW - 1}"
    assert report.verdict == ("violated" if report.failure else "differs")
    assert report.failure or name in BY_THE_MODEL
    found = report.failure or report.differences[0]
    assert found.again == (5, 5)
    assert found.calls <= 60
    with pytest.raises(AssertionError):
        exec(found.program, {"factory": factory})


def test_promise_is_asked_for_alone():
    factory = remote_doubles.broken("reads_to_the_end")
    asked = driven(factory, "v2", max_examples=20, promises={"txn.P3"})
    assert asked.failure.rules == ("txn.P3",)
    assert asked.model == "none"
    assert driven(factory, "v2", max_examples=20, promises={"txn.P10"}).verdict == "holds"


def test_what_is_predicted_of_a_variant_is_told_by_promise():
    asked = {"txn.P3", "txn.P8"}
    report = driven(prompt, "v1", max_examples=40, promises=asked)
    assert report.verdict == "holds"
    assert report.predicted
    assert set(report.predicted) <= asked
    assert all(broken.promise.startswith(rule) for rule, broken in report.predicted.items())


def test_failure_that_does_not_come_again():
    once = driven(remote_doubles.NowAndThen(lambda number: 2 <= number <= 4), "v2", max_examples=10, promises_only=True)
    assert once.verdict == "violated"
    assert once.failure.again == (0, 5)
    assert "not again: the program was run 5 more times" in str(once.failure)
    assert "settle(system" in once.program


def test_failure_that_comes_now_and_then():
    """A failure in every third cluster is shrunk all the same, and reported with its odds."""
    report = driven(
        remote_doubles.NowAndThen(lambda number: number % 3 == 0), "v2", max_examples=20, promises_only=True
    )
    failed, tries = report.failure.again
    assert 0 < failed < tries
    assert f"run again, the program failed in {failed} of {tries} tries" in str(report.failure)
    assert report.failure.calls <= 45


def test_what_breaks_no_promise_has_a_word_of_its_own():
    """A difference that breaks no promise has its own verdict and program, and the search continues to its end."""
    report = driven(remote_doubles.within, "v2", max_examples=12, steps=20)
    assert report.verdict == "differs"
    assert report.failure is None
    [difference, *_] = report.differences
    assert difference.promise == difference.consequence == ""
    assert any(reported in difference.first_bad for reported in ("init_taken", "fence_told"))  # a producer, or an admin
    assert "error" in str(difference)
    assert report.examples >= 12
    assert 0.5 < report.compared < 1
    with pytest.raises(AssertionError):
        exec(difference.program, {"factory": remote_doubles.within})


def test_what_breaks_no_promise_hides_nothing():
    report = driven(remote_doubles.within_and_forgetful, "v2", max_examples=25)
    assert report.verdict == "violated"
    assert report.failure.promise.startswith("txn.P")


def test_calls_that_were_compared_are_told():
    report = driven(prompt, "v2", max_examples=6, steps=20)
    assert report.verdict == "holds"
    assert 0.8 < report.compared <= 1
    assert report.coverage.comparable > 100
    strict = replace(OVER_THE_WIRE, compared={"v2": 1.1}, followed={"v2": 0.0})
    unknown = agree(prompt, protocol=strict, variant="v2", max_examples=3, steps=20)
    assert unknown.verdict == "unknown"
    assert "of the calls were compared, 110% is the least" in unknown.inconclusive


def test_report_so_far():
    so_far = []
    with pytest.raises(WireError):
        driven(remote_doubles.Leaving(300), "v2", max_examples=50, started=so_far.append)
    report = so_far[0]("the broker is gone")
    assert (report.verdict, report.ended) == ("unknown", "the broker is gone")
    assert "ended before its time: the broker is gone" in report.inconclusive
    assert 0 < report.examples < 50
    assert report.coverage.comparable > 50


@pytest.mark.parametrize("after", [0, 40])
def test_broker_that_goes_away(after):
    with pytest.raises(WireError, match=r"127\.0\.0\.1:9092"):
        driven(remote_doubles.Leaving(after), "v2", max_examples=5)


def to(kind, target="coordinator", keep=False):
    return Call("deliver", message(kind, "client-0", target), keep)


def back(kind, source="coordinator"):
    return Call("deliver", message(f"{kind}_answer", source, "client-0"))


OFFSETS = 1  # the partition behind the data partition
OFFSET_SENT = [Call("begin", 0), Call("send", 0, OFFSETS), to("add"), back("add")]
OFFSET_LATE = [
    Call("init", 0), to("init"), back("init"), *OFFSET_SENT, to("produce", "partition-1", keep=True),
    Call("abort", 0), to("end"), back("end"), *OFFSET_SENT, to("produce", "partition-1"),
    Call("fetch_offset", 0, OFFSETS),
]  # fmt: skip
"""Offsets have no sequence numbers, so that in v1 a late copy is written again, into the next transaction."""


def test_late_copy_of_an_offset_is_not_followed():
    """A late copy that the model leaves out is no disagreement (found on live Kafka)."""
    size = {"clients": 1, "partitions": 1, "groups": 1}
    report = driven(prompt, "v1", prefixes=[OFFSET_LATE], max_examples=1, steps=1, config=size)
    assert report.failure is None, str(report.failure)
    assert report.coverage.calls["fetch_offset"]
    assert report.coverage.beyond[
        "a record comes late, and others of its transaction in the same partition came in time"
    ]


def test_too_many_states(monkeypatch):
    """If too many states fit, the model stops following, which is neither a defect of the broker nor agreement."""
    monkeypatch.setattr(tracking, "MOST_CANDIDATES", 3)
    report = driven(prompt, "v2", max_examples=3)
    assert (report.verdict, report.failure) == ("unknown", None)
    assert report.coverage.beyond["too many states fit what was seen"] == report.coverage.unfollowed > 0


def test_implementation_that_is_no_factory():
    with pytest.raises(ImplementationError, match="unknown keys"):
        driven(prompt, "v2", config={"colour": "red"})
