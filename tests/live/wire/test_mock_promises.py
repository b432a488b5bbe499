"""librdkafka's mock cluster is found out: each promise that it breaks is named, by search, with a short program that
fails by itself on any other mock cluster; and a broker that keeps them is accused of none."""

from dataclasses import replace

import pytest
from fencepost.model.rules import RULES
from fencepost.proofs.testing import agree
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.properties.transactions.scenarios.lives import with_churn
from fencepost.reference_impl.live.transactions.over_tcp import over_tcp
from mock_cluster import MockCluster
from prompt import prompt

WITHOUT_CHANCE = replace(OVER_THE_WIRE, tries=1)  # enough where few ids are drawn
EXAMPLES = 300  # at most; most of them take ten
NEWCOMERS = 5_000  # of 900,000 ids: without a collision once in a million runs

BROKEN = {
    "txn.1": (0, 8),  # an initialisation fences no producer: there is just another producer id
    "txn.P1": (0, 20),  # … and older producers go on writing and committing
    "txn.P3": (0, 12),  # what is open, or aborted, is read by read_committed readers
    "txn.P5": (0, 15),  # … before its owner is told that it is aborted
    "txn.P4": (1, 18),  # offsets sent to a transaction are lost when it commits
    "txn.21": (1, 13),  # … and are not pending before
    "txn.P6": (0, 25),  # a copy of a batch makes the next one be taken twice
}
"""Rule: groups that commit offsets, and calls in the program at most."""


@pytest.fixture
def mock():
    """A cluster of one broker."""
    with MockCluster() as cluster:
        yield cluster


def searched(implementation, promises, examples, **config):
    """One search for violations of these promises alone.  The mock draws ids by chance out of 900,000, one cluster
    hands out thousands, and who gets one that was given before is refused: a program is tried more than once."""
    return agree(
        implementation, protocol=OVER_THE_WIRE, variant="v1", config={"collapse": True, **config}, promises=promises,
        max_examples=examples, seed=730,
    )  # fmt: skip


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_promise_is_named(mock, rule):
    """Found by driving, made short, and failing again where it is pasted: on a cluster that is as good as new."""
    groups, calls = BROKEN[rule]
    report = searched(over_tcp, {rule}, EXAMPLES, bootstrap=mock.bootstrap, groups=groups)
    assert report.verdict == "violated"
    assert report.failure.promise.startswith(f"{rule}: ")
    assert report.failure.calls <= calls
    assert RULES[rule].says in report.program
    with MockCluster() as other, pytest.raises(AssertionError, match=rule):
        exec(report.program.replace(mock.bootstrap, other.bootstrap), {})


def test_ids_are_handed_out_twice(mock):
    """One call is enough, and its check fails wherever it is pasted; which ids they are is chance (P7)."""
    report = agree(
        over_tcp, protocol=with_churn(WITHOUT_CHANCE, NEWCOMERS), variant="v1", promises={"txn.P7"},
        config={"bootstrap": mock.bootstrap}, seed=2, steps=2,
    )  # fmt: skip
    assert report.verdict == "violated"
    assert report.failure.promise.startswith("txn.P7: ")
    assert report.failure.calls == 1
    with MockCluster() as other, pytest.raises(AssertionError, match=r"txn\.P7"):
        exec(report.program.replace(mock.bootstrap, other.bootstrap), {})


def test_prompt_reference_breaks_none_of_them():
    """The same search finds nothing where the promises are kept."""
    report = searched(prompt, set(BROKEN), 40)
    assert report.verdict == "holds", str(report.failure) + "\n" + report.program
    assert report.examples >= 40
