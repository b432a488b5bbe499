"""Driven transactions fulfil the promises in the reference's three modes, known violations of v1 are distinguished, and
an implementation in any language is judged without a model.

`tests/every_protocol/test_defects.py` checks that every defect is found.
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
    """Return the variant and the rest of the config in which a defect can be found."""
    config = dict(REGISTRY[name].needs)
    return config.pop("mode", "v2"), config


def test_late_end_is_shown_as_predicted():
    """KAFKA-17754: In v1-verified a late EndTxn decides the next transaction, in a short program that fails by
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
    report = driven(REFERENCE, "v1-verified", max_examples=40, expecting=(), verdict_only=True)
    assert report.verdict == "violated"
    assert report.predicted == {}
    assert report.failure.rules[0] in ON_THE_WAY | EXPECTING["v1-verified"]


def test_black_box_keeps_its_promises():
    report = driven(transactions_doubles.black_box, "v2", max_examples=12)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert "txn_logged" not in report.observed


@pytest.mark.parametrize("name", ["aborted_list_cut_short", "lost_commit_told_ok", "markers_not_repeated"])
def test_found_through_the_black_box(name):
    variant, config = needs(name)

    def factory(given):
        return transactions_doubles.BlackBox(REGISTRY[name](given))

    report = driven(factory, variant, config=config, max_examples=EXAMPLES)
    assert report.verdict == "violated"
    assert report.failure.promise.startswith("txn.P")
    with pytest.raises(AssertionError):
        exec(report.program, {"factory": factory})


def test_new_producer_id_is_seen_by_clients():
    """txn.1: A needless new producer id has fenced no producer, which is found without any log."""

    def factory(given):
        return transactions_doubles.BlackBox(REGISTRY["init_takes_new_id"](given))

    report = driven(factory, "v1", max_examples=EXAMPLES, promises={"txn.1"})
    assert report.failure.promise.endswith("no instance is fenced by that: id 0 has epochs left")
    assert report.failure.calls < 15
    with pytest.raises(AssertionError):
        exec(report.program, {"factory": factory})


def test_lost_records():
    """txn.P4: A committed record that no reader gets breaks the promise, and the program exposes it."""
    report = driven(transactions_doubles.forgetful, "v2", max_examples=20)
    assert report.failure.rules == ("txn.P4",)
    assert "in [record for _, record in result.records[0]]" in report.program
    with pytest.raises(AssertionError):
        exec(report.program, {})


def test_call_that_raises():
    report = driven(transactions_doubles.crashing, "v2", max_examples=20)
    assert "raised ZeroDivisionError('nobody is left')" in report.failure.first_bad
    with pytest.raises(ZeroDivisionError):
        exec(report.program, {})


def test_variants_of_a_protocol():
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
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])[1].startswith("from fencepost.reference_impl")
