"""What CI systems read of each command that judges, and what `--quiet` leaves: both say what the exit code says."""

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line import Ran, fencepost
from fencepost.model.rules import LINKS, RULES
from fencepost.proofs.cases import Case, Outcome, cases_of, shares
from fencepost.proofs.report import INTERRUPTED, SCHEMA, cut_short, write_junit
from fencepost.proofs.results import Result
from fencepost.proofs.sarif import write_sarif
from fencepost.proofs.scale.replay import NOTHING_TO_JUDGE
from fencepost.properties.catalogue import Variant
from fencepost.properties.history import write_histories
from fencepost.properties.id_blocks.events import ID_BLOCKS as EVENTS
from fencepost.properties.id_blocks.events import Kind
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from junitparser import Failure, JUnitXml, Skipped
from small_catalogue import small_catalogue

ROOT = Path(__file__).parents[3]
NOT_PROMISED = "mode zookeeper does not promise it"
SILENT = ("replay", "silent", "--check", "blocks disjoint", "--check", "answers disjoint")
BROKEN = "fencepost.reference_impl.defects.id_blocks:answers_before_commit"
KRAFT = ID_BLOCKS.variant("kraft")


def without_the_commit(variant: Variant) -> Variant:
    """A controller that answers before the commit, which no lemma allows, under the name of a main variant."""
    return replace(KRAFT, name=variant.name, reading=("730.7", "answer: guard 1 dropped")) if variant.main else variant


@dataclass(frozen=True)
class Example:
    """A command, its exit code, and what its report says that failed and why something was skipped."""

    words: tuple[object, ...]
    code: int
    failed: str = ""
    skipped: str = ""
    within: Callable[[], AbstractContextManager[None]] = nullcontext


EXAMPLES = {
    "prove": Example(("prove", "id-blocks/zookeeper"), 0),
    "prove, refuted": Example(
        ("prove", "id-blocks/zookeeper"), 1, ", and holds was expected",
        within=lambda: small_catalogue(without_the_commit),
    ),
    "agree": Example(("agree", "id-blocks/kraft", "--examples", 3), 0),
    "agree, a defect": Example(("agree", "id-blocks/kraft", "--implementation", BROKEN), 1, "is violated after"),
    "replay": Example(("replay", "right", "--no-conformance"), 0),
    "replay, a defect": Example(("replay", "wrong", "--no-conformance"), 1, "is violated "),
    "replay, not promised": Example(("replay", "zookeeper", "--no-conformance"), 0, skipped=NOT_PROMISED),
    "replay, unknown": Example((*SILENT, "--no-conformance"), 0, skipped=NOTHING_TO_JUDGE),
    "replay, required": Example(
        (*SILENT, "--no-conformance", "--require", "all"), 1, "is required, and not decided"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Histories as they should be, with a defect, and of a mode that does not promise everything."""
    place = tmp_path_factory.mktemp("gate")
    for name, words in (
        ("right", ("id-blocks/kraft",)),
        ("wrong", ("id-blocks/kraft", "--config", "broken=answers_before_commit")),
        ("zookeeper", ("id-blocks/zookeeper",)),
    ):
        ran = fencepost("generate", words[0], place / name, "--histories", 6, "--config", "events=200", *words[1:])
        assert ran.code == 0, ran.err
    columns, _ = SEEDED_HISTORY.seeded(1, 0, 1, share=0.0)
    for kind, instead in ((Kind.block_committed, Kind.zk_written), (Kind.answer_sent, Kind.answer_dropped)):
        columns["kind"][columns["kind"] == kind] = instead
    write_histories(place / "silent", [columns], EVENTS, config={"mode": "zookeeper"})
    return place


@dataclass(frozen=True)
class Made:
    """What a command printed, and its reports."""

    ran: Ran
    junit: JUnitXml
    sarif: dict[str, Any]

    def cases(self, outcome: type | None) -> list[Any]:
        every = [case for suite in self.junit for case in suite]
        return [case for case in every if (type(case.result[0]) if case.result else None) is outcome]


def made_of(example: Example, place: Path, folder: Path, *further: str) -> Made:
    files = {suffix: folder / f"g.{suffix}" for suffix in ("junit", "sarif")}
    words = [place / word if (place / str(word)).is_dir() else word for word in example.words]
    with pytest.MonkeyPatch.context() as patch, example.within():
        patch.chdir(place)
        ran = fencepost(*words, *(word for suffix, file in files.items() for word in (f"--{suffix}", file)), *further)
    return Made(ran, JUnitXml.fromfile(str(files["junit"])), json.loads(files["sarif"].read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", EXAMPLES)
def test_reports_say_what_the_exit_code_says(name: str, histories: Path, tmp_path: Path) -> None:
    """A failure in JUnit, and an error in SARIF, where it is 1, and only there; what is undecided is skipped, or a
    note, with the reason. Times add up to the command's."""
    example = EXAMPLES[name]
    began = time.perf_counter()
    made = made_of(example, histories, tmp_path)
    took = time.perf_counter() - began
    assert made.ran.code == example.code, made.ran.err
    failed = made.cases(Failure)
    assert bool(failed) == (example.code == 1) and made.junit.errors == 0
    assert all(example.failed in case.result[0].message for case in failed)
    skipped = made.cases(Skipped)
    assert bool(skipped) == bool(example.skipped)
    assert all(case.result[0].message == example.skipped for case in skipped)
    assert made.cases(None) or name == "agree, a defect"
    times = [case.time for suite in made.junit for case in suite]
    assert sum(times) == pytest.approx(sum(suite.time for suite in made.junit), abs=1e-3)
    assert 0 < sum(times) < took
    [run] = made.sarif["runs"]
    levels = [one["level"] for one in run["results"]]
    undecided = [case for case in skipped if case.result[0].message != NOT_PROMISED]
    assert (levels.count("error"), levels.count("note")) == (len(failed), len(undecided))
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"]
        assert (rule["id"] in RULES) == (rule.get("helpUri") in LINKS.values())
    for one in run["results"]:
        [place] = one["locations"]
        found = place["physicalLocation"]
        file = Path(found["artifactLocation"]["uri"])
        base = ROOT if "uriBaseId" in found["artifactLocation"] else histories
        assert not file.is_absolute() and (base / file).is_file() and found["region"]["startLine"] >= 1


@pytest.mark.parametrize("name", ["prove", "agree, a defect", "replay, a defect", "replay, required"])
def test_quiet_prints_what_is_not_as_expected(name: str, histories: Path, tmp_path: Path) -> None:
    """Nothing where the exit code is 0, else each case that failed; and the reports are as ever."""
    example = EXAMPLES[name]
    made = made_of(example, histories, tmp_path, "--quiet")
    assert made.ran.code == example.code
    failed = made.cases(Failure)
    firsts = [line for line in made.ran.out.splitlines() if example.failed in line]
    assert bool(made.ran.out) == bool(failed) and len(firsts) >= len(failed)
    assert all(any(case.name in line for line in firsts) for case in failed)


def test_quiet_of_a_command_without_cases(tmp_path: Path) -> None:
    """All that it prints, where the exit code is 1, and nothing where it is 0; before the command's name too."""
    run = tmp_path / "run.json"
    assert fencepost("--quiet", "show", "transactions/v1-verified", "nothing committed unasked", "--itf", run).out == ""
    ran = fencepost("validate", "transactions/v1-verified", run)
    assert ran.code == 1 and ran.out
    assert fencepost("validate", "transactions/v1-verified", run, "--quiet") == ran
    assert fencepost("list", "--quiet") == Ran(0, "", "")
    assert fencepost("list").out


def test_annotations_are_printed_with_quiet_too(
    histories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub reads them from the output."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    made = made_of(EXAMPLES["replay, a defect"], histories, tmp_path, "--quiet")
    annotated = [line for line in made.ran.out.splitlines() if line.startswith("::error ")]
    assert annotated and all("file=wrong/manifest.json,line=1," in line for line in annotated)


@pytest.mark.parametrize(("evidence", "outcome"), [({}, "undecided"), ({"not_promised": NOT_PROMISED}, "not asked")])
def test_what_may_be_undecided_does_not_pass(evidence: dict[str, str], outcome: str) -> None:
    """Though it is as expected."""
    one = Result("id-blocks", "kraft", "no_id_twice", "always", "explore", "unknown", "unknown", None, 1.0, evidence)
    [case] = cases_of([ID_BLOCKS], [one])
    assert case.outcome == outcome


def test_times_are_divided_by_work() -> None:
    """Where nothing was computed, each case has the same share."""
    assert shares([Case("s", "n", "", "passed", work=work) for work in (1.0, 3.0, 0.0)], 8.0) == [2.0, 6.0, 0.0]
    assert shares([Case("s", "n", "", "passed")] * 2, 8.0) == [4.0, 4.0]


def test_junit_counts_what_failed(tmp_path: Path) -> None:
    """An interrupt is a failure of its own. Counts are read as they are written: junitparser adds up missing ones."""
    outcomes: tuple[Outcome, ...] = ("passed", "failed", "undecided")
    cases = [Case("s", "n", "", outcome) for outcome in outcomes]
    for interrupted in (False, True):
        write_junit(tmp_path / "g.xml", "prove", cases, 1.0, interrupted=interrupted)
        root = ElementTree.parse(tmp_path / "g.xml").getroot()
        counts = [int(root.attrib[name]) for name in ("tests", "failures", "skipped")]
        assert counts == [3 + interrupted, 1 + interrupted, 1]
    [*_, last] = [case for suite in JUnitXml.fromfile(str(tmp_path / "g.xml")) for case in suite]
    assert last.name == INTERRUPTED and isinstance(last.result[0], Failure)


def test_a_report_that_was_cut_short_says_so() -> None:
    """A list becomes an object, so that nothing reads it as a whole one."""
    assert cut_short({"schema": SCHEMA, "rows": []}) == {"schema": SCHEMA, "rows": [], "interrupted": True}
    assert cut_short(["a row"]) == {"schema": SCHEMA, "interrupted": True, "found": ["a row"]}


def test_sarif_has_each_finding_once(tmp_path: Path) -> None:
    """What failed after it was undecided is there too, and what passed or was not asked is not."""
    outcomes: tuple[Outcome, ...] = ("undecided", "failed", "failed", "failed", "passed", "not asked")
    cases = [Case("s", name, f"by {at}", outcomes[at]) for at, name in enumerate("aaabcd")]
    write_sarif(tmp_path / "g.sarif", cases)
    [run] = json.loads((tmp_path / "g.sarif").read_text(encoding="utf-8"))["runs"]
    found = [(one["level"], one["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]) for one in run["results"]]
    assert found == [("note", "s.a"), ("error", "s.a"), ("error", "s.b")]


def test_what_xml_cannot_have_is_replaced(tmp_path: Path) -> None:
    """A message may have any character of what was driven."""
    write_junit(tmp_path / "g.xml", "agree", [Case("s", "n", "", "failed", "a\x00\x1b[0m\ud800", "b\x07\nc")], 1.0)
    [case] = [case for suite in JUnitXml.fromfile(str(tmp_path / "g.xml")) for case in suite]
    assert case.result[0].message == "a\ufffd\ufffd[0m\ufffd" and case.system_out == "b\ufffd\nc"
