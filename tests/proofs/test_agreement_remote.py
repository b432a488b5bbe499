"""Agreement with brokers that act by themselves, of which nothing is seen but what clients send, are told and read
(about 40 s): the reference made prompt is followed in all three modes, and implementations with one thing wrong are
found.

What is found by the model alone breaks no promise in what a client can see, or only later, or only now and then.
"""

import pytest
import remote_doubles
from fencepost.proofs.agreement import ImplementationError, agree
from fencepost.proofs.agreement import tracker as tracking
from fencepost.properties.transactions.agreement import OVER_THE_WIRE
from fencepost.reference_impl.transactions.broken import REGISTRY
from fencepost.reference_impl.wire.connection import WireError
from fencepost.reference_impl.wire.prompt import prompt

NOT_FOLLOWED = {
    "probe does much that is not shown",
    "settle does much that is not shown",
    "there is no room for so many epochs",
    "a record comes late, and others of its transaction in the same partition came in time",
}


def driven(implementation, variant, **options):
    return agree(implementation, protocol=OVER_THE_WIRE, variant=variant, **options)


@pytest.mark.parametrize(
    ("variant", "config"),
    [("v2", {}), ("v2", {"release": "4.3"}), ("v2", {"collapse": True}), ("v1", {}), ("v1-verified", {})],
)
def test_reference_is_followed(variant, config):
    """Every answer and everything read is what the model allows, and nothing but the last call of an example is left
    out of it."""
    report = driven(prompt, variant, max_examples=4, steps=20, seed=3, config=config)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert (report.verdict, report.model) == ("holds", variant)
    assert set(report.coverage.beyond) <= NOT_FOLLOWED
    assert "txn_logged" not in report.observed
    assert {"initialize", "end", "append", "mark", "complete", "take"} <= set(report.coverage.actions)


def test_time_outs_are_followed():
    """Where transactions may time out, they may at any moment."""
    report = driven(prompt, "v2", max_examples=4, steps=20, seed=2, config={"timeouts": True})
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.coverage.actions["time_out"]


FOUND = {
    "abort_commits_offset": "promise",
    "aborted_list_cut_short": "promise",
    "fence_markers_keep_epoch": "model",
    "end_keeps_epoch": "promise",
    "end_takes_older_epoch": "promise",
    "init_keeps_epoch": "promise",
    "older_epoch_accepted": "model",
    "pending_offsets_visible": "promise",
    "reads_to_the_end": "promise",
    "sequence_reused": "promise",
    "window_of_four": "model",
    "window_outlives_epoch": "promise",
}
"""A dozen: what is enough to find each."""


@pytest.mark.parametrize("name", sorted(FOUND))
def test_broken_broker_is_found(name):
    """With a short program that fails by itself when pasted."""
    factory, config = remote_doubles.broken(name), dict(REGISTRY[name].needs)
    report = driven(
        factory,
        config.pop("mode", "v2"),
        config=config,
        max_examples=30,
        steps=20,
        promises_only=FOUND[name] == "promise",
    )
    assert report.verdict == "violated"
    assert report.failure.again == (5, 5)
    assert report.failure.calls <= 60
    with pytest.raises(AssertionError):
        exec(report.program, {"factory": factory})


def test_promise_is_asked_for_alone():
    """Each promise that is broken has a program of its own; of the others nothing is said."""
    factory = remote_doubles.broken("reads_to_the_end")
    asked = driven(factory, "v2", max_examples=20, promises={"txn.P3"})
    assert asked.failure.rules == ("txn.P3",)
    assert asked.model == "none"
    assert driven(factory, "v2", max_examples=20, promises={"txn.P10"}).verdict == "holds"


def test_what_is_predicted_of_a_variant_is_told_by_promise():
    """What late copies break by design is told of the promises asked for, and of no others."""
    asked = {"txn.P3", "txn.P8"}
    report = driven(prompt, "v1", max_examples=40, promises=asked)
    assert report.verdict == "holds"
    assert report.predicted
    assert set(report.predicted) <= asked
    assert all(broken.promise.startswith(rule) for rule, broken in report.predicted.items())


def test_failure_that_does_not_come_again():
    """Chance is told as such: in how many of how many tries the program failed again, with the program as it was."""
    once = driven(remote_doubles.NowAndThen(lambda number: 2 <= number <= 4), "v2", max_examples=10, promises_only=True)
    assert once.verdict == "violated"
    assert once.failure.again == (0, 5)
    assert "not again: the program was run 5 more times" in str(once.failure)
    assert "settle(system" in once.program


def test_failure_that_comes_now_and_then():
    """What fails in every third cluster is shrunk all the same, and told with its odds."""
    report = driven(
        remote_doubles.NowAndThen(lambda number: number % 3 == 0), "v2", max_examples=20, promises_only=True
    )
    failed, tries = report.failure.again
    assert 0 < failed < tries
    assert f"run again, the program failed in {failed} of {tries} tries" in str(report.failure)
    assert report.failure.calls <= 45


@pytest.mark.parametrize("after", [0, 40])
def test_broker_that_goes_away(after):
    """Whoever is out of reach, from the start or in the middle, breaks no promise: that is said, and nothing else."""
    with pytest.raises(WireError, match=r"127\.0\.0\.1:9092"):
        driven(remote_doubles.Leaving(after), "v2", max_examples=5)


def test_too_many_states(monkeypatch):
    """Where too many states fit, the model follows no further, which is no defect of the broker."""
    monkeypatch.setattr(tracking, "MOST_CANDIDATES", 3)
    report = driven(prompt, "v2", max_examples=3)
    assert report.verdict == "holds"
    assert report.coverage.beyond["too many states fit what was seen"]


def test_implementation_that_is_no_factory():
    """An error of the configuration is the caller's, not a violation."""
    with pytest.raises(ImplementationError, match="unknown keys"):
        driven(prompt, "v2", config={"colour": "red"})
