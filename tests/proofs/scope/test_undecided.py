"""What could not be decided is no success: not where there was nothing to judge, not where a recording hides too much,
and not where the model followed too little."""

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from command_line import fencepost, read_json
from fencepost.proofs import replays as module
from fencepost.proofs.engines import run_engines
from fencepost.proofs.results import Result, Verdict, worst
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import NOTHING_TO_JUDGE, ReplayReport, replay
from fencepost.properties.catalogue import FOLLOWED, find, protocols
from fencepost.properties.history import write_histories
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY
from fencepost.properties.transactions.histories.late import EXPECTING
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from junitparser import Failure, JUnitXml, Skipped
from small_catalogue import small_catalogue

SILENT = "    1 unknown (answers disjoint): " + NOTHING_TO_JUDGE
RECORDING = "id-blocks-kraft-3-nodes"


@pytest.fixture
def without_answers(tmp_path: Path) -> Path:
    """Histories in which every kind of event is recorded, but no answer was ever sent."""
    columns, _ = SEEDED_HISTORY.seeded(1, 0, 1, share=0.0)
    for kind in (5, 6):  # answer_sent, and what goes with it
        columns["kind"][columns["kind"] == kind] = 19 if kind == 5 else 8
    write_histories(tmp_path / "h", [columns], ID_BLOCKS, config={"mode": "zookeeper"})
    return tmp_path / "h"


def test_what_judged_nothing_is_unknown(without_answers: Path, tmp_path: Path) -> None:
    """It used to hold, with a remark: in the report, in words, and in JSON it is unknown now, with that reason."""
    report = replay(without_answers, cores=1, checks=["blocks_disjoint", "answers_disjoint"])
    assert report.unknown == {"answers_disjoint": NOTHING_TO_JUDGE}
    assert (report.decided, report.vacuous) == (("blocks_disjoint",), ("answers_disjoint",))
    options = ("--no-conformance", "--json", tmp_path / "r.json")
    ran = fencepost("replay", without_answers, *options)
    assert SILENT in ran.out.splitlines()
    ran = fencepost("replay", without_answers, *options, "--verbose")
    assert "    answers disjoint             unknown: " + NOTHING_TO_JUDGE in ran.out.splitlines()
    assert "answers disjoint             holds" not in ran.out
    assert read_json(tmp_path / "r.json")["unknown"]["answers_disjoint"] == NOTHING_TO_JUDGE
    assert ran.code == 0  # the rest is decided


def test_nothing_decided_at_all_is_no_success(without_answers: Path) -> None:
    """Exit code 2, and a line that says so."""
    ran = fencepost("replay", without_answers, "--no-conformance", "--check", "answers_disjoint")
    assert ran.code == 2
    assert ran.err.splitlines() == [
        "nothing was decided: every property is unknown or not promised, which is no success"
    ]


@pytest.mark.parametrize(
    ("required", "code", "unmet"),
    [
        (["blocks_disjoint"], 0, []),
        (["blocks_disjoint", "answers_disjoint"], 1, ["answers disjoint"]),
        (["all"], 1, ["answers disjoint"]),
    ],
)
def test_what_is_required_has_to_be_decided(
    without_answers: Path, tmp_path: Path, required: list[str], code: int, unmet: list[str]
) -> None:
    """Exit code 1 and a line for each that is not; they are in the JSON too."""
    options = [option for name in required for option in ("--require", name)]
    observed = tmp_path / "r.json"
    ran = fencepost("replay", without_answers, "--no-conformance", *options, "--json", observed)
    assert ran.code == code, ran.out + ran.err
    lines = [f"required, and not decided: {name}: {NOTHING_TO_JUDGE}" for name in unmet]
    assert sorted(ran.err.splitlines()) == sorted(lines)
    assert [name.replace("_", " ") for name in sorted(read_json(observed)["unmet"])] == sorted(unmet)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--require", "nonsense"], "--require: id-blocks has no history property 'nonsense'; "),
        (
            ["--require", "ids_unique", "--check", "blocks_disjoint"],
            "--require: ids_unique is not checked: name it with",
        ),
        (["--require", "conformance", "--no-conformance"], "--require: conformance is not checked: name it with"),
    ],
)
def test_what_cannot_be_required_is_refused(without_answers: Path, options: list[str], line: str) -> None:
    """One line, exit code 2."""
    ran = fencepost("replay", without_answers, *options)
    assert ran.code == 2
    assert line in ran.err and len(ran.err.splitlines()) == 1


def test_conformance_that_is_required_has_to_follow_every_history() -> None:
    """As many as were left, of how many, and why."""
    report = some_report({"conformance": 30}, {"conformance": {"a record comes late": 10}})
    assert report.unmet(["conformance", "ids_unique"]) == {
        "conformance": "not decided on 10 of 40 histories: a record comes late (10 times)"
    }


def test_what_the_mode_does_not_promise_is_not_unknown(tmp_path: Path) -> None:
    """Another word, in text and JSON; and `--require all` does not ask for it."""
    config = {"mode": "B", "events": 300, "quiet_end": True}
    simulator = "fencepost.reference_impl.systems.task_counts:simulate_with_stats"
    generate(tmp_path / "h", simulator, histories=12, seed=1, config=config, protocol="task-counts", variant="B")
    observed = tmp_path / "r.json"
    ran = fencepost("replay", tmp_path / "h", "--require", "all", "--verbose", "--json", observed)
    assert ran.code == 0, ran.out + ran.err
    assert "    assignments reach counts     not promised: mode B does not promise it" in ran.out.splitlines()
    assert "    conformance                  holds (12 judged)" in ran.out.splitlines()
    reported = read_json(observed)
    assert reported["not_promised"] == {"assignments_reach_counts": "mode B does not promise it"}
    assert (reported["unknown"], reported["unmet"]) == ({}, {})


# verify


def some_report(judged: dict[str, int], undecided: dict[str, dict[str, int]]) -> ReplayReport:
    """A report on 40 histories in which nothing is violated."""
    unknown = {name: NOTHING_TO_JUDGE for name, count in judged.items() if not count}
    return ReplayReport(
        400, 40, 1, {"ids_unique": 5, **judged}, {}, unknown, {}, undecided, {}, seconds=1.0, cpu_seconds=1.0
    )  # fmt: skip


def verdicts(report: ReplayReport, pinned: str = "v2") -> dict[str, Result]:
    """What verify makes of a report on histories of transactions, variant v2."""
    entry = protocols()["transactions"]
    undecided = entry.undecided.get(pinned, ())
    found = module._replayed(entry, entry.variant("v2"), "v2", "them", report, "histories", undecided, FOLLOWED)
    return {r.property: r for _, r in found}


def test_a_history_property_that_judged_nothing_is_unexpected() -> None:
    """Unless the catalogue says so of these histories."""
    found = verdicts(some_report({"read_once": 0}, {}))["read_once"]
    assert (found.verdict, found.as_expected, found.evidence["reason"]) == ("unknown", False, NOTHING_TO_JUDGE)
    assert verdicts(some_report({"none_hanging": 0}, {}))["none_hanging"].as_expected
    assert verdicts(some_report({"ids_unique": 0}, {}))["ids_unique"].verdict == "unknown"


def test_what_is_pinned_as_undecided_may_not_be_decided_silently() -> None:
    """The set is pinned both ways, so that it says what there is."""
    found = verdicts(some_report({"none_hanging": 3}, {}))["none_hanging"]
    assert (found.verdict, found.expected, found.as_expected) == ("holds", "unknown", False)


@pytest.mark.parametrize(("left", "verdict"), [(2, "holds"), (3, "unknown"), (40, "unknown")])
def test_too_few_histories_followed_to_their_end_are_inconclusive(left: int, verdict: str) -> None:
    """Of 40 histories of v2, 38 have to be; the share is told either way."""
    found = verdicts(some_report({"conformance": 40 - left}, {"conformance": {"no room": left}}))["conformance"]
    assert (found.verdict, found.as_expected) == (verdict, verdict == "holds")
    assert (found.evidence["followed"], found.evidence["least"]) == (1 - left / 40, 0.95)


def test_modes_break_what_agreement_excuses_in_them() -> None:
    """What histories of v1 are not held to is a property of a promise that v1 is known to break, or a rule on the way:
    everything else is checked."""
    for mode, names in transactions.broken_by_design.items():
        rules = {transactions.properties[name].rule for name in names}
        assert {rule for rule in rules if ".P" in rule} <= EXPECTING[mode]
        assert {rule for rule in rules if ".P" not in rule} <= {"txn.10", "txn.16", "txn.21"}
        assert len(names) < len(transactions.properties) // 2


def test_every_shipped_recording_is_judged_and_pinned() -> None:
    """It names a variant of its protocol; the catalogue says what it cannot decide, and what the system broke there."""
    for entry in protocols().values():
        assert set(entry.violated) <= {place.name for place in module.recordings(entry.name)}
        for place in module.recordings(entry.name):
            assert read_json(place / "manifest.json")["variant"] in {variant.name for variant in entry.variants}
            assert place.name in entry.undecided
    pinned = {name for entry in protocols().values() for name in entry.undecided}
    assert len([name for name in pinned if "-k" in name]) == 6


@pytest.fixture
def ran_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, dict[str, Any], JUnitXml]]:
    """`fencepost verify` over the small catalogue, with another recording in place of the shipped one."""

    def run(change: Callable[[dict[str, Any]], None]) -> tuple[int, dict[str, Any], JUnitXml]:
        copy = tmp_path / RECORDING
        (original,) = (place for place in module.recordings("id-blocks") if place.name == RECORDING)
        shutil.copytree(original, copy)
        reported = read_json(copy / "manifest.json")
        change(reported)
        (copy / "manifest.json").write_text(json.dumps(reported))
        monkeypatch.setattr(module, "recordings", lambda _: [copy])
        with small_catalogue():
            ran = fencepost("verify", "--json", tmp_path / "v.json", "--junit", tmp_path / "v.xml", "--seed", 7)
        return ran.code, read_json(tmp_path / "v.json"), JUnitXml.fromfile(str(tmp_path / "v.xml"))

    return run


def test_a_recorder_that_loses_a_kind_of_event_is_found_out(
    ran_with: Callable[..., tuple[int, dict[str, Any], JUnitXml]],
) -> None:
    """The properties that need it become unknown, which the catalogue does not say of this recording: exit code 1. In
    JUnit they are failures, and say so; all that is unknown as expected is skipped."""
    code, document, junit = ran_with(lambda reported: reported["observable"].remove("id_handed_out"))
    assert code == 1
    wrong = [r for r in document["results"] if r["verdict"] != r["expected"]]
    assert {r["property"] for r in wrong} == {"ids_unique", "ids_within_blocks"}
    assert {(r["verdict"], r["expected"]) for r in wrong} == {("unknown", "holds")}
    cases = [case for suite in junit for case in suite if case.result]
    failed = [case for case in cases if isinstance(case.result[0], Failure)]
    assert sorted(case.name for case in failed) == ["ids_unique", "ids_within_blocks"]
    assert all(case.result[0].message.startswith("is unknown, and holds was expected (") for case in failed)
    skipped = [case.name for case in cases if isinstance(case.result[0], Skipped)]
    unknown = [r["property"] for r in document["results"] if r["verdict"] == r["expected"] == "unknown"]
    assert sorted(skipped) == sorted(unknown)


def test_a_recording_that_switches_a_property_off_is_found_out(
    ran_with: Callable[..., tuple[int, dict[str, Any], JUnitXml]],
) -> None:
    """A manifest may say why something cannot be decided: of a shipped recording that is pinned."""
    code, document, _ = ran_with(lambda reported: reported["config"].update(undecidable={"ids_unique": "it is"}))
    assert code == 1
    assert [r["property"] for r in document["results"] if r["verdict"] != r["expected"]] == ["ids_unique"]


def test_the_same_recording_as_it_ships_is_as_expected(
    ran_with: Callable[..., tuple[int, dict[str, Any], JUnitXml]],
) -> None:
    """As a control."""
    code, document, _ = ran_with(lambda reported: None)
    assert code == 0
    assert [r["property"] for r in document["results"] if r["verdict"] != r["expected"]] == []


def test_histories_too_short_for_anything_are_inconclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations of three events hand out no id: every property of ids is unknown, and that is told."""
    import small_catalogue as small

    made = small.small_entry

    def short(*change: Any) -> Any:
        entry = made(*change)
        simulated = entry.simulators[0]
        return replace(entry, simulators=((*simulated[:2], {**simulated[2], "events": 3}),))

    monkeypatch.setattr(small, "small_entry", short)
    with small_catalogue():
        ran = fencepost("verify", "--json", tmp_path / "v.json", "--seed", 7)
    assert ran.code == 1
    wrong = [r for r in read_json(tmp_path / "v.json")["results"] if r["verdict"] != r["expected"]]
    assert "ids_unique" in {r["property"] for r in wrong}
    assert {(r["verdict"], r["evidence"]["reason"]) for r in wrong} == {("unknown", NOTHING_TO_JUDGE)}


def test_the_worst_verdict_counts() -> None:
    """On several results together, in whatever order they come: a violation before all, and undecided before what
    holds."""
    order: tuple[Verdict, ...] = ("violated", "not proved", "unknown", "vacuous", "holds")
    for place, worse in enumerate(order):
        for better in order[place:]:
            assert worst([better, worse]) == worst([worse, better]) == worse


def test_only_the_expected_verdict_is_as_expected() -> None:
    """Neither an undecided one, nor one that holds where a violation is predicted."""
    for verdict, expected in itertools.product(get_args(Verdict), repeat=2):
        one = Result("p", "v", "x", "always", "induction", verdict, expected, None, 0.0)
        assert one.as_expected == (verdict == expected)


@pytest.mark.parametrize(
    ("in_turn", "counts"),
    [
        ([("violated", 0), ("holds", 5)], ("violated", 0)),
        ([("holds", 5), ("violated", 0)], ("violated", 0)),
        ([("holds", 5), ("holds", 3)], ("holds", 5)),
        ([("holds", 3), ("holds", 5)], ("holds", 5)),
    ],
)
def test_of_several_bounds_the_worst_counts(
    in_turn: list[tuple[str, int]], counts: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of progress; and where it holds in all of them, the one with the most states that wait."""
    entry, variant = find("two-phase/retained")
    assert variant is not None and len(variant.progress_bounds) == 2
    each = iter(in_turn)

    def checked(_: object) -> dict[str, SimpleNamespace]:
        verdict, waiting = next(each)
        return {"found_is_ended": SimpleNamespace(verdict=verdict, waiting=waiting, trace=None)}

    monkeypatch.setattr("fencepost.proofs.engines.progress.check_progress", checked)
    [made] = run_engines.run_progress(entry, variant)
    assert (made.verdict, made.evidence["waiting"]) == counts
