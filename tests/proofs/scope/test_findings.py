"""The ledger of findings: its page is up to date, its rules are known, and its programs exist."""

import ast
import re
from pathlib import Path

import pytest
from command_line import fencepost, read_json
from fencepost.model.rules import RULES
from fencepost.proofs.scope.findings import CORNERS, FINDINGS, Finding
from fencepost.proofs.scope.findings_page import known_bugs, page
from fencepost.properties.catalogue import find, protocols

ROOT = Path(__file__).parents[3]


def test_the_page_is_up_to_date() -> None:
    """`fencepost findings --table proofs/verdicts/findings.md` prints it."""
    assert (ROOT / "proofs" / "verdicts" / "findings.md").read_text() == page()


@pytest.mark.parametrize("each", FINDINGS, ids=lambda each: each.name)
def test_a_finding_names_known_rules_and_a_program_that_exists(each: Finding) -> None:
    """The test's file, its function and, for a corner, the corner; a false alarm breaks nothing, all others do."""
    assert set(each.breaks) <= set(RULES)
    assert bool(each.breaks) == (each.status != "false alarm")
    for program in each.programs:
        path, _, rest = program.partition("::")
        function, _, case = rest.partition("[")
        names = [node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)]
        assert function in names
        if program.startswith(CORNERS):
            files = (ROOT / "tests" / "live" / "kafka" / "corners").glob("corners_*.py")
            assert f'"{case.rstrip("]")}", on=' in "".join(file.read_text() for file in files)


@pytest.mark.parametrize("each", FINDINGS, ids=lambda each: each.name)
def test_the_variants_of_a_finding_break_its_promises(each: Finding) -> None:
    """Each is in the catalogue, and is expected to violate one of the promises that the finding breaks."""
    for name in each.variants:
        _, variant = find(name)
        assert variant is not None
        violated = [
            variant.properties.properties[n] for n, verdict in variant.expected.items() if verdict == "violated"
        ]
        assert {of.rule for of in violated if of.rule in RULES} & set(each.breaks), name


def test_known_bugs_are_the_scenarios_of_the_catalogue() -> None:
    """A row each, which breaks a rule of the ledger in the variant that has it."""
    known = known_bugs()
    scenarios = [(entry.name, each) for entry in protocols().values() for each in entry.scenarios]
    assert [(row.where, row.name) for row in known] == [(name, each.name) for name, each in scenarios]
    assert all(row.breaks and set(row.breaks) <= set(RULES) for row in known)
    assert {row.means for row in known} == {"model", "reference"}
    reported = {row.name: row for row in known}
    assert reported["KAFKA-14402"].status == "confirmed by KAFKA-14402" and reported["H1"].status == "known"
    assert reported["KAFKA-14402"].program == 'fencepost show transactions/v1 "nothing committed unasked"'


@pytest.mark.parametrize("each", FINDINGS, ids=lambda each: each.name)
def test_a_finding_was_seen_on_exact_releases(each: Finding) -> None:
    """At least one, and none of those on which it was looked for in vain."""
    assert each.seen
    assert not set(each.seen) & set(each.not_seen)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", release) for release in (*each.seen, *each.not_seen))


def test_a_status_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="status 'probably' is none of"):
        Finding("x", "x", "x", "x", (), "probably", "x")


def test_the_command_prints_and_writes_them(tmp_path: Path) -> None:
    ran = fencepost("findings", "--json", tmp_path / "f.json")
    assert ran.code == 0
    assert [each["name"] for each in read_json(tmp_path / "f.json")] == [e.name for e in (*FINDINGS, *known_bugs())]
    assert len(ran.out.splitlines()) == len(FINDINGS) + 2
    assert all(each.name in ran.out for each in FINDINGS)
    reported = fencepost("findings", "--verbose").out
    assert all(each.program in " ".join(reported.split()) for each in (*FINDINGS, *known_bugs()))
