"""Transactions are driven: the reference keeps its promises in all three modes, what v1 is known to break is told
apart, and what an implementation in any language, of which no model is followed, would be told.

That every defect is found is for `tests/every_protocol/test_defects.py`.
"""

import json
import subprocess
import sys

import pytest
import transactions_doubles
from fencepost.proofs.testing import agree
from fencepost.properties.transactions.histories.late import EXPECTING, ON_THE_WAY
from fencepost.reference_impl.defects.transactions import REGISTRY

REFERENCE = "fencepost.reference_impl.systems.transactions:reference"
BROKEN = "fencepost.reference_impl.defects.transactions"
EXAMPLES = 150


def driven(implementation, variant, **options):
    return agree(implementation, protocol="transactions", variant=variant, promises_only=True, **options)


def needs(name):
    """The variant, and the rest of the configuration, in which a defect can show."""
    config = dict(REGISTRY[name].needs)
    return config.pop("mode", "v2"), config


def test_late_end_is_shown_as_predicted():
    """KAFKA-17754 in v1-verified: a late EndTxn decides the next transaction, as a short program that fails by
    itself."""
    report = driven(
        REFERENCE, "v1-verified", max_examples=40, expecting={"txn.P2", "txn.P3", "txn.P4", "txn.P5", "txn.P8"}
    )
    assert report.verdict == "holds"
    stolen = report.predicted["txn.P5"]
    assert stolen.promise.startswith("txn.P5")
    assert "# end of request" in stolen.program
    assert stolen.calls < 40
    with pytest.raises(AssertionError, match=r"txn\.P5"):
        exec(stolen.program, {})


def test_what_is_not_expected_is_a_failure():
    """The same is no excuse for an implementation that is said to be mended: it breaks a promise, or a rule on the way
    to one."""
    report = driven(REFERENCE, "v1-verified", max_examples=40, expecting=(), verdict_only=True)
    assert report.verdict == "violated"
    assert report.predicted == {}
    assert report.failure.rules[0] in ON_THE_WAY | EXPECTING["v1-verified"]


def test_black_box_keeps_its_promises():
    """What clients do and are told is enough to judge by, and no false alarm comes of it."""
    report = driven(transactions_doubles.black_box, "v2", max_examples=12)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert "txn_logged" not in report.observed


@pytest.mark.parametrize("name", ["aborted_list_cut_short", "lost_commit_told_ok", "markers_not_repeated"])
def test_found_through_the_black_box(name):
    """Seen only by what clients are told and readers get, these break a promise in the end."""
    variant, config = needs(name)

    def factory(given):
        return transactions_doubles.BlackBox(REGISTRY[name](given))

    report = driven(factory, variant, config=config, max_examples=EXAMPLES)
    assert report.verdict == "violated"
    assert report.failure.promise.startswith("txn.P")
    with pytest.raises(AssertionError):
        exec(report.program, {"factory": factory})


def test_new_producer_id_is_seen_by_clients():
    """Who is given another id for nothing has fenced nobody (txn.1); no log has to be shown for that."""

    def factory(given):
        return transactions_doubles.BlackBox(REGISTRY["init_takes_new_id"](given))

    report = driven(factory, "v1", max_examples=EXAMPLES, promises={"txn.1"})
    assert report.failure.promise.endswith("nobody is fenced by that: id 0 has epochs left")
    assert report.failure.calls < 15
    with pytest.raises(AssertionError):
        exec(report.program, {"factory": factory})


def test_lost_records():
    """A committed record that nobody can read breaks txn.P4, and the program says which."""
    report = driven(transactions_doubles.forgetful, "v2", max_examples=20)
    assert report.failure.rules == ("txn.P4",)
    assert "in [record for _, record in result.records[0]]" in report.program
    with pytest.raises(AssertionError):
        exec(report.program, {})


def test_call_that_raises():
    """An implementation that breaks down disagrees, and its program raises what it raised."""
    report = driven(transactions_doubles.crashing, "v2", max_examples=20)
    assert "raised ZeroDivisionError('nobody is left')" in report.failure.first_bad
    with pytest.raises(ZeroDivisionError):
        exec(report.program, {})


def test_variants_of_a_protocol():
    """Each protocol has its own, and the first of them is the default."""
    with pytest.raises(ValueError, match="there are v2, v1, v1-verified"):
        driven(REFERENCE, "kraft")
    assert driven(REFERENCE, None, max_examples=1, steps=1).variant == "v2"
    with pytest.raises(ValueError, match="there are id-blocks, transactions"):
        agree(REFERENCE, protocol="quorum")


SCRIPT = """
import json
from fencepost.proofs.testing import agree
name = "fencepost.reference_impl.defects.transactions:time_out_keeps_epoch"
report = agree(name, protocol="transactions", variant="v1", max_examples=20, promises_only=True)
print(json.dumps([report.examples, report.program, str(report.failure), sorted(report.coverage.calls.items())]))
"""


def test_same_seed_same_report_in_any_process():
    """Examples, program, words and counts are the same in two processes with different hash seeds."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])[1].startswith("from fencepost.reference_impl")
