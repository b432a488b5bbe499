"""`fencepost verify` on one screen, and as a page: each number and each verdict is that of the report."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER, DRIVER, WHY_NOT, browser
from command_line import Ran, fencepost, read_json
from fencepost.model.rules import RULES
from fencepost.proofs.pages.verdict_page import Verdicts, verdict_page
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Result
from fencepost.proofs.scope.scopes import USERS_RELY_ON
from fencepost.proofs.tally import spent, standing
from fencepost.properties.catalogue import Variant
from parsed_pages import parsed
from small_catalogue import small_catalogue

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@dataclass(frozen=True)
class Made:
    """One run over the small catalogue, as expected or with a violation that is not predicted."""

    ran: Ran
    rows: list[dict[str, Any]]
    page: str


def without_prediction(variant: Variant) -> Variant:
    asks = ("no_id_twice", "disjoint_blocks")
    return replace(variant, expected={}, asks=asks) if variant.name == "by-broker-id" else variant


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return run(tmp_path_factory.mktemp("verify"))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return run(tmp_path_factory.mktemp("wrong"), without_prediction)


def run(folder: Path, *change: Any) -> Made:
    with small_catalogue(*change):
        ran = fencepost("verify", "--json", folder / "v.json", "--html", folder / "v.html")
    return Made(ran, read_json(folder / "v.json")["results"], (folder / "v.html").read_text())


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


def test_what_is_not_as_expected_is_printed_in_full(wrong: Made) -> None:
    """Its heading, its line, and the command that tells the run; nothing else has a heading."""
    assert wrong.ran.code == 1
    lines = [" ".join(line.split()) for line in wrong.ran.out.splitlines()]
    assert [line for line in lines if line.startswith("id-blocks/")] == [
        "id-blocks/by-broker-id: a range per broker id, which no log remembers [730.17]"
    ]
    assert "no id twice violated explore in 3 steps expected: holds" in lines
    assert 'Next: fencepost show id-blocks/by-broker-id "no id twice"' in lines


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


def test_the_page_has_the_verdict_of_each_promise(made: Made, wrong: Made) -> None:
    """Under its protocol and variant, with the word that --json has."""
    for each in (made, wrong):
        page = parsed(each.page)
        for row in each.rows:
            if row["evidence"].get("role") not in USERS_RELY_ON or row["verdict"] != "violated" != row["expected"]:
                continue
            place = page.of(f"id-blocks-{row['variant']}")
            found = [one.text() for one in place.all() if one.tag == "summary"]
            said = "violated" if row["expected"] != "violated" else "violated as predicted"
            assert [one for one in found if one.startswith(f"{said} {name_in_words(row['property'])} ")]


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
