"""``fencepost dangers``: the matrix, what is open below it, and that an answer is read again only where it would be the
same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran, fencepost
from fencepost.model.dangers import DANGERS
from fencepost.proofs.cli.dangers import _about, as_table
from fencepost.proofs.necessity.tables import FOLDER, is_of_these_models
from fencepost.proofs.scale.cached import cache, cached
from fencepost.proofs.scope.cells import ENGINES, Cell, Engine
from fencepost.proofs.scope.matrix import Asked, Hole, Matrix, holes
from fencepost.proofs.scope.scopes import NOTHING_STATED, unaccounted
from fencepost.properties.catalogue import protocols
from small_catalogue import small_catalogue

PROMISES = {"730.P1", "730.P2", "730.P3"}
NAME = "id-blocks/zookeeper"


@pytest.mark.parametrize("name", sorted(protocols()))
def test_every_model_accounts_for_every_danger(name: str) -> None:
    """It has it, or says why not; what it says nothing of would be open without a reason."""
    found = {v.name: unaccounted(v.spec) for v in protocols()[name].variants if v.main}
    assert found == dict.fromkeys(found, ())


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ran, Ran, list[dict[str, Any]], str]]:
    """The command twice over the small catalogue, the lines of its JSON, and its table."""
    folder = tmp_path_factory.mktemp("dangers")
    with pytest.MonkeyPatch.context() as patch, small_catalogue():
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        first = fencepost("dangers", NAME, "--json", folder / "first.json", "--table", folder / "open.md")
        second = fencepost("dangers", NAME, "--json", folder / "second.json")
        lines = json.loads((folder / "first.json").read_text())
        assert json.loads((folder / "second.json").read_text()) == lines
    yield first, second, lines, (folder / "open.md").read_text()


def cell(lines: list[dict[str, Any]], promise: str, danger: str, engine: str) -> dict[str, Any]:
    [found] = [x for x in lines if (x["promise"], x["danger"], x["engine"]) == (promise, danger, engine)]
    return found


def test_the_matrix_is_whole(asked: tuple[Ran, Ran, list[dict[str, Any]], str]) -> None:
    """Every promise, danger and engine once; what is out has a reason of one of three kinds."""
    _, _, lines, _ = asked
    keys = [(line["promise"], line["danger"], line["engine"]) for line in lines]
    assert sorted(keys) == sorted((p, d, e) for p in PROMISES for d in DANGERS for e in ENGINES)
    first = ("protocol", "promise", "danger", "engine", "status", "variant", "count", "why")
    assert all(tuple(line)[: len(first)] == first for line in lines)
    kinds = ("not of this protocol: ", "Kafka excludes it because ", "open: ")
    assert all(line["why"].startswith(kinds) for line in lines if line["status"] == "out")
    assert {line["status"] for line in lines} == {"in", "out"}


def test_a_danger_is_in_where_the_engine_met_it(asked: tuple[Ran, Ran, list[dict[str, Any]], str]) -> None:
    """Proof, search, driven clusters and histories meet restarts; only the first two the write that is not seen."""
    _, _, lines, _ = asked
    met = {line["engine"]: line["count"] for line in lines if line["status"] == "in" and line["promise"] == "730.P1"
           and line["danger"] == "broker-restart"}  # fmt: skip
    assert set(met) == {"induction", "explore", "agreement", "histories"}
    assert met["agreement"] > 0
    assert met["explore"] > 0
    assert met["induction"] is None
    assert cell(lines, "730.P1", "lost-answer", "induction")["status"] == "in"
    why = cell(lines, "730.P1", "lost-answer", "agreement")["why"]
    assert why.startswith("open: none of the ")
    assert why.endswith("; met by induction, explore of this variant")


def test_a_promise_that_an_engine_does_not_judge_has_nothing_in(
    asked: tuple[Ran, Ran, list[dict[str, Any]], str],
) -> None:
    """Progress meets restarts in its graphs, and judges what comes in the end alone."""
    _, _, lines, _ = asked
    assert cell(lines, "730.P3", "broker-restart", "progress")["status"] == "in"
    assert cell(lines, "730.P1", "broker-restart", "progress")["status"] == "out"
    assert cell(lines, "730.P3", "broker-restart", "explore")["status"] == "out"
    assert {line["status"] for line in lines if line["engine"] in ("live", "recordings")} == {"out"}


def test_it_is_reported_for_a_terminal(asked: tuple[Ran, Ran, list[dict[str, Any]], str]) -> None:
    """Which engine judges which promise, a row a danger, and below it what is open."""
    ran, _, _, table = asked
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "    730.P1 no id twice, 730.P2 disjoint blocks: induction, explore, agreement, histories" in lines
    [row] = [line.split() for line in lines if line.startswith("      broker-restart")]
    assert row[1] == "in"
    opened = lines[next(n for n, line in enumerate(lines) if line.startswith("Open: ")) :]
    assert len(opened) < 40
    mixed = "    mixed-clients: 730.P1, 730.P2, 730.P3 in no variant; met by histories alone: brokers"
    assert any(line.startswith(mixed) for line in opened)
    assert "| mixed-clients | 730.P1, 730.P2, 730.P3 | – | histories | brokers with the RPC" in table


def test_an_answer_of_the_same_sources_is_read_again(asked: tuple[Ran, Ran, list[dict[str, Any]], str]) -> None:
    first, second, _, _ = asked
    assert "\nevery engine was run, profile smoke, seed 1: " in first.out
    assert "\n1 of 1 protocols as computed before from the same sources, profile smoke, seed 1; " in second.out
    assert "every engine was run" not in second.out


def test_another_catalogue_profile_or_seed_is_another_question() -> None:
    entry = protocols()["id-blocks"]
    variants = (entry.variant("zookeeper"),)
    plain = repr(_about(entry, variants, "smoke", 1))
    assert plain == repr(_about(entry, variants, "smoke", 1))
    assert plain != repr(_about(entry, variants, "ci", 1))
    assert plain != repr(_about(entry, variants, "smoke", 2))
    assert plain != repr(_about(entry, (entry.variant("kraft"),), "smoke", 1))


def test_what_cannot_be_read_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cached("dangers", ["a"]) is None
    cache("dangers", ["a"], [1, 2])
    assert cached("dangers", ["a"]) == [1, 2]
    assert cached("dangers", ["b"]) is None
    [file] = (tmp_path / "fencepost").iterdir()
    file.write_text("[1, 2")
    assert cached("dangers", ["a"]) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    cache("dangers", ["a"], [1, 2])  # a file where a folder should be: nothing is cached, and nothing fails
    assert cached("dangers", ["a"]) is None


def test_other_sources_are_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache("dangers", ["a"], [1, 2])
    monkeypatch.setattr("fencepost.proofs.scale.cached.sources", lambda: "another tree")
    assert cached("dangers", ["a"]) is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("id-block",), "there is no protocol 'id-block'"),
        (("id-blocks/zookeper",), "id-blocks has no variant 'zookeper'"),
        ((NAME, "--promise", "txn.P1"), "no promise 'txn.P1' is asked there; there are 730.P1, no id twice, 730.P2"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], says: str) -> None:
    ran = fencepost("dangers", *words)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert says in ran.err


def matrix(name: str, met: dict[Engine, dict[str, int | None]], *, reported: dict[str, str] | None = None) -> Matrix:
    """One promise, judged by the engines that are given, with what they met; the model has all of it."""
    whole = dict.fromkeys(DANGERS, "not of this protocol: it is small") | dict.fromkeys(["loss", "zombie"], "")
    reasons = {danger: why for danger, why in (whole | (reported or {})).items() if why}
    report = {danger: why for danger, why in reasons.items() if not why.startswith("excused")}
    scopes = {
        engine: {
            danger: Cell("in", mine[danger]) if danger in mine else Cell("out", why=report.get(danger, "open: unmet"))
            for danger in DANGERS
        }
        for engine, mine in met.items()
    }
    asked = (Asked("txn.P1", "no_zombie", tuple(met), {"zombie": "it is predicted"} if name == "excused" else {}),)
    return Matrix("p", name, asked, scopes, reasons, ("loss", "zombie"))


def test_what_is_open_everywhere_and_what_in_part() -> None:
    """A danger met in another variant is open in part; one met by driving alone is open, and that is said."""
    one = matrix("one", {"explore": {"loss": 3}, "agreement": {"zombie": 2}})
    two = matrix("two", {"explore": {}})
    assert holes([one, two]) == [
        Hole("loss", (), ("p/two",), (), ("open: unmet",)),
        Hole("zombie", ("txn.P1",), (), ("agreement",), ("open: unmet",)),
    ]
    assert holes([matrix("whole", {"induction": {"loss": None, "zombie": None}})]) == []


def test_what_a_model_says_of_a_hole_is_its_reason() -> None:
    reported = matrix("one", {"explore": {"loss": 1}}, reported={"zombie": "open: it takes another model"})
    silent = matrix("two", {"explore": {"loss": 1}}, reported={"zombie": NOTHING_STATED})
    [hole] = holes([reported, silent])
    assert hole.whys == ("open: it takes another model", NOTHING_STATED)
    row = "| zombie | txn.P1 | – | – | it takes another model; the model says nothing of it |"
    assert row in as_table([hole], 2, "0" * 16)


def test_a_condition_is_no_reason_where_nothing_met_the_danger() -> None:
    """The model has it under a condition, and these bounds have no room for it."""
    [hole] = holes([matrix("one", {"explore": {"loss": 1}}, reported={"zombie": "excused: one at a time"})])
    assert (hole.danger, hole.whys) == ("zombie", ("open: unmet",))


def test_the_table_is_of_these_models() -> None:
    """It is made anew after every change of a model: `fencepost dangers --table proofs/verdicts/dangers.md`."""
    text = (FOLDER / "dangers.md").read_text()
    assert is_of_these_models(text, [entry for entry in protocols().values() if entry.verified])
    assert len(text.splitlines()) < 60


@pytest.mark.nightly(nights=4)
@pytest.mark.timeout(1200)
def test_the_table_says_what_the_engines_met(tmp_path: Path) -> None:
    """From the cache where the same sources were asked before; else every engine is run (minutes)."""
    ran = fencepost("dangers", "--table", tmp_path / "open.md")
    assert ran.code == 0, ran.err
    assert (tmp_path / "open.md").read_text() == (FOLDER / "dangers.md").read_text()


def test_what_agreement_predicts_is_excused() -> None:
    excused = matrix("excused", {"agreement": {"zombie": 2, "loss": 1}})
    [asked] = excused.asked
    assert excused.cell(asked, "agreement", "zombie").words == "excused by it is predicted"
    assert excused.cell(asked, "agreement", "loss").words == "in"


def test_a_matrix_survives_its_file() -> None:
    one = matrix("excused", {"explore": {"loss": 3}, "agreement": {"zombie": 2}})
    assert Matrix.of_dict(json.loads(json.dumps(one.as_dict()))) == one


@pytest.mark.parametrize("verdict", ["not proved", "vacuous", "unknown"])
def test_a_verdict_that_says_nothing_stands_against_nothing(verdict: Any) -> None:
    """As if the engine had not judged the promise; the others of the variant keep what they have."""
    from fencepost.proofs.results import Result
    from fencepost.proofs.scope.matrix import matrix_of
    from fencepost.proofs.scope.scopes import scope

    entry = protocols()["id-blocks"]
    variant = entry.variant("zookeeper")
    met = scope(variant.spec, "induction", {"broker-restart": None}, lambda name: "not met").fields
    reported = [
        Result("id-blocks", "zookeeper", name, "always", "induction", answered, "holds", None, 0.1, **met)
        for name, answered in (("no_id_twice", verdict), ("disjoint_blocks", "holds"))
    ]
    [made] = matrix_of(entry, [variant], reported)
    cells = {a.property: made.cell(a, "induction", "broker-restart").status for a in made.asked}
    assert (cells["no_id_twice"], cells["disjoint_blocks"]) == ("out", "in")


def test_late_copies_are_excused_where_the_documents_predict_what_they_break() -> None:
    """v1 without verification: the monitor does not hold a late copy's harm against an implementation."""
    from fencepost.proofs.scope.matrix import matrix_of

    entry = protocols()["transactions"]
    excuses = {
        v.name: {a.promise for a in m.asked if a.excuses}
        for v in entry.variants
        for m in matrix_of(entry, [v], [])
        if v.name in ("v1", "v2")
    }
    assert "txn.P1" in excuses["v1"]
    assert excuses["v2"] == set()
