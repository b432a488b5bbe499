"""`fencepost verify`: on one screen, as a page, for scripts, where code is reviewed, and when its exit code is 1."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from browser import BROWSER, DRIVER, WHY_NOT, browser
from command_line import Ran, fencepost, read_json
from fencepost.model.rules import LINKS, RULES
from fencepost.proofs.cases import Case, cases_of
from fencepost.proofs.engines.run_engines import contradictions, result
from fencepost.proofs.pages.verdict_page import Verdicts, verdict_page
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.replays import HISTORIES
from fencepost.proofs.results import Result, Verdict
from fencepost.proofs.sarif import annotations
from fencepost.proofs.scope.scopes import USERS_RELY_ON
from fencepost.proofs.tally import spent, standing, tally
from fencepost.proofs.variants import judge_main
from fencepost.proofs.verify import EXAMPLES
from fencepost.properties.catalogue import Variant, find, protocols
from fencepost.properties.entries import PROFILES
from junitparser import Failure, JUnitXml, Skipped
from parsed_pages import parsed
from small_catalogue import small_catalogue

ROOT = Path(__file__).parents[3]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
VERDICTS = {"holds", "violated", "unknown"}
KINDS = {"always", "step", "sometimes", "eventually", "history", "agreement"}
ENGINES = {"induction", "explore", "progress", "agreement", "replay"}
KEYS = (
    "protocol", "variant", "property", "kind", "engine", "verdict", "expected", "bound", "seconds", "evidence", "scope",
    "out", "excused", "cached",
)  # fmt: skip


def without_prediction(variant: Variant) -> Variant:
    asks = ("no_id_twice", "disjoint_blocks")
    return replace(variant, expected={}, asks=asks) if variant.name == "by-broker-id" else variant


@dataclass(frozen=True)
class Made:
    """One run over the small catalogue: what it printed, and its reports."""

    ran: Ran
    document: dict[str, Any]
    junit: JUnitXml
    page: str
    sarif: dict[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.document["results"]  # type: ignore[no-any-return]


def verify(folder: Path, change: Callable[[Variant], Variant] | None = None, *words: str) -> Made:
    files = {suffix: folder / f"v.{suffix}" for suffix in ("json", "junit", "html", "sarif")}
    with small_catalogue(*([change] if change else [])):
        asked = [word for suffix, file in files.items() for word in (f"--{suffix}", file)]
        ran = fencepost("verify", "--seed", 7, *asked, *words)
    texts = {suffix: file.read_text(encoding="utf-8") for suffix, file in files.items()}
    junit = JUnitXml.fromfile(str(files["junit"]))
    return Made(ran, json.loads(texts["json"]), junit, texts["html"], json.loads(texts["sarif"]))


@pytest.fixture(scope="module")
def as_expected(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One run in which everything is as expected, on a machine that has no Java: the main job needs none."""
    folder = tmp_path_factory.mktemp("verify")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("GITHUB_ACTIONS", "true")
        patch.setenv("PATH", str(folder))
        patch.delenv("JAVA_HOME", raising=False)
        return verify(folder, None, "--verbose")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The same on one screen."""
    return verify(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two violations are not predicted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("GITHUB_ACTIONS", "true")
        return verify(tmp_path_factory.mktemp("wrong"), without_prediction)


def conclusion(ran: Ran) -> str:
    """The line that counts the verdicts."""
    [line] = [line for line in ran.out.splitlines() if " verdicts in " in line]
    return line


def test_exit_code_0_and_a_sentence_of_conclusion(as_expected: Made) -> None:
    """Predicted violations are as expected; one line counts verdicts by engine; with --verbose each is printed."""
    ran, document = as_expected.ran, as_expected.document
    assert ran.code == 0, ran.out + ran.err
    assert ran.err == ""
    last = conclusion(ran)
    assert last.startswith(f"{len(document['results'])} verdicts in ")
    assert last.endswith(" violations as predicted; 0 not as expected")
    assert all(f" by {engine}" in last for engine in ENGINES)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "no id twice violated as predicted explore in 3 steps" in lines
    assert "id-blocks/zookeeper: every broker takes its blocks from ZooKeeper" in lines
    assert "Left unchecked by these bounds" in lines
    assert any(line.startswith("id-blocks/zookeeper: progress is known only of brokers 2") for line in lines)


def test_the_contract_for_scripts(as_expected: Made) -> None:
    """Keys and allowed values of the JSON; every kind and every engine occurs."""
    document = as_expected.document
    assert list(document) == ["schema", "version", "seed", "profile", "sources", "results"]
    assert any(file.endswith("model/id_blocks/zookeeper.py") for file in document["sources"])
    assert (document["seed"], document["profile"]) == (7, "smoke")
    results = document["results"]
    assert {tuple(r) for r in results} == {KEYS}
    assert {r["verdict"] for r in results} == VERDICTS
    assert {r["expected"] for r in results} <= VERDICTS
    assert {r["kind"] for r in results} == KINDS
    assert {r["engine"] for r in results} == ENGINES
    assert all(r["seconds"] >= 0 and isinstance(r["evidence"], dict) for r in results)
    unbounded = {r["engine"] for r in results if r["bound"] is None}
    assert unbounded == {"induction", "agreement", "replay"}


def test_a_counterexample_is_in_the_report(as_expected: Made) -> None:
    """A reader of the JSON gets the run, as events and in words."""
    violated = [r for r in as_expected.rows if r["verdict"] == "violated" and r["engine"] == "explore"]
    assert violated
    assert all(len(r["evidence"]["events"]) == r["evidence"]["steps"] > 0 for r in violated)
    assert all(r["evidence"]["words"] for r in violated)


def test_junit_has_a_case_for_every_verdict(as_expected: Made) -> None:
    """One case per verdict, none of them twice; what is unknown, as expected, is skipped with the reason; and the times
    add up to that of the command, which has worked on several cores."""
    document, junit = as_expected.document, as_expected.junit
    cases = [(suite.name, case) for suite in junit for case in suite]
    assert len(cases) == len(document["results"])
    assert max(Counter((name, case.classname, case.name) for name, case in cases).values()) == 1
    unknown = [case for _, case in cases if case.result]
    assert len(unknown) == sum(r["verdict"] == "unknown" for r in document["results"]) > 0
    assert (junit.failures, junit.errors, junit.skipped) == (0, 0, len(unknown))
    assert all(isinstance(case.result[0], Skipped) and case.result[0].message for case in unknown)
    [took] = re.findall(r" verdicts in (\d+) s", as_expected.ran.out)
    assert all(abs(suite.time - sum(case.time for case in suite)) < 1e-3 for suite in junit)  # each is in milliseconds
    assert abs(sum(suite.time for suite in junit) - float(took)) < 2


def test_a_violation_that_is_not_predicted(wrong: Made) -> None:
    """Exit code 1, the words in full and the commands that tell more, and a failure in JUnit that carries the run;
    nothing else has a heading."""
    assert wrong.ran.code == 1
    found = [r for r in wrong.rows if r["verdict"] != r["expected"]]
    assert {(r["variant"], r["property"], r["verdict"]) for r in found} == {
        ("by-broker-id", "no_id_twice", "violated"),
        ("by-broker-id", "disjoint_blocks", "violated"),
    }
    printed = [line for line in wrong.ran.out.splitlines() if not line.startswith("::")]
    lines = [" ".join(line.split()) for line in printed]
    assert [line for line in lines if line.startswith("id-blocks/")] == [
        "id-blocks/by-broker-id: a range per broker id, which no log remembers [730.17]"
    ]
    assert "no id twice violated explore in 3 steps expected: holds" in lines
    assert conclusion(wrong.ran).endswith(f"{len(found)} not as expected")
    last = [line.removeprefix("Next:").strip() for line in lines[-2:]]
    assert last == [f'fencepost show id-blocks/by-broker-id "{name}"' for name in ("no id twice", "disjoint blocks")]
    failed = [case for suite in wrong.junit for case in suite if case.result and isinstance(case.result[0], Failure)]
    assert len(failed) == len(found) == wrong.junit.failures
    assert {case.result[0].message for case in failed} == {"is violated, and holds was expected"}
    assert all("configure(" in case.system_out for case in failed)


def test_a_prediction_that_does_not_come_true(tmp_path: Path) -> None:
    """The absence of a predicted violation is a failure too."""

    def with_prediction(variant: Variant) -> Variant:
        repaired = variant.name == "by-broker-id-repaired"
        return replace(variant, expected={"no_id_twice": "violated"}) if repaired else variant

    found = verify(tmp_path, with_prediction)
    assert found.ran.code == 1
    assert any(line.endswith("expected: violated") for line in found.ran.out.splitlines())
    assert found.junit.failures > 0


def test_engines_that_disagree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a proof says that what the explorer broke holds, the run fails and says who says what."""
    import fencepost.proofs.verify as module

    proved = Result("id-blocks", "by-broker-id", "no_id_twice", "always", "induction", "holds", "violated", None, 0.1)
    stage = module._implementation
    monkeypatch.setattr(module, "_implementation", lambda *a: iter([("a faulty prover", proved), *stage(*a)]))
    found = verify(tmp_path)
    ran, junit = found.ran, found.junit
    assert ran.code == 1
    text = "id-blocks/by-broker-id no_id_twice: induction says it holds, explore that it does not"
    assert f"engines disagree: {text}" in ran.err.splitlines()
    asked = [line.removeprefix("Next:").strip() for line in ran.out.splitlines()[-2:]]
    assert asked == ["fencepost prove id-blocks/by-broker-id", 'fencepost show id-blocks/by-broker-id "no id twice"']
    assert any(case.name == text and isinstance(case.result[0], Failure) for suite in junit for case in suite)


def test_unknown_where_a_verdict_was_expected_has_failed() -> None:
    """As the exit code, 1, has it; a search that judged two properties has its time once, and the cache none."""
    entry, variant = find("id-blocks/kraft")
    assert variant is not None
    results = [
        replace(result(entry, variant, "no_id_twice", "always", *judged, 3.0, None, {}), expected="holds")
        for judged in (("explore", "unknown"), ("explore", "holds"), ("induction", "holds"))
    ]
    results.append(replace(results[-1], cached="2026-01-01"))
    assert [(case.outcome, case.work) for case in cases_of([entry], results)] == [
        ("failed", 1.5), ("passed", 1.5), ("passed", 3.0), ("passed", 0.0),
    ]  # fmt: skip


def a_result(engine: str, verdict: Any, bound: dict[str, int] | None, **further: Any) -> Result:
    """A verdict on one property of one variant."""
    given = dict(kind="always", expected="holds", steps=None) | further
    evidence = {} if given["steps"] is None else {"steps": given["steps"]}
    return Result("p", "v", "q", given["kind"], engine, verdict, given["expected"], bound, 0.0, evidence)


def explored(verdict: str, steps: int | None = None, **bound: int) -> Result:
    return a_result("explore", verdict, bound, steps=steps)


PROOF = a_result("induction", "holds", None)
CONTRADICTIONS = {
    "a proof, and a violation": ([PROOF, explored("violated", 3, ids=2)], 1),
    "a search, and a violation within its bounds": ([explored("holds", ids=3), explored("violated", 3, ids=2)], 1),
    "a search, and a violation beyond its bounds": ([explored("holds", ids=2), explored("violated", 3, ids=3)], 0),
    "an attempt at a proof that failed": ([a_result("induction", "violated", None), explored("holds", ids=2)], 0),
    "what could not be decided": ([PROOF, explored("unknown", ids=2)], 0),
    "agreement": ([PROOF, explored("holds", ids=2)], 0),
    "witnesses, reached within larger bounds only": (
        [a_result("explore", v, b, kind="sometimes") for v, b in (("holds", dict(ids=3)), ("violated", dict(ids=2)))],
        0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_contradictions(case: str) -> None:
    """Two answers contradict each other only if the violation lies within what the other looked at."""
    results, count = CONTRADICTIONS[case]
    assert len(contradictions(results)) == count
    assert len(contradictions(results[::-1])) == count
    other = [replace(results[0], variant="another"), *results[1:]]
    assert contradictions(other) == []


def test_wider_profiles_hold_the_readings_against_one_another(tmp_path: Path) -> None:
    """A row for each action and property in the report, and one line on paper."""
    with small_catalogue(), mock.patch.dict(EXAMPLES, ci=5), mock.patch.dict(HISTORIES, ci=5):
        ran = fencepost("verify", "--profile", "ci", "--verbose", "--json", tmp_path / "v.json")
    assert ran.code == 0, ran.out
    rows = [r for r in read_json(tmp_path / "v.json")["results"] if r["engine"] == "equal"]
    assert {r["verdict"] for r in rows} == {"holds"} and {r["kind"] for r in rows} == {"reading"}
    of = [r["evidence"]["of"] for r in rows if r["evidence"]["reading"] == "packed words"]
    text = f"{of.count('action')} actions, {of.count('property')} properties holds the same in each reading"
    assert [line for line in ran.out.splitlines() if " ".join(line.split()).startswith(text)]


def test_a_proof_may_be_left_to_another_profile() -> None:
    """Then no verdict of this one is by induction, and what is left unchecked says so."""
    entry, variant = find("id-blocks/zookeeper")
    assert variant is not None
    late = replace(variant, proof_from="nightly", progress_bounds=())
    assert [profile for profile in PROFILES if late.is_proved_in(profile)] == ["nightly"]
    text = "id-blocks/zookeeper: its proof is left to the profile nightly"
    for each, is_left in ((late, True), (replace(late, proof_from="smoke"), False)):
        made = judge_main(entry, each, "smoke")
        assert ("induction" not in {found.engine for _, found in made.results}) is is_left
        assert (text in made.open) is is_left


def cells(ran: Ran) -> list[int]:
    """The numbers in the line of the protocol."""
    [line] = [line for line in ran.out.splitlines() if re.match(r"id-blocks +\d", line)]
    return [int(word.replace(",", "")) for word in line.split()[1:]]


def of_model(rows: list[dict[str, Any]]) -> Iterator[tuple[set[str], set[str], bool]]:
    """By variant and promise: the engines that say it holds, the verdicts, and whether all are as expected."""
    rely = [r for r in rows if r["evidence"].get("role") in ("promise", "step", "progress")]
    for pair in {(r["variant"], r["property"]) for r in rely}:
        mine = [r for r in rely if (r["variant"], r["property"]) == pair]
        holding = {r["engine"] for r in mine if r["verdict"] == "holds"}
        yield holding, {r["verdict"] for r in mine}, all(r["verdict"] == r["expected"] for r in mine)


@pytest.mark.parametrize("which", ["made", "wrong"])
def test_the_table_has_the_numbers_of_the_report(which: str, request: pytest.FixtureRequest) -> None:
    """Variants, promises proved, held and refuted, what is not as expected, what was replayed and driven."""
    made: Made = request.getfixturevalue(which)
    rows, pairs = made.rows, list(of_model(made.rows))
    refuted = sum("violated" in verdicts for _, verdicts, fine in pairs if fine)
    proved = sum("induction" in engines for engines, verdicts, fine in pairs if fine and "violated" not in verdicts)
    held = sum("induction" not in e and bool(e) for e, verdicts, fine in pairs if fine and "violated" not in verdicts)
    assert proved and held and (refuted or which == "wrong")
    found = cells(made.ran)
    assert found[:5] == [4, proved, held, refuted, sum(r["verdict"] != r["expected"] for r in rows)]
    assert found[5:7] == [
        len({(r["variant"], r["evidence"]["histories"]) for r in rows if r["engine"] == "replay"}),
        len({r["variant"] for r in rows if r["engine"] == "agreement"}),
    ]
    assert found[8] == 0, "nothing is of the cache: a small catalogue is nothing of which an answer is known"


def test_open_dangers_are_those_that_the_command_lists(made: Made) -> None:
    """`fencepost dangers` names as many."""
    with small_catalogue():
        ran = fencepost("dangers", "id-blocks", "--fresh")
    listed = ran.out.partition("Open: ")[2].splitlines()[1:]
    assert len(listed) == cells(made.ran)[7] > 0


def test_one_screen(made: Made) -> None:
    """No line of the table is wider than the screen, no variant has a heading, and what is asked next works."""
    lines = made.ran.out.splitlines()
    assert made.ran.code == 0 and len(lines) < 25
    assert max(len(line) for line in lines if not line.startswith(("read ", f"{len(made.rows)} verdicts"))) <= 120
    assert not [line for line in lines if line.startswith("id-blocks/")]
    [left] = [line for line in lines if line.startswith("Left unchecked")]
    assert re.fullmatch(r"Left unchecked by these bounds: \d+ things, which --verbose names", left)
    command = lines[-1].strip()
    assert command.startswith("fencepost show id-blocks/by-broker-id ")
    assert fencepost(*shlex.split(command)[1:]).code == 0


def test_a_promise_is_counted_once() -> None:
    """As proved where induction has it, whatever searched it too; as nothing where some verdict is not as expected."""

    def on(engine: str, verdict: Any, expected: Any = "holds") -> Result:
        return Result("p", "v", "q", "always", engine, verdict, expected, None, 2.0, {"role": "promise"})

    assert standing([on("explore", "holds"), on("induction", "holds")]) == "proved"
    assert standing([on("explore", "holds"), on("equal", "holds")]) == "held"
    assert standing([on("explore", "violated", "violated")]) == "refuted"
    assert standing([on("induction", "holds"), on("explore", "vacuous")]) == "not as expected"
    assert standing([on("explore", "unknown", "unknown")]) == "not decided"
    other = replace(on("explore", "holds"), property="another")
    assert spent([on("explore", "holds"), other, on("induction", "holds")]) == 4.0, "one search, and one proof"


def test_a_tally_has_what_is_unexpected_and_what_an_earlier_run_computed() -> None:
    """Undecided is unexpected where another verdict was expected."""
    entry, variant = find("id-blocks/kraft")
    assert variant is not None
    verdicts: tuple[Verdict, ...] = ("holds", "unknown", "violated")
    found = [result(entry, variant, "no_id_twice", "always", "explore", each, 1.0, None, {}) for each in verdicts]
    counts = tally(entry, [replace(each, expected="holds") for each in (*found, replace(found[0], cached="2026"))])
    assert (counts.verdicts, counts.unexpected, counts.cached) == (4, 2, 1)


def test_the_page_has_the_verdict_of_each_promise(made: Made, wrong: Made) -> None:
    """Under its protocol and variant, with the word that --json has."""
    for each in (made, wrong):
        page = parsed(each.page)
        for row in each.rows:
            if row["evidence"].get("role") not in USERS_RELY_ON or row["verdict"] != "violated" != row["expected"]:
                continue
            place = page.of(f"id-blocks-{row['variant']}")
            found = [one.text() for one in place.all() if one.tag == "summary"]
            text = "violated" if row["expected"] != "violated" else "violated as predicted"
            assert [one for one in found if one.startswith(f"{text} {name_in_words(row['property'])} ")]


def test_every_link_leads_somewhere_within_the_page(made: Made) -> None:
    """And nothing reaches for the network: no other address is named, and the policy allows none."""
    page = parsed(made.page)
    anchors = page.values("id")
    assert len(anchors) == len(set(anchors))
    links = page.values("href")
    assert links and {link[:1] for link in links} == {"#"} and {link[1:] for link in links} <= set(anchors)
    assert not page.values("src") and not {"link", "iframe"} & {one.tag for one in page.all()}
    assert not re.findall(r"""@import|url\(|https?://(?!www\.w3\.org/2000/svg)""", made.page)
    [policy] = [one.attributes["content"] for one in page.all() if "http-equiv" in one.attributes]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert len(made.page.encode()) < 1_000_000


def test_a_run_that_breaks_a_promise_is_drawn(made: Made) -> None:
    """Each is among the stories, with as many steps as the engine found; and `show` is named, which tells it."""
    page = parsed(made.page)
    drawn = [one for one in page.all() if "data-story" in one.attributes]
    stories = json.loads(page.of("stories").text())["stories"]
    found = {(r["variant"], r["property"]) for r in made.rows if r["verdict"] == "violated" and r["bound"] is not None}
    assert len(drawn) == len(stories) == len(found) > 0
    for one in drawn:
        story = stories[int(one.attributes["data-story"])]
        place, prop = story["title"], story["asked"]
        assert f'fencepost show {place} "{prop}"' in one.text()
        mine = [r for r in made.rows if (f"id-blocks/{r['variant']}", name_in_words(r["property"])) == (place, prop)]
        assert len(story["steps"]) in {r["evidence"]["steps"] for r in mine}


def test_runs_are_drawn_and_verdicts_found_in_a_browser(made: Made, tmp_path: Path) -> None:
    """A run where it is opened, a step a row; of a rule's number what is about it; and the browser has no complaint."""
    if BROWSER is None or DRIVER is None:
        pytest.skip(WHY_NOT)
    (tmp_path / "v.html").write_text(made.page)
    with browser() as window:
        window.open((tmp_path / "v.html").as_uri())
        window.run("for (let o = document.querySelector('[data-story]'); o; o = o.parentElement) o.open = true")
        window.until("document.querySelectorAll('#run g.step').length")
        assert "What holds here" in window.text("#told")
        window.run(
            "const f = document.getElementById('filter'); f.value = '730.9'; f.dispatchEvent(new Event('input'))"
        )
        window.until("document.getElementById('matches').textContent")
        assert 0 < window.count("details.item:not(.left)") < window.count("details.item.left")
        assert window.complaints() == []


def test_a_rule_has_its_verdicts(made: Made) -> None:
    """Each rule of the source that was judged; of one that was got wrong before, what broke, and that it is from a
    file."""
    page = parsed(made.page)
    for number in (number for number, rule in RULES.items() if rule.area == "730"):
        assert RULES[number].says in page.of(f"rule-{number}").text()
    assert "id-blocks/by-broker-id: no id twice" in page.of("rule-730.P1").text()
    known = page.of("rule-730.2").text()
    assert "not computed in this run: from proofs/verdicts/id-blocks.json" in known
    assert '--without 730.2 "write: guard 1 dropped"' in known


def test_words_are_never_markup(made: Made) -> None:
    """Also those of an engine that are hostile."""
    empty = Verdicts(HOSTILE, HOSTILE, (HOSTILE,), (), (), HOSTILE, {}, (), (HOSTILE,), (HOSTILE,), ())
    page = verdict_page(empty)
    assert page.count("<script") == 2 and "<img" not in page


def test_each_at_the_line_that_states_it(wrong: Made) -> None:
    """In a file of the checkout, with the run in words; and in GitHub's own words too."""
    [run] = wrong.sarif["runs"]
    errors = [one for one in run["results"] if one["level"] == "error"]
    assert len(errors) == 2
    for one in errors:
        [place] = [where["physicalLocation"] for where in one["locations"]]
        lines = (ROOT / place["artifactLocation"]["uri"]).read_text().splitlines()
        stated = " ".join(lines[place["region"]["startLine"] - 1 :][:3])
        assert "no_id_twice" in stated or "disjoint_blocks" in stated
        assert "and holds was expected" in one["message"]["text"] and "configure(" in one["message"]["text"]
        rule = run["tool"]["driver"]["rules"][one["ruleIndex"]]
        assert rule["id"] == one["ruleId"] and RULES[rule["id"]].says in rule["shortDescription"]["text"]
        assert rule["helpUri"] == LINKS["730"]
    reported = [line for line in wrong.ran.out.splitlines() if line.startswith("::error file=properties/")]
    assert len(reported) == 2


def test_what_is_undecided_is_a_note(as_expected: Made) -> None:
    assert {one["level"] for one in as_expected.sarif["runs"][0]["results"]} == {"note"}
    assert "::error" not in as_expected.ran.out and "::notice file=" in as_expected.ran.out


def test_engines_that_disagree_stand_at_their_protocol() -> None:
    """Not at that of the first protocol that was judged."""
    entries = [protocols()["transactions"], protocols()["id-blocks"]]
    [one] = cases_of(entries, [], ["id-blocks/kraft no_id_twice: induction says it holds, explore that it does not"])
    assert one.outcome == "failed" and "model/id_blocks/" in one.file and one.line > 1


def test_histories_that_another_protocol_judges_stand_at_that_one() -> None:
    """Those of the whole system are, of which each part is judged in its own words."""
    entry, variant = find("task-counts/shipped")
    assert variant is not None
    undecided = result(entry, variant, "rounds_fence_the_count", "history", "replay", "unknown", 0.0, None, {})
    [one] = cases_of([protocols()["end-to-end"]], [undecided])
    assert one.outcome == "failed" and one.says.startswith("task-counts/shipped: ") and "task_counts/" in one.file


def test_nothing_in_a_run_ends_an_annotation() -> None:
    hostile = Case("s", "n", "", "failed", "100%", "::error::taken", 0.0, "a:b,c", "", "x,y:z.py", 3)
    assert [*annotations([hostile], {})] == []
    [line] = annotations([hostile], {"GITHUB_ACTIONS": "true"})
    assert line == "::error file=x%2Cy%3Az.py,line=3,title=a%3Ab%2Cc::s: n 100%25%0A::error::taken"
