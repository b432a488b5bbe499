"""A rule is held by tests only if they fail when it is broken: each is run against implementations that break it.

The marked tests are run in one process of their own, once for every defect of their rules.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from breaking import defects_of
from fencepost.model.rules import RULES
from fencepost.proofs.necessity import rule_removal

TESTS = Path(__file__).resolve().parents[1]
RULES_HELD = sorted({rule for rules in rule_removal.marked(TESTS).values() for rule in rules})


def holding(rule: str) -> list[str]:
    found = rule_removal.tests_of(rule, TESTS)
    assert found
    return found


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bool]:
    """By test and defect: does the test fail, for some of its parameters?"""
    target = tmp_path_factory.mktemp("broken") / "report.json"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(TESTS / "support"), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "breaking", "--broken-report", str(target)]
    files = sorted({name.split("::")[0] for name in rule_removal.marked(TESTS)})
    done = subprocess.run([*command, *files], cwd=TESTS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[tuple[str, str], bool] = {}
    for test, defect, failed in json.loads(target.read_text()):
        found[test, defect] = found.get((test, defect), False) or failed
    return found


@pytest.mark.parametrize("rule", RULES_HELD)
def test_a_broken_rule_fails_every_test_that_holds_it(rule: str, failing: dict[tuple[str, str], bool]) -> None:
    """Some defect of the rule makes it fail, for each test that is marked with it."""
    deaf = [test for test in holding(rule) if not any(failing.get((test, name), False) for name in defects_of(rule))]
    assert deaf == []


@pytest.mark.parametrize("rule", RULES_HELD)
def test_every_defect_of_a_rule_is_noticed(rule: str, failing: dict[tuple[str, str], bool]) -> None:
    """By some test that is marked with the rule."""
    missed = [name for name in defects_of(rule) if not any(failing.get((test, name), False) for test in holding(rule))]
    assert defects_of(rule)
    assert missed == []


PROPOSALS_BUILT = ("730", "txn", "618", "447", "src", "939")


def test_every_interface_rule_is_held() -> None:
    """Of the proposals that the reference implements; and so is txn.22, beside its verdict."""
    built = [n for n, rule in RULES.items() if rule.kind == "interface" and n.split(".")[0] in PROPOSALS_BUILT]
    assert [number for number in built if not rule_removal.tests_of(number)] == []
    assert rule_removal.tests_of("txn.22", TESTS)


def test_the_ledger_of_an_installed_package_is_of_these_tests() -> None:
    """`rule_removal.write_held()` writes it."""
    assert rule_removal.held() == {rule: rule_removal.tests_of(rule, TESTS) for rule in RULES if rule in RULES_HELD}


def test_no_test_holds_a_rule_that_does_not_exist() -> None:
    """Every marker names rules of the ledger."""
    assert set(RULES_HELD) <= set(RULES)
